"""Which backend computes what, and the few helpers that every array library shares."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.backends import (
    adopt,
    backend_of,
    beside,
    column_signs,
    columns_of,
    cpu,
    generic,
    is_foreign,
    namespace,
    register_backend,
    to_numpy,
)
from mercer.kernels import Linear


def test_numpy_and_csr_run_on_the_cpu():
    for data in (np.ones((2, 2)), sp.csr_array(np.eye(2)), [[1.0]], np.float64(1.0)):
        assert backend_of(data) is cpu and not is_foreign(data)
    assert adopt(X := np.ones(2))[0] is X


def test_strict_arrays_run_on_the_reference():
    strict = pytest.importorskip("array_api_strict")
    X = strict.asarray([[1.0, 2.0]])
    assert backend_of(X) is generic and is_foreign(X)
    assert namespace(X).__name__.endswith("array_api_strict")
    np.testing.assert_array_equal(to_numpy(X), [[1.0, 2.0]])


@pytest.mark.torch
def test_torch_tensors_run_on_torch():
    torch = pytest.importorskip("torch")
    X = torch.ones((2, 2))
    assert backend_of(X).__name__ == "mercer.backends.torch"
    np.testing.assert_array_equal(to_numpy(X), np.ones((2, 2)))


@pytest.mark.parametrize("library", ["numpy", "array_api_strict"])
def test_columns_values_and_signs_where_the_array_lives(library):
    make = pytest.importorskip(library).asarray
    V = np.array([[1.0, -3.0, 2.0, -1.0], [-2.0, 3.0, 0.0, 1.0]], dtype=np.float32)
    there = make(V)
    picked = columns_of(there, np.array([2, 0]))
    np.testing.assert_array_equal(to_numpy(picked), V[:, [2, 0]])
    values = beside(np.array([1.0, 2.0]), there)
    assert type(values) is type(there) and values.dtype == there.dtype
    assert column_signs(there).tolist() == [-1.0, -1.0, 1.0, -1.0]  # the first of two alike decides


def test_a_backend_from_outside_computes_with_the_arrays_it_recognises():
    strict = pytest.importorskip("array_api_strict")
    counted = SimpleNamespace(**vars(generic))
    calls = []
    counted.dot = lambda A, B, out=None: calls.append(A.shape) or generic.dot(A, B)
    X = strict.asarray(np.arange(6.0).reshape(3, 2))
    unregister = register_backend(lambda X: type(X).__module__.startswith("array_api_strict"), counted)
    try:
        assert backend_of(X) is counted and backend_of(np.ones((2, 2))) is cpu
        K = to_numpy(Linear()(X, X))
    finally:
        unregister()
    np.testing.assert_allclose(K, to_numpy(X) @ to_numpy(X).T)
    assert calls and backend_of(X) is generic
