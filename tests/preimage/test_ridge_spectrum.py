"""One spectrum for every penalty: its leave-one-out error is that of refits."""

import numpy as np
import pytest
from bordered_ridge import by_definition, gram
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.preimage.ridge_spectrum import best_penalty, ridge_spectrum

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)) @ np.diag([3.0, 1.0, 0.5]) + 5.0
NEW = RNG.standard_normal((9, 3)) + 5.0


@given(seed=st.integers(0, 10**6), n=st.integers(3, 15), alpha=st.sampled_from([1e-3, 0.1, 3.0]))
def test_the_closed_form_is_that_of_refits(seed, n, alpha):
    rng = np.random.default_rng(seed)
    Z, Y = rng.standard_normal((n, 2)), rng.standard_normal((n, 3))
    keep = ~np.eye(n, dtype=bool)
    errors = [Y[i] - by_definition(Z[keep[i]], Y[keep[i]], Z[i : i + 1], 1.0, alpha)[0] for i in range(n)]
    H = np.eye(n) - 1 / n
    values, U = np.linalg.eigh(H @ gram(Z, Z, 1.0) @ H)
    loo = ridge_spectrum(np.maximum(values, 0), U, Y).loo_error(Y, alpha)
    assert loo == pytest.approx(np.mean(np.square(errors).sum(axis=1)), rel=1e-6)


def test_wide_targets_are_judged_by_a_sketch_that_chooses_as_well():
    Z = RNG.standard_normal((60, 2))
    Y = np.tanh(Z @ RNG.standard_normal((2, 500))) + 0.1 * RNG.standard_normal((60, 500))
    H = np.eye(60) - 1 / 60
    values, U = np.linalg.eigh(H @ gram(Z, Z, 0.5) @ H)
    spectrum = ridge_spectrum(np.maximum(values, 0), U, Y)
    chosen = best_penalty(np.maximum(values, 0), U, Y, 64)
    errors, spreads = spectrum.loo_errors(Y, spectrum.penalties(64))
    least = int(np.argmin(errors))
    assert spectrum.loo_error(Y, chosen) <= 1.02 * (errors[least] + spreads[least])


def test_all_penalties_at_once_are_each_by_itself():
    rng = np.random.default_rng(0)
    Z, Y = rng.standard_normal((50, 2)), rng.standard_normal((50, 3))
    H = np.eye(50) - 1 / 50
    values, U = np.linalg.eigh(H @ gram(Z, Z, 1.0) @ H)
    spectrum = ridge_spectrum(np.maximum(values, 0), U, Y)
    penalties = spectrum.penalties(64)[10:]  # with less penalty 1 − h is mostly rounding
    errors, spreads = spectrum.loo_errors(Y, penalties)
    assert_allclose(errors, [spectrum.loo_error(Y, a) for a in penalties], rtol=1e-9)
    for alpha, error, spread in zip(penalties[::5], errors[::5], spreads[::5], strict=True):
        hat = 1 / 50 + U @ np.diag(np.maximum(values, 0) / (np.maximum(values, 0) + alpha)) @ U.T
        lengths = (((Y - hat @ Y) / (1 - np.diag(hat))[:, None]) ** 2).sum(axis=1)
        assert_allclose([error, spread], [lengths.mean(), lengths.std() / np.sqrt(50)], rtol=1e-6)
