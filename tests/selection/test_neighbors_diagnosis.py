"""The diagnosis of neighbours: its numbers are those of the graphs, and its advice leads to a map that is right."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import kneighbors_graph

from mercer import Isomap, diagnose_neighbors
from mercer.graph.geodesics import Geodesics
from mercer.kernels import RBF

COUNTS = [5, 8, 12, 16]


@pytest.fixture(scope="module")
def roll():
    """With noise: two edges between the sheets at 12 neighbours, none before."""
    return make_swiss_roll(1000, noise=0.5, random_state=0)


@pytest.fixture(scope="module")
def found(roll):
    return diagnose_neighbors(roll[0], COUNTS)


# --- the noisy roll ----------------------------------------------------------------------------------------


def test_the_recommended_number_gives_a_map_that_keeps_the_distances(roll, found):
    X, along = roll
    good, bad = (Isomap(n_neighbors=k).fit(X) for k in (found.recommended, 12))
    assert good.residual_variance_[1] < 0.01 < 0.2 < bad.residual_variance_[1]
    assert abs(np.corrcoef(good.embedding_[:, 0], along)[0, 1]) > 0.97
    assert found.sound[found.at(found.recommended)]


def test_shortcuts_are_edges_between_sheets_and_appear_where_they_are_said_to(roll, found):
    X, t = roll
    along = (t * np.sqrt(1 + t * t) + np.arcsinh(t)) / 2
    assert found.n_shortcuts.tolist()[:2] == [0, 0] and found.n_shortcuts[2] == 2
    for k, table in zip(found.n_neighbors, found.shortcuts, strict=True):
        graph = kneighbors_graph(X, int(k), mode="distance").toarray()
        assert_allclose(np.maximum(graph, graph.T)[table.i, table.j], table.length)
        assert (np.abs(along[table.i] - along[table.j]) > 3 * table.length).all()
        assert (table.first <= k).all() and (table.detour > 5).all() and (np.diff(table.share) <= 0).all()
    later, earlier = found.shortcuts[3], found.shortcuts[2]
    assert set(zip(earlier.i, earlier.j, strict=True)) == {(e.i, e.j) for e in later if e.first <= 12}


def test_the_detour_is_the_distance_without_shortcuts(roll, found):
    X, table = roll[0], found.shortcuts[-1]
    graph = found.without_shortcuts(kneighbors_graph(X, 16, mode="distance"))
    D = Geodesics(graph).from_nodes(table.i)
    assert_allclose(table.detour * table.length, D[np.arange(len(table)), table.j], rtol=1e-12)


def test_share_and_growth_against_all_distances(roll):
    """From all rows: the share is that of pairs whose distance falls when the edge is put back."""
    X = roll[0][:400]
    found = diagnose_neighbors(X, [6, 9], sources=400)
    graph = kneighbors_graph(X, 9, mode="distance")
    table = found.shortcuts[1]
    assert len(table) > 0
    with_, without = (Geodesics(g).from_nodes(np.arange(400)) for g in (graph, found.without_shortcuts(graph)))
    shorter = with_ < without * (1 - 1e-9)
    assert_allclose(found.share[1], with_[shorter].sum() / with_.sum(), rtol=1e-6)
    assert_allclose(found.growth[1], without.mean() / with_.mean() - 1, rtol=1e-6)
    assert (table.share <= found.share[1] + 1e-12).all() and table.share.sum() >= found.share[1] - 1e-12


def test_residual_variance_is_that_of_isomap_by_landmarks(roll, found):
    X = roll[0]
    isomap = Isomap(n_neighbors=8, landmarks=200).fit(X)
    alone = diagnose_neighbors(X, [8])
    assert_allclose(alone.residual_variance[0], isomap.residual_variance_[1], rtol=1e-8)
    # In a sweep all graphs are seen from the same sources, those of the first graph.
    sources = Isomap(n_neighbors=COUNTS[0], landmarks=200).fit(X).landmarks_
    same = Isomap(n_neighbors=8, landmarks=sources).fit(X)
    assert_allclose(found.residual_variance[1], same.residual_variance_[1], rtol=1e-8)
    small = diagnose_neighbors(X[:150], [10], sources=500)
    assert_allclose(small.residual_variance[0], Isomap(n_neighbors=10).fit(X[:150]).residual_variance_[1], rtol=1e-6)


# --- the other pitfalls ------------------------------------------------------------------------------------


def two_squares(gap):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.random((150, 2)), rng.random((90, 2)) + np.array([1 + gap, 0])])


def test_components_are_counted_without_a_warning():
    X = two_squares(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = diagnose_neighbors(X, [3, 8, 20])
    for k, count, sizes in zip(found.n_neighbors, found.components, found.sizes, strict=True):
        expected, labels = connected_components(kneighbors_graph(X, int(k)), directed=False)
        assert count == expected
        assert_array_equal(sizes, np.sort(np.bincount(labels))[::-1])
    assert not found.sound.any() and found.components[found.at(found.recommended)] == 2
    assert (
        "2 parts, the largest of 150 of 240 rows" in found.reason
        and "more than 20" in found.reason
        and "disconnected='largest'" in found.reason
    )


# --- any data ----------------------------------------------------------------------------------------------


def same(one, other):
    assert_array_equal(one.components, other.components)
    assert_allclose(one.residual_variance, other.residual_variance, rtol=1e-5, atol=1e-9)
    assert_array_equal(one.n_shortcuts, other.n_shortcuts)
    assert_allclose(one.share, other.share, rtol=1e-5)
    assert one.recommended == other.recommended


def test_precomputed_distances_graphs_kernels_and_sparse_rows_say_the_same(roll):
    X = roll[0][:300]
    expected = diagnose_neighbors(X, [8, 15])
    same(expected, diagnose_neighbors(cdist(X, X), [8, 15], metric="precomputed"))
    same(expected, diagnose_neighbors(kneighbors_graph(X, 17, mode="distance"), [8, 15], metric="precomputed"))
    same(expected, diagnose_neighbors(sp.csr_array(X), [8, 15]))


def test_a_sparse_graph_in_parts_is_judged_by_its_largest():
    X = two_squares(3.0)
    whole = diagnose_neighbors(kneighbors_graph(X, 17, mode="distance"), [8, 15], metric="precomputed")
    alone = diagnose_neighbors(kneighbors_graph(X[:150], 17, mode="distance"), [8, 15], metric="precomputed")
    assert whole.components.tolist() == [2, 2]
    assert_allclose(whole.residual_variance, alone.residual_variance, atol=2e-3)


def test_units_and_the_order_of_rows_change_nothing_that_matters(roll):
    X = roll[0][:400]
    first = diagnose_neighbors(X, [8, 12], sources=400)
    same(first, diagnose_neighbors(X * 2.0**90, [8, 12], sources=400))
    order = np.random.default_rng(1).permutation(400)
    other = diagnose_neighbors(X[order], [8, 12], sources=400)
    same(first, other)
    ends = np.sort(order[np.column_stack([other.shortcuts[1].i, other.shortcuts[1].j])], axis=1)
    assert {tuple(pair) for pair in ends} == set(zip(first.shortcuts[1].i, first.shortcuts[1].j, strict=True))


def test_single_precision(roll, found):
    single = diagnose_neighbors(roll[0].astype(np.float32), COUNTS)
    assert_array_equal(single.n_shortcuts, found.n_shortcuts)
    assert_allclose(single.residual_variance, found.residual_variance, rtol=1e-3)


def test_the_same_seed_gives_the_same_bits(roll):
    one, two = (diagnose_neighbors(roll[0], [8, 14], sources=50, random_state=3) for _ in range(2))
    assert_array_equal(one.residual_variance, two.residual_variance)
    assert_array_equal(one.shortcuts[1], two.shortcuts[1])
    assert str(one) == str(two)


# --- bad input ---------------------------------------------------------------------------------------------

X = np.random.default_rng(0).random((40, 2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"n_neighbors": [40]}, "n_neighbors = 40, n_samples_fit = 40"),
        ({"n_neighbors": []}, "whole numbers ≥ 1"),
        ({"n_neighbors": [0, 5]}, "whole numbers ≥ 1"),
        ({"n_neighbors": [2.5]}, "whole numbers ≥ 1"),
        ({"detour": 1.0}, "detour=1.0 must be a number above 1"),
        ({"detour": np.nan}, "detour=nan"),
        ({"sources": 2}, "above n_components=2"),
        ({"n_components": 0}, "n_components=0"),
        ({"random_state": "seed"}, "random_state='seed'"),
        ({"metric": "precomputed"}, "square matrix"),
        ({"X": X + np.where(X[0] == X, np.nan, 0)}, "NaN"),
        ({"X": X * np.inf}, "infinity|NaN"),
        ({"X": X[:1]}, "minimum of 3"),
        ({"X": X[:0]}, "0 sample"),
        ({"X": np.ones((40, 2))}, "only copies of itself"),
        ({"X": X * 1e200}, "range of float64"),
        ({"X": ["a", "b", "c"]}, "2D array|could not convert"),
    ],
)
def test_bad_input_is_refused_in_words(arguments, words):
    arguments = {"X": X} | arguments
    with pytest.raises(ValueError, match=words):
        diagnose_neighbors(**arguments)


def test_small_data_leaves_out_numbers_of_the_default():
    found = diagnose_neighbors(X[:12])
    assert found.n_neighbors.tolist() == [4, 6, 8, 10]
    assert diagnose_neighbors(X[:4]).n_neighbors.tolist() == [3]


@pytest.mark.parametrize("metric", ["manhattan", RBF(gamma=1.0)])
def test_any_metric(metric):
    """As if all distances had been given."""
    far = cdist(X, X, "cityblock") if metric == "manhattan" else np.sqrt(2 - 2 * np.exp(-cdist(X, X, "sqeuclidean")))
    same(diagnose_neighbors(X, [8, 20], metric=metric), diagnose_neighbors(far, [8, 20], metric="precomputed"))


def test_progress_is_told_only_when_asked(roll, capsys):
    diagnose_neighbors(roll[0][:200], [6, 8])
    assert capsys.readouterr().err == ""
    diagnose_neighbors(roll[0][:200], [6, 8], verbose=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 4 and all(line.startswith("diagnose_neighbors: ") for line in lines)


def test_many_components_need_sources_that_are_named(roll):
    with pytest.raises(ValueError, match="sources=1000"):
        diagnose_neighbors(roll[0], [6], n_components=100)


@pytest.mark.torch
def test_the_diagnosis_of_a_tensor_is_that_of_its_array(roll):
    torch = pytest.importorskip("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = roll[0][:200]
    here, there = (
        diagnose_neighbors(part, [6, 8], sources=40) for part in (rows, torch.as_tensor(rows, device=device))
    )
    same(here, there)
    with pytest.raises(ValueError, match="NaN"):
        diagnose_neighbors(torch.full((30, 2), torch.nan))
