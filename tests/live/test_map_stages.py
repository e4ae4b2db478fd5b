"""From settings to maps: the last frame is what the estimator gives, and wishes of a descent are followed."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from mercer import TSNE, Isomap, KernelPCA
from mercer.live.descent_runs import DescentWish
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapStages, Superseded

TSNE_SETTINGS = {"method": "tsne", "perplexity": 15.0, "exaggeration": 1.0, "dof": 1.0}


def go_on():
    """A check that never ends a computation."""


def frames(stages, settings, **more):
    found = []
    stages.run(settings, found.append, go_on, **more)
    return found


def same_up_to_signs(A, B):
    signs = np.sign((A * B).sum(axis=0))
    return np.allclose(A * signs, B, atol=1e-4 * np.abs(B).max())


def test_kernel_pca_ends_at_the_exact_scores():
    X = np.random.default_rng(0).normal(size=(700, 4))
    found = frames(MapStages(LiveTable.of(X)), {"method": "kpca", "kernel": "rbf", "gamma": 0.1, "n_components": 3})
    assert [frame.stage for frame in found] == ["quick", "settled"]
    exact = KernelPCA(3, kernel="rbf", gamma=0.1).fit_transform(X)
    assert same_up_to_signs(found[-1].coordinates.astype(float), exact)
    # The quick map is turned onto nothing, the exact one onto the quick one: each axis agrees in its sign.
    assert np.all((found[0].coordinates * found[1].coordinates).sum(axis=0) > 0)
    assert found[-1].errors is not None and "residual" in dict(found[-1].facts)


def test_isomap_ends_at_the_map_of_all_paths():
    X = np.random.default_rng(0).normal(size=(1600, 3))
    found = frames(MapStages(LiveTable.of(X)), {"method": "isomap", "n_neighbors": 8, "n_components": 2})
    assert [frame.stage for frame in found] == ["quick", "settled"]
    assert same_up_to_signs(found[-1].coordinates.astype(float), Isomap(n_neighbors=8).fit_transform(X))


def test_a_descent_is_that_of_the_estimator(table):
    found = frames(MapStages(table), TSNE_SETTINGS, descent=DescentWish(300))
    expected = TSNE(perplexity=15, dof=1.0, max_iter=300, n_iter_without_progress=10**9, min_grad_norm=0).fit(table.X)
    assert found[-1].stage == "settled" and found[-1].step == 300
    assert np.isclose(found[-1].divergence, expected.kl_divergence_, rtol=1e-6)
    steps = [frame.step for frame in found]
    assert steps == sorted(steps) and {frame.stage for frame in found[:-1]} == {"steps"}


def test_a_descent_goes_on_from_the_map_that_is_shown(table):
    stages = MapStages(table)
    first = frames(stages, TSNE_SETTINGS, descent=DescentWish(300))[-1]
    again = frames(stages, TSNE_SETTINGS | {"perplexity": 20.0}, descent=DescentWish(1))[0]
    scale = np.abs(first.coordinates).max()
    assert np.abs(first.coordinates - again.coordinates).max() < 0.5 * scale  # a step, not a new beginning


def test_held_rows_stay(table):
    stages = MapStages(table)
    before = frames(stages, TSNE_SETTINGS, descent=DescentWish(300))[-1].coordinates
    held = np.zeros(table.rows, bool)
    held[:20] = True
    after = frames(stages, TSNE_SETTINGS, descent=DescentWish(20, held=held, exaggeration=4.0))[-1].coordinates
    # Turning a map onto the one before may move it as a whole; the shape of what is held does not change.
    assert np.allclose(pdist(before[:20]), pdist(after[:20]), rtol=1e-4)
    assert not np.allclose(before[20:], after[20:], atol=1e-3)


def test_pulled_rows_stay_where_they_were_pulled_to(table):
    stages = MapStages(table)
    before = frames(stages, TSNE_SETTINGS, descent=DescentWish(300))[-1].coordinates
    pulled = np.arange(table.rows) < 12
    far = float(3 * np.abs(before).max())
    wish = DescentWish(20, held=pulled, moved=pulled, by=(far, -far))
    after = frames(stages, TSNE_SETTINGS, descent=wish)[-1].coordinates
    # A descent is centred as a whole now and then, so what is compared is where the pulled rows are beside the others.
    others = lambda M: M[pulled] - np.median(M[~pulled], axis=0)  # noqa: E731
    assert np.allclose(others(after) - others(before), [far, -far], atol=0.2 * far)
    assert np.allclose(pdist(after[pulled]), pdist(before[pulled]), rtol=1e-4)


def test_a_descent_ends_where_it_is_told_to(table):
    shown, asked = [], []
    stages = MapStages(table)
    stages.run(TSNE_SETTINGS, shown.append, go_on, stopped=lambda: bool(asked.append(None)) or len(asked) >= 3)
    assert shown[-1].stage == "settled" and shown[-1].step < 1000


@pytest.mark.parametrize("method", ["kpca", "isomap", "tsne"])
def test_what_is_superseded_ends(method):
    X = np.random.default_rng(0).normal(size=(2500, 3))
    settings = {
        "kpca": {"kernel": "rbf", "gamma": 0.1, "n_components": 2},
        "isomap": {"n_neighbors": 8, "n_components": 2},
        "tsne": {"perplexity": 15.0, "exaggeration": 1.0, "dof": 1.0},
    }[method]

    def check():
        raise Superseded

    shown = []
    with pytest.raises(Superseded):
        MapStages(LiveTable.of(X)).run({"method": method, **settings}, shown.append, check)
    # What was asked for last shows a first look even if the slider has moved on; the exact answer never came.
    assert [frame.stage for frame in shown] == ([] if method == "tsne" else ["quick"])


def test_settings_that_fail_say_why():
    table = LiveTable.of(np.random.default_rng(0).normal(size=(30, 3)))
    with pytest.raises(ValueError, match="negative"):
        frames(MapStages(table), {"method": "kpca", "kernel": "chi2", "gamma": 1.0, "n_components": 2})


def test_warnings_become_notes():
    X = np.vstack([np.zeros((20, 2)), 1e3 + np.zeros((20, 2))]) + np.random.default_rng(0).normal(size=(40, 2))
    found = frames(MapStages(LiveTable.of(X)), {"method": "isomap", "n_neighbors": 3, "n_components": 2})
    assert "connected components" in dict(found[-1].facts)["note"]
