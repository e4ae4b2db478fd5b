"""f(x) = Σ αᵢ k(xᵢ, x) − c, in tiles."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.expansion import KernelExpansion
from mercer.kernels import RBF, Linear, Precomputed, Spectrum
from mercer.testing import check_expansion

RNG = np.random.default_rng(0)
ANCHORS, NEW = RNG.standard_normal((50, 3)), RNG.standard_normal((9, 3))
COEFS, OFFSET = RNG.standard_normal((50, 4)), RNG.standard_normal(4)


def expected(kernel, new):
    return kernel(new, ANCHORS) @ COEFS - OFFSET


@pytest.mark.parametrize("kernel", [RBF(gamma=0.4), Linear(), RBF(gamma=0.4) * Linear() + 1.0], ids=repr)
def test_the_formula(kernel):
    expansion = KernelExpansion(kernel, ANCHORS, COEFS, OFFSET)
    check_expansion(expansion, NEW)
    np.testing.assert_allclose(expansion(NEW), expected(kernel, NEW), rtol=1e-10, atol=1e-10)


def test_more_anchors_and_rows_than_a_tile():
    anchors, coefs = RNG.standard_normal((1500, 2)), RNG.standard_normal((1500, 2))
    new = RNG.standard_normal((1100, 2))
    f = KernelExpansion(RBF(gamma=0.4), anchors, coefs, np.zeros(2))
    np.testing.assert_allclose(f(new), RBF(gamma=0.4)(new, anchors) @ coefs, rtol=1e-9, atol=1e-9)


def test_threads_agree():
    one, two = (KernelExpansion(RBF(gamma=0.4), ANCHORS, COEFS, OFFSET, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_allclose(one(NEW), two(NEW), rtol=1e-13, atol=1e-13)


def test_sparse_rows():
    f = KernelExpansion(RBF(gamma=0.4), sp.csr_array(ANCHORS), COEFS, OFFSET)
    np.testing.assert_allclose(f(sp.csr_array(NEW)), expected(RBF(gamma=0.4), NEW), atol=1e-10)


def test_precomputed_rows():
    K = Linear()(NEW, ANCHORS)
    f = KernelExpansion(Precomputed(), Linear()(ANCHORS), COEFS, OFFSET)
    np.testing.assert_allclose(f(K), K @ COEFS - OFFSET, atol=1e-10)


def test_strings_never_seen():
    f = KernelExpansion(Spectrum(2), np.array(["abab", "ba"], dtype=object), np.eye(2), np.zeros(2))
    np.testing.assert_array_equal(f(["zz", "ab"]), [[0, 0], [2, 0]])


def test_columns_are_functions():
    f = KernelExpansion(RBF(gamma=0.4), ANCHORS, COEFS, OFFSET)
    np.testing.assert_allclose(f.column(2)(NEW), f(NEW)[:, 2], rtol=1e-12)
    np.testing.assert_allclose(f.column(-1)(NEW), f(NEW)[:, 3], rtol=1e-12)
    with pytest.raises(IndexError, match="4 functions"):
        f.column(4)


def test_a_pickle_holds_no_points():
    f = KernelExpansion(RBF(gamma=0.4), ANCHORS, COEFS, OFFSET)
    before = len(pickle.dumps(f))
    values = f(NEW)
    assert len(pickle.dumps(f)) == before
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(NEW), values)


def test_no_rows():
    f = KernelExpansion(RBF(gamma=0.4), ANCHORS, COEFS, OFFSET)
    assert f(NEW[:0]).shape == (0, 4)
