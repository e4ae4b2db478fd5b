"""KL(P ‖ Q) and its gradient: against the definition pair by pair and against finite differences."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mercer.embedding.affinities import entropy_of, given_affinities
from mercer.embedding.loss import Attraction, Loss
from mercer.embedding.repulsion import make_repulsion
from mercer.embedding.similarity import Gaussian, Student

SIMILARITIES = [Student(1.0), Student(0.5), Student(3.0), Gaussian()]
N = 40


def problem(similarity, c=2, seed=0, n=N):
    rng = np.random.default_rng(seed)
    P = given_affinities(rng.random((n, n)) * (rng.random((n, n)) < 0.3) + 1e-3).P
    repulsion = make_repulsion(similarity, c, method="exact", n=n)
    return Loss(P, entropy_of(P), similarity, repulsion), P.toarray().astype(np.float64), rng.standard_normal((n, c))


def by_definition(P, Y, similarity):
    D2 = ((Y[:, None] - Y[None, :]) ** 2).sum(axis=2)
    W = similarity.weight(D2) * (1 - np.eye(len(Y)))
    Q = W / W.sum()
    off = P > 0
    value = np.sum(P[off] * np.log(P[off] / Q[off]))
    slope = (P - Q) * similarity.log_slope(D2)
    gradient = 4 * (slope[:, :, None] * (Y[:, None] - Y[None, :])).sum(axis=1)
    return value, gradient


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=str)
@pytest.mark.parametrize("c", [1, 2, 3, 5])
def test_value_and_gradient_are_the_definition(similarity, c):
    """4 Σⱼ (pᵢⱼ − qᵢⱼ)(yᵢ − yⱼ)(−w′/w): for Student(1) the notes' formula, term by term."""
    loss, P, Y = problem(similarity, c)
    value, gradient = by_definition(P, Y, similarity)
    assert_allclose(loss.value(Y), value, rtol=1e-6)
    assert_allclose(loss.gradient(Y), gradient, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=str)
def test_gradient_is_the_derivative_of_the_value(similarity):
    loss, _, Y = problem(similarity)
    step = 1e-5
    numeric = np.empty_like(Y)
    for place in np.ndindex(*Y.shape):
        up, down = Y.copy(), Y.copy()
        up[place] += step
        down[place] -= step
        numeric[place] = (loss.value(up) - loss.value(down)) / (2 * step)
    assert_allclose(loss.gradient(Y), numeric, rtol=1e-5, atol=1e-8)


@given(seed=st.integers(0, 10**6), angle=st.floats(0, 6), shift=st.floats(-50, 50))
def test_rotating_and_moving_the_map_changes_nothing(seed, angle, shift):
    loss, _, Y = problem(Student(1.0), seed=seed)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    moved = np.ascontiguousarray(Y @ turn + shift)
    assert_allclose(loss.value(moved), loss.value(Y), rtol=1e-9)
    assert_allclose(loss.gradient(moved), loss.gradient(Y) @ turn, atol=1e-10)


def test_forces_sum_to_zero():
    loss, _, Y = problem(Gaussian())
    assert_allclose(loss.gradient(Y).sum(axis=0), 0, atol=1e-12)


def test_exaggeration_multiplies_the_attraction_alone():
    loss, _, Y = problem(Student(1.0))
    pull, push, Z = loss.forces(Y)
    assert_allclose(loss.gradient(Y, 12.0), 4 * (12 * pull - push / Z), rtol=1e-12)


@pytest.mark.parametrize("c", [1, 2, 3])
def test_float32_is_float64_to_its_digits(c):
    loss, _, Y = problem(Student(1.0), c)
    single = loss.gradient(Y.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, loss.gradient(Y), atol=1e-5 * np.abs(single).max())
    assert_allclose(loss.value(Y.astype(np.float32)), loss.value(Y), rtol=1e-6)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(0)
    P = sp.random_array((5000, 5000), density=2e-3, format="csr", dtype=np.float32, rng=rng)
    Y = rng.standard_normal((5000, 2)).astype(np.float32)
    one, two = (Attraction(P, Student(1.0), jobs)(Y) for jobs in (1, 2))
    assert_array_equal(one, two)


def test_attraction_between_two_sets():
    rng = np.random.default_rng(0)
    P = sp.random_array((7, 30), density=0.4, format="csr", dtype=np.float32, rng=rng)
    A, Y = rng.standard_normal((7, 2)), rng.standard_normal((30, 2))
    D = A[:, None] - Y[None, :]
    wanted = (P.toarray() / (1 + (D**2).sum(axis=2)))[:, :, None] * D
    assert_allclose(Attraction(P, Student(1.0))(A, Y), wanted.sum(axis=1), rtol=1e-6)


def test_points_too_far_for_any_similarity_stay_finite():
    loss, _, Y = problem(Gaussian())
    far = 1e4 * Y
    assert np.isfinite(loss.value(far)) and np.all(np.isfinite(loss.gradient(far)))
