"""Every estimator through a file: the same bits, the same parameters, and what it refuses to save."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import CCA, PLSCanonical, PLSRegression
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as gp
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)
from sklearn.svm import LinearSVC, LinearSVR
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer.embedding.weighting import FixedWidth, Uniform
from mercer.exceptions import ModelFileError
from mercer.kernels import RBF, Constant, Linear, Matern, Polynomial, Spectrum, VectorKernel
from mercer.models.model_file import save_model
from mercer.models.registry import load_model
from mercer.preimage import FixedPoint, LocalMDS

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((60, 4)), RNG.standard_normal((12, 4))
CLASSES = np.arange(60) % 3
WORDS = ["abcabc", "bcbcaa", "cabcab", "aaabbb", "abab", "bbaa", "cccab", "acac"]
GAPS, NEW_GAPS = np.abs(X[:, :1] - X[:, 0]), np.abs(NEW[:, :1] - X[:, 0])

pytestmark = pytest.mark.filterwarnings("ignore")


def through_a_file(model, folder):
    path = folder / "model.mercer"
    model.save(path)
    return mercer.load(path)


def assert_same(model, rows, folder, *methods):
    """The loaded one has the parameters, the words and, to the bit, the answers of the other."""
    loaded = through_a_file(model, folder)
    assert type(loaded) is type(model)
    assert repr(loaded) == repr(model)
    check_is_fitted(loaded)
    clone(loaded)
    for method in methods:
        given = model.transform(rows) if method == "inverse_transform" else rows
        wanted, got = getattr(model, method)(given), getattr(loaded, method)(given)
        assert_array_equal(got, wanted)
        assert np.asarray(got).dtype == np.asarray(wanted).dtype
    missing = set(vars(model)) - set(vars(loaded)) - {"_plan", "_metric"}
    assert not missing
    return loaded


# --- kernels and ways back ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel",
    [
        "linear",
        "poly",
        "laplacian",
        "sigmoid",
        "cosine",
        "rational_quadratic",
        "arc_cosine",
        "tanimoto",
        "hamming",
        RBF("median"),
        Matern(nu=np.inf, length_scale="median"),
        0.5 * RBF(0.5) + Linear(),
        RBF(0.5) * Polynomial(2) + 1.0,
        RBF("median").on([0, 2]),
        Linear().on(slice(0, 2)).normalized() + Constant(2.0),
        RBF(0.3).on(np.array([True, False, True, False])) ** 2,
        gp.RBF([1.0, 2.0, 1.0, 1.0]),
        gp.RBF(1.0) * gp.ConstantKernel(2.0) + gp.WhiteKernel(),
    ],
    ids=str,
)
def test_every_kernel(kernel, tmp_path):
    model = mercer.KernelPCA(3, kernel=kernel).fit(X)
    loaded = assert_same(model, NEW, tmp_path, "transform", "squared_distance")
    assert loaded.score(NEW) == model.score(NEW)
    assert repr(loaded.kernel_) == repr(model.kernel_)


@pytest.mark.parametrize("kernel", ["chi2", "additive_chi2", "intersection"])
def test_kernels_of_histograms(kernel, tmp_path):
    assert_same(mercer.KernelPCA(2, kernel=kernel).fit(np.abs(X)), np.abs(NEW), tmp_path, "transform")


@pytest.mark.parametrize("kind", ["float64", "float32", "csr", "fortran"])
@pytest.mark.parametrize("solver", ["auto", "rpcholesky"])
@pytest.mark.parametrize("method", ["ridge", "fixed_point", "mds", "sklearn", FixedPoint(start="ridge"), LocalMDS(5)])
def test_every_way_back(method, solver, kind, tmp_path):
    make = {"csr": sp.csr_array, "fortran": np.asfortranarray}.get(kind, lambda rows: rows.astype(kind))
    model = mercer.KernelPCA(
        3, kernel="rbf", gamma=0.3, fit_inverse_transform=True, inverse_method=method, eigen_solver=solver, rank=20
    ).fit(make(X))
    loaded = assert_same(model, make(NEW), tmp_path, "transform", "inverse_transform")
    if hasattr(model, "dual_coef_"):
        assert_array_equal(loaded.dual_coef_, model.dual_coef_)


def test_the_linear_way_back(tmp_path):
    model = mercer.KernelPCA(2, kernel="linear", fit_inverse_transform=True, alpha="loo").fit(X)
    assert_same(model, NEW, tmp_path, "transform", "inverse_transform")


def test_many_rows_take_the_compiled_path_to_the_same_bits(tmp_path):
    rows = np.random.default_rng(3).standard_normal((1500, 5))
    model = mercer.KernelPCA(7, kernel="rbf", gamma=0.1, eigen_solver="rpcholesky", rank=700).fit(rows)
    assert_same(model, rows + 0.1, tmp_path, "transform", "squared_distance")


@pytest.mark.parametrize("solver", ["auto", "rpcholesky"])
def test_precomputed_kernels(solver, tmp_path):
    model = mercer.KernelPCA(2, kernel="precomputed", eigen_solver=solver, rank=10).fit(X @ X.T)
    assert_same(model, NEW @ X.T, tmp_path, "transform")


def test_strings(tmp_path):
    awkward = [*WORDS, "", "é\u0000ü€𝄞", "line\nbreak", "\ud800"]
    assert_same(mercer.KernelPCA(2, kernel=Spectrum(2)).fit(awkward), ["abca", "é"], tmp_path, "transform")
    assert_same(mercer.Isomap(metric=Spectrum(2), n_neighbors=3).fit(WORDS), ["abca"], tmp_path, "transform")


def test_parallel_analysis_keeps_its_null(tmp_path):
    model = mercer.KernelPCA("parallel", kernel="rbf").fit(X)
    loaded = assert_same(model, NEW, tmp_path, "transform")
    assert_array_equal(loaded.null_eigenvalues_, model.null_eigenvalues_)


def test_what_is_shared_stays_shared(tmp_path):
    model = mercer.KernelPCA(2, kernel="rbf", fit_inverse_transform=True, inverse_method="fixed_point").fit(X)
    loaded = through_a_file(model, tmp_path)
    assert loaded.X_fit_ is loaded._with_mean.anchors is loaded.preimage_.fitted.X
    assert loaded.preimage_.fitted.expansion is loaded._with_mean
    assert np.shares_memory(loaded.expansion_.coefs, loaded._with_mean.coefs)
    assert (tmp_path / "model.mercer").stat().st_size < 3 * X.nbytes + 12_000  # X once, and not the points made of it


# --- the other estimators ----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [X, X.astype(np.float32), np.asfortranarray(X)], ids=["float64", "float32", "fortran"])
@pytest.mark.parametrize("solver", ["covariance_eigh", "full", "arpack", "randomized"])
def test_pca(solver, data, tmp_path):
    model = mercer.PCA(2, svd_solver=solver, whiten=True).fit(data)
    assert_same(model, NEW.astype(data.dtype), tmp_path, "transform", "inverse_transform", "score_samples")


@pytest.mark.parametrize("names", [[3, 1, 2], ["a", "bb", "ccc"], [-1.0, 1.0, 2.0]], ids=["i", "U", "f"])
@pytest.mark.parametrize("rank", [None, 10])
def test_discriminants(rank, names, tmp_path):
    model = mercer.KernelDiscriminantAnalysis(rank=rank, normalize="rkhs", priors=[0.2, 0.3, 0.5])
    model.fit(X, np.array(names)[CLASSES])
    loaded = assert_same(model, NEW, tmp_path, "transform", "predict", "predict_proba", "decision_function")
    assert loaded.classes_.dtype == model.classes_.dtype


def test_classes_that_are_objects(tmp_path):
    names = np.array(["ant", "bee"], object)[CLASSES % 2]
    assert_same(mercer.KernelDiscriminantAnalysis().fit(X, names), NEW, tmp_path, "predict")


@pytest.mark.parametrize("second", [X[:, :2] ** 2, [WORDS[i % 8] for i in range(60)]], ids=["vectors", "strings"])
def test_canonical_correlations(second, tmp_path):
    kernel = "rbf" if isinstance(second, np.ndarray) else "spectrum"
    model = mercer.KernelCCA(2, rank=12, kernel_y=kernel).fit(X, second)
    loaded = assert_same(model, NEW, tmp_path, "transform")
    assert_array_equal(loaded.transform_y(second), model.transform_y(second))
    assert loaded.score(X, second) == model.score(X, second)


@pytest.mark.parametrize("method", ["cholesky", "fourier"])
def test_kernel_maps(method, tmp_path):
    assert_same(mercer.KernelMap(rank=10, method=method).fit(X), NEW, tmp_path, "transform")


@pytest.mark.parametrize("inner", [None, mercer.PCA(2), mercer.KernelPCA(3, kernel="rbf")], ids=["none", "pca", "kpca"])
def test_novelty(inner, tmp_path):
    model = mercer.NoveltyDetector(inner).fit(X)
    assert_same(model, NEW, tmp_path, "score_samples", "decision_function", "predict")


@pytest.mark.parametrize(
    "inner",
    [
        Ridge(),
        LinearRegression(),
        Lasso(0.01),
        ElasticNet(0.01),
        LinearSVR(),
        RidgeClassifier(),
        LogisticRegression(),
        LinearSVC(),
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
        KMeans(3, n_init=1, random_state=0),
        SklearnPCA(2),
        mercer.PCA(2),
        PLSRegression(2),
        PLSCanonical(2),
        CCA(2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_kernelized(inner, classes, tmp_path):
    several = isinstance(inner, (PLSRegression, PLSCanonical, CCA))
    target = X[:, :2] ** 2 if several else np.arange(60) % classes
    model = mercer.Kernelized(inner, gamma=0.3, rank=6).fit(X, target)
    methods = [name for name in ("predict", "transform", "decision_function", "predict_proba") if hasattr(model, name)]
    assert_same(model, NEW, tmp_path, *methods)


def test_kernelized_around_what_is_not_known_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"BayesianRidge.*CCA, ElasticNet.*save its features alone"):
        mercer.Kernelized(BayesianRidge(), rank=5).fit(X, X[:, 0]).save(tmp_path / "no.mercer")
    assert not list(tmp_path.iterdir())


# --- maps of neighbours ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("algorithm", ["auto", "brute", "kd_tree", "ball_tree", "approximate"])
def test_isomap_by_every_search(algorithm, dtype, tmp_path):
    model = mercer.Isomap(neighbors_algorithm=algorithm).fit(X.astype(dtype))
    loaded = assert_same(model, NEW.astype(dtype), tmp_path, "transform")
    assert_array_equal(loaded.geodesics_, model.geodesics_)
    assert loaded.reconstruction_error() == model.reconstruction_error()
    assert_array_equal(loaded.nbrs_.kneighbors(NEW)[1], model.nbrs_.kneighbors(NEW)[1])


@pytest.mark.parametrize(
    "metric", ["manhattan", "seuclidean", "mahalanobis", "cosine", "braycurtis", "minkowski", RBF("median")], ids=str
)
def test_isomap_by_metrics(metric, tmp_path):
    assert_same(mercer.Isomap(metric=metric, p=3).fit(X), NEW, tmp_path, "transform")


def test_isomap_of_other_graphs(tmp_path):
    graph = mercer.Isomap().fit(X).graph_
    sparse = sp.csr_array
    assert_same(mercer.Isomap(landmarks=10, radius=3.0, n_neighbors=None).fit(X), X[:4] + 0.1, tmp_path, "transform")
    assert_same(
        mercer.Isomap(n_neighbors=3, disconnected="largest").fit(np.r_[X, X[:9] + 99]), NEW, tmp_path, "transform"
    )
    assert_same(mercer.Isomap().fit(sparse(X)), sparse(NEW), tmp_path, "transform")
    assert_same(mercer.Isomap(metric="precomputed").fit(GAPS), NEW_GAPS, tmp_path, "transform")
    assert_same(mercer.Isomap(metric="precomputed", n_neighbors=3).fit(graph), graph[:9], tmp_path, "transform")


def test_approximate_neighbours_keep_their_cells(tmp_path):
    rows = np.repeat(X, 12, axis=0) + 0.1 * np.random.default_rng(2).standard_normal((720, 4))
    seed = np.random.RandomState(5)  # a generator moves on: the cells cannot be found again
    model = mercer.Isomap(neighbors_algorithm="approximate", landmarks=20, random_state=seed).fit(rows)
    loaded = through_a_file(model, tmp_path)
    assert_array_equal(loaded.index_.cells.order, model.index_.cells.order)
    many = np.repeat(NEW, 40, axis=0) + 0.01  # enough for the cells to be asked
    assert_array_equal(loaded.transform(many), model.transform(many))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "seuclidean", RBF(0.4)], ids=str)
def test_classical_scaling(metric, tmp_path):
    loaded = assert_same(mercer.ClassicalMDS(metric=metric).fit(X), NEW, tmp_path, "transform")
    assert loaded.eigenvalues_ is loaded.kernel_pca_.eigenvalues_


def test_classical_scaling_of_given_distances(tmp_path):
    assert_same(mercer.ClassicalMDS(metric="precomputed").fit(GAPS), NEW_GAPS, tmp_path, "transform")


@pytest.mark.parametrize("cls", [mercer.TSNE, mercer.SNE])
@pytest.mark.parametrize(
    "params",
    [
        {"snapshots": 10},
        {"method": "exact", "init": X[:, :2].astype(np.float32), "fixed": [0, 1]},
        {"method": "grid", "metric": "cosine"},
        {"metric": RBF(0.5)},
        {"affinities": Uniform(5)},
        {"affinities": FixedWidth(1.0, 9), "n_components": 1},
        {"perplexity": [3, 10], "metric": "manhattan"},
    ],
    ids=lambda params: ",".join(params),
)
def test_maps_of_neighbours_and_their_going_on(cls, params, tmp_path):
    model = cls(**({"perplexity": 5, "max_iter": 30} | params)).fit(X)
    loaded = assert_same(model, NEW, tmp_path, "transform")
    assert loaded.report_ == replace(model.report_, seconds=0.0)  # files of the same fit are the same bytes
    assert [step for step, _ in loaded.snapshots_] == [step for step, _ in model.snapshots_]
    assert_array_equal(loaded.optimize(15).embedding_, model.optimize(15).embedding_)


def test_a_map_of_affinities(tmp_path):
    model = mercer.SNE(affinities="precomputed", max_iter=20, init="random").fit(GAPS)
    loaded = through_a_file(model, tmp_path)
    with pytest.raises(ValueError, match="fitted to affinities"):
        loaded.transform(NEW_GAPS)
    assert_array_equal(loaded.optimize(9).embedding_, model.optimize(9).embedding_)


def test_a_map_of_points_in_another_order(tmp_path):
    model = mercer.TSNE(perplexity=5, max_iter=40).fit(X)
    model._map.reorder()
    assert model._map.order is not None
    loaded = through_a_file(model, tmp_path)
    assert_array_equal(loaded.optimize(15).embedding_, model.optimize(15).embedding_)


# --- what belongs to an estimator besides ------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        mercer.PCA(0.5),
        mercer.KernelPCA(3, kernel=2.0 * RBF("median"), inverse_method=LocalMDS(7), memory_limit="1GB"),
        mercer.KernelCCA(reg=(0.1, 0.2)),
        mercer.KernelDiscriminantAnalysis(priors=[0.1, 0.9]),
        mercer.KernelMap(rank=np.int64(5)),
        mercer.Isomap(landmarks=np.arange(4), metric_params={"p": 3}),
        mercer.ClassicalMDS(tol=np.float32(0.1)),
        mercer.TSNE(init=np.zeros((3, 2)), affinities=Uniform(4), perplexity=(3, 9)),
        mercer.SNE(fixed=np.array([True, False])),
        mercer.NoveltyDetector(mercer.PCA(3), contamination=0.1),
        mercer.Kernelized(Ridge(alpha=2.0)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_unfitted_ones(model, tmp_path):
    loaded = through_a_file(model, tmp_path)
    assert repr(loaded) == repr(model)
    for name, value in model.get_params(deep=False).items():
        assert type(getattr(loaded, name)) is type(value), name
    with pytest.raises(NotFittedError):
        check_is_fitted(loaded)


def test_names_of_columns_and_the_container(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = mercer.KernelPCA(2, kernel="rbf").set_output(transform="pandas").fit(frame)
    loaded = through_a_file(model, tmp_path)
    assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    assert loaded.feature_names_in_.dtype == object
    pd.testing.assert_frame_equal(loaded.transform(frame), model.transform(frame))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="feature names"):
            loaded.transform(frame.rename(columns={"a": "z"}))
    unfitted = through_a_file(mercer.PCA(2).set_output(transform="polars"), tmp_path)
    assert type(unfitted.fit_transform(X)).__module__.startswith("polars")


@pytest.mark.parametrize(
    "seed",
    [3, np.random.RandomState(4), np.random.default_rng(5), np.random.Generator(np.random.PCG64DXSM(6))],
    ids=lambda seed: type(seed).__name__,
)
def test_random_states_go_on_where_they_were(seed, tmp_path):
    if isinstance(seed, np.random.RandomState):
        seed.standard_normal(7)  # an odd number: one is kept for the next call
    elif not isinstance(seed, int):
        seed.integers(0, 9, 3, dtype=np.int32)  # half of a word is kept for the next call
    loaded = through_a_file(mercer.KernelPCA(random_state=seed), tmp_path).random_state
    if isinstance(seed, int):
        assert loaded == seed
    else:
        assert_array_equal(loaded.standard_normal(5), seed.standard_normal(5))
        draw = "randint" if isinstance(seed, np.random.RandomState) else "integers"
        assert_array_equal(getattr(loaded, draw)(0, 9, 5), getattr(seed, draw)(0, 9, 5))


def test_other_generators_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"SFC64.*Give a whole number as seed"):
        mercer.PCA(random_state=np.random.Generator(np.random.SFC64(1))).save(tmp_path / "no.mercer")


@pytest.mark.torch
def test_a_model_of_tensors_becomes_one_of_arrays(tmp_path):
    torch = pytest.importorskip("torch")
    model = mercer.KernelPCA(2, kernel="rbf", gamma=0.3).fit(torch.asarray(X))
    loaded = through_a_file(model, tmp_path)
    assert isinstance(loaded.X_fit_, np.ndarray)
    np.testing.assert_allclose(loaded.transform(NEW), model.transform(torch.asarray(NEW)).numpy(), atol=1e-12)
    pca = through_a_file(mercer.PCA(2).fit(torch.asarray(X)), tmp_path)
    assert isinstance(pca.components_, np.ndarray)
    assert pca.transform(NEW).shape == (12, 2)


def test_notes_come_back(tmp_path):
    notes = {"columns": ["a", "b"], "means": {"a": 0.1, "b": -0.0}, "none": None, "missing": float("nan"), "n": 2**70}
    save_model(mercer.PCA(), tmp_path / "m", notes)
    _, found = load_model(tmp_path / "m")
    assert np.isnan(found.pop("missing"))
    notes.pop("missing")
    assert found == notes
    assert np.signbit(found["means"]["b"])


# --- what is refused ---------------------------------------------------------------------------------------


@dataclass(repr=False)
class _Strange(VectorKernel):
    reads = "dot"

    def profile(self, t, xp):
        return t


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (mercer.KernelPCA(kernel=lambda a, b: float(a @ b)), r"kernel is a function .*holds data, never code"),
        (mercer.Isomap(metric=np.hypot), r"metric is a function"),
        (mercer.TSNE(callbacks=[print]), r"callbacks.0 is a function \(print\).*callbacks=None"),
        (mercer.KernelPCA(kernel=_Strange()), r"kernel is an object of .*_Strange"),
        (mercer.KernelPCA(kernel_params={(1, 2): 2}), r"keys are text, numbers, booleans or None"),
        (mercer.PCA(random_state=np.random), r"random_state is an object of builtins.module"),
        (mercer.Isomap(landmarks=np.array([1 + 2j])), r"array of complex128"),
        (mercer.Isomap(landmarks=np.array(["2020-01-01"], "M8[D]")), r"array of datetime64"),
        (mercer.Isomap(landmarks=np.array([1, "a"], object)), r"array of objects"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_file_cannot_hold_is_refused_before_writing(model, said, tmp_path):
    with pytest.raises(ModelFileError, match=said) as caught:
        model.save(tmp_path / "no.mercer")
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_fitted_function_is_refused(tmp_path):
    model = mercer.KernelPCA(2, kernel=lambda a, b: float(a @ b)).fit(X[:9])
    with pytest.raises(ModelFileError, match="never code"):
        model.save(tmp_path / "no.mercer")
    model.set_params(kernel="linear")  # the fitted one is still there
    with pytest.raises(ModelFileError, match=r"kernel_ is a function .*never code"):
        model.save(tmp_path / "no.mercer")


def test_what_was_added_or_is_half_fitted_is_refused(tmp_path):
    model = mercer.PCA(2).fit(X)
    model.remark = "mine"
    with pytest.raises(ModelFileError, match=r"it has 'remark'.*delete"):
        model.save(tmp_path / "no.mercer")
    del model.remark, model.mean_
    with pytest.raises(ModelFileError, match=r"'mean_' is missing.*Fit it again"):
        model.save(tmp_path / "no.mercer")


def test_subclasses_and_others_are_refused(tmp_path):
    class Mine(mercer.PCA):
        pass

    for thing in (Mine(), Ridge(), {"a": 1}, RBF(1.0)):
        with pytest.raises(ModelFileError, match="save_model was given"):
            save_model(thing, tmp_path / "no.mercer")
