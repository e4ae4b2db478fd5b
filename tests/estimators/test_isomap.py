"""Isomap: the distances it keeps, its landmarks, its new points, graphs that fall apart, bad input of every kind."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_digits, make_s_curve, make_swiss_roll
from sklearn.exceptions import NotFittedError
from sklearn.manifold import Isomap as Peer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KDTree, NearestNeighbors, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Isomap, diagnose_neighbors, load, open_rows
from mercer.exceptions import DegenerateDataWarning, DisconnectedGraphError, DisconnectedGraphWarning, MemoryLimitError
from mercer.graph import without_edges
from mercer.kernels import RBF, Linear, Spectrum

ROLL, ALONG = make_swiss_roll(1000, random_state=0)
CURVE = make_s_curve(300, random_state=0)[0]
LARGE = make_swiss_roll(2500, random_state=1)[0]  # beyond the size that is kept in float64


def apart(k=3, sizes=(20, 12, 5)):
    """Blobs so far from each other that no neighbour is in another."""
    X = np.random.default_rng(0).standard_normal((sum(sizes), 2))
    X[:, 0] += 20 * np.repeat(np.arange(len(sizes)), sizes)
    return X


def up_to_rotation(A, B):
    return procrustes(A, B)[2]


# --- scikit-learn ----------------------------------------------------------------------------------------


@parametrize_with_checks(
    [
        Isomap(n_neighbors=3),
        Isomap(n_neighbors=3, landmarks=8),
        Isomap(n_neighbors=None, radius=10.0),
        Isomap(n_neighbors=3, disconnected="largest", n_components=1),
        Isomap(n_neighbors=3, cut_edges=[(0, 2)], n_components=1),
    ]
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.MercerWarning")
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "parameters", [{}, {"metric": "manhattan"}, {"n_neighbors": None, "radius": 3.0}, {"metric": "cosine"}]
)
def test_the_map_and_its_new_points_are_scikit_learns(parameters):
    parameters = {"n_neighbors": 8, "n_components": 3} | parameters
    ours, theirs = Isomap(**parameters).fit(ROLL), Peer(**parameters).fit(ROLL)
    assert np.allclose(ours.embedding_, theirs.embedding_, atol=1e-9 * np.abs(theirs.embedding_).max())
    new = ROLL[:40] + 0.1
    scale = np.abs(theirs.embedding_).max()
    assert np.allclose(ours.transform(new), theirs.transform(new), atol=1e-9 * scale)
    assert np.allclose(ours.kernel_pca_.eigenvalues_, theirs.kernel_pca_.eigenvalues_)
    assert np.isclose(ours.reconstruction_error(), theirs.reconstruction_error())
    assert np.allclose(ours.dist_matrix_, theirs.dist_matrix_)


def test_above_the_size_of_float64_the_map_is_scikit_learns_to_1e_6():
    ours, theirs = Isomap(n_neighbors=8).fit(LARGE), Peer(n_neighbors=8).fit(LARGE)
    assert up_to_rotation(ours.embedding_, theirs.embedding_) < 1e-12  # squared: 1e-6 in length
    scale = np.abs(theirs.embedding_).max()
    assert np.abs(ours.embedding_ - theirs.embedding_).max() < 3e-6 * scale
    assert np.isclose(ours.reconstruction_error(), theirs.reconstruction_error(), rtol=1e-4)
    assert np.abs(ours.transform(LARGE[:20] + 0.05) - theirs.transform(LARGE[:20] + 0.05)).max() < 3e-6 * scale


def test_trees_and_neighbour_objects_stand_for_their_rows():
    plain = Isomap(n_neighbors=6).fit_transform(CURVE)
    assert np.array_equal(Isomap(n_neighbors=6).fit_transform(KDTree(CURVE)), plain)
    assert np.array_equal(Isomap(n_neighbors=6).fit_transform(NearestNeighbors().fit(CURVE)), plain)


def test_frames_in_frames_out_and_names():
    frame = pd.DataFrame(CURVE, columns=["x", "y", "z"])
    isomap = Isomap(n_neighbors=6).set_output(transform="pandas")
    out = isomap.fit_transform(frame)
    assert list(out.columns) == ["isomap0", "isomap1"] and list(isomap.feature_names_in_) == ["x", "y", "z"]
    lazy = Isomap(n_neighbors=6).set_output(transform="polars").fit(pl.DataFrame(frame)).transform(pl.DataFrame(frame))
    assert lazy.columns == ["isomap0", "isomap1"]


def test_clone_pickle_and_search():
    isomap = Isomap(n_neighbors=6, landmarks=30).fit(CURVE)
    again = pickle.loads(pickle.dumps(isomap))
    assert np.array_equal(again.transform(CURVE[:9]), isomap.transform(CURVE[:9]))
    assert clone(isomap).get_params() == isomap.get_params()
    X, y = load_digits(n_class=3, return_X_y=True)
    from sklearn.linear_model import LogisticRegression

    pipe = make_pipeline(StandardScaler(), Isomap(), LogisticRegression())
    search = GridSearchCV(pipe, {"isomap__n_neighbors": [6, 9]}, cv=2).fit(X[:200], y[:200])
    assert search.best_score_ > 0.8


# --- what it promises ------------------------------------------------------------------------------------


@pytest.mark.parametrize("X", [CURVE, LARGE], ids=["float64", "float32 inside"])
@pytest.mark.parametrize("landmarks", [None, 60])
def test_transform_of_the_fitted_rows_is_fit_transform(X, landmarks):
    isomap = Isomap(n_neighbors=8, n_components=3, landmarks=landmarks)
    Y = isomap.fit_transform(X)
    tol = 1e-9 if len(X) < 1000 else 3e-6
    assert np.abs(isomap.transform(X) - Y).max() < tol * np.abs(Y).max()


def test_rows_are_placed_independently_of_one_another():
    isomap = Isomap(n_neighbors=8).fit(LARGE)
    new = LARGE[:700] + 0.02
    together = isomap.transform(new)  # sixteen at once; alone, one at a time
    alone = np.concatenate([isomap.transform(new[[i]]) for i in (0, 123, 699)])
    assert np.abs(together[[0, 123, 699]] - alone).max() < 3e-6 * np.abs(together).max()


@pytest.mark.parametrize("X", [CURVE, LARGE], ids=["float64", "float32 inside"])
def test_the_certificate_holds_on_the_matrix_of_the_distances(X):
    isomap = Isomap(n_neighbors=8, n_components=3).fit(X)
    D = isomap.geodesics_
    H = np.eye(len(X)) - 1 / len(X)
    K = -0.5 * H @ (D * D) @ H
    V = isomap.kernel_pca_.eigenvectors_
    residuals = np.linalg.norm(K @ V - V * isomap.eigenvalues_, axis=0)
    rounding = 0 if len(X) < 1000 else 1e-6 * isomap.eigenvalues_[0]  # of the distances, which were kept in float32
    assert np.all(residuals <= isomap.residuals_ + rounding + 1e-9 * isomap.eigenvalues_[0])
    true = np.linalg.eigvalsh(K)[::-1][:3]
    assert np.all(np.abs(true - isomap.eigenvalues_) <= isomap.eigenvalue_error_ + rounding + 1e-9 * true[0])
    assert isomap.solver_.converged


@pytest.mark.parametrize("X", [CURVE, LARGE], ids=["float64", "float32 inside"])
def test_residual_variance_is_one_minus_the_squared_correlation(X):
    isomap = Isomap(n_neighbors=8, n_components=3).fit(X)
    D = isomap.geodesics_
    for k in (1, 2, 3):
        Y = isomap.embedding_[:, :k]
        expected = 1 - np.corrcoef(D.ravel(), cdist(Y, Y).ravel())[0, 1] ** 2
        assert np.isclose(isomap.residual_variance_[k - 1], expected, rtol=1e-3, atol=1e-7)


def test_a_flat_sheet_is_unrolled():
    X, along = make_swiss_roll(2000, random_state=3)
    isomap = Isomap(n_neighbors=8, n_components=4).fit(X)
    arc = (along * np.sqrt(1 + along**2) + np.arcsinh(along)) / 2  # the length of the spiral r = t
    assert up_to_rotation(isomap.embedding_[:, :2], np.column_stack([arc, X[:, 1]])) < 3e-3
    assert isomap.residual_variance_[0] > 0.01 > 0.001 > isomap.residual_variance_[1]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.floats(-3, 3))
def test_order_rotation_shift_and_scale_of_the_rows(seed, power):
    rng = np.random.default_rng(seed)
    X = CURVE[:120]
    Q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    order, scale = rng.permutation(120), 10.0**power
    Y = Isomap(n_neighbors=8).fit_transform(X)
    Z = Isomap(n_neighbors=8).fit_transform((scale * X @ Q + rng.standard_normal(3) * scale)[order])
    assert np.allclose(np.abs(Z / scale), np.abs(Y[order]), atol=1e-7)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_units_far_from_one(scale):
    Y = Isomap(n_neighbors=8).fit_transform(CURVE)
    isomap = Isomap(n_neighbors=8).fit(CURVE * scale)
    assert np.allclose(isomap.embedding_ / scale, Y, atol=1e-9)
    assert np.allclose(isomap.transform(CURVE[:5] * scale) / scale, Y[:5], atol=1e-9)


def test_the_number_of_threads_changes_no_bit_of_small_maps():
    one, two = (Isomap(n_neighbors=8, n_jobs=jobs).fit_transform(CURVE) for jobs in (1, 2))
    assert np.array_equal(one, two)
    assert np.array_equal(Isomap(n_neighbors=8).fit_transform(LARGE), Isomap(n_neighbors=8).fit_transform(LARGE))


@pytest.mark.parametrize("solver", ["dense", "arpack", "krylov"])
@pytest.mark.parametrize("X", [CURVE, LARGE], ids=["small", "large"])
def test_solvers_agree(solver, X):
    auto = Isomap(n_neighbors=8).fit_transform(X)
    assert np.allclose(Isomap(n_neighbors=8, eigen_solver=solver).fit_transform(X), auto, atol=1e-6)


# --- landmarks -------------------------------------------------------------------------------------------


def test_all_rows_as_landmarks_give_the_map_itself():
    whole, by_landmarks = Isomap(n_neighbors=8).fit(CURVE), Isomap(n_neighbors=8, landmarks=300).fit(CURVE)
    assert np.allclose(by_landmarks.embedding_, whole.embedding_, atol=1e-9)
    assert np.allclose(by_landmarks.residual_variance_, whole.residual_variance_)
    assert np.isclose(by_landmarks.reconstruction_error(), whole.reconstruction_error())


@pytest.mark.parametrize("count", [30, 120])
def test_landmarks_come_near_the_whole_map(count):
    whole, by_landmarks = Isomap(n_neighbors=8).fit(ROLL), Isomap(n_neighbors=8, landmarks=count).fit(ROLL)
    assert up_to_rotation(by_landmarks.embedding_, whole.embedding_) < 3e-4
    assert len(np.unique(by_landmarks.landmarks_)) == count


def test_landmark_scaling_is_de_silva_and_tenenbaums():
    given = np.arange(0, 300, 7)
    isomap = Isomap(n_neighbors=8, landmarks=given).fit(CURVE)
    assert np.array_equal(isomap.landmarks_, given)
    D = isomap.geodesics_[given] ** 2
    H = np.eye(len(given)) - 1 / len(given)
    values, vectors = np.linalg.eigh(-0.5 * H @ D[:, given] @ H)
    pseudo = (vectors[:, ::-1][:, :2] / np.sqrt(values[::-1][:2])).T
    expected = (-0.5 * pseudo @ (D - D[:, given].mean(axis=1, keepdims=True))).T
    assert np.allclose(np.abs(isomap.embedding_), np.abs(expected), atol=1e-9)


def test_landmarks_are_chosen_by_max_min_along_the_graph():
    isomap = Isomap(n_neighbors=8, landmarks=12, random_state=5).fit(CURVE)
    D = isomap.geodesics_
    for count in range(1, 12):
        chosen = isomap.landmarks_[:count]
        assert np.isclose(D[chosen, isomap.landmarks_[count]].min(), D[chosen].min(axis=0).max())


@pytest.mark.parametrize(
    ("landmarks", "message"),
    [
        (2, "Take more landmarks"),
        ([1, 1, 2, 3], "different row numbers"),
        ([0, 1, 2, 300], "different row numbers"),
        ([-1, 1, 2, 3], "different row numbers"),
        ([0.5, 1, 2, 3], "whole numbers"),
        ([[1, 2, 3]], "whole numbers"),
        ([], "whole numbers"),
    ],
)
def test_landmarks_that_cannot_be(landmarks, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Isomap(n_neighbors=8, landmarks=landmarks).fit(CURVE)


# --- graphs that fall apart ------------------------------------------------------------------------------


def test_joining_adds_the_minimum_spanning_tree_and_says_so():
    X = apart()
    with pytest.warns(DisconnectedGraphWarning, match="is 3: of 20, 12, 5 rows"):
        isomap = Isomap(n_neighbors=3).fit(X)
    assert isomap.n_connected_components_ == 3 and len(isomap.added_edges_) == 2
    labels = np.repeat([0, 1, 2], [20, 12, 5])
    for i, j, distance in isomap.added_edges_:
        between = cdist(X[labels == labels[i]], X[labels == labels[j]])
        assert np.isclose(distance, between.min()) and abs(labels[i] - labels[j]) == 1
    assert np.isfinite(isomap.embedding_).all() and np.isfinite(isomap.geodesics_).all()


def test_the_largest_part_is_mapped_as_if_alone_and_the_others_are_placed():
    X = apart()
    with pytest.warns(DisconnectedGraphWarning, match="other 17 rows are placed"):
        isomap = Isomap(n_neighbors=3, disconnected="largest").fit(X)
    alone = Isomap(n_neighbors=3).fit(X[:20])
    assert np.array_equal(isomap.fitted_rows_, np.arange(20))
    assert np.allclose(isomap.embedding_[:20], alone.embedding_)
    assert np.allclose(isomap.embedding_[20:], alone.transform(X[20:]))
    assert np.allclose(isomap.transform(X[:20] + 0.1), alone.transform(X[:20] + 0.1))
    assert isomap.embedding_.shape == (37, 2)


@pytest.mark.parametrize("reach", ["n_neighbors", "radius"])
def test_refusing_names_the_sizes_and_the_parameter_that_was_given(reach):
    given = {"n_neighbors": 3} if reach == "n_neighbors" else {"n_neighbors": None, "radius": 3.0}
    with pytest.raises(DisconnectedGraphError, match=f"of 20, 12, 5 rows. Raise {reach}, or"):
        Isomap(**given, disconnected="error").fit(apart())
    with pytest.warns(DisconnectedGraphWarning, match=f"joined by guess: raise {reach}"):
        Isomap(**given).fit(apart())


def test_a_sparse_graph_that_falls_apart_cannot_be_joined_but_its_largest_part_mapped():
    graph = kneighbors_graph(apart(), 3, mode="distance")
    with pytest.raises(DisconnectedGraphError, match="disconnected='largest'"):
        Isomap(n_neighbors=3, metric="precomputed").fit(graph)
    with pytest.warns(DisconnectedGraphWarning, match="left out"):
        isomap = Isomap(n_neighbors=3, metric="precomputed", disconnected="largest").fit(graph)
    alone = Isomap(n_neighbors=3).fit(apart()[:20])
    assert np.allclose(isomap.embedding_, alone.embedding_) and np.array_equal(isomap.fitted_rows_, np.arange(20))


def test_rows_beyond_a_radius_are_placed_by_the_nearest_row_of_the_largest_part():
    X = apart()
    with pytest.warns(DisconnectedGraphWarning, match="placed"):
        isomap = Isomap(n_neighbors=None, radius=3.0, disconnected="largest").fit(X)
    nearest = cdist(X[20:], X[:20]).argmin(axis=1)
    assert isomap.embedding_.shape == (37, 2) and np.isfinite(isomap.embedding_).all()
    along = np.linalg.norm(isomap.embedding_[20:] - isomap.embedding_[:20].mean(axis=0), axis=1)
    assert (along > np.linalg.norm(isomap.embedding_[nearest], axis=1)).all()


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DisconnectedGraphWarning")
def test_the_largest_part_of_given_distances_takes_new_rows():
    X = apart()
    isomap = Isomap(n_neighbors=3, metric="precomputed", disconnected="largest").fit(cdist(X, X))
    by_rows = Isomap(n_neighbors=3, disconnected="largest").fit(X)
    assert np.allclose(isomap.embedding_, by_rows.embedding_)
    assert np.allclose(isomap.transform(cdist(X[:9] + 0.1, X)), by_rows.transform(X[:9] + 0.1))


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DisconnectedGraphWarning")
def test_a_metric_with_numbers_from_the_data_keeps_those_of_all_rows():
    X = apart()
    isomap = Isomap(n_neighbors=3, metric=RBF(gamma="scale"), disconnected="largest").fit(X)
    edges = isomap.graph_[[0]].data
    assert np.isclose(isomap.index_.query(X[:1], 4).distances[0, 1], edges.min())
    assert np.allclose(isomap.transform(X[:20]), isomap.embedding_[:20], atol=1e-6)


def test_landmarks_outside_the_largest_part_are_refused():
    with pytest.raises(ValueError, match="outside the largest"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Isomap(n_neighbors=3, disconnected="largest", landmarks=[0, 1, 2, 30]).fit(apart())


# --- metrics ---------------------------------------------------------------------------------------------


def test_a_kernel_is_a_metric():
    kernel = RBF(gamma=0.3)
    isomap = Isomap(n_neighbors=8, metric=kernel).fit(CURVE)
    K = kernel(CURVE)
    D = np.sqrt(np.maximum(np.diag(K)[:, None] - 2 * K + np.diag(K), 0))
    by_distances = Isomap(n_neighbors=8, metric="precomputed").fit(D)
    assert np.allclose(isomap.embedding_, by_distances.embedding_, atol=1e-8)
    new = CURVE[:6] + 0.05
    crossed = np.sqrt(np.maximum(2 - 2 * kernel(new, CURVE), 0))
    assert np.allclose(isomap.transform(new), by_distances.transform(crossed), atol=1e-8)


def test_the_linear_kernel_is_the_euclidean_metric():
    assert np.allclose(
        Isomap(n_neighbors=8, metric=Linear()).fit_transform(CURVE),
        Isomap(n_neighbors=8).fit_transform(CURVE),
        atol=1e-6,
    )


def test_strings_by_a_kernel_of_strings():
    words = ["banana", "bandana", "cabana", "savanna", "panama", "havana", "ananas", "manna", "anna", "nana"]
    isomap = Isomap(n_neighbors=3, metric=Spectrum(2)).fit(words)
    assert isomap.embedding_.shape == (10, 2)
    assert np.allclose(isomap.transform(words[:4]), isomap.embedding_[:4])


def test_a_precomputed_graph_is_used_as_it_is():
    graph = kneighbors_graph(CURVE, 8, mode="distance")
    given = Isomap(n_neighbors=8, metric="precomputed").fit(graph)
    assert np.allclose(given.embedding_, Isomap(n_neighbors=8).fit_transform(CURVE), atol=1e-9)
    expected = shortest_path(graph, method="D", directed=False)
    assert np.allclose(given.geodesics_, expected)
    infinite = graph.copy().tolil()
    infinite[0, 200] = np.inf  # no edge at all
    infinite = sp.csr_matrix(infinite)
    assert np.allclose(Isomap(n_neighbors=8, metric="precomputed").fit_transform(infinite), given.embedding_, atol=1e-9)


def test_sparse_rows_and_float32():
    X = np.where(CURVE > 0, CURVE, 0)
    dense = Isomap(n_neighbors=10).fit_transform(X)
    assert np.allclose(Isomap(n_neighbors=10).fit_transform(sp.csr_array(X)), dense, atol=1e-8)
    single = Isomap(n_neighbors=8).fit(CURVE.astype(np.float32))
    assert single.embedding_.dtype == np.float32 and single.geodesics_.dtype == np.float32
    assert single.transform(CURVE[:3].astype(np.float32)).dtype == np.float32
    assert np.allclose(single.embedding_, Isomap(n_neighbors=8).fit_transform(CURVE), atol=1e-4)


# --- hard and bad input ----------------------------------------------------------------------------------


def test_copies_have_distance_zero_and_one_place():
    X = np.repeat(CURVE[:60], 3, axis=0)
    isomap = Isomap(n_neighbors=9).fit(X)
    assert np.allclose(isomap.embedding_[::3], isomap.embedding_[1::3], atol=1e-9)


def test_constant_data_is_one_point_and_says_so():
    with pytest.warns(DegenerateDataWarning):
        Y = Isomap(n_neighbors=3).fit_transform(np.ones((12, 2)))
    assert np.array_equal(Y, np.zeros((12, 2)))


def test_a_point_far_from_all_others_is_linked():
    X = np.concatenate([CURVE, [[1e6, 0, 0]]])
    Y = Isomap(n_neighbors=8).fit_transform(X)
    assert np.isfinite(Y).all() and abs(Y[-1, 0] - Y[0, 0]) > 9e5


def test_one_outlier_takes_no_digits_from_many_points():
    X = np.concatenate([LARGE, [[1e5, 0, 0]]])
    ours, theirs = Isomap(n_neighbors=8, n_components=3).fit(X), Peer(n_neighbors=8, n_components=3).fit(X)
    assert np.allclose(ours.eigenvalues_, theirs.kernel_pca_.eigenvalues_, rtol=1e-6)
    assert np.abs(ours.embedding_ - theirs.embedding_)[:, 1:].max() < 1e-5 * np.abs(theirs.embedding_[:, 1:]).max()


def test_parameters_changed_after_a_fit_do_not_change_its_map():
    isomap = Isomap(n_neighbors=8).fit(CURVE)
    before = isomap.transform(CURVE[:5] + 0.1)
    assert np.array_equal(isomap.set_params(n_neighbors=20).transform(CURVE[:5] + 0.1), before)


def test_a_warning_points_at_the_line_that_asked():
    for method in ("fit", "fit_transform"):
        with pytest.warns(DisconnectedGraphWarning) as caught:
            getattr(Isomap(n_neighbors=3), method)(apart())
        assert caught[0].filename == __file__


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_no_numbers(bad):
    X = CURVE.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        Isomap().fit(X)


@pytest.mark.parametrize(
    ("parameters", "X", "message"),
    [
        ({"n_neighbors": 300}, CURVE, "Expected n_neighbors"),
        ({"n_neighbors": 5, "radius": 1.0}, CURVE, "Both n_neighbors and radius"),
        ({"n_neighbors": None}, CURVE, "both None"),
        ({}, CURVE[:1], "minimum of 2"),
        ({}, np.empty((0, 3)), "0 sample"),
        ({"metric": "precomputed"}, CURVE, "square"),
        ({"metric": "precomputed"}, -np.ones((20, 20)), "egative"),
        ({"metric": "precomputed"}, np.full((20, 20), np.nan), "NaN"),
        ({"metric": "no metric"}, CURVE, "Unknown metric"),
        ({}, CURVE * 1e200, "Multiply the data"),
        ({}, CURVE * 1e-200, "Multiply the data"),
    ],
)
def test_what_cannot_be_mapped_is_refused(parameters, X, message):
    with pytest.raises(ValueError, match=message):
        Isomap(**parameters).fit(X)


def test_new_rows_that_cannot_be_placed_are_refused():
    isomap = Isomap(n_neighbors=None, radius=0.8).fit(CURVE)
    with pytest.raises(ValueError, match="1 of the new rows have no fitted row within"):
        isomap.transform([[0, 0, 0], [50, 50, 50.0]])
    with pytest.raises(ValueError, match="2 features"):
        isomap.transform([[0.0, 0.0]])
    with pytest.raises(NotFittedError):
        Isomap().transform(CURVE)


def test_memory_is_refused_before_it_is_taken():
    Isomap(n_neighbors=8).fit(CURVE)  # compiled code comes first
    limit = Isomap(n_neighbors=8, landmarks=100).plan(LARGE).needed_bytes  # all distances need 40 MB more
    with pytest.raises(MemoryLimitError, match="landmarks"):
        Isomap(n_neighbors=8, memory_limit=limit).fit(LARGE)
    assert Isomap(n_neighbors=8, memory_limit=limit, landmarks=40).fit(LARGE).embedding_.shape == (2500, 2)
    small = Isomap(n_neighbors=8, landmarks=40, memory_limit=limit).fit(LARGE)
    with pytest.raises(MemoryLimitError, match="graph_"):
        _ = small.geodesics_


def test_progress_is_said_only_when_asked(capsys):
    Isomap(n_neighbors=8).fit(CURVE)
    assert capsys.readouterr().err == ""
    Isomap(n_neighbors=8, verbose=True).fit(LARGE)
    said = capsys.readouterr().err
    assert "neighbours by kd_tree" in said and "pass 1" in said and "converged" in said


def test_more_components_than_the_distances_have():
    line = np.arange(30.0)[:, None]
    Y = Isomap(n_neighbors=2, n_components=1).fit_transform(line)
    assert np.allclose(np.abs(np.diff(Y[:, 0])), 1)
    assert Isomap(n_neighbors=2, n_components=3).fit_transform(line).shape == (30, 3)


def test_a_kernel_as_metric_can_name_columns():
    X = np.random.default_rng(0).standard_normal((60, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = Isomap(n_neighbors=8, metric=RBF(0.5).on(["c", "a"])).fit(frame)
    numbered = Isomap(n_neighbors=8, metric=RBF(0.5).on([2, 0])).fit(X)
    np.testing.assert_array_equal(named.embedding_, numbered.embedding_)
    np.testing.assert_array_equal(named.transform(frame[:5]), numbered.transform(X[:5]))
    with pytest.raises(ValueError, match="no column named 'd'"):
        Isomap(metric=RBF(0.5).on(["d"])).fit(frame)


def test_a_map_of_a_whole_graph_is_saved_with_its_infinite_radius(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 3))
    given = Isomap(n_neighbors=8).fit(X).graph_
    model = Isomap(metric="precomputed", n_neighbors=None, radius=np.inf).fit(given)
    model.save(tmp_path / "m.mercer")
    again = load(tmp_path / "m.mercer")
    links = sp.csr_array(cdist(X[:5] + 0.01, X))
    assert np.array_equal(again.embedding_, model.embedding_)
    assert np.array_equal(again.transform(links), model.transform(links))


# --- edges that are taken out ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def noisy():
    """A roll whose graph of 8 neighbours has two shortcuts, and the shortcuts."""
    X = make_swiss_roll(600, noise=0.3, random_state=0)[0]
    found = diagnose_neighbors(X, [8]).shortcuts[0]
    return X, np.column_stack([found.i, found.j])


@pytest.mark.parametrize("landmarks", [None, 100])
def test_a_graph_without_its_shortcuts_unrolls(noisy, landmarks):
    X, cut = noisy
    whole = Isomap(n_neighbors=8, landmarks=landmarks).fit(X)
    mended = Isomap(n_neighbors=8, landmarks=landmarks, cut_edges=cut).fit(X)
    missing = whole.graph_ - mended.graph_
    missing.eliminate_zeros()
    assert missing.nnz == 2 * len(cut) == 4 and all(missing[i, j] > 0 for i, j in cut)
    assert mended.residual_variance_[1] < 0.1 * whole.residual_variance_[1]


def test_the_map_is_that_of_the_graph_without_the_edges(noisy):
    X, cut = noisy
    graph = without_edges(Isomap(n_neighbors=8).fit(X).graph_, cut)
    of_graph = Isomap(metric="precomputed", n_neighbors=None, radius=np.inf).fit(graph)
    isomap = Isomap(n_neighbors=8, cut_edges=[(j, i) for i, j in cut.tolist()]).fit(X)  # in either order
    assert np.array_equal(isomap.embedding_, of_graph.embedding_)


@pytest.mark.parametrize("links", [{"n_neighbors": 8}, {"n_neighbors": None, "radius": 4.0}])
def test_fitted_rows_keep_their_places_without_the_edges(noisy, links):
    X, cut = noisy
    if "radius" in links:
        i, j = Isomap(**links).fit(X).graph_.nonzero()
        cut = np.column_stack([i, j])[:1]
    isomap = Isomap(**links, cut_edges=cut).fit(X)
    scale = np.abs(isomap.embedding_).max()
    assert np.allclose(isomap.transform(X), isomap.embedding_, atol=1e-9 * scale)
    ends = cut.ravel()
    # Places are continuous: rows nearer than any two of the table go where the row that they are beside is.
    assert np.allclose(isomap.transform(X[ends] + 1e-9), isomap.embedding_[ends], atol=1e-6 * scale)


def test_cut_edges_are_kept_in_a_model(noisy, tmp_path):
    X, cut = noisy
    for edges in (cut, [tuple(pair) for pair in cut.tolist()]):
        isomap = Isomap(n_neighbors=8, cut_edges=edges).fit(X)
        isomap.save(tmp_path / "isomap.mercer")
        again = load(tmp_path / "isomap.mercer")
        assert np.array_equal(np.asarray(again.cut_edges), cut)
        assert np.array_equal(again.transform(X[:20] + 0.01), isomap.transform(X[:20] + 0.01))


def test_edges_that_hold_the_graph_together_are_not_cut():
    chain = np.arange(10.0)[:, None]
    with pytest.raises(DisconnectedGraphError, match="4 rows would no longer be connected"):
        Isomap(n_neighbors=1, n_components=1, cut_edges=[(3, 4)]).fit(
            np.sqrt(1 + chain)
        )  # each row's next is before it
    with pytest.warns(DisconnectedGraphWarning):
        largest = Isomap(n_neighbors=1, n_components=1, cut_edges=[(3, 4)], disconnected="largest").fit(chain**2)
    assert largest.fitted_rows_.tolist() == [4, 5, 6, 7, 8, 9]
    whole, same = (Isomap(n_neighbors=2, n_components=1, cut_edges=cut).fit(chain) for cut in (None, [(0, 9)]))
    assert np.array_equal(whole.embedding_, same.embedding_)  # there is no such edge


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DisconnectedGraphWarning")
def test_connections_that_were_added_are_not_cut():
    X = apart()
    (i, j, _), *_ = Isomap(n_neighbors=4).fit(X).added_edges_
    with pytest.raises(DisconnectedGraphError, match="nothing else holds together"):
        Isomap(n_neighbors=4, cut_edges=[(j, i)]).fit(X)
    assert Isomap(n_neighbors=4, cut_edges=[(j, i)], disconnected="largest").fit(X).n_connected_components_ == 3


@pytest.mark.parametrize(
    "cut", [[(0, 300)], [(-1, 3)], [(2, 2)], [(0.5, 1.0)], [1, 2], [(1, 2, 3)], "12", [("a", "b")]]
)
def test_cut_edges_that_are_none_are_refused(cut):
    with pytest.raises(ValueError, match="cut_edges"):
        Isomap(cut_edges=cut).fit(CURVE)


def test_a_source_has_no_edges_to_cut():
    with pytest.raises(ValueError, match="table in memory"):
        Isomap(landmarks=20, cut_edges=[(0, 1)]).fit(open_rows(CURVE))
