"""A fit in a few lines: the kernel, the solver, how much is explained, and how wrong it can be."""

from __future__ import annotations

from typing import Any

import numpy as np


def lines_of(method: str, model: Any) -> list[tuple[str, str]]:
    """(name, value) of what a fitted method can say of itself."""
    lines = []
    if getattr(model, "kernel_", None) is not None and isinstance(getattr(model, "kernel", None), str):
        lines.append(("kernel", _kernel(model)))
    if method in ("sne", "tsne"):
        report = model.report_
        lines.append(("map", f"KL {model.kl_divergence_:.4g} after {report.steps} steps ({report.ended})"))
        lines.append(("repulsion", report.repulsion))
        lines.append(("neighbours", f"{report.neighbors}, recall {report.recall:.3f}"))
        return lines
    solver = getattr(model, "solver_", None)
    if solver is not None:
        lines.append(("solver", solver if isinstance(solver, str) else f"{solver.name}: {solver.reason}"))
    if method in ("pca", "kpca"):
        shares = np.asarray(model.explained_variance_ratio_)
        lines.append(("explained", f"{shares.sum():.1%} of the variance: {_listed(shares)}"))
    if method == "kda":
        lines.append(
            ("left out", f"{model.loo_error_:.2%} of the rows would be misclassified, had they not been fitted")
        )
    if method == "isomap":
        left = np.asarray(model.residual_variance_)
        lines.append(
            ("unexplained", f"{left[-1]:.2%} of the variance of distances, recall of neighbours {model.recall_:.3f}")
        )
    if method == "kcca":
        lines.append(("correlated", _listed(model.training_correlations_, percent=False) + " on the fitted rows"))
    residuals: Any
    residuals, values = getattr(model, "residuals_", None), getattr(model, "eigenvalues_", None)
    if method in ("kpca", "isomap") and values is not None and len(values) and float(values[0]) > 0:
        lines.append(("residual", f"{float(np.max(residuals)) / float(values[0]):.1e} of the largest eigenvalue"))
    return lines


def _kernel(model: Any) -> str:
    gamma = model.gamma_
    if gamma is None:
        return str(model.kernel)
    rule = f" ({model.gamma})" if isinstance(model.gamma, str) else ""
    return f"{model.kernel}, gamma {gamma:.4g}{rule}"


def _listed(values: Any, percent: bool = True) -> str:
    shown = [f"{value:.1%}" if percent else f"{value:.3f}" for value in np.asarray(values)[:6].tolist()]
    return ", ".join(shown) + (" …" if len(values) > 6 else "")
