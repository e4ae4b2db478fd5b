"""KL(P ‖ Q): against the dense definition, t-SNE's own figure, and over scales and samples."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from mercer import TSNE, quality
from mercer.embedding.affinities import affinities_of
from mercer.embedding.weighting import Perplexity
from mercer.graph.nearest_neighbors import build_index
from mercer.quality.divergence import AUTO_ROWS

RNG = np.random.default_rng(11)


def by_definition(X, Y, perplexity, scale):
    P = affinities_of(build_index(X), Perplexity((perplexity,))).P.toarray().astype(float)
    P /= P.sum()
    W = 1 / (1 + scale**2 * cdist(Y, Y, "sqeuclidean"))
    np.fill_diagonal(W, 0)
    on = P > 0
    return float(np.sum(P[on] * np.log(P[on] / (W / W.sum())[on])))


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.3, 5.0])
def test_the_definition(columns, scale):
    X = RNG.standard_normal((150, 5))
    Y = X[:, :columns]
    found = quality.kl_divergence(X, Y, perplexity=12, scale=scale)
    assert found.value == pytest.approx(by_definition(X, Y, 12.0, scale), rel=1e-6)
    assert found.error == 0 and found.rows == 150 and found.note == ""


def test_the_best_scale_is_the_best_and_undoes_any_scale():
    X = RNG.standard_normal((200, 4))
    Y = X[:, :2]
    best = quality.kl_divergence(X, Y, perplexity=15)
    tried = [by_definition(X, Y, 15.0, s) for s in np.geomspace(0.01, 1000, 200)]
    assert best.value == pytest.approx(min(tried), abs=2e-4)
    for factor in (1e-6, 1e5, 1e120):
        assert quality.kl_divergence(X, factor * Y + factor, perplexity=15).value == pytest.approx(best.value, abs=1e-4)


def test_the_map_of_tsne_has_the_divergence_that_it_minimised():
    X = load_digits().data[:600]
    tsne = TSNE(perplexity=20, max_iter=400, random_state=0).fit(X)
    asis = quality.kl_divergence(X, tsne.embedding_, perplexity=20, scale=1.0)
    assert asis.value == pytest.approx(tsne.kl_divergence_, rel=1e-3)
    best = quality.kl_divergence(X, tsne.embedding_, perplexity=20)
    assert best.value <= asis.value + 1e-4
    assert best.value < quality.kl_divergence(X, X[:, 20:22], perplexity=20).value - 0.5


def test_samples_scatter_about_the_whole_with_the_error_they_state():
    X = RNG.standard_normal((500, 4))
    Y = X[:, :2] + 0.1 * RNG.standard_normal((500, 2))
    exact = quality.kl_divergence(X, Y, perplexity=10, scale=2.0, sample=None).value
    found = [quality.kl_divergence(X, Y, perplexity=10, scale=2.0, sample=100, random_state=seed) for seed in range(60)]
    values, errors = np.array([one.value for one in found]), np.array([one.error for one in found])
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(60)
    assert values.std() == pytest.approx(errors.mean(), rel=0.3)
    assert found[0].rows == 100


def test_auto_samples_large_maps():
    X = RNG.standard_normal((5200, 3))
    Y = np.ascontiguousarray(X[:, :2])
    found, exact = (quality.kl_divergence(X, Y, perplexity=10, sample=sample) for sample in ("auto", None))
    assert found.rows == AUTO_ROWS < exact.rows == 5200
    assert abs(found.value - exact.value) < 4 * found.error
    assert quality.kl_divergence(X, Y, perplexity=10) == found


def test_copies_and_constant_maps_have_a_divergence():
    X = np.repeat(RNG.standard_normal((30, 3)), 3, axis=0)
    for Y in (X[:, :2], np.ones((90, 2))):
        found = quality.kl_divergence(X, Y, perplexity=8)
        assert np.isfinite(found.value) and found.value >= 0
    # A constant map has all q = 1/(n(n − 1)), whatever its scale.
    assert found.value == pytest.approx(by_definition(X, np.ones((90, 2)), 8.0, 1.0), rel=1e-6)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"Y": np.zeros((60, 4))}, "1 to 3"),
        ({"perplexity": 60}, "must be less than n_samples"),
        ({"perplexity": -1}, "positive"),
        ({"scale": 0}, "scale=0 must be"),
        ({"scale": "worst"}, "scale='worst'"),
        ({"Y": np.zeros((59, 2))}, "Y has 59"),
    ],
)
def test_wrong_input_is_refused_in_words(change, message):
    given = {"X": RNG.standard_normal((60, 3)), "Y": RNG.standard_normal((60, 2)), "perplexity": 5} | change
    X, Y = given.pop("X"), given.pop("Y")
    with pytest.raises(ValueError, match=message):
        quality.kl_divergence(X, Y, **given)
