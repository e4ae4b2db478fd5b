"""TSNE and SNE: scikit-learn's interface, and what the maps promise."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SNE, TSNE, KernelPCA
from mercer.embedding.weighting import FixedWidth, Perplexity, Uniform
from mercer.kernels import RBF, Spectrum

RNG = np.random.default_rng(0)
X = np.vstack([RNG.standard_normal((40, 4)), RNG.standard_normal((40, 4)) + 8, RNG.standard_normal((40, 4)) - 8])
GROUP = np.repeat([0, 1, 2], 40)
NEW = np.vstack([RNG.standard_normal((5, 4)), RNG.standard_normal((5, 4)) + 8])
CLASSES = [TSNE, SNE]


def quick(cls=TSNE, **parameters):
    return cls(**({"perplexity": 8, "max_iter": 300} | parameters))


def kl_by_definition(P, Y, weight):
    """Σ p log(p/q) over all pairs, in float64."""
    P, Y = P.toarray().astype(np.float64), Y.astype(np.float64)
    W = weight(((Y[:, None] - Y[None, :]) ** 2).sum(axis=2)) * (1 - np.eye(len(Y)))
    Q, off = W / W.sum(), P > 0
    return np.sum(P[off] * np.log(P[off] / Q[off]))


# --- scikit-learn ------------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        TSNE(perplexity=2, max_iter=60),
        TSNE(perplexity=2, max_iter=60, method="exact", init="random"),
        SNE(perplexity=2, max_iter=60),
    ]
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output(library):
    model = quick().set_output(transform=library)
    frame = model.fit_transform(pd.DataFrame(X, columns=list("abcd")))
    assert isinstance(frame, pd.DataFrame if library == "pandas" else pl.DataFrame)
    assert list(frame.columns) == ["tsne0", "tsne1"] == list(model.get_feature_names_out())
    assert_array_equal(np.asarray(frame), quick().fit_transform(X))
    assert np.asarray(model.transform(pd.DataFrame(NEW, columns=list("abcd")))).shape == (10, 2)


@pytest.mark.parametrize("cls", CLASSES)
def test_clones_and_pickles(cls):
    model = clone(quick(cls)).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.transform(NEW), model.transform(NEW))
    assert_array_equal(again.optimize(20).embedding_, model.optimize(20).embedding_)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_components": 0},
        {"perplexity": 0},
        {"perplexity": [5, -1]},
        {"perplexity": [[5]]},
        {"perplexity": ["a"]},
        {"early_exaggeration": 0.5},
        {"learning_rate": 0.0},
        {"learning_rate": "fast"},
        {"max_iter": -1},
        {"early_exaggeration_iter": -1},
        {"min_grad_norm": -1},
        {"init": "zeros"},
        {"method": "fft"},
        {"angle": 2},
        {"dof": 0},
        {"exaggeration": 0},
        {"affinities": "given"},
        {"callback_every": 0},
        {"snapshots": 0},
        {"callbacks": 3},
    ],
    ids=str,
)
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        quick(**parameters).fit(X)


def test_unfitted():
    for call in (lambda: TSNE().transform(X), lambda: TSNE().optimize(10)):
        with pytest.raises(NotFittedError):
            call()


def test_wrong_width_at_transform():
    with pytest.raises(ValueError, match="expecting 4 features"):
        quick().fit(X).transform(X[:, :3])


# --- what the map promises -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", "exact", "grid"])
@pytest.mark.parametrize("cls", CLASSES)
def test_groups_stay_together(cls, method):
    """Every point's nearest neighbour in the map is of its own group."""
    Y = quick(cls, method=method).fit_transform(X)
    assert Y.dtype == np.float32
    assert KNeighborsClassifier(2).fit(Y, GROUP).score(Y, GROUP) == 1.0


@pytest.mark.parametrize(("cls", "weight"), [(TSNE, lambda d2: 1 / (1 + d2)), (SNE, lambda d2: np.exp(-d2))])
@pytest.mark.parametrize("method", ["exact", "grid"])
def test_divergence_is_that_of_the_true_P_over_all_pairs(cls, weight, method):
    for exaggeration in (1.0, 4.0):
        model = quick(cls, method=method, exaggeration=exaggeration).fit(X)
        wanted = kl_by_definition(model.affinities_.P, model.embedding_, weight)
        assert_allclose(model.kl_divergence_, wanted, rtol=1e-5 if method == "exact" else 2e-3)


@pytest.mark.parametrize("cls", CLASSES)
def test_the_grid_reaches_the_divergence_of_the_exact_sums(cls):
    """On the digits, within one per cent; SNE, whose minima differ by more than that, within three."""
    digits = load_digits().data[:1000]
    grid, exact = (cls(max_iter=600, method=method).fit(digits) for method in ("grid", "auto"))
    assert grid.report_.repulsion.startswith("grid") and exact.report_.repulsion.startswith("exact")
    assert_array_equal(grid.affinities_.P.data, exact.affinities_.P.data)
    assert abs(grid.kl_divergence_ / exact.kl_divergence_ - 1) < (0.01 if cls is TSNE else 0.03)


@pytest.mark.parametrize("c", [1, 2, 3, 4])
def test_dimensions(c):
    model = quick(n_components=c).fit(X)
    assert model.embedding_.shape == (120, c) and model.transform(NEW).shape == (10, c)
    assert model._similarity().dof == max(c - 1, 1)


def test_a_grid_has_three_dimensions_at_most():
    for method in ("barnes_hut", "grid"):
        with pytest.raises(ValueError, match="'n_components' should be inferior to 4"):
            quick(n_components=4, method=method).fit(X)


def test_same_seed_same_bits_and_any_number_of_threads():
    for parameters in ({}, {"init": "random", "random_state": 3}, {"metric": RBF(gamma=0.1)}):
        one, two, three = (quick(n_jobs=jobs, **parameters).fit_transform(X) for jobs in (None, None, 1))
        assert_array_equal(one, two)
        assert_array_equal(one, three)
    assert not np.array_equal(quick(init="random", random_state=4).fit_transform(X), one)


@pytest.mark.parametrize("power", [-300, -40, 40, 300])
def test_scale_does_not_matter(power):
    """Multiplying the data by a power of two is the same problem, to the bit."""
    plain, scaled = quick().fit(X), quick().fit(np.ldexp(X, power))
    assert_array_equal(plain.affinities_.P.data, scaled.affinities_.P.data)
    assert_array_equal(plain.embedding_, scaled.embedding_)


def test_float32_and_float64_data():
    single, double = quick().fit(X.astype(np.float32)), quick().fit(X)
    assert_allclose(single.affinities_.P.toarray(), double.affinities_.P.toarray(), rtol=1e-3, atol=1e-9)


def test_sparse_data():
    dense, sparse = quick().fit(X), quick().fit(sp.csr_array(X))
    assert_allclose(dense.affinities_.P.toarray(), sparse.affinities_.P.toarray(), rtol=1e-4, atol=1e-10)
    assert KNeighborsClassifier(2).fit(sparse.embedding_, GROUP).score(sparse.embedding_, GROUP) == 1.0
    assert_allclose(sparse.transform(sp.csr_array(X[:3])), sparse.embedding_[:3])


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "chebyshev"])
def test_metrics_are_those_of_precomputed_distances(metric):
    named = quick(metric=metric, init="random").fit(X)
    given = quick(metric="precomputed", init="random").fit(pairwise_distances(X, metric=metric))
    assert_allclose(named.affinities_.P.toarray(), given.affinities_.P.toarray(), rtol=1e-4, atol=1e-9)


def test_metrics_with_parameters():
    V = np.diag([1.0, 2.0, 3.0, 4.0])
    named = quick(metric="mahalanobis", metric_params={"V": V}, init="random").fit(X)
    given = quick(metric="euclidean", init="random").fit(X / np.sqrt(np.diag(V)))
    assert_allclose(named.affinities_.P.toarray(), given.affinities_.P.toarray(), rtol=1e-4, atol=1e-9)
    assert named.transform(NEW).shape == (10, 2)


def test_precomputed_graph_is_precomputed_distances():
    D = pairwise_distances(X)
    graph = kneighbors_graph(X, 30, mode="distance")
    dense, sparse = (quick(metric="precomputed", init="random").fit(distances) for distances in (D, graph))
    assert_array_equal(dense.embedding_, sparse.embedding_)
    assert_allclose(dense.transform(D[:4]), dense.embedding_[:4])


def test_precomputed_affinities():
    rows = quick(init="random").fit(X)
    given = quick(init="random", affinities="precomputed").fit(rows.affinities_.P)
    assert_allclose(given.affinities_.P.toarray(), rows.affinities_.P.toarray(), rtol=1e-6)
    assert KNeighborsClassifier(2).fit(given.embedding_, GROUP).score(given.embedding_, GROUP) == 1.0
    with pytest.raises(ValueError, match="fitted to affinities"):
        given.transform(NEW)


def test_strings_by_a_kernel():
    letters = RNG.choice(list("ab"), (30, 12)), RNG.choice(list("cd"), (30, 12))
    words = ["".join(row) for part in letters for row in part]
    model = quick(metric=Spectrum(2)).fit(words)
    kind = np.repeat([0, 1], 30)
    assert KNeighborsClassifier(3).fit(model.embedding_, kind).score(model.embedding_, kind) == 1.0
    assert_allclose(model.transform(words[:5]), model.embedding_[:5])
    placed = model.transform(["abababbaabab", "cdcdcdcddccd"])
    assert list(KNeighborsClassifier(3).fit(model.embedding_, kind).predict(placed)) == [0, 1]


def test_a_kernel_is_a_metric_and_a_start():
    model = quick(metric=RBF(gamma=0.05), max_iter=1, learning_rate=1e-9).fit(X)
    scores = KernelPCA(2, kernel=RBF(gamma=0.05)).fit_transform(X)
    for axis in (0, 1):
        assert abs(np.corrcoef(model.embedding_[:, axis], scores[:, axis])[0, 1]) > 0.99


def test_weightings():
    mixed = quick(perplexity=[5, 30]).fit(X)
    assert mixed.affinities_.widths.shape == (120, 2) and mixed.affinities_.weighting == Perplexity((5, 30))
    uniform = quick(affinities=Uniform(12)).fit(X)
    assert_allclose(uniform.affinities_.P.sum(), 1, rtol=1e-6)
    fixed = quick(affinities=FixedWidth(1.5, 40)).fit(X)
    assert set(fixed.affinities_.widths.ravel()) == {1.5}


def test_degrees_of_freedom():
    """Heavier tails let clusters further apart relative to their size."""

    def tightness(model):
        Y = model.embedding_
        within = np.mean([np.std(Y[g == GROUP], axis=0).mean() for g in range(3)])
        return within / np.std(Y)

    assert tightness(quick(dof=0.3, max_iter=500).fit(X)) < tightness(quick(dof=10.0, max_iter=500).fit(X))


def test_exaggeration_tightens():
    loose, tight = (quick(exaggeration=e, max_iter=500).fit(X) for e in (1.0, 6.0))
    assert np.ptp(tight.embedding_) < np.ptp(loose.embedding_)
    assert tight.kl_divergence_ > loose.kl_divergence_
