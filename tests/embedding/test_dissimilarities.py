"""Dissimilarities: kept, in place or computed anew, every pair is read once and with the same value."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from mercer.embedding.dissimilarities import (
    Dissimilarities,
    condensed_pairs,
    condensed_starts,
    refuse_bad_matrix,
    square_starts,
)
from mercer.exceptions import DisconnectedGraphError
from mercer.graph.nearest_neighbors import build_index

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((1500, 3))
EXPECTED = pdist(ROWS)


def as_read(given, exact=False):
    """The condensed dissimilarities, put together from the blocks of one pass."""
    n = given.n
    out, seen = np.zeros(n * (n - 1) // 2), np.zeros(n, int)
    starts = condensed_starts(n)
    for rows in given.jobs(exact):
        block = given.read(rows, exact)
        for i in range(block.first, block.last):
            at = block.starts[i - block.first]
            out[starts[i] : starts[i] + n - 1 - i] = block.flat[at : at + n - 1 - i] * block.scale * given.unit
            seen[i] += 1
    assert (seen[: n - 1] == 1).all()
    return out


@pytest.mark.parametrize("keep", [None, np.float32, np.float64])
def test_rows_by_a_metric(keep):
    given = Dissimilarities.of_rows(build_index(ROWS, method="brute"), keep, None)
    # a kept float32 is right to half a unit in its last place; distances in float64 to a few
    assert np.allclose(as_read(given), EXPECTED, rtol=6e-8 if keep == np.float32 else 1e-12)
    assert np.allclose(as_read(given, exact=True), EXPECTED, rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("keep", [None, np.float32])
def test_a_matrix_is_read_where_it_is(order, keep):
    D = np.asarray(squareform(EXPECTED), order=order)
    given = Dissimilarities.of_matrix(D, keep, None)
    assert np.shares_memory(given.flat, D) == (keep is None)
    assert np.allclose(as_read(given), EXPECTED, rtol=6e-8)
    assert np.array_equal(as_read(given, exact=True), EXPECTED)


def test_unknown_pairs_are_negative_and_listed():
    D = squareform(EXPECTED)[:50, :50].copy()
    D[3, 7] = D[7, 3] = np.nan
    given = Dissimilarities.of_matrix(D, np.float64, None)
    (i,), (j,) = condensed_pairs(given.unknown, 50)
    assert (i, j) == (3, 7) and as_read(given)[given.unknown[0]] < 0
    assert np.isnan(given.columns(np.array([7]))[3, 0])
    given.refuse_unconnected()
    D[3, :], D[:, 3] = np.nan, np.nan
    with pytest.raises(DisconnectedGraphError, match="2 separate parts"):
        Dissimilarities.of_matrix(D, np.float64, None).refuse_unconnected()


@pytest.mark.parametrize("keep", [None, np.float32, np.float64])
def test_columns(keep):
    given = Dissimilarities.of_rows(build_index(ROWS, method="brute"), keep, None)
    chosen = np.array([0, 1, 700, 1499])
    assert np.allclose(given.columns(chosen), squareform(EXPECTED)[:, chosen], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 17])
def test_places_and_pairs_are_inverse(n):
    i, j = np.triu_indices(n, 1)
    places = condensed_starts(n)[i] + j - i - 1
    assert np.array_equal(places, np.arange(len(i)))
    for found, true in zip(condensed_pairs(places, n), (i, j), strict=True):
        assert np.array_equal(found, true)
    assert np.array_equal(np.arange(n * n).reshape(n, n)[i, j], square_starts(n)[i] + j - i - 1)


def test_bad_entries_in_any_tile_are_found():
    D = squareform(EXPECTED)
    refuse_bad_matrix(D, missing=False)
    for value, message in ((-1.0, "negative"), (np.inf, "infinity"), (np.nan, "symmetric"), (9.0, "symmetric")):
        bad = D.copy()
        bad[1400, 3] = value
        with pytest.raises(ValueError, match=message):
            refuse_bad_matrix(bad, missing=True)
