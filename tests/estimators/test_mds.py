"""MDS: scikit-learn's interface, less stress than its, and what it lacks: new rows, weights, missing pairs, memory."""

import warnings
from inspect import signature

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits, load_iris, make_swiss_roll
from sklearn.manifold import MDS as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import MDS, ClassicalMDS, smacof
from mercer.exceptions import DisconnectedGraphError, MemoryLimitError, NotConvergedWarning
from mercer.kernels import RBF

IRIS = load_iris().data
DIGITS = load_digits().data[:300]
RNG = np.random.default_rng(0)
PLANE = RNG.standard_normal((60, 2))  # distances that a map of two dimensions can have

pytestmark = pytest.mark.filterwarnings("ignore::mercer.exceptions.NotConvergedWarning")


@parametrize_with_checks([MDS(), MDS(1, metric_mds=False, init="random"), MDS(metric="manhattan", eps=1e-12)])
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)


def raw_stress(D, Z, W=None):
    """Σ w(δ − d)² over pairs, from its definition."""
    error = (D - cdist(Z, Z)) ** 2
    return np.nansum(error if W is None else W * error) / 2


# --- the map ---------------------------------------------------------------------------------------------------


def test_distances_in_the_plane_are_found_again():
    D = cdist(PLANE, PLANE)
    mds = MDS(metric="precomputed", init="random", random_state=1, n_init=4, eps=1e-14).fit(D)
    assert np.allclose(cdist(mds.embedding_, mds.embedding_), D, atol=1e-5)
    assert np.array_equal(mds.dissimilarity_matrix_, D)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", RBF(gamma=0.1)])
def test_rows_with_a_metric_are_their_matrix(metric):
    by_rows = MDS(metric=metric, eps=1e-9).fit(IRIS[::2])
    D = by_rows.dissimilarity_matrix_
    given = MDS(metric="precomputed", eps=1e-9).fit(D, init=by_rows.embedding_)
    assert raw_stress(D, by_rows.embedding_) == pytest.approx(by_rows.stress_)
    assert given.stress_ == pytest.approx(by_rows.stress_, rel=1e-4)


beside_scikit_learn = pytest.mark.skipif(
    "metric_mds" not in signature(Peer).parameters, reason="scikit-learn's MDS has other parameters before 1.8"
)


@beside_scikit_learn
@pytest.mark.parametrize("metric_mds", [True, False])
def test_stress_is_not_above_scikit_learns_from_the_same_start(metric_mds):
    rows = DIGITS[:100]
    start = np.random.RandomState(3).uniform(size=(len(rows), 2))
    settings = {"metric_mds": metric_mds, "normalized_stress": True, "n_init": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = Peer(**settings, eps=1e-9, max_iter=200, init="random").fit(rows, init=start.copy())
    ours = MDS(**settings, eps=1e-9, max_iter=200).fit(rows, init=start)
    # Theirs measures non-metric distances against disparities of another scale: sin of the same angle is smaller.
    angle = theirs.stress_ if metric_mds else np.sin(np.arctan(theirs.stress_))
    assert ours.stress_ <= angle * 1.001  # both may end in different minima of nearly equal stress


@beside_scikit_learn
def test_a_random_start_is_that_of_scikit_learn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        theirs = Peer(max_iter=1, init="random", random_state=7, n_init=1).fit(IRIS)
    ours = MDS(max_iter=1, init="random", random_state=7).fit(IRIS)
    centred = theirs.embedding_ - theirs.embedding_.mean(axis=0)
    assert np.allclose(ours.embedding_, centred) and ours.stress_ == pytest.approx(theirs.stress_)


def test_the_map_is_stationary_and_the_residual_says_so():
    mds = MDS(eps=1e-13, max_iter=2000).fit(IRIS[::3])
    D, Z = mds.dissimilarity_matrix_, mds.embedding_
    d = cdist(Z, Z) + np.eye(len(D))
    B = D / d
    guttman = (B.sum(axis=1)[:, None] * Z - B @ Z) / len(D)
    assert np.linalg.norm(Z - guttman) / np.linalg.norm(Z) == pytest.approx(mds.residual_, abs=1e-9)
    assert mds.residual_ < 1e-5 and mds.report_.converged


def test_non_metric_stress_is_kruskals_and_its_disparities_rise():
    mds = MDS(metric_mds=False).fit(IRIS[::2])
    delta, d = pdist(IRIS[::2]), pdist(mds.embedding_)
    levels, place, counts = np.unique(np.round(delta, 9), return_inverse=True, return_counts=True)
    means = np.bincount(place, d) / counts
    fitted = isotonic_regression(means, weights=counts).x[place]
    assert mds.stress_ == pytest.approx(np.sqrt(((fitted - d) ** 2).sum() / (d**2).sum()), rel=1e-6)
    assert np.mean(fitted**2) == pytest.approx(1.0, rel=1e-6)  # the scale of the map
    assert (np.diff(mds.disparity_curve_, axis=0) >= 0).all()
    assert len(levels) > 100


def test_only_the_order_of_dissimilarities_counts_for_non_metric_maps():
    D = cdist(IRIS[::3], IRIS[::3])
    start = RNG.standard_normal((len(D), 2))
    # expm1 keeps order and ties. The first step reads values, so both begin near the end.
    near = MDS(metric="precomputed", metric_mds=False, eps=1e-12, max_iter=1000).fit(D, init=start).embedding_
    a = MDS(metric="precomputed", metric_mds=False, eps=1e-12, max_iter=1000).fit(D, init=near)
    b = MDS(metric="precomputed", metric_mds=False, eps=1e-12, max_iter=1000).fit(np.expm1(D / 8), init=near)
    assert a.stress_ == pytest.approx(b.stress_, rel=0.02)


def test_many_rows_are_computed_in_float32_and_the_stress_in_float64():
    X = make_swiss_roll(1300, random_state=0)[0]
    mds = MDS().fit(X)
    assert "float32" in mds.report_.reason
    exact = ((pdist(X) - pdist(mds.embedding_)) ** 2).sum()
    assert mds.stress_ == pytest.approx(exact, rel=1e-10)
    fine = MDS(eps=1e-10).fit(X)
    assert "float64" in fine.report_.reason and fine.stress_ <= mds.stress_


def test_rows_that_do_not_fit_are_computed_in_every_step_and_give_the_same_map():
    X = make_swiss_roll(1300, random_state=0)[0]
    kept = MDS(n_jobs=1).fit(X)
    needed = kept.plan(X).needed_bytes
    streamed = MDS(memory_limit=needed - 1_000_000, n_jobs=1).fit(X)
    assert "every step" in streamed.report_.reason
    # Both compute pairs in float32, from δ that were rounded or not: half a unit in the last place of float32 each.
    assert streamed.stress_ == pytest.approx(kept.stress_, rel=1e-4)
    with pytest.raises(MemoryLimitError, match="Nothing was allocated"):
        MDS(memory_limit="1MB").fit(X)


def test_the_same_bits_in_every_run():
    X = make_swiss_roll(1100, random_state=0)[0]
    first, second = (MDS(init="random", max_iter=5, n_jobs=2).fit_transform(X) for _ in range(2))
    assert np.array_equal(first, second)


def test_more_starts_never_end_with_more_stress():
    one, four = (MDS(n_init=count, random_state=5).fit(IRIS[::2]).stress_ for count in (1, 4))
    assert four <= one


def test_columns_that_classical_scaling_leaves_flat_are_used():
    line = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    D = np.minimum(line, 12 - line)  # along a circle
    start = ClassicalMDS(3, metric="precomputed").fit_transform(D)
    assert MDS(3, metric="precomputed").fit(D).stress_ < raw_stress(D, start)


# --- weights and missing pairs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [80, 1100])
def test_missing_pairs_are_left_out(n):
    """Exact distances in the plane determine the map, so the pairs left out are found too."""
    points = np.random.default_rng(n).standard_normal((n, 2))
    D = cdist(points, points)
    gaps = np.triu(np.random.default_rng(1).random((n, n)) < 0.4, 1)
    known = np.where(gaps | gaps.T, np.nan, D)
    mds = MDS(metric="precomputed", allow_missing=True, eps=1e-12, max_iter=1000).fit(known)
    assert raw_stress(known, mds.embedding_) == pytest.approx(mds.stress_, abs=1e-6)
    assert np.allclose(cdist(mds.embedding_, mds.embedding_), D, atol=1e-3)


@pytest.mark.parametrize("n", [70, 1100])
def test_zero_weights_are_missing_pairs(n):
    rows = np.random.default_rng(2).standard_normal((n, 4))
    D = cdist(rows, rows)
    gaps = np.triu(np.random.default_rng(1).random((n, n)) < 0.2, 1)
    gaps = gaps | gaps.T
    start = np.random.default_rng(3).standard_normal((n, 2))
    missing = MDS(metric="precomputed", allow_missing=True, max_iter=8, eps=1e-10)
    missing.fit(np.where(gaps, np.nan, D), init=start)
    weighted = MDS(metric="precomputed", max_iter=8, eps=1e-10).fit(D, init=start, weights=(~gaps).astype(float))
    # The curvature bound is the same, n, so the steps are; sums are taken in another order.
    assert np.allclose(missing.embedding_, weighted.embedding_, atol=1e-7)
    assert missing.stress_ == pytest.approx(weighted.stress_, rel=1e-9)


def test_weights_say_what_each_pair_counts():
    rows = IRIS[::3]
    D = cdist(rows, rows)
    W = np.exp(-D)
    mds = MDS(eps=1e-10, max_iter=1000).fit(rows, weights=W)
    plain = MDS(eps=1e-10, max_iter=1000).fit(rows)
    assert mds.stress_ == pytest.approx(raw_stress(D, mds.embedding_, W))
    assert mds.stress_ < raw_stress(D, plain.embedding_, W)
    assert plain.stress_ < raw_stress(D, mds.embedding_)


def test_non_metric_maps_leave_missing_pairs_out():
    D = cdist(IRIS[::3], IRIS[::3])
    gaps = np.triu(np.random.default_rng(1).random(D.shape) < 0.3, 1)
    known = np.where(gaps | gaps.T, np.nan, D)
    mds = MDS(metric="precomputed", allow_missing=True, metric_mds=False).fit(known)
    d = pdist(mds.embedding_)
    use = ~np.isnan(squareform(known, checks=False))
    levels, place, counts = np.unique(np.round(pdist(IRIS[::3])[use], 9), return_inverse=True, return_counts=True)
    fitted = isotonic_regression(np.bincount(place, d[use]) / counts, weights=counts).x[place]
    found = np.sqrt(((fitted - d[use]) ** 2).sum() / (d[use] ** 2).sum())
    assert len(levels) > 100 and mds.stress_ == pytest.approx(found, rel=1e-6)


def test_what_cannot_be_a_dissimilarity_is_refused_with_advice():
    D = cdist(PLANE, PLANE)
    bad = D.copy()
    bad[0, 1] = bad[1, 0] = np.nan
    with pytest.raises(ValueError, match="allow_missing=True"):
        MDS(metric="precomputed").fit(bad)
    with pytest.raises(ValueError, match="negative"):
        MDS(metric="precomputed").fit(D - 1)
    with pytest.raises(ValueError, match="symmetric"):
        MDS(metric="precomputed").fit(np.triu(D))
    with pytest.raises(ValueError, match="square"):
        MDS(metric="precomputed").fit(D[:20])
    with pytest.raises(ValueError, match="infinity"):
        MDS(metric="precomputed").fit(np.where(D > 3, np.inf, D))
    parts = np.full((6, 6), np.nan)
    parts[:3, :3] = parts[3:, 3:] = 1.0
    with pytest.raises(DisconnectedGraphError, match="2 separate parts"):
        MDS(metric="precomputed", allow_missing=True).fit(parts)
    with pytest.raises(ValueError, match="2 separate parts"):
        MDS(metric="precomputed").fit(np.ones((6, 6)) - np.eye(6), weights=np.kron(np.eye(2), np.ones((3, 3))))
    with pytest.raises(ValueError, match="shape"):
        MDS().fit(PLANE, weights=np.ones((3, 3)))
    with pytest.raises(ValueError, match="does not accept weights"):
        MDS(metric_mds=False).fit(PLANE, weights=np.ones((60, 60)))
    with pytest.raises(ValueError, match="init matrix"):
        MDS().fit(PLANE, init=np.ones((3, 2)))


# --- new rows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric_mds", [True, False])
def test_fitted_rows_of_a_converged_map_keep_their_places(metric_mds):
    mds = MDS(metric_mds=metric_mds, eps=1e-13, max_iter=3000).fit(IRIS[::2])
    size = np.abs(mds.embedding_).max()
    assert np.abs(mds.transform(IRIS[::2]) - mds.embedding_).max() < 0.01 * size


def test_new_rows_are_placed_where_their_distances_say():
    mds = MDS(eps=1e-12).fit(PLANE[:40])
    new = mds.transform(PLANE[40:])
    assert np.allclose(cdist(new, mds.embedding_), cdist(PLANE[40:], PLANE[:40]), atol=1e-4)
    given = MDS(metric="precomputed", eps=1e-12).fit(cdist(PLANE[:40], PLANE[:40]))
    placed = given.transform(cdist(PLANE[40:], PLANE[:40]))
    assert np.allclose(cdist(placed, given.embedding_), cdist(PLANE[40:], PLANE[:40]), atol=1e-4)


def test_missing_distances_of_new_rows_are_left_out():
    D = cdist(PLANE, PLANE)
    mds = MDS(metric="precomputed", allow_missing=True, eps=1e-12).fit(D[:40, :40])
    new = D[40:, :40].copy()
    new[:, ::3] = np.nan
    assert np.allclose(cdist(mds.transform(new), mds.embedding_), D[40:, :40], atol=1e-4)
    with pytest.raises(ValueError, match="no known dissimilarity"):
        mds.transform(np.full((1, 40), np.nan))


# --- interface -----------------------------------------------------------------------------------------------------


def test_old_names_of_parameters_work_and_warn():
    D = cdist(PLANE, PLANE)
    with pytest.warns(FutureWarning, match="`dissimilarity` parameter is"):
        old = MDS(dissimilarity="precomputed").fit(D)
    assert np.array_equal(old.embedding_, MDS(metric="precomputed").fit_transform(D))
    with pytest.warns(FutureWarning, match="Use metric_mds"):
        old = MDS(metric=False).fit(PLANE)
    assert np.array_equal(old.embedding_, MDS(metric_mds=False).fit_transform(PLANE))
    with pytest.raises(ValueError, match="provided both `dissimilarity`"):
        MDS(metric="cosine", dissimilarity="euclidean").fit(PLANE)


@pytest.mark.parametrize("metric_mds", [True, False])
def test_normalized_stress_is_for_non_metric_maps_unless_it_is_asked_for(metric_mds):
    auto = MDS(metric_mds=metric_mds).fit(IRIS[::3]).stress_
    assert auto == MDS(metric_mds=metric_mds, normalized_stress=not metric_mds).fit(IRIS[::3]).stress_
    assert auto != MDS(metric_mds=metric_mds, normalized_stress=metric_mds).fit(IRIS[::3]).stress_


def test_a_square_matrix_of_rows_and_an_ignored_number_of_starts_are_pointed_out():
    with pytest.warns(UserWarning, match="square matrix"):
        MDS().fit(PLANE[:10] @ PLANE[:10].T)
    with pytest.warns(UserWarning, match="only one init"):
        MDS(n_init=3).fit(PLANE, init=PLANE)


def test_too_few_steps_give_a_warning_and_the_map_so_far():
    with pytest.warns(NotConvergedWarning, match="max_iter=2"):
        mds = MDS(max_iter=2, init="random").fit(DIGITS)
    assert mds.n_iter_ == 2 and not mds.report_.converged and np.isfinite(mds.embedding_).all()


def test_callbacks_see_the_stress_fall_and_can_end_the_steps(capsys):
    seen = []
    MDS(init="random", callbacks=lambda steps, stress, _: seen.append(stress)).fit(IRIS[::3])
    assert len(seen) > 5 and np.all(np.diff(seen) < 0)
    stopped = MDS(init="random", callbacks=lambda steps, stress, _: steps >= 3, verbose=2).fit(IRIS[::3])
    assert 3 <= stopped.n_iter_ <= 6 and "callback" in stopped.report_.ended
    assert "Iteration 1, stress" in capsys.readouterr().out


def test_ctrl_c_keeps_the_map_so_far():
    def interrupt(steps, stress, embedding):
        if steps == 4:
            raise KeyboardInterrupt

    with pytest.warns(NotConvergedWarning, match="Interrupted after 4 steps"):
        mds = MDS(init="random", callbacks=interrupt).fit(IRIS)
    assert mds.stress_ == pytest.approx(raw_stress(mds.dissimilarity_matrix_, mds.embedding_))


def test_csr_rows_and_float32_rows():
    dense = MDS().fit(IRIS[::3])
    assert MDS().fit(sp.csr_array(IRIS[::3])).stress_ == pytest.approx(dense.stress_, rel=1e-3)
    assert MDS().fit_transform(IRIS.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("metric_mds", [True, False])
def test_saved_and_loaded_it_places_rows_with_the_same_bits(metric_mds, tmp_path):
    mds = MDS(metric_mds=metric_mds, metric="manhattan").fit(IRIS[::2])
    mds.save(tmp_path / "map.mercer")
    loaded = mercer.load(tmp_path / "map.mercer")
    assert np.array_equal(loaded.transform(IRIS[1::2]), mds.transform(IRIS[1::2]))
    assert np.array_equal(loaded.dissimilarity_matrix_, mds.dissimilarity_matrix_)


def test_smacof_gives_what_the_estimator_gives():
    D = cdist(IRIS[::3], IRIS[::3])
    points, stress, steps = smacof(D, random_state=4, return_n_iter=True)
    mds = MDS(metric="precomputed", init="random", random_state=4).fit(D)
    assert np.array_equal(points, mds.embedding_) and (stress, steps) == (mds.stress_, mds.n_iter_)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e150])
def test_rows_of_any_scale_have_a_map(scale):
    """Squares of the smallest rows vanish, so classical scaling sees nothing, and the start must not overflow."""
    rows = np.random.default_rng(0).standard_normal((14, 3))
    model = MDS(2, max_iter=300).fit(rows * scale)
    assert np.isfinite([model.stress_, model.residual_]).all() and model.residual_ < 1e-2
    left = pdist(rows) - pdist(model.embedding_ / scale)
    assert np.sum(left**2) < np.sum(pdist(rows) ** 2) / 4  # better than one point for all rows, from whichever start


def test_the_plan_counts_the_start_that_the_fit_will_make():
    """A random start forms no matrix, one by classical scaling forms one of all rows, or of landmarks beyond 2048."""
    few, many = np.broadcast_to(0.0, (2000, 3)), np.broadcast_to(0.0, (5000, 3))
    start = "matrices of all rows or landmarks"
    sizes = [
        model.plan(X).footprint.steps["start"][start]
        for model, X in [
            (MDS(init="random"), few),
            (MDS(), many),  # principal axes take its place for Euclidean rows
            (MDS(metric="manhattan"), many),
            (MDS(), few),
            (MDS(metric="precomputed"), np.broadcast_to(0.0, (2000, 2000))),
        ]
    ]
    assert sizes[0] == sizes[1] == 0 < sizes[2] < 8 * 2000**2 < sizes[3] < sizes[4]
