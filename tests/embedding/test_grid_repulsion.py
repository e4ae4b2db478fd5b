"""The repulsive sums on a grid: the stated accuracy, on maps of every size and shape."""

from __future__ import annotations

import numpy as np
import pytest
from example_maps import SIMILARITIES, close, exact, points, relative, worst_row
from hypothesis import given
from hypothesis import strategies as st

from mercer.embedding.grid_field import error_at, spacing_for
from mercer.embedding.grid_repulsion import GridRepulsion
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Gaussian, Student

HARDEST = [("uniform", 1, 300), ("uniform", 2, 100), ("clusters", 2, 100), ("clusters", 1, 300)]


@pytest.mark.parametrize("similarity", [Student(0.3), *SIMILARITIES])
@pytest.mark.parametrize("accuracy", [1e-1, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5])
def test_accuracy_is_kept_where_it_is_hardest(similarity, accuracy):
    for layout, c, size in HARDEST:
        Y = points(layout, 2000, c, size)
        repulsion = make_repulsion(similarity, c, method="grid", n=2000, accuracy=accuracy)
        G, Z = repulsion(Y)
        reference, Z_reference = exact(similarity, Y)
        assert relative(G, reference) <= accuracy
        assert worst_row(G, reference) <= 12 * accuracy
        assert close(Z, Z_reference, accuracy / 10)
        assert repulsion.expected_error == pytest.approx(accuracy)


@given(
    c=st.sampled_from([1, 2, 3]),
    size=st.floats(-5, 1.3),
    dof=st.floats(-1, 2),
    layout=st.sampled_from(["uniform", "clusters"]),
    n=st.integers(65, 1500),
    seed=st.integers(0, 99),
)
def test_the_default_accuracy_is_kept_on_any_map(c, size, dof, layout, n, seed):
    Y, similarity = points(layout, n, c, 10**size, seed).astype(np.float32), Student(10**dof)
    G, Z = make_repulsion(similarity, c, method="grid", n=n)(Y)
    reference, Z_reference = exact(similarity, Y)
    assert relative(G, reference) < 1e-3
    assert close(Z, Z_reference, 1e-4)


def test_weights_too_small_for_the_grid_stay_positive():
    """Points so far apart that exp(−d²) is nothing: Z is not divided by zero, nor does it change its sign."""
    Y = 20.0 * np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2)
    repulsion = make_repulsion(Gaussian(), 2, method="grid", n=81)
    G, Z = repulsion(Y)
    assert np.abs(G).max() < 1e-5
    assert 0 < Z < 1e-3
    assert (repulsion.on(Y + 10, Y)[2] > 0).all()


def test_the_table_is_no_finer_than_it_need_be():
    Y = points("uniform", 3000, 1, 300)
    for accuracy in (1e-2, 1e-3, 1e-4):
        G, _ = make_repulsion(Student(), 1, method="grid", n=3000, accuracy=accuracy)(Y)
        assert relative(G, exact(Student(), Y)[0]) > accuracy / 3


@pytest.mark.parametrize("similarity", [Student(), Student(0.5), Student(10), Gaussian()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_maps_of_all_sizes(similarity, dtype):
    for size in (1e-8, 1e-4, 1e-3, 3e-3, 1e-2, 0.1, 1, 5, 30, 300 if similarity == Student() else 80):
        Y = points("clusters", 2000, 2, size).astype(dtype)
        G, Z = make_repulsion(similarity, 2, method="grid", n=2000)(Y)
        reference, Z_reference = exact(similarity, Y)
        assert relative(G, reference) < 1e-3, size
        assert close(Z, Z_reference, 1e-5), size


@pytest.mark.parametrize("similarity", [Student(), Student(0.5), Gaussian()])
@pytest.mark.parametrize(("layout", "size"), [("clusters", 1e-2), ("clusters", 12), ("uniform", 20)])
def test_three_dimensions(similarity, layout, size):
    Y = points(layout, 2000, 3, size).astype(np.float32)
    reference, Z_reference = exact(similarity, Y)
    for accuracy in (1e-2, 1e-3):
        G, Z = make_repulsion(similarity, 3, method="grid", n=2000, accuracy=accuracy)(Y)
        assert relative(G, reference) < accuracy
        assert worst_row(G, reference) < 20 * accuracy
        assert close(Z, Z_reference, accuracy / 10)


def test_a_map_far_from_the_origin_and_one_that_is_a_line():
    far = (points("clusters", 2000, 2, 20) + np.array([1e5, -1e5])).astype(np.float32)
    line = points("uniform", 2000, 2, 50) * [1, 0]
    for Y in (far, line):
        G, Z = make_repulsion(Student(), 2, method="grid", n=2000)(Y)
        reference, Z_reference = exact(Student(), Y)
        assert relative(G, reference) < 1e-3
        assert close(Z, Z_reference, 1e-5)


@pytest.mark.parametrize("c", [2, 3])
def test_a_point_far_out_does_not_spoil_the_others(c):
    Y = points("clusters", 2000, c, 12)
    Y[5], Y[9] = 1e5, -3e4
    repulsion = GridRepulsion(Student(), c, most_pairs=0)
    G, Z = repulsion(Y)
    reference, Z_reference = exact(Student(), Y)
    assert repulsion.expected_error == pytest.approx(1e-3)
    assert relative(G, reference) < 1e-3
    np.testing.assert_allclose(G[[5, 9]], reference[[5, 9]], rtol=1e-9)
    assert close(Z, Z_reference, 1e-5)


def test_a_grid_at_its_limit_widens_and_says_what_that_costs():
    Y = points("clusters", 2000, 2, 60)
    repulsion = GridRepulsion(Student(2), 2, largest=2**16, most_pairs=0)
    G, _ = repulsion(Y)
    assert repulsion.spacing > spacing_for(1e-3, Student(2), 2)
    assert 1e-3 < repulsion.expected_error < 1e-1
    assert 1e-3 < relative(G, exact(Student(2), Y)[0]) <= repulsion.expected_error
    GridRepulsion(Student(2), 2, largest=2**12, most_pairs=0)(Y)  # too coarse for any promise
    assert error_at(5.0, Student(2), 2) == 1.0


def test_few_points_on_a_wide_map_are_summed_exactly():
    Y = points("uniform", 500, 2, 1e6)
    repulsion = make_repulsion(Student(), 2, method="grid", n=500)
    np.testing.assert_array_equal(repulsion(Y)[0], exact(Student(), Y)[0])
    assert repulsion.expected_error == 0


@pytest.mark.parametrize("far", [1e8, 1e30, 1e90])
def test_points_that_are_all_the_same_but_for_one_far_out(far):
    Y = np.ones((3000, 2))
    Y[0] = far
    G, Z = make_repulsion(Student(), 2, method="grid", n=3000)(Y)
    reference, Z_reference = exact(Student(), Y)
    np.testing.assert_allclose(G, reference, rtol=1e-9, atol=1e-25)
    assert close(Z, Z_reference, 1e-12)


def test_the_order_of_the_points_does_not_matter():
    Y = points("clusters", 3000, 2, 40)
    shuffled = np.random.default_rng(1).permutation(3000)
    repulsion = make_repulsion(Student(), 2, method="grid", n=3000)
    (G, Z), (G_shuffled, Z_shuffled) = repulsion(Y), repulsion(Y[shuffled])
    np.testing.assert_allclose(G_shuffled, G[shuffled], atol=1e-10 * np.abs(G).max())
    assert Z_shuffled == pytest.approx(Z, rel=1e-12)
