"""The summary of a fit: one function per line, each reading what a fitted estimator says about itself."""

from __future__ import annotations

from typing import Any

from mercer.amounts import amount

Line = tuple[str, str]  # a name and a value
LOW_RANK = "rpcholesky"  # a solver that knows how far it can be off, but not how far it is


def fitted_kernel(model: Any) -> Line | None:
    """The kernel and its width, for kernels given by name."""
    if getattr(model, "kernel_", None) is None or not isinstance(getattr(model, "kernel", None), str):
        return None
    if model.gamma_ is None:
        return "kernel", str(model.kernel)
    rule = f" ({model.gamma})" if isinstance(model.gamma, str) else ""
    return "kernel", f"{model.kernel}, gamma {model.gamma_:.4g}{rule}"


def solver(model: Any) -> Line | None:
    found = getattr(model, "solver_", None)
    if found is None:
        return None
    return "solver", found if isinstance(found, str) else f"{found.name}: {found.reason}"


def explained(model: Any) -> Line:
    shares = model.explained_variance_ratio_
    return "explained", f"{float(sum(shares)):.1%} of the variance: {_listed(shares, '.1%')}"


def residual(model: Any) -> Line | None:
    """How far the eigenpairs can be off, relative to the largest eigenvalue."""
    values = getattr(model, "eigenvalues_", None)
    if values is None or not len(values) or not float(values[0]) > 0:
        return None
    if getattr(getattr(model, "solver_", None), "name", "") == LOW_RANK:
        share = float(max(model.eigenvalue_error_)) / float(values[0])
        return "bound", f"eigenvalues are too small by at most {share:.2g} times the largest"
    return "residual", f"{float(max(model.residuals_)) / float(values[0]):.1e} of the largest eigenvalue"


def doubt(model: Any) -> str | None:
    """A warning if eigenvalues may be off by more than they are, with what helps."""
    values, errors = getattr(model, "eigenvalues_", None), getattr(model, "eigenvalue_error_", None)
    if values is None or errors is None:
        return None
    bad = sum(float(error) > float(value) for value, error in zip(values, errors, strict=True))
    if not bad:
        return None
    are = f"{bad} of {amount(len(values), 'eigenvalue')} {'is' if bad == 1 else 'are'} below the error bound"
    own = "its component" if bad == 1 else "their components"
    if getattr(getattr(model, "solver_", None), "name", "") == LOW_RANK:
        return f"{are}: {own}, and all shares, may be far off. Raise `rank`, or take another eigen_solver."
    noise = f"{are}: {own} {'is a rounding error' if bad == 1 else 'are rounding errors'}."
    return noise if bad == len(values) else f"{noise} Lower n_components to {len(values) - bad} or less."


def left_out(model: Any) -> Line:
    return "left out", f"{model.loo_error_:.2%} of the rows would be misclassified, had they not been fitted"


def correlated(model: Any) -> Line:
    return "correlated", f"{_listed(model.training_correlations_, '.3f')} on the fitted rows"


def unexplained(model: Any) -> Line:
    left = float(model.residual_variance_[-1])
    return "unexplained", f"{left:.2%} of the variance of distances, recall of neighbours {model.recall_:.3f}"


def map_divergence(model: Any) -> Line:
    return "map", f"KL {model.kl_divergence_:.4g} after {amount(model.report_.steps, 'step')} ({model.report_.ended})"


def map_stress(model: Any) -> Line:
    """The stress, as the fit has it, and how the steps ended."""
    return "map", f"stress {model.stress_:.4g} after {amount(model.n_iter_, 'step')} ({model.report_.ended})"


def map_repulsion(model: Any) -> Line:
    return "repulsion", model.report_.repulsion


def map_neighbors(model: Any) -> Line:
    return "neighbours", f"{model.report_.neighbors}, recall {model.report_.recall:.3f}"


def _listed(values: Any, form: str, most: int = 6) -> str:
    shown = ", ".join(format(float(value), form) for value in values[:most])
    return f"{shown} …" if len(values) > most else shown
