"""A kernel's matrix in tiles: any tiling, any threads and any store give the same products."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.backends import cpu
from mercer.kernels import RBF, Laplacian, Linear, Polynomial
from mercer.linalg.gram import Gram

RNG = np.random.default_rng(0)


X = RNG.standard_normal((130, 4))


V = RNG.standard_normal((130, 3))


KERNELS = [RBF(gamma=0.3), Laplacian(0.3), Linear(), RBF(gamma=0.3) + Polynomial(2, 1.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("keep", [10**7, 40_000], ids=["all kept", "some kept"])
def test_streamed_and_kept_are_the_same_bits(kernel, keep):
    streamed, kept = Gram(kernel, X, tile=32), Gram(kernel, X, tile=32, keep_bytes=keep)
    products = [A.matmat(V) for A in (streamed, streamed, kept, kept)]
    assert kept.kept_bytes > 0 == streamed.kept_bytes
    for other in products[1:]:
        np.testing.assert_array_equal(other, products[0])
    np.testing.assert_allclose(products[0], kernel(X) @ V, rtol=1e-10, atol=1e-10)


@given(tile=st.integers(1, 140), keep=st.integers(0, 140_000), b=st.integers(1, 6))
def test_any_tile_size(tile, keep, b):
    A = Gram(KERNELS[0], X, tile=tile, keep_bytes=keep)
    W = np.cos(np.arange(130 * b, dtype=float)).reshape(130, b)
    np.testing.assert_allclose(A.matmat(W), KERNELS[0](X) @ W, rtol=1e-11, atol=1e-11)
    assert A.kept_bytes <= keep


def test_thread_counts_agree_and_repeat():
    one, two = (Gram(KERNELS[0], X, tile=16, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_allclose(one.matmat(V), two.matmat(V), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(two.matmat(V), Gram(KERNELS[0], X, tile=16, n_jobs=2).matmat(V))
    np.testing.assert_array_equal(one.to_dense(), two.to_dense())


def test_tiles_are_kept_from_the_pass_asked_for():
    A = Gram(KERNELS[0], X, tile=32, keep_bytes=10**6, keep_from=2)
    sizes = []
    for _ in range(4):
        A.matmat(V)
        sizes.append(A.kept_bytes)
    assert sizes[:2] == [0, 0] and sizes[2] == sizes[3] > 0
    A.forget()
    assert A.kept_bytes == 0


def test_each_tile_is_computed_once_when_kept():
    calls = []

    class Counted(Gram):
        def _evaluate(self, place, out=None):
            calls.append(place)
            return super()._evaluate(place, out)

    A = Counted(KERNELS[0], X, tile=32, keep_bytes=10**6)
    A.matmat(V)
    A.matmat(V)
    assert len(calls) == len(set(calls)) == 15  # five runs of rows: the tiles on and above the diagonal


def test_large_tiles_use_the_compiled_loops_and_agree():
    data = RNG.standard_normal((1100, 3))
    K = RBF(gamma=0.4)(data)
    W = RNG.standard_normal((1100, 2))
    np.testing.assert_allclose(Gram(RBF(gamma=0.4), data).matmat(W), K @ W, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(Gram(RBF(gamma=0.4), data, tile=100).matmat(W), K @ W, rtol=1e-11, atol=1e-11)


def test_single_precision_tiles():
    A = Gram(KERNELS[0], X, precision=np.float32, tile=32)
    assert A.precision == np.float32 and A.matmat(V).dtype == np.float64
    np.testing.assert_allclose(A.matmat(V), KERNELS[0](X) @ V, atol=1e-4)


def test_the_ladder_starts_with_single_precision_for_many_rows():
    A = Gram(KERNELS[0], RNG.standard_normal((2100, 2)))
    coarse, last = A.ladder(1e-10)
    assert coarse.precision == np.float32 and last is A
    assert A.ladder(1e-10) is not None and Gram(KERNELS[0], X).ladder(1e-10)[0].precision == np.float64


def test_no_single_precision_step_where_it_overflows():
    A = Gram(Linear(), 1e30 * RNG.standard_normal((2100, 2)))
    assert [step.precision for step in A.ladder(1e-10)] == [np.float64]


def test_an_error_in_a_tile_comes_out():
    class Broken(Gram):
        def _evaluate(self, place, out=None):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Broken(KERNELS[0], X, tile=32).matmat(V)


HALF = 2 * 130 * (130 + 32) // 2  # bytes of all tiles at 16 bits an entry


def _coarse(keep):
    """The float32 level of a ladder, with tiles small enough that there are many."""
    fine = Gram(KERNELS[0], X, precision=np.float64, keep_bytes=keep, tile=32, compress=True)
    fine.backend = SimpleNamespace(**{**vars(cpu), "TILE": 32})
    return fine.ladder(1e-4)[0]


def test_codes_round_entries_to_half_a_step_and_every_pass_sees_the_same_matrix():
    coarse = _coarse(HALF)
    first, second = (coarse.matmat(np.eye(130)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, first.T, atol=1e-7)
    exact = KERNELS[0](X)
    # entries lie between 0 and 1, so half a step is 2⁻¹⁷ at most; float32 rounds too, to 2⁻²⁴ a few times over
    assert np.abs(first - exact).max() <= 2.0**-17 + 64 * 2.0**-24
    assert np.abs(first - exact).max() > 2.0**-20  # they are codes
    assert 0 < coarse.kept_bytes <= HALF
    # the norm of a random symmetric matrix exceeds 2√n times its spread by a share of n^(−2/3) at most
    assert 0 < np.linalg.norm(first - exact, 2) <= 2 * coarse.code_noise


def test_tiles_that_fit_are_kept_as_they_are():
    coarse = _coarse(10**6)
    coarse.matmat(V)
    assert coarse.code_noise == 0 and coarse.kept_bytes > HALF
