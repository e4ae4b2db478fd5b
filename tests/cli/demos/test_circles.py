"""Two rings: the table is the estimator's, and kernel PCA sorts them."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_circles

from mercer import KernelPCA
from mercer.cli.demos.circles import best_cut


def test_the_table_is_the_estimator_s(runs):
    X, _ = make_circles(600, factor=1 / 3, noise=0.03, random_state=0)
    kpca = KernelPCA(6, kernel="rbf", gamma=0.3).fit(3 * X)
    rows = re.findall(r"^ *(\d+) +([\d.]+) +([\d.]+)% +([\d.]+)% +(\S+) +(\S+) *$", runs[1].stdout, re.M)[:6]
    table = np.array(rows, dtype=float)
    np.testing.assert_array_equal(table[:, 0], np.arange(1, 7))
    np.testing.assert_allclose(table[:, 1], kpca.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(table[:, 2], 100 * kpca.explained_variance_ratio_, atol=0.005 + 1e-9)
    np.testing.assert_allclose(table[:, 3], 100 * kpca.explained_variance_ratio_.cumsum(), atol=0.005 + 1e-9)
    assert (table[:, 4:] < 1e-8 * table[0, 1]).all()
    assert f"solver  {kpca.solver_.name}: " in runs[1].stdout


def test_kernel_pca_sorts_the_rings_and_pca_does_not(runs):
    line = re.search(r"(\d+)% of the points for PCA, (\d+)% for kernel", runs[1].stdout)
    assert int(line[1]) < 80 and int(line[2]) == 100


def test_the_best_cut_is_the_best_of_all_thresholds():
    rng = np.random.default_rng(0)
    scores, members = rng.standard_normal(30), rng.random(30) < 0.4
    shares = [np.mean((scores > t) == members) for t in [-9, *scores]]
    assert best_cut(scores, members) == pytest.approx(max([*shares, *(1 - s for s in shares)]))
