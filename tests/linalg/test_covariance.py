"""Streamed mean and covariance: equal to the explicit formula, whatever the chunks, dtype, order or place."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.backends import cpu
from mercer.linalg.covariance import (
    SETTLED,
    accurate_svd,
    axes_of_covariance,
    axes_of_svd,
    each_centred,
    is_constant,
    is_settled,
    moments,
    randomized_svd,
    with_fixed_signs,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((203, 7)) @ RNG.standard_normal((7, 7)) + 3


def in_long_double(X):
    """Mean and covariance with 64 bits of mantissa and two passes: the reference."""
    X = np.asarray(X).astype(np.longdouble)
    C = X - X.mean(axis=0)
    return X.mean(axis=0), C.T @ C / (len(X) - 1)


def test_streamed_equals_explicit():
    mean, S = moments(X)
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(S, np.cov(X, rowvar=False), rtol=1e-13)
    np.testing.assert_array_equal(S, S.T)


@settings(max_examples=25, deadline=None)
@given(rows=st.integers(1, 250))
def test_chunks_do_not_matter(rows):
    mean, S = moments(X, rows)
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(S, np.cov(X, rowvar=False), rtol=1e-12)


def test_the_same_bits_every_run():
    first, again = moments(X, 10), moments(X, 10)
    np.testing.assert_array_equal(first.covariance, again.covariance)
    np.testing.assert_array_equal(first.mean, again.mean)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i8", "?", "f2", ">f8", "g"])
def test_other_dtypes_are_converted_by_the_chunk(dtype):
    Z = (X * 10).astype(dtype)
    mean, S = moments(Z, 16)
    np.testing.assert_allclose(mean, Z.astype(np.float64).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(S, np.cov(Z.astype(np.float64), rowvar=False), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("arrange", [np.asfortranarray, lambda X: np.repeat(X, 2, 0)[::2], lambda X: X[:, ::-1]])
def test_any_memory_order(arrange):
    np.testing.assert_allclose(moments(arrange(X), 20).covariance, np.cov(arrange(X), rowvar=False), rtol=1e-12)


def test_many_features_use_one_product_at_a_time():
    wide = RNG.standard_normal((40, 600))
    np.testing.assert_allclose(moments(wide, 7).covariance, np.cov(wide, rowvar=False), atol=1e-13)


@pytest.mark.parametrize("offset", [0, 1e4, 1e8])
def test_far_from_the_origin(offset):
    Z = X + offset
    mean, S = in_long_double(Z)
    streamed = moments(Z, 32)
    assert np.abs(streamed.covariance - S).max() < 1e-13 * np.abs(S).max()
    assert np.abs(streamed.mean - mean).max() <= 1e-15 * np.abs(mean).max()


def test_float32_is_added_up_in_float64():
    Z = (RNG.standard_normal((50_000, 3)) + 100).astype(np.float32)
    S = moments(Z).covariance
    assert S.dtype == np.float64
    np.testing.assert_allclose(S, np.cov(Z.astype(np.float64), rowvar=False), atol=2e-6)


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse(make, dtype):
    Z = sp.random(120, 9, 0.2, random_state=0).astype(dtype)
    mean, S = moments(make(Z))
    np.testing.assert_allclose(mean, Z.toarray().mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(S, np.cov(Z.toarray(), rowvar=False), atol=1e-7)


@pytest.mark.parametrize("value, message", [(np.nan, "Input X contains NaN"), (np.inf, "Input X contains infinity")])
@pytest.mark.parametrize("row", [0, 117, 202])
def test_not_finite(value, message, row):
    Z = X.copy()
    Z[row, 2] = value
    with pytest.raises(ValueError, match=message):
        moments(Z, 16)


@pytest.mark.parametrize("scale, word", [(1e200, "overflow"), (1e-200, "vanish")])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix])
def test_scales_beyond_the_dtype_are_refused(scale, word, convert):
    with pytest.raises(ValueError, match=f"{word}.*Rescale"):
        moments(convert((X - 3) * scale))


def test_constant_data_has_exactly_no_variance():
    for value in (0.1, 1e300, -1e-300):
        Z = np.full((1000, 3), value)
        assert is_constant(Z)
        np.testing.assert_array_equal(moments(Z, 64).covariance, np.zeros((3, 3)))
    assert not is_constant(X)


def test_memory_is_a_few_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu, "workers", lambda n_jobs=None: 2)  # each thread holds a chunk
    Z = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.int16, shape=(400_000, 20))
    Z[:] = RNG.integers(-100, 100, size=Z.shape)
    tracemalloc.start()
    moments(np.load(tmp_path / "x.npy", mmap_mode="r"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.25 * Z.size * 8  # a float64 copy of Z would be four times this


def test_each_centred_covers_every_row_once():
    seen = np.zeros(len(X))

    def count(chunk):
        seen[chunk.rows] += 1
        np.testing.assert_allclose(chunk.values, X[chunk.rows] - 1)
        np.testing.assert_allclose(chunk.sums, chunk.values.sum(axis=0))

    each_centred(X, np.ones(7), count, 16)
    np.testing.assert_array_equal(seen, 1)


def test_both_kinds_of_axes_agree():
    from_matrix = axes_of_covariance(X)
    from_svd = axes_of_svd(X, lambda A: np.linalg.svd(A, full_matrices=False))
    np.testing.assert_allclose(from_matrix.variances, from_svd.variances, rtol=1e-10)
    np.testing.assert_allclose(from_matrix.directions, from_svd.directions, atol=1e-9)
    assert from_matrix.total == pytest.approx(from_svd.total, rel=1e-13)
    V = RNG.standard_normal((7, 2))
    np.testing.assert_allclose(from_matrix.apply(V), from_svd.apply(V), rtol=1e-11)


def test_signs_follow_the_first_largest_entry():
    rows = np.array([[0.5, -0.6, 0.1], [-0.7, 0.7, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(with_fixed_signs(rows), [[-0.5, 0.6, -0.1], [0.7, -0.7, 0.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize("normalizer", ["QR", "LU", "none", "auto"])
@pytest.mark.parametrize("shape", [(60, 20), (20, 60)])
def test_randomized_svd_finds_a_decaying_spectrum(normalizer, shape):
    rng = np.random.RandomState(0)
    A = rng.randn(*shape) * 0.5 ** np.arange(shape[1])
    U, s, Vt = randomized_svd(A, 4, 10, 4, normalizer, rng)
    np.testing.assert_allclose(s, np.linalg.svd(A, compute_uv=False)[:4], rtol=1e-6)
    np.testing.assert_allclose(A @ Vt.T, U * s, atol=1e-6)


def test_array_api_arrays_in_chunks():
    xp = pytest.importorskip("array_api_strict")
    mean, S = moments(xp.asarray(X), 16)
    np.testing.assert_allclose(np.asarray(mean), X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(np.asarray(S), np.cov(X, rowvar=False), rtol=1e-12)


@pytest.mark.parametrize("shape", [(300, 200), (200, 300), (2500, 2600)])
def test_approximate_triplets_become_accurate_and_accurate_ones_stay(shape):
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((size, 12)))[0] for size in shape)
    s = np.linspace(1.0, 0.9, 12)
    A = (U * s) @ V.T
    rough = np.linalg.qr(U[:, :5] + 0.05 * rng.standard_normal((shape[0], 5)))[0]
    P, values, Qt = np.linalg.svd(rough.T @ A, full_matrices=False)
    assert not is_settled(A, values, Qt)
    left, found, right = accurate_svd(A, (rough @ P, values, Qt))
    np.testing.assert_allclose(found, s[:5], rtol=SETTLED)
    assert is_settled(A, found, right)
    np.testing.assert_allclose(left.T @ left, np.eye(5), atol=1e-4)
    again = accurate_svd(A, (left, found, right))
    assert again[1] is found
