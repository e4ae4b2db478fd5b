"""Each row of the table in docs/coming_from/umap.md: umap has what the row names, and Mercer does what it says."""

import numpy as np
import pytest
from name_tables import first_cells, takes

from mercer import TSNE, KernelDiscriminantAnalysis, KernelPCA, quality
from mercer.kernels import RBF

umap = pytest.importorskip("umap", reason="pip install umap-learn")


@pytest.fixture(scope="module")
def X():
    centres = np.random.default_rng(0).normal(0, 4, (3, 6))
    return np.vstack([c + np.random.default_rng(i).standard_normal((50, 6)) for i, c in enumerate(centres)])


@pytest.fixture(scope="module")
def classes():
    return np.repeat([0, 1, 2], 50)


@pytest.fixture(scope="module")
def theirs(X):
    return umap.UMAP(n_neighbors=15, random_state=0, n_epochs=100).fit(X)


def tightness(Y, classes):
    """The mean distance from a class's centre, beside the mean distance between the centres."""
    centres = np.array([Y[classes == c].mean(axis=0) for c in np.unique(classes)])
    within = np.mean([np.linalg.norm(Y[classes == c] - centres[c], axis=1).mean() for c in np.unique(classes)])
    return within / np.linalg.norm(centres[:, None] - centres[None], axis=2)[np.triu_indices(len(centres), 1)].mean()


def a_map(X, classes, theirs):
    """With an exaggeration of 4 the clusters of t-SNE are tighter than without."""
    plain, exaggerated = (TSNE(perplexity=10, max_iter=400, exaggeration=e).fit_transform(X) for e in (1, 4))
    assert tightness(exaggerated, classes) < tightness(plain, classes)
    for Y in (theirs.embedding_, exaggerated):
        assert quality.class_purity(Y, classes).value > 0.95


def neighbors(X, classes, theirs):
    assert takes(umap.UMAP, "n_neighbors")
    P = TSNE(perplexity=5, max_iter=0).fit(X).affinities_
    assert P.weighting.neighbors(len(X)) == 16  # three times the perplexity, and one


def packing(X, classes, theirs):
    assert takes(umap.UMAP, "min_dist")
    low, one, high = (TSNE(perplexity=10, max_iter=400, dof=dof).fit_transform(X) for dof in (0.5, 1.0, 8.0))
    assert tightness(low, classes) < tightness(one, classes) < tightness(high, classes)


def metrics(X, classes, theirs):
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    assert umap.UMAP(metric="precomputed", n_epochs=5, random_state=0).fit_transform(D).shape == (150, 2)
    for metric, rows in (("cosine", X), (lambda a, b: np.abs(a - b).sum(), X), ("precomputed", D), (RBF(gamma=0.1), X)):
        assert TSNE(metric=metric, perplexity=10, max_iter=5).fit_transform(rows).shape == (150, 2)


def new_rows(X, classes, theirs):
    new = X[::10] + 0.05
    assert theirs.transform(new).shape == (15, 2)
    tsne = TSNE(perplexity=10, max_iter=300).fit(X)
    assert np.array_equal(tsne.transform(new)[3:4], tsne.transform(new[3:4]))


def back(X, classes, theirs):
    assert hasattr(umap.UMAP, "inverse_transform")
    assert not hasattr(TSNE, "inverse_transform")
    kpca = KernelPCA(20, kernel="rbf", gamma="median", fit_inverse_transform=True).fit(X)
    assert ((kpca.inverse_transform(kpca.transform(X)) - X) ** 2).mean() < X.var()


def labels(X, classes, theirs):
    assert takes(umap.UMAP.fit, "y")
    assert KernelDiscriminantAnalysis().fit(X[::2], classes[::2]).score(X[1::2], classes[1::2]) > 0.95


def densities(X, classes, theirs):
    assert takes(umap.UMAP, "densmap")
    assert not takes(TSNE, "densmap")


def before_clustering(X, classes, theirs):
    kpca = KernelPCA(10, kernel="rbf", gamma="median").fit(X)
    assert kpca.transform(X).shape == (150, 10)
    assert kpca.transform_error_.shape == (10,)


def many_rows(X, classes, theirs):
    assert TSNE(perplexity=10, landmarks=60, max_iter=50).fit(X).embedding_.shape == (150, 2)


ROWS = {
    "draw a map of neighbours": a_map,
    "set `n_neighbors`": neighbors,
    "set `min_dist`": packing,
    'set `metric="cosine"`, a function, or precomputed distances': metrics,
    "call `transform` for new rows": new_rows,
    "call `inverse_transform`": back,
    "pass labels, `fit(X, y)`": labels,
    "pass `densmap=True`": densities,
    "reduce to 10 to 50 dimensions before clustering": before_clustering,
    "use many rows": many_rows,
}


def test_each_row_has_a_test():
    assert list(ROWS) == first_cells("umap.md")


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_row(row, X, classes, theirs):
    row(X, classes, theirs)
