"""The field of a map on a grid: its splines, what a point does to itself, and its spectra."""

from __future__ import annotations

import numpy as np
import pytest
from example_maps import points
from scipy.interpolate import BSpline

from mercer.backends import compiled_grid
from mercer.embedding import grid_field
from mercer.embedding.grid_field import GridField, error_at, grid_over, soft_spacing, spacing_for
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Student


def test_weights_are_those_of_the_b_spline_and_slopes_their_derivatives():
    assert compiled_grid.ORDER == grid_field.ORDER
    spline = BSpline.basis_element(np.arange(grid_field.ORDER + 1))
    weights, slopes = np.empty((1, grid_field.ORDER)), np.empty((1, grid_field.ORDER))
    for t in (0.1, 0.5, 0.99):
        compiled_grid.window(t, weights, slopes, 0)
        where = t + np.arange(grid_field.ORDER)[::-1]
        np.testing.assert_allclose(weights[0], spline(where), atol=1e-14)
        np.testing.assert_allclose(slopes[0], spline.derivative()(where), atol=1e-14)
        assert weights.sum() == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("c", [1, 2, 3])
def test_what_a_point_does_to_itself_is_taken_off(c):
    """A point alone on the grid, at many places of its cell: neither push nor weight is left."""
    field = GridField(Student())
    where = grid_over(np.zeros(c), np.full(c, 4.0), 0.4)
    left, kept = [], []
    for Y in np.random.default_rng(0).uniform(1, 3, (20, 1, c)):
        G, Z = field.sums(Y, Y, where, same=True)
        left.append([abs(Z[0]), np.abs(G).max()])
        G, Z = field.sums(Y, Y, where, same=False)
        kept.append([abs(Z[0] - 1), np.abs(G).max()])
    assert (np.max(left, axis=0) < np.max(kept, axis=0) / 30).all()


def test_a_map_that_grows_slowly_reuses_its_spectrum():
    Y = points("clusters", 2000, 2, 100)
    repulsion = make_repulsion(Student(), 2, method="grid", n=2000)
    for growth in np.linspace(1, 1.02, 10):
        repulsion(growth * Y)
    assert len(repulsion.field.spectra) <= 3
    for growth in np.linspace(1, 3, 10):
        repulsion(growth * Y)
    assert len(repulsion.field.spectra) <= 4  # nor are those of all grids kept


@pytest.mark.parametrize("c", [1, 2, 3])
def test_the_error_and_the_spacing_are_inverse_to_each_other(c):
    for error in (1e-5, 3e-4, 1e-3, 5e-2):
        assert error_at(spacing_for(error, Student(2), c), Student(2), c) == pytest.approx(error, rel=1e-9)
    assert error_at(100.0, Student(2), c) == 1.0  # coarser than any grid that was measured


def test_a_softer_kernel_needs_a_coarser_grid():
    """Half the width 1/√T asks for half the spacing."""
    assert soft_spacing(1e-3, 4.0) == pytest.approx(soft_spacing(1e-3, 1.0) / 2, rel=1e-12)


def test_a_frozen_field_is_that_of_the_moving_map():
    """Read at its own points, the field of a frozen map holds w(0) of each point as well."""
    Y = points("clusters", 500, 2, 20)
    grid = grid_over(Y.min(axis=0), Y.max(axis=0), 0.25)
    field = GridField(Student())
    G, rows = field.frozen(Y, grid).at(Y)
    moving, others = field.sums(Y, Y, grid, same=False)
    np.testing.assert_array_equal(G, moving)
    np.testing.assert_allclose(rows, others, rtol=1e-12)
