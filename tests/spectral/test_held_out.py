"""Penalties and widths of canonical pairs by held-out correlation: the same as fits of the estimator on the folds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import KernelCCA
from mercer.kernels import RBF, Precomputed
from mercer.spectral.held_out import FOLDS, column_correlations, held_out_correlations

RNG = np.random.default_rng(0)
T = RNG.uniform(-3, 3, 150)
X = np.c_[np.cos(T), np.sin(T)] + 0.3 * RNG.standard_normal((150, 2))
Y = np.c_[np.sin(2 * T), RNG.standard_normal(150)]
KERNELS = RBF(0.5), RBF(1.0)


def test_held_out_correlations_are_those_of_fits_on_the_folds():
    regs = np.array([1e-4, 1e-2])
    found = held_out_correlations(KERNELS, (X, Y), 2, regs, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    order = np.sort(rng.permutation(150))
    folds = rng.permutation(150) % FOLDS
    for reg, correlation in zip(regs, found, strict=True):
        model = KernelCCA(2, kernel=KERNELS[0], kernel_y=KERNELS[1], reg=reg)
        scores = []
        for fold in range(FOLDS):
            train, test = order[folds != fold], order[folds == fold]
            scores.append(model.fit(X[train], Y[train]).score(X[test], Y[test]))
        assert_allclose(correlation, np.mean(scores), atol=1e-6)


def test_a_given_matrix_is_the_kernel():
    given = [kernel(view) for kernel, view in zip(KERNELS, (X, Y), strict=True)]
    regs, rng = np.array([1e-3]), np.random.default_rng
    by_matrix = held_out_correlations((Precomputed(), Precomputed()), given, 1, regs, rng(0))
    assert_allclose(by_matrix, held_out_correlations(KERNELS, (X, Y), 1, regs, rng(0)), rtol=1e-9)


def test_a_constant_view_and_missing_pairs_correlate_with_nothing():
    assert held_out_correlations(KERNELS, (X, np.ones((150, 2))), 1, np.array([1e-3]), np.random.default_rng(0)) == 0
    assert_allclose(column_correlations(X, np.ones((150, 2))), 0)
    assert_allclose(column_correlations(X, -3 * X + 1), -1)


def test_the_estimator_takes_the_best_width_and_penalty(capsys):
    new = np.random.default_rng(1).uniform(-3, 3, 400)
    rows = np.c_[np.cos(new), np.sin(new)] + 0.3 * np.random.default_rng(2).standard_normal((400, 2))
    others = np.c_[np.sin(2 * new), np.random.default_rng(3).standard_normal(400)]
    chosen = KernelCCA(1, gamma="cv", reg="cv", verbose=True).fit(X, Y)
    assert "held-out correlation" in capsys.readouterr().err
    values, correlations = chosen.reg_path_
    assert chosen.reg_ == (values[correlations.argmax()],) * 2
    gammas, correlations = chosen.gamma_path_
    assert chosen.gamma_ == gammas[correlations.argmax()] and chosen.kernel_ == RBF(chosen.gamma_)
    assert chosen.gamma_y_ != chosen.gamma_
    fixed = [KernelCCA(1, gamma="median", reg=reg).fit(X, Y).score(rows, others) for reg in np.logspace(-6, 0, 4)]
    assert chosen.score(rows, others) > max(fixed) - 0.03 and max(fixed) - min(fixed) > 0.1


def test_one_of_them_can_be_chosen_alone():
    width = KernelCCA(1, gamma=1.0, gamma_y="cv").fit(X, Y)
    assert width.gamma_ == 1.0 and width.reg_ == (1e-3, 1e-3) and len(width.gamma_path_[0]) >= 3
    penalty = KernelCCA(1, gamma="median", reg="cv").fit(X, Y)
    assert not hasattr(penalty, "gamma_path_") and len(penalty.reg_path_[0]) == 7
    with pytest.raises(ValueError, match="gamma='cv' chooses the gamma of a kernel given by name"):
        KernelCCA(1, kernel="linear", gamma="cv").fit(X, Y)


def test_views_have_penalties_of_their_own():
    regs, rng = np.array([[1e-4, 1e-1]]), np.random.default_rng
    found = held_out_correlations(KERNELS, (X, Y), 1, regs, rng(3))
    turned = held_out_correlations(KERNELS[::-1], (Y, X), 1, regs[:, ::-1], rng(3))
    assert_allclose(turned, found, atol=1e-9)
    one_for_both = held_out_correlations(KERNELS, (X, Y), 1, np.sqrt(regs.prod(axis=1)), rng(3))
    assert abs(found - one_for_both) > 1e-3


def test_a_width_is_chosen_without_a_penalty():
    # y is a parabola of x: two monomials match it, and without a penalty every further one fits noise.
    rng = np.random.default_rng(0)
    x = rng.standard_normal((90, 1))
    y = x**2 + 0.5 * rng.standard_normal((90, 1))
    chosen = KernelCCA(1, gamma="cv", kernel_y="linear", gamma_y=1.0, reg=0).fit(x, y)
    gammas, correlations = chosen.gamma_path_
    assert correlations.max() > 0.3 and np.ptp(correlations) > 0
    assert chosen.gamma_ == gammas[correlations.argmax()]


def test_a_second_kernel_without_a_width_keeps_out_of_the_choice():
    chosen = KernelCCA(1, gamma="cv", kernel_y="linear").fit(X, Y)
    assert len(chosen.gamma_path_[0]) >= 3 and chosen.gamma_y_ is None
    own = KernelCCA(1, gamma="cv", kernel_y=RBF(0.7)).fit(X, Y)
    assert own.kernel_y_ == RBF(0.7) and own.gamma_ == own.gamma_path_[0][own.gamma_path_[1].argmax()]
    with pytest.raises(ValueError, match="gamma='cv' chooses the gamma of a kernel given by name"):
        KernelCCA(1, gamma="cv", kernel_y="linear", gamma_y="cv").fit(X, Y)
