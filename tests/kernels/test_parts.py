"""A tile of a large matrix is compiled, one of a small matrix is NumPy's: the numbers are the same to rounding."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.backends import cpu
from mercer.kernels import RBF, Laplacian, Matern

X = np.random.default_rng(5).standard_normal((2100, 6))


def test_points_remember_how_many_they_were_cut_from():
    points = RBF(0.3).points(X)
    part = points[100:200].take(np.arange(7))
    assert (len(points), points.all_told) == (2100, 2100)
    assert (len(part), part.all_told) == (7, 2100)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [RBF(0.3), Matern(1.5, 0.5), Laplacian(0.2)], ids=repr)
def test_small_tiles_of_a_large_matrix_are_those_of_a_small_one(kernel, dtype, monkeypatch):
    points = kernel.points(X, dtype)
    rows, columns = points[:90], points[50:170]
    compiled = kernel.tile(rows, columns)
    monkeypatch.setattr(cpu, "_earns_compiling", lambda tile, entries: False)
    assert_allclose(compiled, kernel.tile(rows, columns), rtol=64 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


def test_numba_is_asked_for_by_the_size_of_the_whole(monkeypatch):
    asked = []
    monkeypatch.setattr(cpu, "_compiled", lambda: asked.append(True))
    kernel = RBF(0.3)
    kernel.tile(kernel.points(X[:300])[:50])
    assert not asked
    with pytest.raises(AttributeError):
        kernel.tile(kernel.points(X)[:50])
    assert asked


def test_numba_is_asked_for_where_sums_over_coordinates_are_long(monkeypatch):
    asked = []
    monkeypatch.setattr(cpu, "_compiled", lambda: asked.append(True))
    for kernel in (RBF(0.3), Laplacian(0.2)):
        kernel.tile(kernel.points(np.ones((400, 500))))
    assert not asked
    with pytest.raises(AttributeError):
        kernel.tile(kernel.points(np.ones((400, 1000))))
    assert asked
