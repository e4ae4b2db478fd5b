"""Tiles: the same neighbours whatever the scale, the origin, the size of tiles or their precision; sparse rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from by_definition import agree, data, definition
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from mercer.graph.nearest_neighbors import build_index
from mercer.graph.tile_index import TileIndex

EPS = float(np.finfo(np.float64).eps)


@pytest.mark.parametrize("scale", [1e-150, 1e-12, 1.0, 1e150])
@pytest.mark.parametrize("shift", [0.0, 1e6, -3e9])
def test_tiles_know_no_scale_and_no_origin(scale, shift, compiled):
    """Neighbours and distances are those of the numbers as they are stored, wherever they lie."""
    X = (data(300, 5) + shift) * scale
    unit = 2.0 ** np.floor(np.log2(scale))
    D = cdist(X / unit, X / unit) * unit
    for method in ("tiles", "kd_tree"):
        agree(build_index(X, method=method).neighbors(6), D, 6)


def test_tiles_in_float32_far_from_the_origin(compiled):
    X = (data(400, 8) * 0.01 + 1000).astype(np.float32)
    agree(build_index(X, method="tiles").neighbors(5), cdist(X.astype(np.float64), X.astype(np.float64)), 5, 2e-7)


def test_tiles_where_float32_leaves_everything_open(compiled):
    """Two tight clusters far apart, and one row farther still: tiles go to float64, or pairs go one by one."""
    X = data(600, 4) * 1e-6
    X[300:] += 1e3
    X[0] = 1e9  # from here the rows of a cluster are equally far, to rounding
    found, (places, distances) = build_index(X, method="tiles").neighbors(6), definition(cdist(X, X), 6)
    np.testing.assert_array_equal(found.indices[1:], places[1:])
    np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), exponent=st.integers(-300, 300), k=st.integers(1, 20))
def test_laws_of_tiles(seed, exponent, k):
    """Permuted rows have permuted neighbours, rotated rows the same, and a power of two multiplies distances alone."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((90, 4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TileIndex, "compiled_above", 0)
        found = build_index(X, method="tiles").neighbors(k)
        order = rng.permutation(90)
        permuted = build_index(X[order], method="tiles").neighbors(k)
        np.testing.assert_array_equal(order[permuted.indices], found.indices[order])
        np.testing.assert_array_equal(permuted.distances, found.distances[order])
        scaled = build_index(X * 2.0**exponent, method="tiles").neighbors(k)
        np.testing.assert_array_equal(scaled.indices, found.indices)
        np.testing.assert_array_equal(scaled.distances, found.distances * 2.0**exponent)
        rotation = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        turned = build_index(X @ rotation, method="tiles").neighbors(k)
        np.testing.assert_allclose(turned.distances, found.distances, rtol=1e-12)


@pytest.mark.parametrize("rows, columns", [(1, 1), (7, 64), (64, 7), (1000, 1000)])
def test_the_size_of_tiles_changes_nothing(rows, columns, compiled, monkeypatch):
    X = data(150)
    found = build_index(X, method="tiles").neighbors(10)
    graph = build_index(X, method="tiles").within(1.5)
    monkeypatch.setattr(TileIndex, "tile", (rows, columns))
    other = build_index(X, method="tiles").neighbors(10)
    np.testing.assert_array_equal(other.indices, found.indices)
    np.testing.assert_array_equal(other.distances, found.distances)
    assert (abs(build_index(X, method="tiles").within(1.5) - graph)).nnz == 0


@pytest.mark.parametrize("form", ["dense", "sparse", "copies"])
@pytest.mark.parametrize("rows, columns", [(7, 64), (32, 96), (100, 1000), (64, 256)])
def test_a_tile_serves_its_rows_and_its_columns(rows, columns, form, compiled, monkeypatch):
    """Neighbours from the tiles above the diagonal are those from all tiles, to the bit."""
    X = np.round(data(330), 1) if form == "copies" else data(330)
    X = sp.csr_array(np.where(X > 0.3, X, 0)) if form == "sparse" else X
    monkeypatch.setattr(TileIndex, "mirrored_from", np.inf)
    expected = build_index(X, method="tiles").neighbors(10)
    monkeypatch.setattr(TileIndex, "tile", (rows, columns))
    monkeypatch.setattr(TileIndex, "mirrored_from", 0)
    for n_jobs in (1, 3):
        index = build_index(X, method="tiles", n_jobs=n_jobs)
        assert index._mirrors(np.arange(330), 10) == (columns < 330)
        found = index.neighbors(10)
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.distances, expected.distances)


def test_float64_tiles_give_the_same_as_float32_tiles(compiled, monkeypatch):
    X = data(400)
    found = build_index(X, method="tiles").neighbors(10)
    monkeypatch.setattr(TileIndex, "precision", np.float64)
    other = build_index(X, method="tiles").neighbors(10)
    np.testing.assert_array_equal(other.indices, found.indices)
    np.testing.assert_array_equal(other.distances, found.distances)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
@pytest.mark.parametrize("density", [0.01, 0.2])
def test_sparse_rows(metric, density):
    X = sp.random(150, 60, density, format="csr", random_state=0, dtype=np.float64)
    X = sp.csr_array(X + sp.csr_array((np.ones(150), (np.arange(150), np.arange(150) % 60)), X.shape))
    dense = X.toarray()
    built = build_index(X, metric=metric)
    _, distances = definition(cdist(dense, dense, "cityblock" if metric == "manhattan" else metric), 5)
    found = built.neighbors(5)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(built.query(X[:7], 6).distances[:, 0], 0, atol=1e-12)
    np.testing.assert_allclose(built.query(dense[:7], 6).distances, built.query(X[:7], 6).distances, atol=1e-12)
    np.testing.assert_allclose(built.between([1, 2], [3]).ravel(), np.diag(built.between([1, 2], [3, 3])))
    near = np.sum((D := built.between(np.arange(150), np.arange(150))) <= distances[:, 2].mean()) - 150
    assert built.within(distances[:, 2].mean()).nnz == near + np.sum(np.diag(D) > distances[:, 2].mean())


def test_sparse_rows_near_and_far_keep_all_digits():
    """Copies a rounding apart, whose distance is no part of their norms, rows that share no column, an empty row.

    Near rows are compared number by number. For far ones the columns that b lacks are ‖a‖² less a part of it, which is
    right to a few eps of ‖a‖² per term, at most ten times ‖a − b‖² here.
    """
    rng = np.random.default_rng(0)
    base = sp.random(40, 300, 0.1, format="csr", random_state=rng, dtype=np.float64).toarray()
    near = base * (1 + 1e-9 * rng.standard_normal(base.shape))
    dense = np.vstack([base, near, np.zeros((1, 300)), np.repeat(base[:1], 400, axis=0)])
    index = TileIndex(sp.csr_array(dense))
    places, distances = index.search(None, rows := np.arange(81), rows, np.arange(len(dense)), 60)
    D = cdist(dense[:81], dense)
    D[rows, rows] = np.inf
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :60], rtol=300 * 10 * EPS, atol=0)
    np.testing.assert_allclose(np.take_along_axis(D, places.astype(np.int64), axis=1), distances, rtol=300 * 10 * EPS)
