"""Agreement of two maps: what it does not depend on, its extremes, and its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group

from mercer.quality import neighborhood_overlap, procrustes_disparity

EPS = np.finfo(np.float64).eps


def pair(seed, n=40, a=2, b=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, a)), rng.standard_normal((n, b))


def moved(A, seed, scale, shift):
    """A similarity of A: rotated or mirrored, scaled and shifted."""
    turn = ortho_group.rvs(A.shape[1], random_state=seed) if A.shape[1] > 1 else -np.ones((1, 1))
    return scale * A @ turn + shift


similarities = given(
    seed=st.integers(0, 10**6),
    width=st.integers(1, 4),
    scale=st.floats(1e-150, 1e150),
    shift=st.floats(-10, 10),
)


@similarities
@settings(deadline=None, max_examples=60)
def test_disparity_does_not_know_shift_scale_turn_or_mirror(seed, width, scale, shift):
    A, B = pair(seed, a=width, b=width)
    there = moved(A, seed, scale, shift * scale)
    # Rounding: every entry of a centred map of norm 1 is off by a few eps of the largest, |shift| + max|A|.
    off = 100 * EPS * (abs(shift) + np.abs(A).max()) / A.std()
    assert procrustes_disparity(A, there).value <= len(A) * off**2
    # d² is smooth with slope at most 2 in the entries of either unit shape.
    assert procrustes_disparity(there, B).value == pytest.approx(procrustes_disparity(A, B).value, abs=len(A) * off)


@given(seed=st.integers(0, 10**6), a=st.integers(1, 4), b=st.integers(1, 4))
@settings(deadline=None, max_examples=60)
def test_disparity_is_symmetric_between_0_and_1_and_scipy_s(seed, a, b):
    A, B = pair(seed, a=a, b=b)
    found = procrustes_disparity(A, B)
    assert 0 <= found.value <= 1 and (found.error, found.rows, found.best) == (0.0, 40, 0.0)
    assert procrustes_disparity(B, A).value == pytest.approx(found.value, abs=1000 * EPS)
    width = max(a, b)
    padded = [np.pad(values, ((0, 0), (0, width - values.shape[1]))) for values in (A, B)]
    assert procrustes(*padded)[2] == pytest.approx(found.value, abs=1000 * EPS)


def test_disparity_of_a_map_with_a_column_of_zeros_is_zero():
    A, _ = pair(0)
    assert procrustes_disparity(A, np.c_[A, np.zeros(len(A))]).value <= 100 * EPS**2 * len(A)


@pytest.mark.parametrize("same", [0.0, 1e300, -0.1])
def test_a_single_point_has_no_shape(same):
    A, _ = pair(0)
    with pytest.raises(ValueError, match="All points of B coincide"):
        procrustes_disparity(A, np.full((40, 2), same))


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 39),
    similar=st.tuples(st.floats(1e-30, 1e30), st.integers(-4, 4)),
)
@settings(deadline=None, max_examples=60)
def test_overlap_is_1_for_similar_maps_symmetric_and_its_definition(seed, k, similar):
    A, B = pair(seed, b=3)
    scale, shift = similar
    found = neighborhood_overlap(A, B, n_neighbors=k)
    near = [np.argsort(cdist(M, M) + 1e9 * np.eye(40), axis=1)[:, :k] for M in (A, B)]
    direct = np.mean([len(set(a) & set(b)) / k for a, b in zip(*near, strict=True)])
    assert found.value == pytest.approx(direct, abs=40 * EPS) and found.error == 0
    assert neighborhood_overlap(B, A, n_neighbors=k).value == found.value
    assert neighborhood_overlap(A, moved(A, seed, scale, scale * shift), n_neighbors=k).value == 1.0


def test_overlap_of_maps_with_ties_is_1_with_itself():
    grid = np.stack(np.meshgrid(range(6), range(6)), axis=-1).reshape(-1, 2).astype(float)
    assert neighborhood_overlap(grid, grid, n_neighbors=5).value == 1.0
    assert neighborhood_overlap(np.zeros((36, 2)), np.zeros((36, 1)), n_neighbors=5).value == 1.0


def test_unrelated_maps_share_k_of_n_less_1_neighbours():
    """The mean of n·k indicators, each 1 with chance k/(n − 1); 6 standard errors of independent ones."""
    A, B = pair(3, n=2000)
    k, n = 20, 2000
    p = k / (n - 1)
    assert neighborhood_overlap(A, B, n_neighbors=k).value == pytest.approx(p, abs=6 * np.sqrt(p / (n * k)))


def test_a_sample_is_within_its_error():
    A, B = pair(4, n=1500)
    B = A + 0.3 * B
    whole = neighborhood_overlap(A, B, sample=None)
    part = neighborhood_overlap(A, B, sample=300, random_state=0)
    assert (whole.error, whole.rows, part.rows) == (0.0, 1500, 300)
    assert 0 < part.error < 0.05 and abs(part.value - whole.value) < 5 * part.error


@pytest.mark.parametrize("score", [procrustes_disparity, neighborhood_overlap])
def test_maps_of_different_rows_are_refused(score):
    A, B = pair(0)
    with pytest.raises(ValueError, match="A has 40 rows and B has 39"):
        score(A, B[1:])


@pytest.mark.parametrize("k", [0, 40, 2.5, True])
def test_a_number_of_neighbours_that_cannot_be_is_refused(k):
    with pytest.raises(ValueError, match="from 1 to n − 1 = 39"):
        neighborhood_overlap(*pair(0), n_neighbors=k)
