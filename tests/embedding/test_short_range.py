"""The similarity of t-SNE in two parts: they add up, each is summed rightly, and together they keep the accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.embedding.exact_repulsion import pair_sums
from mercer.embedding.grid_field import GridField, grid_over, soft_spacing
from mercer.embedding.grid_repulsion import GridRepulsion
from mercer.embedding.short_range import ShortRangeCells, add_short_range, soften
from mercer.embedding.similarity import Gaussian, Student


def uniform(n, c, size, seed=0):
    return size * np.random.default_rng(seed).uniform(-0.5, 0.5, (n, c))


def soft_grid(Y, softness, accuracy=1e-3):
    return grid_over(Y.min(axis=0), Y.max(axis=0), soft_spacing(accuracy, softness), softness)


def near_sums(Y, grid, accuracy=1e-3, n_jobs=None):
    G, Z = np.zeros(Y.shape), np.zeros(len(Y))
    add_short_range(Y, ShortRangeCells.under(grid, accuracy), grid.softness, G, Z, n_jobs)
    return G, Z


def relative(found, reference):
    return np.linalg.norm(found - reference) / np.linalg.norm(reference)


@given(softness=st.floats(-4, 1), d2=st.floats(0, 50))
def test_the_parts_add_up(softness, d2):
    T = 10**softness
    near = np.exp(-T * (1 + d2)) / (1 + d2)
    assert Student().smooth_part(T).weight(d2) + near == pytest.approx(Student().weight(d2), rel=1e-12)


@pytest.mark.parametrize("c", [2, 3])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-13), (np.float32, 3e-6)])
def test_near_pairs_against_the_definition(c, dtype, tolerance):
    """With cells so wide that every pair is near, the sums are over all pairs."""
    Y, T = uniform(700, c, 6).astype(dtype), 0.5
    G, Z = near_sums(Y, soft_grid(Y, T), accuracy=1e-16)
    difference = Y[:, None].astype(float) - Y[None].astype(float)
    r = 1 + np.square(difference).sum(axis=2)
    weights = np.exp(-T * r) / r
    pushes = ((T + 1 / r) * weights)[:, :, None] * difference
    assert relative(G, pushes.sum(axis=1)) < tolerance
    assert relative(Z, weights.sum(axis=1) - np.exp(-T)) < tolerance


@pytest.mark.parametrize("accuracy", [1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("softness", [2, 0.5, 0.125, 1 / 32])
@pytest.mark.parametrize(("c", "size"), [(2, 60), (2, 300), (3, 30)])
def test_both_parts_together_keep_the_accuracy(c, size, softness, accuracy):
    Y = uniform(1500, c, size)
    grid = soft_grid(Y, softness, accuracy)
    G, Z = GridField(Student(), double=True).sums(Y, Y, grid, same=True)
    near = near_sums(Y, grid, accuracy)
    reference, shares = pair_sums(Student(), Y, Y, same=True)
    assert relative(G + near[0], reference) < accuracy
    assert abs((Z + near[1]).sum() / shares.sum() - 1) < accuracy


def test_a_wide_map_is_softened_and_a_small_or_crowded_one_is_not():
    def softness(Y):
        return soften(grid_over(Y.min(axis=0), Y.max(axis=0), 0.27), Y, 1e-3, 2**25).softness

    wide = [softness(uniform(5000, 2, size)) for size in (100, 300, 1000)]
    assert all(T is not None for T in wide)
    assert wide == sorted(wide, reverse=True)  # the fewer the near pairs, the coarser the grid
    assert softness(uniform(5000, 2, 3)) is None
    assert softness(uniform(50_000, 2, 20)) is None


def test_the_choice_saves_nodes_and_keeps_the_accuracy_in_single_precision():
    Y = uniform(6000, 2, 250).astype(np.float32)
    repulsion = GridRepulsion(Student(), 2)
    G, Z = repulsion(Y)
    reference, shares = pair_sums(Student(), Y.astype(float), Y.astype(float), same=True)
    assert repulsion.spacing > 3 * GridRepulsion(Student(2), 2).finest
    assert repulsion.expected_error == 1e-3
    assert relative(G, reference) < 1e-3
    assert pytest.approx(shares.sum(), rel=1e-5) == Z


@pytest.mark.parametrize("similarity", [Student(0.5), Student(2), Gaussian()])
def test_other_similarities_stay_whole(similarity):
    Y = uniform(3000, 2, 100)
    whole = GridRepulsion(similarity, 2)
    G, _ = whole(Y)
    assert whole.spacing == whole.finest
    assert relative(G, pair_sums(similarity, Y, Y, same=True)[0]) < 1e-3


def test_the_same_bits_for_any_number_of_threads():
    Y = uniform(5000, 2, 200).astype(np.float32)
    grid = soft_grid(Y, 0.5)
    one, many = near_sums(Y, grid, n_jobs=1), near_sums(Y, grid, n_jobs=2)
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])


def test_points_without_near_ones_feel_nothing_near():
    Y = 40.0 * np.stack(np.meshgrid(np.arange(40.0), np.arange(40.0)), axis=-1).reshape(-1, 2)
    G, Z = near_sums(Y, soft_grid(Y, 2.0))
    np.testing.assert_array_equal(G, 0)
    np.testing.assert_allclose(Z, 0, atol=1e-16)


def test_copies_of_a_point_weigh_and_do_not_push():
    Y = np.repeat(uniform(50, 2, 300), 40, axis=0)
    grid = soft_grid(Y, 0.5)
    G, Z = near_sums(Y, grid)
    np.testing.assert_allclose(Z[:40], 39 * np.exp(-0.5), rtol=1e-3)
    assert np.abs(G).max() < 1
