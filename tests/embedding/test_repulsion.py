"""The sums that push points apart: against their definition, and the grid against them to a stated accuracy."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import BSpline

from mercer.backends import compiled_grid
from mercer.embedding import grid_field
from mercer.embedding.exact_repulsion import pair_sums
from mercer.embedding.grid_field import GridField, error_at, grid_over, spacing_for
from mercer.embedding.grid_repulsion import GridRepulsion
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Gaussian, Student

SIMILARITIES = [Student(), Student(0.5), Student(2), Student(10), Gaussian()]


def by_definition(similarity, new, fixed):
    difference = new[:, None].astype(float) - fixed[None].astype(float)
    d2 = np.square(difference).sum(axis=2)
    return (similarity.slope(d2)[:, :, None] * difference).sum(axis=1), similarity.weight(d2)


def exact(similarity, Y):
    G, rows = pair_sums(similarity, Y.astype(float), Y.astype(float), same=True)
    return G, rows.sum()


def points(layout, n, c, size, seed=0):
    """Points in a cube of side `size`: uniform, or in clusters a thirtieth of it wide."""
    random = np.random.default_rng(seed)
    if layout == "uniform":
        return size * random.uniform(-0.5, 0.5, (n, c))
    centres = random.uniform(-0.4, 0.4, (15, c))
    return size * (centres[random.integers(0, 15, n)] + random.standard_normal((n, c)) / 30)


def relative(G, reference):
    return np.linalg.norm(G - reference) / np.linalg.norm(reference)


def worst_row(G, reference):
    """The largest error of a row, in units of the root mean square of the rows."""
    return np.linalg.norm(G - reference, axis=1).max() / np.sqrt(np.square(reference).sum(axis=1).mean())


def close(Z, reference, tolerance):
    return abs(Z - reference) <= tolerance * abs(reference)


# The similarities.


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_slopes_are_the_derivatives(similarity):
    d2, step = np.linspace(0.01, 30, 200), 1e-6
    numerical = -(similarity.weight(d2 + step) - similarity.weight(d2 - step)) / (2 * step)
    np.testing.assert_allclose(similarity.slope(d2), numerical, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(similarity.log_slope(d2), similarity.slope(d2) / similarity.weight(d2), rtol=1e-12)
    assert similarity.weight(np.zeros(1)) == 1


def test_many_degrees_of_freedom_are_a_gaussian_of_half_the_exponent():
    d2 = np.linspace(0, 10, 50)
    np.testing.assert_allclose(Student(1e6).weight(d2), Gaussian().weight(d2 / 2), rtol=1e-4)


@pytest.mark.parametrize("dof", [0, -1, np.nan, np.inf, 1e9])
def test_degrees_of_freedom_that_are_none(dof):
    with pytest.raises(ValueError, match="degrees of freedom"):
        Student(dof)


# Exact sums.


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("c", [1, 2, 3, 7])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 3e-6)])
def test_exact_is_the_definition(similarity, c, dtype, tolerance):
    Y = points("clusters", 300, c, 20).astype(dtype)
    G, Z = make_repulsion(similarity, c, method="exact", n=300)(Y)
    pushes, weights = by_definition(similarity, Y, Y)
    assert G.dtype == dtype
    assert isinstance(Z, float)
    assert relative(G, pushes) < tolerance
    assert close(Z, weights.sum() - 300, 10 * tolerance)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_pushes_are_the_gradient_of_the_sum_of_weights(similarity):
    """∂Z/∂yᵢ = −4 Gᵢ, by central differences."""
    Y = points("clusters", 40, 2, 6)
    repulsion = make_repulsion(similarity, 2, n=40)
    G, _ = repulsion(Y)
    for i, k in [(0, 0), (7, 1), (39, 0)]:
        step = np.zeros_like(Y)
        step[i, k] = 1e-5
        assert (repulsion(Y + step)[1] - repulsion(Y - step)[1]) / 2e-5 == pytest.approx(-4 * G[i, k], rel=1e-6)


@given(angle=st.floats(0, 6), shift=st.floats(-50, 50), seed=st.integers(0, 99))
def test_exact_turns_and_moves_with_the_map(angle, shift, seed):
    Y = points("uniform", 60, 2, 10, seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    repulsion = make_repulsion(Student(2), 2, n=60)
    (G, Z), (turned, Z_turned) = repulsion(Y), repulsion(Y @ turn + shift)
    np.testing.assert_allclose(turned, G @ turn, atol=1e-11)
    np.testing.assert_allclose(G.sum(axis=0), 0, atol=1e-11)  # what one pushes, another is pushed back
    assert Z_turned == pytest.approx(Z, rel=1e-11)


def test_far_apart_the_weights_are_not_lost_in_those_of_points_with_themselves():
    Y = np.array([[0.0], [1e9], [3e9]])
    assert make_repulsion(Student(), 1, n=3)(Y)[1] == pytest.approx(2 * (1 + 1 / 9 + 1 / 4) * 1e-18, rel=1e-12)


@pytest.mark.parametrize("similarity", [Gaussian(), Student(), Student(0.01)])
def test_float32_does_not_overflow(similarity):
    Y = np.array([[0, 0], [1e30, -1e30], [1, 1]], np.float32)
    G, Z = make_repulsion(similarity, 2, n=3)(Y)
    assert np.isfinite(G).all()
    assert close(Z, 2 * float(similarity.weight(np.float64(2))), 1e-6)


# The grid's parts.


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


# Accuracy of the grid.

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


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("method", ["exact", "grid"])
def test_points_that_are_all_the_same(c, method):
    Y = np.full((200, c), 3.7, np.float32)
    G, Z = make_repulsion(Student(), c, method=method, n=200)(Y)
    assert not G.any()
    assert Z == 200 * 199


@pytest.mark.parametrize("method", ["exact", "grid"])
def test_one_point_and_two(method):
    repulsion = make_repulsion(Student(), 2, method=method, n=1)
    G, Z = repulsion(np.array([[3.0, 4.0]]))
    assert not G.any()
    assert Z == 0
    G, Z = repulsion(np.array([[0.0, 0.0], [300.0, 0.0]]))
    assert close(Z, 2 / 90001, 1e-12)
    np.testing.assert_allclose(G, [[-300 / 90001**2, 0], [300 / 90001**2, 0]], rtol=1e-12)


# Maps that outgrow the grid.


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


# New points among fixed ones.


@pytest.mark.parametrize("method", ["exact", "grid"])
@pytest.mark.parametrize("similarity", [Student(), Student(0.5), Gaussian()])
@pytest.mark.parametrize("c", [1, 2, 3])
def test_new_points_against_fixed_ones(method, similarity, c):
    fixed, new = points("clusters", 2000, c, 15), points("uniform", 150, c, 20, seed=1)
    G, Z, rows = make_repulsion(similarity, c, method=method, n=2000).on(new, fixed)
    pushes, weights = by_definition(similarity, new, fixed)
    assert relative(G, pushes) < 1e-3
    assert relative(rows, weights.sum(axis=1)) < 1e-4
    assert close(Z, weights.sum(), 1e-4)


def test_new_points_far_out_and_in_another_precision():
    fixed, new = points("clusters", 2000, 2, 15), points("uniform", 100, 2, 15, seed=1).astype(np.float32)
    new[3] = 1e6
    G, Z, rows = make_repulsion(Student(), 2, method="grid", n=2000).on(new, fixed)
    pushes, weights = by_definition(Student(), new, fixed)
    assert G.dtype == rows.dtype == np.float32
    assert relative(G, pushes) < 1e-3
    np.testing.assert_allclose(G[3], pushes[3], rtol=1e-5)
    assert close(Z, weights.sum(), 1e-5)


def test_new_points_that_are_all_far_out():
    fixed, new = points("clusters", 2000, 2, 15), np.array([[1e6, 0.0], [0.0, -1e6], [1e6, 1e6]])
    G, Z, _ = make_repulsion(Student(), 2, method="grid", n=2000).on(new, fixed)
    pushes, weights = by_definition(Student(), new, fixed)
    np.testing.assert_allclose(G, pushes, rtol=1e-9)
    assert close(Z, weights.sum(), 1e-9)


def test_the_fixed_points_as_new_ones_meet_themselves_as_well():
    Y = points("clusters", 2000, 2, 30)
    for method in ("exact", "grid"):
        repulsion = make_repulsion(Student(), 2, method=method, n=2000)
        (G, Z), (G_on, Z_on, _) = repulsion(Y), repulsion.on(Y, Y)
        assert relative(G_on, G) < 1e-3
        assert Z_on == pytest.approx(Z + 2000, rel=1e-4)


# The same bits, the spectra that are kept, and what is chosen.


@pytest.mark.parametrize("method", ["exact", "grid"])
@pytest.mark.parametrize("c", [1, 2, 3])
def test_same_bits_at_any_number_of_threads_and_after_other_maps(method, c):
    Y, other = points("clusters", 5000, c, 15).astype(np.float32), points("uniform", 5000, c, 9).astype(np.float32)
    one = make_repulsion(Student(), c, method=method, n=5000, n_jobs=1)
    two = make_repulsion(Student(), c, method=method, n=5000, n_jobs=2)
    two(other)
    for _ in range(2):
        np.testing.assert_array_equal(one(Y)[0], two(Y)[0])
        assert one(Y)[1] == two(Y)[1]


def test_the_order_of_the_points_does_not_matter():
    Y = points("clusters", 3000, 2, 40)
    shuffled = np.random.default_rng(1).permutation(3000)
    repulsion = make_repulsion(Student(), 2, method="grid", n=3000)
    (G, Z), (G_shuffled, Z_shuffled) = repulsion(Y), repulsion(Y[shuffled])
    np.testing.assert_allclose(G_shuffled, G[shuffled], atol=1e-10 * np.abs(G).max())
    assert Z_shuffled == pytest.approx(Z, rel=1e-12)


def test_a_map_that_grows_slowly_reuses_its_spectrum():
    Y = points("clusters", 2000, 2, 100)
    repulsion = make_repulsion(Student(), 2, method="grid", n=2000)
    for growth in np.linspace(1, 1.02, 10):
        repulsion(growth * Y)
    assert len(repulsion.field.spectra) <= 3
    for growth in np.linspace(1, 3, 10):
        repulsion(growth * Y)
    assert len(repulsion.field.spectra) <= 4  # nor are those of all grids kept


def test_auto_chooses_by_points_and_dimensions():
    assert make_repulsion(Student(), 2, n=500).method == "exact"
    assert make_repulsion(Student(), 2, n=10**6).method == "grid"
    assert make_repulsion(Student(), 4, n=10**6).method == "exact"
    assert "4 dimensions" in make_repulsion(Student(), 4, n=10**6).reason
    assert "asked for" in make_repulsion(Student(), 2, n=10, method="grid").reason


def test_numba_is_not_loaded_before_it_is_needed():
    code = (
        "import sys; from mercer.embedding.repulsion import make_repulsion; "
        "from mercer.embedding.similarity import Student; "
        "sys.exit('numba' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Bad input.


@pytest.mark.parametrize("method", ["exact", "grid"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
def test_a_map_that_ran_away(method, bad):
    Y = points("uniform", 300, 2, 10)
    Y[7, 1] = bad
    repulsion = make_repulsion(Student(), 2, method=method, n=300)
    with pytest.raises(ValueError, match="run away"):
        repulsion(Y)
    with pytest.raises(ValueError, match="fixed has coordinates"):
        repulsion.on(points("uniform", 3, 2, 10), Y)


@pytest.mark.parametrize("method", ["exact", "grid"])
def test_arrays_that_are_no_map(method):
    repulsion = make_repulsion(Student(), 2, method=method, n=10)
    for wrong in (np.zeros((10, 3)), np.zeros(10), np.zeros((0, 2))):
        with pytest.raises(ValueError, match="shape"):
            repulsion(wrong)
    for wrong in (np.zeros((10, 2), int), [[0.0, 1.0]], np.array([["a", "b"]])):
        with pytest.raises(TypeError, match="float32 or float64"):
            repulsion(wrong)


def test_arrays_in_other_orders_are_copied():
    Y = points("clusters", 3000, 2, 20)
    repulsion = make_repulsion(Student(), 2, method="grid", n=3000)
    np.testing.assert_array_equal(repulsion(np.asfortranarray(Y))[0], repulsion(Y)[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "fft"}, "must be one of"),
        ({"method": "grid", "n_components": 4}, "1, 2 and 3 dimensions"),
        ({"n_components": 0}, "at least one dimension"),
        ({"n": 0}, "at least one point"),
        ({"accuracy": 1e-9}, "accuracy"),
        ({"accuracy": 0.5}, "accuracy"),
        ({"accuracy": np.nan}, "accuracy"),
    ],
)
def test_arguments_that_cannot_be(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_repulsion(**{"similarity": Student(), "n_components": 2, "n": 10, **arguments})


def test_a_similarity_that_is_none():
    with pytest.raises(TypeError, match="Student"):
        make_repulsion("student", 2, n=10)
