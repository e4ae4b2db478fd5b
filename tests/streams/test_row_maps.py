"""Maps give f − shift, k(x, x) and ‖f‖²."""

import numpy as np

from mercer.kernels import RBF
from mercer.streams.row_maps import ClassIndicators, ShiftedRows
from mercer.streams.streamed_features import features_of

X = np.random.default_rng(0).standard_normal((50, 3))


def test_features_have_the_lengths_and_products_that_they_say():
    features = features_of(RBF(0.5), X, X)
    F, diagonal, squares = features(X)
    F = F + features.shift
    # All rows are landmarks, so FFᵀ = K up to the rounding that the map states, and what its root adds: ε tr K.
    room = features.slack + 50 * np.finfo(np.float64).eps * 50 + 1e-9
    assert np.abs(F @ F.T - RBF(0.5)(X)).max() <= room
    assert np.abs(squares - (F**2).sum(axis=1)).max() <= room and np.array_equal(diagonal, np.ones(50))


def test_a_root_that_is_not_triangular_gives_the_same_kernel():
    twice = np.concatenate([X[:20], X[:20]])  # a singular matrix: its root comes from eigenvectors
    features, one = features_of(RBF(0.5), twice, X), features_of(RBF(0.5), X[:20], X)
    for either in (features, one):
        F = either(X)[0] + either.shift
        plain = either.expansion.on_points(either.expansion.new_points(X))
        # The same products in another order: m roundings of numbers no larger than Σ |k| |coefs|.
        room = 50 * np.finfo(np.float64).eps * np.abs(either.expansion.coefs).sum(axis=0).max()
        assert np.abs(F - plain).max() <= room


def test_rows_are_shifted_and_classes_are_indicated():
    assert np.array_equal(ShiftedRows(X[0])(X)[0], X - X[0])
    assert ClassIndicators(3)(np.array([[2], [0]]))[0].tolist() == [[0, 0, 1], [1, 0, 0]]
