"""Weights of neighbours: entropies to 1e-5, limits where no width reaches them, and laws of scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.embedding.weighting import FixedWidth, Perplexity, Uniform

RNG = np.random.default_rng(0)
D = np.sort(RNG.uniform(1, 3, (50, 40)), axis=1)


def entropy(P):
    P = P.astype(np.float64)
    return -np.sum(np.where(P > 0, P * np.log(np.where(P > 0, P, 1)), 0), axis=1)


@pytest.mark.parametrize("perplexity", [1.5, 5, 13.3, 39])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_perplexity_is_reached(perplexity, dtype):
    weights = Perplexity((perplexity,)).weights(D.astype(dtype))
    assert weights.P.dtype == np.float32
    assert_allclose(weights.P.sum(axis=1), 1, rtol=1e-6)
    assert_allclose(entropy(weights.P), np.log(perplexity), atol=1e-5)


def test_weights_are_the_gaussians_of_their_widths():
    """exp(−d²/2σ²) over its sum, with the σ that is given back."""
    weights = Perplexity((7.0,)).weights(D)
    powers = np.exp(-(D**2) / (2 * weights.widths**2))
    assert_allclose(weights.P, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-20)


def test_several_perplexities_are_averaged():
    both, few, many = (Perplexity(values).weights(D) for values in ((4.0, 20.0), (4.0,), (20.0,)))
    assert_allclose(both.P, (few.P + many.P) / 2, rtol=1e-5)
    assert_array_equal(both.widths, np.hstack([few.widths, many.widths]))


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(2, 60),
    share=st.floats(0.05, 0.95),
    spread=st.floats(-6, 6),
    power=st.integers(-400, 400),
)
def test_any_scale_gives_the_same_weights(seed, k, share, spread, power):
    """Multiplying every distance by a power of two changes σ by it and nothing else; near and far rows alike."""
    distances = np.random.default_rng(seed).uniform(1, 1 + 10.0**spread, (3, k))
    weighting = Perplexity((1 + share * (k - 1),))
    plain, scaled = weighting.weights(distances), weighting.weights(np.ldexp(distances, power))
    assert_array_equal(plain.P, scaled.P)
    assert_array_equal(np.ldexp(plain.widths, power), scaled.widths)
    assert_allclose(entropy(plain.P), np.log(weighting.values[0]), atol=1e-5)


@given(seed=st.integers(0, 10**6), order=st.permutations(range(12)))
def test_the_order_of_neighbours_does_not_matter(seed, order):
    distances = np.random.default_rng(seed).exponential(size=(2, 12))
    weighting = Perplexity((4.0,))
    assert_allclose(weighting.weights(distances[:, order]).P, weighting.weights(distances).P[:, order], rtol=1e-5)


def test_one_row_does_not_depend_on_the_others():
    weighting = Perplexity((4.0,))
    assert_array_equal(weighting.weights(D[3:4]).P, weighting.weights(D).P[3:4])


def test_too_few_neighbours_are_all_alike():
    assert_array_equal(Perplexity((40.0,)).weights(D[:, :8]).P, np.full((50, 8), 1 / 8, np.float32))


@pytest.mark.parametrize("distance", [0.0, 1.0, 1e300])
def test_equal_distances_have_equal_weights(distance):
    assert_array_equal(Perplexity((3.0,)).weights(np.full((4, 10), distance)).P, np.full((4, 10), 0.1, np.float32))


def test_more_ties_than_the_perplexity_counts_share_all_the_weight():
    """No σ gives an entropy below log 6: the limit σ → 0 is taken."""
    distances = np.array([[0.0] * 6 + [1.0, 2.0, 3.0]])
    assert_allclose(Perplexity((3.0,)).weights(distances).P[0], [1 / 6] * 6 + [0] * 3, atol=1e-7)


def test_duplicates_and_others():
    """Two copies at distance zero and the rest far away: finite, and the entropy still reached."""
    distances = np.hstack([np.zeros((1, 2)), np.linspace(5, 6, 20)[None, :]])
    weights = Perplexity((8.0,)).weights(distances)
    assert_allclose(entropy(weights.P), np.log(8), atol=1e-5)


def test_an_outlier_whose_neighbours_are_all_equally_far():
    distances = 1e6 + np.sort(RNG.uniform(0, 1, (1, 30)), axis=1)
    assert_allclose(entropy(Perplexity((10.0,)).weights(distances).P), np.log(10), atol=1e-5)


def test_fixed_width():
    powers = np.exp(-(D**2) / (2 * 0.7**2))
    assert_allclose(FixedWidth(0.7).weights(D).P, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
    near = FixedWidth(1e-200).weights(D).P
    assert_array_equal(near, np.eye(1, 40, dtype=np.float32).repeat(50, axis=0))


def test_uniform():
    assert_array_equal(Uniform(40).weights(D).P, np.full(D.shape, 1 / 40, np.float32))


def test_how_many_neighbours_are_looked_at():
    assert Perplexity((30.0,)).neighbors(10**6) == 91
    assert Perplexity((5.0, 50.0)).neighbors(10**6) == 151
    assert Perplexity((30.0,)).neighbors(50) == 50
    assert (Uniform(15).neighbors(100), FixedWidth(1.0, None).neighbors(100), FixedWidth(1.0).neighbors(10**6)) == (
        15,
        100,
        90,
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: Perplexity(()),
        lambda: Perplexity((0.0,)),
        lambda: Perplexity((np.nan,)),
        lambda: FixedWidth(0.0),
        lambda: FixedWidth(np.inf),
        lambda: FixedWidth(1.0, 0),
        lambda: Uniform(0),
    ],
)
def test_numbers_that_are_none(make):
    with pytest.raises(ValueError, match="must be"):
        make()


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match=r"perplexity \(30\) must be less than n_samples \(20\)"):
        Perplexity((5.0, 30.0)).check(20)
    with pytest.raises(ValueError, match=r"n_neighbors \(20\) must be less than n_samples \(20\)"):
        Uniform(20).check(20)
