"""The axes of streamed rows are those of the array."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.streams import ArraySource

RNG = np.random.default_rng(0)
SPREAD = np.array([1.0, 3.0, 5.0, 9.0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_pca_of_a_source_is_that_of_the_array(dtype, offset):
    X = (RNG.standard_normal((3000, 4)) * SPREAD + offset).astype(dtype)
    whole, eps = mercer.PCA().fit(X), np.finfo(dtype).eps
    for rows in (300, 999, 5000):
        streamed = mercer.PCA().fit(ArraySource(X, chunk_rows=rows))
        # Sums over runs of 2048 rows round to √2048 ε of the squares that they add.
        room = 2048**0.5 * eps * (SPREAD**2).sum()
        assert np.abs(streamed.explained_variance_ - whole.explained_variance_).max() <= room
        # An eigenvector turns by no more than the perturbation over the gap, which is 8 at least.
        assert np.abs(streamed.components_ - whole.components_).max() <= room / 4
        assert np.allclose(streamed.mean_, whole.mean_, rtol=8 * eps, atol=100 * eps)


def test_sparse_rows_stay_sparse():
    X = sp.random_array((400, 30), density=0.1, rng=RNG, format="csr")
    streamed = mercer.PCA(3).fit(ArraySource(X, chunk_rows=90))
    whole = mercer.PCA(3).fit(X.toarray())
    assert np.allclose(streamed.explained_variance_, whole.explained_variance_, rtol=1e-10)
    scores = streamed.transform(ArraySource(X, chunk_rows=90)).to_array()
    assert np.allclose(scores, whole.transform(X.toarray()), atol=1e-8)


def test_what_needs_all_rows_is_refused():
    source = ArraySource(RNG.standard_normal((40, 3)))
    with pytest.raises(ValueError, match="svd_solver='full' needs all rows"):
        mercer.PCA(svd_solver="full").fit(source)
    with pytest.raises(ValueError, match="minimum of 2"):
        mercer.PCA().fit(ArraySource(np.ones((1, 3))))
    with pytest.raises(ValueError, match="expecting 3 features"):
        mercer.PCA().fit(source).transform(ArraySource(np.ones((4, 2))))
