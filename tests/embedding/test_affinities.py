"""Joint probabilities: the definition, both triangles, any number of threads, and P as it is given."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.embedding.affinities import Affinities, affinities_of, entropy_of, given_affinities, joint_probabilities
from mercer.embedding.weighting import FixedWidth, Perplexity, Uniform
from mercer.exceptions import MemoryLimitError
from mercer.graph.nearest_neighbors import build_index

X = np.random.default_rng(0).standard_normal((300, 4))


def directed(indices, weights, n):
    dense = np.zeros((n, n))
    dense[np.arange(len(indices))[:, None], indices] = weights
    return dense


@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), share=st.floats(0, 1), jobs=st.sampled_from([1, 2]))
def test_joint_probabilities_are_the_definition(seed, n, share, jobs):
    """(p_{j|i} + p_{i|j}) / 2n, each entry once, rows in order, whatever the graph."""
    rng = np.random.default_rng(seed)
    k = 1 + int(share * (n - 2))
    others = np.array([rng.permutation(np.delete(np.arange(n), i))[:k] for i in range(n)])
    weights = rng.dirichlet(np.ones(k), n).astype(np.float32)
    wanted = directed(others, weights, n)
    P = joint_probabilities(others.astype(np.int32), weights.copy(), jobs)
    assert P.dtype == np.float32 and P.indices.dtype == P.indptr.dtype == np.int32
    assert P.has_canonical_format and P.has_sorted_indices
    assert_allclose(P.toarray(), (wanted + wanted.T) / (2 * n), rtol=1e-6)
    assert_array_equal(P.toarray(), P.toarray().T)
    assert P.nnz == np.count_nonzero((wanted + wanted.T) > 0)


def test_perplexity_by_hand():
    """Against the notes' formula, with σ found by bisection on the whole matrix of distances."""
    D2 = ((X[:60, None] - X[None, :60]) ** 2).sum(axis=2)
    wanted = np.zeros((60, 60))
    for i in range(60):
        others = np.delete(np.arange(60), i)
        low, high = 1e-6, 1e6
        for _ in range(200):
            beta = np.sqrt(low * high)
            p = np.exp(-beta * (D2[i, others] - D2[i, others].min()))
            p /= p.sum()
            low, high = (beta, high) if -np.sum(p * np.log(p + 1e-300)) > np.log(12) else (low, beta)
        wanted[i, others] = p
    found = affinities_of(build_index(X[:60]), Perplexity((12.0,)), everyone=True)
    assert_allclose(found.P.toarray(), (wanted + wanted.T) / 120, rtol=1e-4, atol=1e-9)
    assert_allclose(found.P.sum(), 1, rtol=1e-6)


def test_near_neighbours_hold_nearly_all():
    """Three times the perplexity is where the weights have fallen to little: near and all neighbours nearly agree."""
    index = build_index(X)
    near, full = (affinities_of(index, Perplexity((15.0,)), everyone=every).P for every in (False, True))
    assert abs(near - full).sum() < 0.05


def test_threads_do_not_change_a_bit():
    index = build_index(X)
    one, two = (affinities_of(index, Perplexity((15.0,)), n_jobs=jobs).P for jobs in (1, 2))
    assert_array_equal(one.data, two.data)
    assert_array_equal(one.indices, two.indices)


def test_the_notes_with_one_sigma():
    D2 = ((X[:40, None] - X[None, :40]) ** 2).sum(axis=2)
    powers = np.exp(-D2 / (2 * 0.8**2)) * (1 - np.eye(40))
    conditional = powers / powers.sum(axis=1, keepdims=True)
    found = affinities_of(build_index(X[:40]), FixedWidth(0.8, None))
    assert_allclose(found.P.toarray(), (conditional + conditional.T) / 80, rtol=1e-5, atol=1e-12)


def test_entropy():
    P = affinities_of(build_index(X), Uniform(10)).P
    p = P.data.astype(np.float64)
    assert_allclose(entropy_of(P), np.sum(p * np.log(p)), rtol=1e-12)


def test_new_rows():
    found = affinities_of(build_index(X), Perplexity((10.0,)))
    neighbors, weights = found.to_new(X[:5] + 0.01)
    assert weights.shape == neighbors.indices.shape == (5, 31)
    assert_array_equal(neighbors.indices[:, 0], np.arange(5))
    p = weights.astype(np.float64)
    assert_allclose(-np.sum(p * np.log(p), axis=1), np.log(10), atol=1e-5)


def test_all_rows_alike_or_apart():
    for rows in (np.ones((30, 2)), np.repeat(X[:6], 5, axis=0), np.vstack([X[:20], X[:20] + 1e6])):
        P = affinities_of(build_index(rows), Perplexity((4.0,))).P
        assert np.all(np.isfinite(P.data)) and P.data.min() >= 0
        assert_allclose(P.sum(), 1, rtol=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.coo_matrix])
def test_given_affinities_are_made_symmetric_and_sum_to_one(kind):
    raw = np.random.default_rng(1).random((20, 20))
    raw[raw < 0.5] = 0
    off = raw * (1 - np.eye(20))
    wanted = (off + off.T) / (2 * off.sum())
    assert_allclose(given_affinities(kind(raw)).P.toarray(), wanted, rtol=1e-6)


@pytest.mark.parametrize(
    "bad", [np.ones((3, 2)), -np.ones((3, 3)), np.zeros((3, 3)), np.full((3, 3), np.nan), np.eye(3)]
)
def test_affinities_that_are_none(bad):
    with pytest.raises(ValueError, match="Affinities must"):
        given_affinities(bad)


def test_given_affinities_know_no_new_rows():
    with pytest.raises(ValueError, match="only affinities were given"):
        given_affinities(np.ones((3, 3))).to_new(np.ones((1, 3)))


def test_all_pairs_of_many_rows_are_refused_before_the_work():
    with pytest.raises(MemoryLimitError, match="method='auto'"):
        affinities_of(build_index(X), Perplexity((5.0,)), everyone=True, memory_limit=800_000)
    affinities_of(build_index(X), Perplexity((5.0,)), memory_limit=800_000)


def test_of_rows_and_other_weights_for_them():
    found = Affinities.of(X, perplexity=20)
    assert_array_equal(found.P.toarray(), affinities_of(build_index(X), Perplexity((20.0,))).P.toarray())
    assert_array_equal(found.reweighted(5).P.toarray(), Affinities.of(X, perplexity=5).P.toarray())
    assert_array_equal(Affinities.of(X, Uniform(7)).P.toarray(), affinities_of(build_index(X), Uniform(7)).P.toarray())
    assert found.to_new(X[:3], perplexity=5)[1].shape == (3, 16)
    with pytest.raises(ValueError, match="neighbors"):
        Affinities.of(X, neighbors="annoy")
    with pytest.raises(ValueError, match="only affinities were given"):
        given_affinities(found.P).reweighted(5)


def test_distances_that_overflow_are_refused():
    """Rows so far apart that their difference is infinite: P would be wrong, and the map with it."""
    far = np.where(X > 0, np.finfo(float).max, -np.finfo(float).max)
    with pytest.raises(ValueError, match="Divide the data"):
        Affinities.of(far, 10)
    with pytest.raises(ValueError, match="Divide the data"):
        Affinities.of(X * 1e307, 10).to_new(-np.finfo(float).max * np.ones((1, 4)))
