"""Neighbours from a matrix of distances, and from a sparse graph of them."""

import numpy as np
import pytest
import scipy.sparse as sp
from by_definition import agree, data
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsTransformer

from mercer.graph.nearest_neighbors import build_index


def test_a_matrix_of_distances():
    X = data(60)
    D = cdist(X, X)
    built = build_index(D, metric="precomputed")
    agree(built.neighbors(5), D, 5)
    agree(built.query(D[:10], 5), D[:10], 5)
    assert (abs(built.within(2.0) - build_index(X).within(2.0)) > 1e-12).nnz == 0
    for bad, words in ((D[:, :5], "square"), (-D, "Negative"), (np.full((4, 4), np.nan), "NaN")):
        with pytest.raises(ValueError, match=words):
            build_index(bad, metric="precomputed")
    with pytest.raises(ValueError, match="a column for each of the 60 rows"):
        built.query(D[:, :5], 2)


def test_a_graph_of_distances_from_a_transformer():
    X = data(60)
    X[1] = X[0]  # a stored zero that is a neighbour, beside the stored zeros of the diagonal
    transformer = KNeighborsTransformer(n_neighbors=8).fit(X)
    graph = transformer.transform(X)
    built = build_index(graph, metric="precomputed")
    exact = build_index(X).neighbors(5)
    np.testing.assert_allclose(built.neighbors(5).distances, exact.distances, rtol=1e-12, atol=1e-12)
    assert built.neighbors(5).indices[0, 0] == 1 and built.neighbors(5).indices[1, 0] == 0
    Y = data(9, seed=2)
    np.testing.assert_allclose(built.query(transformer.transform(Y), 5).distances, build_index(X).query(Y, 5).distances)
    with pytest.raises(ValueError, match="9 neighbors per sample are required, but some samples have only 8"):
        built.neighbors(9)
    dense = built.between([0, 1], [1, 0])
    np.testing.assert_array_equal(dense, 0)
    far = int(np.setdiff1d(np.arange(60), built.graph.indices[: built.graph.indptr[1]])[0])
    assert built.between([0], [far])[0, 0] == np.inf


def test_infinity_in_a_graph_is_no_edge():
    graph = sp.csr_array(np.array([[0, 1, np.inf], [1, 0, 2], [3, 2, 0.0]]))
    built = build_index(graph, metric="precomputed")
    assert built.within(np.inf).nnz == 5
    with pytest.raises(ValueError, match="some samples have only 1"):
        built.neighbors(2)
    for bad in (np.nan, -1.0):
        broken = graph.copy()
        broken.data[0] = bad
        with pytest.raises(ValueError, match=r"NaN|Negative"):
            build_index(broken, metric="precomputed")
