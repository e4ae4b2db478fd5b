"""A packed matrix is the matrix: its products, rows and eigenpairs, whatever the tiles and their precision."""

import numpy as np
import pytest

from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.operators import Centered
from mercer.linalg.tiled import Packed
from mercer.testing import check_operator


def packed(M, tile, stored=np.float64):
    A = Packed(len(M), stored=stored, tile=tile)
    for I in A.runs:
        for start in range(I.start, I.stop, 5):  # rows come in small runs, as from shortest paths
            rows = slice(start, min(start + 5, I.stop))
            for J, part in A.room(rows):
                part[...] = M[rows, J]
    return A


def symmetric(n, seed=0):
    M = np.random.default_rng(seed).standard_normal((n, n))
    return M + M.T


@pytest.mark.parametrize("tile", [7, 16, 64])
def test_a_packed_matrix_keeps_the_contract_of_operators(tile):
    M = symmetric(40)
    check_operator(packed(M, tile), M)


def test_float32_tiles_are_multiplied_in_float64_at_the_end_of_the_ladder():
    M = symmetric(50).astype(np.float32).astype(np.float64)
    coarse, exact = packed(M, 16, np.float32).ladder(1e-10)
    V = np.random.default_rng(1).standard_normal((50, 3))
    assert np.abs(exact.matmat(V) - M @ V).max() < 1e-12
    assert 1e-8 < np.abs(coarse.matmat(V) - M @ V).max() < 1e-4


def test_half_of_the_matrix_is_kept():
    A = packed(symmetric(64), 8, np.float32)
    assert A.kept_bytes == 4 * 8 * 8 * (8 * 9 // 2)


def test_symmetrize_takes_what_stands_above_the_diagonal():
    M = symmetric(30)
    A = packed(np.triu(M) - 3 * np.tril(np.ones((30, 30)), -1), 30)
    A.symmetrize()
    assert np.array_equal(A.to_dense(), M)


def test_rows_across_tiles_are_refused():
    with pytest.raises(ValueError, match="cross the boundary"):
        list(Packed(20, tile=8).room(slice(6, 10)))


def test_eigenpairs_of_the_centred_matrix_are_those_of_the_explicit_one():
    M = symmetric(60)
    H = np.eye(60) - 1 / 60
    pairs = top_eigenpairs(Centered(packed(M, 16)), 4, solver="krylov")
    assert np.allclose(pairs.values, np.linalg.eigvalsh(H @ M @ H)[::-1][:4])
    assert pairs.residuals.max() < 1e-9 * pairs.values[0]
