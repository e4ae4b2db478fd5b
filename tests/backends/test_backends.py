"""Which backend computes what, and the CPU's threads."""

import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import backends
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


@pytest.mark.parametrize(("n_jobs", "at_most"), [(1, 1), (2, 2), (10**6, 10**5)])
def test_workers_are_counted_as_scikit_learn_does(n_jobs, at_most):
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert cpu.workers(n_jobs) == min(n_jobs, cores) <= at_most
    assert cpu.workers(-1) == cores
    assert cpu.workers(None) <= cores
    assert cpu.workers(-(10**6)) == 1


def test_jobs_run_in_threads_and_stop_at_an_error(monkeypatch):
    monkeypatch.setattr(cpu, "workers", lambda n_jobs=None: 2)
    names, done = set(), []

    def work(job, slot):
        names.add(threading.current_thread().name)
        if job == 3:
            raise KeyboardInterrupt
        done.append(job)

    with pytest.raises(KeyboardInterrupt):
        cpu.for_each(range(1000), work)
    assert all(name.startswith("mercer") for name in names)
    assert 3 not in done and len(done) < 1000


def test_a_tile_is_written_to_its_buffer():
    A, out = np.ones((3, 2)), np.empty((3, 3))
    assert cpu.dot(A, A, out) is out
    np.testing.assert_array_equal(out, 2.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_exponential(dtype):
    """To two units in the last place from 0 to where it underflows, on a tile large enough to be compiled."""
    d2 = np.linspace(0, 80 if dtype == np.float32 else 700, 2**19).astype(dtype)
    rows, zero = np.sqrt(d2)[:, None], np.zeros((1, 1), dtype)
    norms = (rows[:, 0] ** 2).astype(dtype)
    got = cpu.FUSED["rbf"](rows, norms, zero, np.zeros(1, dtype), 1.0, None)[:, 0]
    exact = np.exp(-norms.astype(np.float64))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, exact, rtol=4 * np.finfo(dtype).eps)


def test_nothing_below_zero_comes_of_rounding():
    A = np.full((4, 2), 1e8) + np.arange(4)[:, None] * 1e-8
    aa = (A**2).sum(axis=1)
    for backend in (cpu, generic):
        assert backend.sqeuclidean(A, aa, A, aa).min() >= 0
        assert cpu.FUSED["rbf"](A, aa, A, aa, 1.0, None).max() <= 1


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


def test_a_backend_from_outside_computes_with_the_arrays_it_recognises(monkeypatch):
    strict = pytest.importorskip("array_api_strict")
    monkeypatch.setattr(backends, "_registered", [])
    counted = SimpleNamespace(**vars(generic))
    calls = []
    counted.dot = lambda A, B, out=None: calls.append(A.shape) or generic.dot(A, B)
    register_backend(lambda X: type(X).__module__.startswith("array_api_strict"), counted)
    X = strict.asarray(np.arange(6.0).reshape(3, 2))
    assert backend_of(X) is counted and backend_of(np.ones((2, 2))) is cpu
    K = to_numpy(Linear()(X, X))
    np.testing.assert_allclose(K, to_numpy(X) @ to_numpy(X).T)
    assert calls
