"""What SNE and t-SNE share: the descent, new rows, and data of every bad kind."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.manifold import SpectralEmbedding, trustworthiness
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier, kneighbors_graph

from mercer import SNE, TSNE, load
from mercer.embedding.affinities import Affinities
from mercer.embedding.weighting import Uniform
from mercer.exceptions import DegenerateDataWarning, MercerWarning, NotConvergedWarning

RNG = np.random.default_rng(0)
X = np.vstack([RNG.standard_normal((40, 4)), RNG.standard_normal((40, 4)) + 8, RNG.standard_normal((40, 4)) - 8])
GROUP = np.repeat([0, 1, 2], 40)
NEW = np.vstack([RNG.standard_normal((5, 4)), RNG.standard_normal((5, 4)) + 8])
CLASSES = [TSNE, SNE]


def quick(cls=TSNE, **parameters):
    return cls(**({"perplexity": 8, "max_iter": 300} | parameters))


# --- the descent ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_fit_and_optimize_is_one_longer_fit(cls):
    whole = quick(cls, max_iter=400).fit(X)
    parts = quick(cls, max_iter=300).fit(X).optimize(60).optimize(40)
    assert_array_equal(whole.embedding_, parts.embedding_)
    assert (whole.n_iter_, whole.kl_divergence_) == (parts.n_iter_, parts.kl_divergence_)


def test_many_points_gain_momentum_after_they_have_unfolded():
    """From 5,000 points on: 0.8 until 100 steps after the exaggeration, then 0.9, in one fit or in parts."""
    rows = RNG.standard_normal((5000, 3)).astype(np.float32)
    start = {"affinities": Affinities.of(rows, Uniform(10)), "early_exaggeration_iter": 4}
    whole = TSNE(max_iter=112, **start).fit(rows)
    parts = TSNE(max_iter=2, **start).fit(rows).optimize(60).optimize(50)
    assert_array_equal(whole.embedding_, parts.embedding_)
    by_hand = TSNE(max_iter=4, **start).fit(rows).optimize(100, momentum=0.8).optimize(8, momentum=0.9)
    assert_array_equal(whole.embedding_, by_hand.embedding_)


def test_optimize_checks_its_number():
    model = quick().fit(X)
    for bad in (0, -3, 1.5, "many"):
        with pytest.raises(ValueError, match="n_iter"):
            model.optimize(bad)


def test_fixed_points_stay_where_they_are_put():
    init = 10 * RNG.standard_normal((120, 2)).astype(np.float32)
    for fixed in (np.arange(120) % 2 == 0, np.arange(0, 120, 2)):
        model = quick(init=init, fixed=fixed).fit(X)
        assert_array_equal(model.embedding_[::2], init[::2])
        assert np.all(model.embedding_[1::2] != init[1::2])


@pytest.mark.parametrize("fixed", [np.zeros(3, bool), [200], [0.5], [[1]]])
def test_fixed_points_that_do_not_exist(fixed):
    with pytest.raises(ValueError, match="fixed must be a mask"):
        quick(init=np.zeros((120, 2)), fixed=fixed).fit(X)


def test_fixed_points_need_places():
    with pytest.raises(ValueError, match="give init"):
        quick(fixed=[0]).fit(X)


def test_callbacks_and_snapshots():
    seen = []
    model = quick(callbacks=lambda steps, kl, Y: seen.append((steps, kl)), callback_every=100, snapshots=150).fit(X)
    assert [steps for steps, _ in seen] == [100, 200, 300]
    assert [steps for steps, _ in model.snapshots_] == [150, 300]
    assert_array_equal(model.snapshots_[-1][1], model.embedding_)
    stopped = quick(callbacks=[lambda steps, kl, Y: steps >= 200], callback_every=100).fit(X)
    assert stopped.report_.ended == "stopped by a callback" and stopped.report_.steps == 200
    assert np.isfinite(stopped.kl_divergence_)


def test_interrupting_keeps_the_map():
    def press(steps, kl, Y):
        raise KeyboardInterrupt

    with pytest.warns(NotConvergedWarning, match="The map so far is kept"):
        model = quick(callbacks=press, callback_every=270).fit(X)
    assert model.report_.ended == "interrupted" and model.embedding_.shape == (120, 2)
    model.set_params(callbacks=None)
    assert_array_equal(model.optimize(30).embedding_, quick(max_iter=300).fit(X).embedding_)


def test_going_on_finishes_the_first_phase_first():
    short = quick(max_iter=100).fit(X)
    assert_array_equal(short.optimize(200).embedding_, quick(max_iter=300).fit(X).embedding_)
    assert short.report_.steps == 300


@pytest.mark.parametrize(
    "given", [{"exaggeration": 0}, {"exaggeration": -1.0}, {"learning_rate": -5}, {"learning_rate": "fast"}]
)
def test_going_on_with_impossible_numbers(given):
    with pytest.raises(ValueError, match="must be a positive, finite number"):
        quick(max_iter=50).fit(X).optimize(10, **given)


def test_other_weightings_keep_their_neighbours_when_the_sums_are_exact():
    model = quick(affinities=Uniform(12), method="exact", max_iter=20).fit(X)
    assert model.affinities_.P.nnz < 0.4 * len(X) ** 2


def test_new_rows_beside_a_far_cluster_are_not_taken_for_fitted_ones():
    near = np.random.default_rng(0).standard_normal((26, 4))
    rows = np.concatenate([near[:20], 1e7 + np.random.default_rng(1).standard_normal((100, 4))])
    model = quick(perplexity=10).fit(rows)
    places = model.transform(near[20:])
    assert not any((places[i] == model.embedding_).all(axis=1).any() for i in range(6))


def test_parameters_changed_after_a_fit_do_not_change_its_map():
    model = quick().fit(X)
    before = model.transform(X[:4] + 0.01)
    assert_array_equal(model.set_params(dof=5.0, method="exact").transform(X[:4] + 0.01), before)


def test_a_sparse_column_varies():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(max_iter=20).fit(sp.csr_array(X[:, :1]))


def test_stops_when_the_divergence_no_longer_falls():
    model = quick(SNE, max_iter=5000, n_iter_without_progress=100, min_grad_norm=0).fit(X)
    assert model.report_.ended == "no progress" and model.n_iter_ < 4999


def test_the_report():
    model = quick().fit(X)
    assert model.report_.recall == 1.0 and model.report_.steps == 300 and "exact" in model.report_.repulsion
    assert "300 steps" in str(model.report_)
    assert_allclose(model.learning_rate_, 120 / 12 / 4)


# --- new rows ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_fitted_rows_keep_their_places(cls):
    model = quick(cls).fit(X)
    assert_array_equal(model.transform(X), model.embedding_)


@pytest.mark.parametrize("method", ["exact", "grid"])
@pytest.mark.parametrize("cls", CLASSES)
def test_new_rows_go_to_their_group(cls, method):
    model = quick(cls, method=method).fit(X)
    nearest = KNeighborsClassifier(5).fit(model.embedding_, GROUP)
    assert_array_equal(nearest.predict(model.transform(NEW)), np.repeat([0, 1], 5))


def test_new_rows_do_not_know_of_each_other():
    model = quick().fit(X)
    together = model.transform(NEW)
    assert_array_equal(np.vstack([model.transform(NEW[i : i + 1]) for i in range(10)]), together)
    assert_array_equal(model.transform(NEW[::-1]), together[::-1])


def test_new_digits_land_among_their_kind():
    """As good as their neighbours in the data are: within two per cent of nearest neighbours on the pixels."""
    digits, kind = load_digits(return_X_y=True)
    model = TSNE(max_iter=500).fit(digits[:1400])
    before = KNeighborsClassifier(10).fit(digits[:1400], kind[:1400]).score(digits[1400:], kind[1400:])
    after = KNeighborsClassifier(10).fit(model.embedding_, kind[:1400])
    assert after.score(model.transform(digits[1400:]), kind[1400:]) > before - 0.02
    assert trustworthiness(digits[:1400], model.embedding_, n_neighbors=10) > 0.98


def test_new_rows_begin_where_they_are_told_to():
    model = quick().fit(X)
    found, weights = model.affinities_.to_new(NEW)
    mean = np.einsum("mk,mkc->mc", weights, model.embedding_[found.indices])
    assert_allclose(model.transform(NEW, init="mean", n_iter=0), mean, rtol=1e-5)
    given = RNG.standard_normal((10, 2)).astype(np.float32)
    before = given.copy()
    assert_array_equal(model.transform(NEW, init=given, n_iter=0), given)
    model.transform(NEW, init=given)
    assert_array_equal(given, before)
    for bad in (given[:4], "random", np.full((10, 2), np.nan)):
        with pytest.raises(ValueError, match="init"):
            model.transform(NEW, init=bad)


def test_new_rows_go_on_from_where_they_were():
    """Without momentum to lose, few steps and then the rest lead where all of them lead at once."""
    model = quick().fit(X)
    whole = model.transform(NEW, n_iter=400)
    parts = model.transform(NEW, init=model.transform(NEW, n_iter=200), n_iter=200)
    assert_allclose(parts, whole, atol=1e-2 * np.ptp(model.embedding_))


def test_the_perplexity_of_new_rows():
    model = quick().fit(X)
    assert_array_equal(model.transform(NEW, perplexity=8), model.transform(NEW))
    assert not np.array_equal(model.transform(NEW, perplexity=3), model.transform(NEW))
    assert model.transform(NEW, perplexity=[3, 20]).shape == (10, 2)
    with pytest.raises(ValueError, match="perplexity"):
        model.transform(NEW, perplexity=200)


@pytest.mark.parametrize("given", [{"n_iter": -1}, {"n_iter": 2.5}, {"learning_rate": 0}, {"exaggeration": -1}])
def test_the_descent_of_new_rows_checks_its_numbers(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        quick(max_iter=20).fit(X).transform(NEW, **given)


# --- affinities, starts and searches that are given -----------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_affinities_of_another_fit_save_the_search(cls):
    first = quick().fit(X)
    again = quick(cls, affinities=first.affinities_).fit(X)
    assert again.affinities_ is first.affinities_
    assert_array_equal(again.embedding_, quick(cls).fit(X).embedding_)
    assert_array_equal(again.transform(X), again.embedding_)


def test_affinities_without_rows():
    found = Affinities.of(X, 8)
    model = quick(affinities=found).fit()
    assert KNeighborsClassifier(2).fit(model.embedding_, GROUP).score(model.embedding_, GROUP) == 1.0
    assert model.transform(NEW).shape == (10, 2)
    assert_array_equal(quick(affinities=found).fit_transform(None), model.embedding_)
    with pytest.raises(ValueError, match="needs rows"):
        quick(affinities=found, init="pca").fit()
    with pytest.raises(ValueError, match="120 rows"):
        quick(affinities=found).fit(X[:50])


def test_affinities_travel_with_clones_and_model_files(tmp_path):
    model = clone(quick(affinities=Affinities.of(X, 8))).fit()
    model.save(tmp_path / "map.mercer")
    again = load(tmp_path / "map.mercer")
    assert_array_equal(again.transform(NEW), model.transform(NEW))
    assert_array_equal(clone(again).fit().embedding_, model.embedding_)


def test_no_rows_and_no_affinities():
    with pytest.raises(ValueError, match="None"):
        quick().fit()


def test_a_spectral_start_is_that_of_scikit_learn():
    """The slowest directions of the walk are the eigenvectors of the normalised Laplacian, but for their scale."""
    rows = RNG.standard_normal((150, 20)) * np.r_[8.0, 4.0, np.ones(18)]
    model = TSNE(init="spectral", max_iter=0).fit(rows)
    P = model.affinities_.P.toarray().astype(float)
    wanted = SpectralEmbedding(affinity="precomputed", random_state=0).fit_transform(P)
    for axis in (0, 1):
        assert abs(np.corrcoef(model.embedding_[:, axis], wanted[:, axis])[0, 1]) > 0.99


def test_distances_and_affinities_begin_with_spectral_coordinates():
    D = pairwise_distances(X)
    assert_array_equal(
        quick(metric="precomputed", max_iter=0).fit_transform(D),
        quick(metric="precomputed", init="spectral", max_iter=0).fit_transform(D),
    )
    model = quick(affinities="precomputed").fit(quick().fit(X).affinities_.P)
    assert KNeighborsClassifier(2).fit(model.embedding_, GROUP).score(model.embedding_, GROUP) == 1.0


def test_no_steps_keep_the_start():
    start = RNG.standard_normal((120, 2)).astype(np.float32)
    model = quick(init=start, max_iter=0).fit(X)
    assert_array_equal(model.embedding_, start)
    assert model.n_iter_ == 0 and model.report_.steps == 0 and np.isfinite(model.kl_divergence_)
    assert_array_equal(model.optimize(300).embedding_, quick(init=start).fit(X).embedding_)


def test_the_number_of_exaggerated_steps():
    """No exaggerated steps are an exaggeration of one throughout, and as many as there are steps never end."""
    none = quick(early_exaggeration_iter=0, max_iter=100).fit(X)
    assert_array_equal(none.embedding_, quick(max_iter=0).fit(X).optimize(100, exaggeration=1.0).embedding_)
    short = quick(early_exaggeration_iter=40, max_iter=100).fit(X)
    parts = quick(max_iter=0).fit(X).optimize(40, exaggeration=12.0).optimize(60, exaggeration=1.0)
    assert_array_equal(short.embedding_, parts.embedding_)


def test_going_on_with_callbacks_and_momentum():
    seen = []
    model = quick(max_iter=0, callbacks=lambda *_: seen.append("own"), callback_every=10).fit(X)
    model.optimize(20, callbacks=lambda steps, kl, Y: seen.append(steps), callback_every=5)
    assert seen == [5, 10, 15, 20]
    model.optimize(10)
    assert seen[4:] == ["own"]
    still, moving = (quick(max_iter=0).fit(X).optimize(30, momentum=m).embedding_ for m in (0.0, 0.5))
    assert not np.array_equal(still, moving)
    for bad in ({"momentum": 1.0}, {"momentum": -0.1}, {"callback_every": 0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            model.optimize(5, **bad)


def test_the_search_for_neighbours():
    rows = RNG.standard_normal((3000, 12))
    exact, rough = (TSNE(neighbors=how, max_iter=0).fit(rows) for how in ("exact", "approximate"))
    assert exact.report_.recall == 1.0 and "approximate" in rough.report_.neighbors and rough.report_.recall > 0.8
    assert "kd_tree" in quick(neighbors="kd_tree", max_iter=0).fit(X).report_.neighbors
    with pytest.raises(ValueError, match="neighbors"):
        quick(neighbors="annoy").fit(X)


# --- hard data -------------------------------------------------------------------------------------------------

HARD = {
    "constant": np.ones((50, 3)),
    "duplicates": np.repeat(X[::20], 10, axis=0),
    "one column": X[:, :1],
    "huge": X * 1e150,
    "tiny": X * 1e-150,
    "huge float32": (X * 1e30).astype(np.float32),
    "an outlier": np.vstack([X, np.full((1, 4), 1e7)]),
    "two worlds": np.vstack([X, X + 1e6]),
    "integers": np.arange(60).reshape(30, 2),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("cls", CLASSES)
def test_hard_data_gives_a_finite_map(cls, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)
        model = quick(cls).fit(HARD[name])
        Y = model.transform(HARD[name][:5])
    assert np.all(np.isfinite(model.embedding_)) and np.all(np.isfinite(Y)) and np.isfinite(model.kl_divergence_)


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_few_points(cls, n):
    model = quick(cls, perplexity=1).fit(X[:n])
    assert np.all(np.isfinite(model.embedding_)) and np.isfinite(model.kl_divergence_)


def test_data_that_does_not_vary_is_said_to():
    with pytest.warns(DegenerateDataWarning, match="begins at random"):
        quick().fit(np.ones((30, 2)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (X[:1], "minimum of 2"),
        (np.empty((0, 3)), "minimum of"),
        (np.full((9, 2), np.nan), "NaN"),
        (np.full((9, 2), np.inf), "infinity"),
        (np.array([["a", "b"]] * 9), "convert string"),
        (X[:8], "perplexity"),
        (np.ones(9), "2D array"),
    ],
)
def test_bad_data(data, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(data)


def test_bad_starts():
    for init in (np.zeros((3, 2)), np.full((120, 2), np.nan), np.zeros((120, 2), complex)):
        with pytest.raises(ValueError, match="init"):
            quick(init=init).fit(X)


def test_bad_distances():
    model = quick(metric="precomputed", init="random")
    with pytest.raises(ValueError, match="square distance matrix"):
        model.fit(np.ones((5, 4)))
    with pytest.raises(ValueError, match="positive"):
        model.fit(-np.ones((20, 20)))
    with pytest.raises(ValueError, match="neighbors"):
        model.fit(kneighbors_graph(X, 3, mode="distance"))
    with pytest.raises(ValueError, match="negative"):
        quick(metric=lambda a, b: -1.0, method="exact").fit(X)


def test_what_is_given_is_not_changed():
    data, init = X.copy(), 1e-4 * RNG.standard_normal((120, 2))
    before = init.copy()
    quick(init=init).fit(data)
    assert_array_equal(data, X)
    assert_array_equal(init, before)


# --- landmarks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CLASSES)
def test_landmarks_have_the_map_of_their_own_and_the_others_the_places_of_new_rows(cls):
    model = quick(cls, landmarks=60, random_state=4).fit(X)
    rows, others = model.landmarks_, np.setdiff1d(np.arange(120), model.landmarks_)
    alone = quick(cls, random_state=4).fit(X[rows])
    assert_array_equal(model.embedding_[rows], alone.embedding_)
    assert_array_equal(model.embedding_[others], alone.transform(X[others]))
    assert_array_equal(model.transform(NEW), alone.transform(NEW))
    assert model.kl_divergence_ == alone.kl_divergence_ and model.embedding_.shape == (120, 2)


def test_landmarks_may_be_named_and_all_rows_may_be_landmarks():
    named = quick(landmarks=[119, *range(0, 100, 2)]).fit(X)
    assert_array_equal(named.landmarks_, [*range(0, 100, 2), 119])
    assert_array_equal(quick(landmarks=500).fit(X).embedding_, quick().fit(X).embedding_)


def test_landmarks_of_a_distance_matrix_and_of_sparse_rows():
    by_rows = quick(landmarks=60, init="random").fit(X)
    by_distances = quick(landmarks=60, init="random", metric="precomputed").fit(pairwise_distances(X))
    assert_array_equal(by_rows.landmarks_, by_distances.landmarks_)
    for model in (by_distances, quick(landmarks=60).fit(sp.csr_array(X))):
        assert KNeighborsClassifier(5).fit(model.embedding_, GROUP).score(model.embedding_, GROUP) == 1.0


def test_a_given_start_has_a_place_for_every_row():
    init = RNG.standard_normal((120, 2))
    model = quick(landmarks=range(60), init=init).fit(X)
    assert_array_equal(model.embedding_[:60], quick(init=init[:60]).fit(X[:60]).embedding_)
    with pytest.raises(ValueError, match="120 samples"):
        quick(landmarks=60, init=init[:60]).fit(X)


def test_a_map_with_landmarks_can_be_saved_but_not_continued(tmp_path):
    model = quick(landmarks=60).fit(X)
    model.save(tmp_path / "map.mercer")
    again = load(tmp_path / "map.mercer")
    assert_array_equal(again.embedding_, model.embedding_)
    assert_array_equal(again.landmarks_, model.landmarks_)
    assert_array_equal(again.transform(NEW), model.transform(NEW))
    with pytest.raises(ValueError, match="Fit again with max_iter=310"):
        again.optimize(10)


def test_what_landmarks_cannot_be_combined_with():
    with pytest.raises(ValueError, match="not affinities"):
        quick(landmarks=60, affinities=Affinities.of(X, 8)).fit(X)
    with pytest.raises(ValueError, match="fixed points and landmarks"):
        quick(landmarks=60, fixed=[0], init=np.zeros((120, 2))).fit(X)
    with pytest.raises(ValueError, match="at least 2 landmarks"):
        quick(landmarks=[3]).fit(X)
    with pytest.raises(ValueError, match="perplexity"):
        quick(landmarks=6).fit(X)
    with pytest.raises(TypeError, match="distances of all pairs"):
        quick(landmarks=60, metric="precomputed").fit(kneighbors_graph(X, 30, mode="distance"))


def test_the_plan_of_landmarks_does_not_count_neighbours_of_all_rows():
    rows = np.broadcast_to(np.float32(0), (1_000_000, 50))
    assert quick(landmarks=10_000).plan(rows).needed_bytes < quick().plan(rows).needed_bytes / 4


def test_new_rows_are_placed_alike_in_one_call_or_in_many():
    model = quick().fit(X)
    assert_array_equal(model.transform(NEW), np.vstack([model.transform(NEW[:4]), model.transform(NEW[4:])]))
