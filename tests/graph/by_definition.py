"""Neighbours by definition, for the tests of every index."""

import numpy as np


def data(n=300, d=6, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


def definition(D, k):
    """The k smallest of each row by distance, then index; the row itself left out where D is square."""
    D = np.array(D, np.float64)
    if D.shape[0] == D.shape[1]:
        np.fill_diagonal(D, np.inf)
    order = np.lexsort((np.broadcast_to(np.arange(D.shape[1]), D.shape), D), axis=1)[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


def agree(found, D, k, rtol=1e-12):
    places, distances = definition(D, k)
    np.testing.assert_array_equal(found.indices, places)
    np.testing.assert_allclose(found.distances, distances, rtol=rtol, atol=1e-15)
