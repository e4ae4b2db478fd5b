"""Both repulsions by one interface: the same sums, the same bits, the choice between them, and bad input."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from example_maps import by_definition, close, points, relative

from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Gaussian, Student


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
