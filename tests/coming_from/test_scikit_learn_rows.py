"""Each row of the table in docs/coming_from/scikit_learn.md, on scikit-learn and on Mercer."""

import joblib
import numpy as np
import pytest
from name_tables import first_cells, takes
from sklearn import cross_decomposition, decomposition, discriminant_analysis, kernel_approximation, manifold

import mercer
from mercer import quality


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).standard_normal((120, 5)) * [3, 2, 1, 1, 1]


def same(theirs, ours, atol=1e-6):
    """Equal up to the signs of the columns."""
    assert np.allclose(np.abs(theirs), np.abs(ours), atol=atol)


def pca(X, tmp_path):
    ours = mercer.PCA(3).fit(X)
    same(decomposition.PCA(3).fit_transform(X), ours.transform(X))
    assert ours.residuals_.max() < 1e-10
    assert np.isclose(ours.reconstruction_error(X), ours.squared_distance(X).mean())
    np.save(tmp_path / "rows.npy", X)
    mapped = mercer.PCA(3, svd_solver="covariance_eigh").fit(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert np.allclose(mapped.explained_variance_, ours.explained_variance_)


def kernel_pca(X, tmp_path):
    ours = mercer.KernelPCA(3, kernel="rbf", gamma=0.1, memory_limit="1GB").fit(X)
    same(decomposition.KernelPCA(3, kernel="rbf", gamma=0.1).fit_transform(X), ours.transform(X))
    assert (ours.eigenvalue_error_ >= 0).all()
    assert 0 < ours.explained_variance_ratio_.sum() < 1
    assert ours.plan(X).peak_bytes > 0
    for method in ("ridge", "fixed_point", "mds", "sklearn"):
        back = mercer.KernelPCA(3, kernel="rbf", gamma=0.1, fit_inverse_transform=True, inverse_method=method).fit(X)
        assert back.inverse_transform(back.transform(X[:3])).shape == (3, 5)


def incremental(X, tmp_path):
    """In one pass Mercer's is exact. scikit-learn's is exact when it keeps every component."""
    chunked = mercer.open_rows(X, chunk_rows=30)
    ours = mercer.PCA(3).fit(chunked)
    assert np.allclose(ours.explained_variance_, decomposition.PCA(3).fit(X).explained_variance_)
    theirs = decomposition.IncrementalPCA(5, batch_size=30).fit(X)
    assert np.allclose(ours.explained_variance_, theirs.explained_variance_[:3])


def incremental_kernel_pca(X, tmp_path):
    ours = mercer.KernelPCA(2, kernel="rbf", gamma=0.1, rank=60).fit(mercer.open_rows(X, chunk_rows=30))
    exact = mercer.KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    missing = exact.eigenvalues_ - ours.eigenvalues_
    assert (missing > -1e-9).all()
    assert (missing <= ours.eigenvalue_error_).all()
    assert not hasattr(decomposition.KernelPCA, "partial_fit")


def isomap(X, tmp_path):
    ours = mercer.Isomap(n_neighbors=12).fit(X)
    same(manifold.Isomap(n_neighbors=12).fit_transform(X), ours.embedding_)
    assert ours.residual_variance_.shape == (2,)
    assert mercer.Isomap(n_neighbors=12, landmarks=40).fit(X).landmarks_.shape == (40,)
    assert mercer.diagnose_neighbors(X, [8, 12]).recommended in (8, 12)


def tsne(X, tmp_path):
    ours = mercer.TSNE(perplexity=[5, 20], max_iter=20).fit(X)
    assert ours.transform(X[:3] + 0.01).shape == (3, 2)
    ours.optimize(5)
    held = mercer.TSNE(perplexity=10, max_iter=20, init=ours.embedding_, fixed=np.arange(10)).fit(X)
    assert np.array_equal(held.embedding_[:10], ours.embedding_[:10])
    assert not hasattr(manifold.TSNE, "transform")
    assert mercer.SNE(perplexity=10, max_iter=10).fit_transform(X).shape == (120, 2)


def mds(X, tmp_path):
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    ours = mercer.MDS().fit(X)
    stress = ((D - np.linalg.norm(ours.embedding_[:, None] - ours.embedding_[None], axis=2)) ** 2).sum() / 2
    assert np.isclose(ours.stress_, stress, rtol=1e-4)
    assert ours.transform(X[:2]).shape == (2, 2)
    holed = D.copy()
    holed[0, 1] = holed[1, 0] = np.nan
    assert np.isfinite(mercer.MDS(metric="precomputed", allow_missing=True).fit(holed).stress_)
    mercer.MDS(max_iter=5).fit(X, weights=1 / (1 + D))
    assert takes(mercer.smacof, "dissimilarities")
    assert takes(manifold.smacof, "dissimilarities")


def classical_mds(X, tmp_path):
    ours = mercer.ClassicalMDS(2).fit(X)
    if hasattr(manifold, "ClassicalMDS"):  # scikit-learn 1.8
        same(manifold.ClassicalMDS(2).fit_transform(X), ours.embedding_)
    same(decomposition.PCA(2).fit_transform(X), ours.embedding_)
    assert np.allclose(ours.transform(X[:3]), ours.embedding_[:3])
    assert mercer.ClassicalMDS(2, metric="manhattan").fit(X).embedding_.shape == (120, 2)


def discriminants(X, tmp_path):
    """Without a penalty both find one direction for two classes. Mercer's penalty is chosen by leaving one out."""
    y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)
    theirs = discriminant_analysis.LinearDiscriminantAnalysis().fit(X, y).transform(X)[:, 0]
    ours = mercer.KernelDiscriminantAnalysis(kernel="linear", reg=1e-12).fit(X, y).transform(X)[:, 0]
    assert abs(np.corrcoef(theirs, ours)[0, 1]) > 1 - 1e-6
    assert mercer.KernelDiscriminantAnalysis(kernel="rbf").fit(X, y).loo_error_ < 0.5


def cca(X, tmp_path):
    Y = np.column_stack([X[:, 0] + 0.1 * X[:, 3], X[:, 1] - X[:, 4]])
    theirs = cross_decomposition.CCA(2, scale=False, max_iter=5000, tol=1e-12).fit(X, Y)
    u, v = theirs.transform(X, Y)
    expected = [np.corrcoef(u[:, j], v[:, j])[0, 1] for j in range(2)]
    assert np.allclose(mercer.KernelCCA(2, kernel="linear", reg=0).fit(X, Y).correlations_, expected, atol=1e-6)


def features(X, tmp_path):
    K = mercer.kernels.RBF(gamma=0.1)(X, X)
    ours = mercer.KernelMap("rbf", gamma=0.1, rank=40, random_state=0).fit(X)
    F = ours.transform(X)
    assert np.isclose(ours.error_, np.trace(K - F @ F.T) / np.trace(K), atol=1e-6)
    theirs = kernel_approximation.Nystroem(gamma=0.1, n_components=40, random_state=0).fit_transform(X)
    assert np.trace(K - F @ F.T) < np.trace(K - theirs @ theirs.T)  # landmarks are chosen, not drawn evenly
    drawn = mercer.KernelMap("rbf", gamma=0.1, method="fourier", rank=400, random_state=0).fit_transform(X)
    sampled = kernel_approximation.RBFSampler(gamma=0.1, n_components=400, random_state=0).fit_transform(X)
    for made in (drawn, sampled):  # an entry of either has an error of the order of 1/√rank
        assert np.sqrt(np.mean((made @ made.T - K) ** 2)) < 2 / np.sqrt(200)


def trust(X, tmp_path):
    Y = X[:, :2]
    assert (
        abs(manifold.trustworthiness(X, Y, n_neighbors=10) - quality.trustworthiness(X, Y, n_neighbors=10).value)
        < 1e-12
    )
    pairs = {"procrustes_disparity", "neighborhood_overlap"}
    scores = {"continuity", "neighbor_recall", "class_purity", "triplet_accuracy", "shepard_correlation"}
    scores |= {"residual_variance", "kl_divergence"} | pairs
    assert len(scores) == 9
    assert scores <= set(quality.__all__)


def saved(X, tmp_path):
    model = mercer.KernelPCA(2, kernel="rbf", gamma=0.1).fit(X)
    model.save(tmp_path / "kpca.mercer")
    joblib.dump(model, tmp_path / "kpca.joblib")
    assert np.array_equal(mercer.load(tmp_path / "kpca.mercer").transform(X), model.transform(X))
    assert np.array_equal(joblib.load(tmp_path / "kpca.joblib").transform(X), model.transform(X))


ROWS = [
    pca,
    kernel_pca,
    incremental,
    incremental_kernel_pca,
    isomap,
    tsne,
    mds,
    classical_mds,
    discriminants,
    cca,
    features,
    trust,
    saved,
]
NAMES = [
    "`decomposition.PCA`",
    "`decomposition.KernelPCA`",
    "`decomposition.IncrementalPCA`",
    "–",
    "`manifold.Isomap`",
    "`manifold.TSNE`",
    "`manifold.MDS`, `manifold.smacof`",
    "`manifold.ClassicalMDS`",
    "`discriminant_analysis.LinearDiscriminantAnalysis`",
    "`cross_decomposition.CCA`",
    "`kernel_approximation.Nystroem`, `RBFSampler`",
    "`manifold.trustworthiness`",
    "`joblib.dump`",
]


def test_each_row_has_a_test():
    assert first_cells("scikit_learn.md") == NAMES
    assert len(ROWS) == len(NAMES)


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_row(row, X, tmp_path):
    row(X, tmp_path)
