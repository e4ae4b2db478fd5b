"""Each row of the table in docs/coming_from/opentsne.md, on openTSNE and on Mercer."""

import inspect

import numpy as np
import pytest
from name_tables import first_cells, takes

from mercer import TSNE
from mercer.embedding import Affinities, FixedWidth, Uniform

openTSNE = pytest.importorskip("openTSNE", reason="pip install openTSNE")
from openTSNE import affinity  # noqa: E402

NEIGHBORS = 61  # Mercer takes 3 · perplexity + 1 neighbours; openTSNE is told to do the same where it can be told


@pytest.fixture(scope="module")
def X():
    centres = np.random.default_rng(0).normal(0, 4, (4, 6))
    return np.vstack([c + np.random.default_rng(i).standard_normal((60, 6)) for i, c in enumerate(centres)])


@pytest.fixture(scope="module")
def theirs(X):
    return openTSNE.TSNE(perplexity=20, early_exaggeration_iter=20, n_iter=30, random_state=0, n_jobs=1).fit(X)


def joint(theirs):
    return np.asarray(theirs.P.todense())


def same_affinities(theirs, ours, atol):
    assert np.abs(joint(theirs) - ours.P.toarray()).max() < atol * joint(theirs).max()


def steps(X, theirs):
    seen = []
    callback = {"callbacks": lambda step, kl, Y: seen.append(step), "callbacks_every_iters": 1}
    openTSNE.TSNE(perplexity=20, early_exaggeration_iter=10, n_iter=20, random_state=0, **callback).fit(X)
    ours = TSNE(perplexity=20, early_exaggeration_iter=10, max_iter=30).fit(X)
    assert len(seen) == ours.n_iter_ + 1 == 30  # n_iter_ is the number of the last step, counted from 0


def exaggerations(X, theirs):
    same = ("early_exaggeration_iter", "early_exaggeration", "exaggeration")
    assert takes(openTSNE.TSNE, *same)
    assert takes(TSNE, *same)


def repulsion(X, theirs):
    """The exact sums, "bh" and "fft" move a map alike, and so do Mercer's grid and its exact sums."""
    made = {"perplexity": 20, "early_exaggeration_iter": 0, "random_state": 0, "initialization": X[:, :2] / 1e4}
    maps = [openTSNE.TSNE(negative_gradient_method=way, n_iter=5, **made).fit(X) for way in ("fft", "bh")]
    assert np.corrcoef(np.ravel(maps[0]), np.ravel(maps[1]))[0, 1] > 0.99
    ours = [TSNE(method=way, perplexity=20, max_iter=5, init=X[:, :2] / 1e4).fit(X) for way in ("grid", "exact")]
    assert np.corrcoef(np.ravel(ours[0].embedding_), np.ravel(ours[1].embedding_))[0, 1] > 0.99


def searches(X, theirs):
    assert affinity.get_knn_index(X, "exact", 5, "euclidean").k == 5
    assert all(f'"{way}"' in inspect.getsource(affinity.get_knn_index) for way in ("annoy", "pynndescent"))
    for way in ("auto", "approximate", "exact"):
        assert TSNE(perplexity=20, neighbors=way, max_iter=0).fit(X).report_.recall > 0.9


def starts(X, theirs):
    for start in ("pca", "random", "spectral", X[:, :2]):
        made = {"perplexity": 20, "early_exaggeration_iter": 0, "n_iter": 0, "random_state": 0}
        assert openTSNE.TSNE(initialization=start, **made).fit(X).shape == (240, 2)
        assert TSNE(init=start, perplexity=20, max_iter=0).fit(X).embedding_.shape == (240, 2)


def perplexity(X, theirs):
    found = affinity.PerplexityBasedNN(X, perplexity=20, k_neighbors=NEIGHBORS, method="exact")
    same_affinities(found, Affinities.of(X, perplexity=20), 1e-3)  # both calibrate the entropy, theirs to 1e-5


def several_perplexities(X, theirs):
    found = affinity.Multiscale(X, perplexities=[5, 20], method="exact")
    same_affinities(found, Affinities.of(X, perplexity=[5, 20]), 1e-3)


def mixture(X, theirs):
    """The page says that Mercer has no such option: the numbers of the mixture are others."""
    mixed = joint(affinity.MultiscaleMixture(X, perplexities=[5, 20], method="exact"))
    averaged = joint(affinity.Multiscale(X, perplexities=[5, 20], method="exact"))
    assert np.abs(mixed - averaged).max() > 0.1 * averaged.max()


def one_width(X, theirs):
    found = affinity.FixedSigmaNN(X, sigma=2.0, k=30, method="exact")
    same_affinities(found, Affinities.of(X, FixedWidth(2.0, n_neighbors=30)), 1e-5)


def uniform(X, theirs):
    found = affinity.Uniform(X, k_neighbors=15, method="exact", symmetrize="mean")
    same_affinities(found, Affinities.of(X, Uniform(15)), 1e-5)


def continued(X, theirs):
    assert theirs.optimize(n_iter=10).shape == (240, 2)
    ours = TSNE(perplexity=20, max_iter=10).fit(X)
    ours.optimize(10)
    assert ours.n_iter_ + 1 == 20


def distances_between(theirs, placed, ours, placed_by_us):
    """How far apart the two libraries place new rows. Mercer centres the map that it starts from."""
    shift = (np.asarray(theirs) - ours.embedding_).mean(axis=0)
    return np.linalg.norm(np.asarray(placed) - placed_by_us - shift, axis=1)


def callbacks(X, theirs):
    assert takes(openTSNE.TSNE, "callbacks", "callbacks_every_iters")
    seen = []
    TSNE(perplexity=20, max_iter=20, callbacks=lambda n, kl, Y: seen.append(n), callback_every=5).fit(X)
    assert seen == [5, 10, 15, 20]


def placed(X, theirs):
    new = X[::40] + 0.01
    ours = TSNE(perplexity=20, max_iter=0, init=np.asarray(theirs)).fit(X)
    placed_by_us = ours.transform(new, perplexity=5, exaggeration=1.5)
    far = distances_between(theirs, theirs.transform(new), ours, placed_by_us)
    assert np.median(far) < 0.02 * np.ptp(np.asarray(theirs))  # one map, and two ways to descend in it


def begun(X, theirs):
    new = X[::40] + 0.01
    ours = TSNE(perplexity=20, max_iter=0, init=np.asarray(theirs)).fit(X)
    far = distances_between(theirs, theirs.prepare_partial(new), ours, ours.transform(new, n_iter=0))
    assert np.median(far) < 0.1 * np.ptp(np.asarray(theirs))  # medians of neighbours: of 25, and of all by weight


def degrees(X, theirs):
    assert takes(openTSNE.TSNE, "dof")
    assert takes(TSNE, "dof")


def divergence(X, theirs):
    """The same map in both: openTSNE's P has one neighbour per row less, and its divergence is of the last step."""
    exact = openTSNE.TSNEEmbedding(
        np.asarray(theirs).copy(),
        affinity.PerplexityBasedNN(X, perplexity=20, k_neighbors=NEIGHBORS, method="exact"),
        negative_gradient_method="bh",
        theta=0.0,
    ).optimize(n_iter=1, learning_rate=1e-9)
    ours = TSNE(perplexity=20, max_iter=0, init=np.asarray(exact)).fit(X)
    assert abs(exact.kl_divergence - ours.kl_divergence_) < 0.01 * ours.kl_divergence_


ROWS = {
    "`TSNE(n_iter=500)`, after 250 exaggerated steps": steps,
    "`early_exaggeration_iter`, `early_exaggeration`, `exaggeration`": exaggerations,
    '`negative_gradient_method="fft"`, `"bh"`': repulsion,
    '`neighbors="annoy"`, `"pynndescent"`, `"exact"`': searches,
    '`initialization="pca"`, `"random"`, `"spectral"`, an array': starts,
    "`affinity.PerplexityBasedNN`": perplexity,
    "`affinity.Multiscale`": several_perplexities,
    "`affinity.MultiscaleMixture`": mixture,
    "`affinity.FixedSigmaNN`": one_width,
    "`affinity.Uniform`": uniform,
    "`embedding.optimize(n_iter=100)`": continued,
    "`callbacks=`, `callbacks_every_iters=`": callbacks,
    "`embedding.transform(new)`": placed,
    "`embedding.prepare_partial(new)`": begun,
    "`dof`": degrees,
    "`embedding.kl_divergence`": divergence,
}


def test_each_row_has_a_test():
    assert list(ROWS) == first_cells("opentsne.md")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row, X, theirs):
    row(X, theirs)
