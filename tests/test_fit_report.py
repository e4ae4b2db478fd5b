"""Every estimator leaves one kind of report, under one name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import mercer
from mercer import (
    PCA,
    SNE,
    TSNE,
    ClassicalMDS,
    Isomap,
    KernelCCA,
    KernelDiscriminantAnalysis,
    Kernelized,
    KernelMap,
    KernelPCA,
    NoveltyDetector,
)
from mercer.fit_report import MapReport, Report
from mercer.linalg.eigen import top_eigenpairs

X = np.random.default_rng(0).standard_normal((80, 4))
Y = (X[:, 0] > 0).astype(int)

FITS = {
    "PCA": (PCA(2), (X,)),
    "KernelPCA": (KernelPCA(2, kernel="rbf"), (X,)),
    "KernelDiscriminantAnalysis": (KernelDiscriminantAnalysis(), (X, Y)),
    "KernelCCA": (KernelCCA(1), (X, X[:, :2])),
    "KernelMap": (KernelMap(), (X,)),
    "Kernelized": (Kernelized(Ridge()), (X, Y)),
    "NoveltyDetector": (NoveltyDetector(), (X,)),
    "Isomap": (Isomap(n_neighbors=8), (X,)),
    "ClassicalMDS": (ClassicalMDS(), (X,)),
    "SNE": (SNE(max_iter=10, perplexity=10), (X,)),
    "TSNE": (TSNE(max_iter=10, perplexity=10), (X,)),
}


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore")
def test_a_fit_leaves_a_report_that_names_what_the_plan_announced(name, tmp_path):
    model, data = FITS[name]
    plan = model.plan(*data)
    report = model.fit(*data).report_
    assert isinstance(report, Report)
    if name != "NoveltyDetector":  # a share of the variance may take more components than its plan guessed
        assert report.name == plan.method
    assert report.reason and report.seconds > 0 and str(report)
    model.save(tmp_path / "model.mercer")
    assert mercer.load(tmp_path / "model.mercer").report_ == replace(report, seconds=0.0)


@pytest.mark.parametrize("name", ["KernelPCA", "KernelDiscriminantAnalysis", "Isomap", "ClassicalMDS"])
@pytest.mark.filterwarnings("ignore")
def test_solver_is_another_name_for_the_report(name):
    model, data = FITS[name]
    assert model.fit(*data).solver_ is model.report_


def test_maps_report_their_neighbours():
    for name in ("Isomap", "TSNE"):
        model, data = FITS[name]
        report = model.fit(*data).report_
        assert report.recall == 1.0 and "kd_tree" in report.neighbors and "recall 1.000" in str(report)


def test_a_solver_that_takes_over_is_named():
    """One restart is too few for eigenvalues that lie close together, and the block method takes over."""
    pairs = top_eigenpairs(np.diag(np.linspace(1.0, 2.0, 300)), 3, solver="arpack", max_iter=1)
    assert pairs.solver == "krylov" and "arpack did not converge" in pairs.reason


def test_a_report_says_whether_it_converged():
    assert "NOT converged at 1e-10" in str(Report("krylov", "why", 3, 10, 1e-10, False, 0.1))
    assert "converged" not in str(Report("factor", "why", seconds=0.1))


def test_an_old_report_of_a_map_becomes_the_one_kind():
    report = MapReport("tiles, because", 0.99, "grid, many points", 750, "all steps taken", 1.5).report()
    assert (report.name, report.reason, report.steps, report.recall) == ("grid", "many points", 750, 0.99)
    assert "750 steps in 1.5 s" in str(report)
