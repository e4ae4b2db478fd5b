"""The compiled tiles against the same sums in NumPy, to the rounding of the sums."""

import numpy as np
import pytest

from mercer.backends import compiled_tiles, cpu, generic

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["manhattan", "intersection", "matches", "chi2"])
def test_sums_over_coordinates_are_those_of_the_reference(name, dtype):
    A, B = RNG.integers(0, 4, (7, 5)).astype(dtype) / 3, RNG.integers(0, 4, (6, 5)).astype(dtype) / 3
    out = np.empty((7, 6), dtype)
    getattr(compiled_tiles, name)(A, np.ascontiguousarray(B.T), out)
    # Five terms, none above 5/3: each rounds a few times, the sum once per term.
    np.testing.assert_allclose(out, generic.coordinatewise(name, A, B), rtol=0, atol=100 * np.finfo(dtype).eps)


def test_distances_from_dot_products():
    A, B = RNG.standard_normal((5, 3)), RNG.standard_normal((4, 3))
    D = A @ B.T
    compiled_tiles.distances_from_dots(D, (A**2).sum(1), (B**2).sum(1))
    np.testing.assert_allclose(D, ((A[:, None] - B) ** 2).sum(2), atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_compiled_exponential(dtype):
    """To two units in the last place from 0 to where it underflows, on a tile large enough to be compiled."""
    d2 = np.linspace(0, 80 if dtype == np.float32 else 700, 2**19).astype(dtype)
    rows, zero = np.sqrt(d2)[:, None], np.zeros((1, 1), dtype)
    norms = (rows[:, 0] ** 2).astype(dtype)
    got = cpu.FUSED["rbf"](rows, norms, zero, np.zeros(1, dtype), 1.0, None)[:, 0]
    exact = np.exp(-norms.astype(np.float64))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, exact, rtol=4 * np.finfo(dtype).eps)
