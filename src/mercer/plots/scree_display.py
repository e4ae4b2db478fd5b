"""A spectrum, each eigenvalue with the bound on its error."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from mercer.backends import to_numpy
from mercer.plots.style import FEW, Display


class ScreeDisplay(Display):
    """Eigenvalues in descending order, each with an error bar from its certificate.

    eigenvalues, errors : (k,); the true eigenvalue lies within `errors` of the one drawn
    residuals : (k,), ‖Av − γv‖, or None
    name : the label of the vertical axis

    Attributes after `plot`: ax_, figure_, bars_ (the error bars); after `plot_certificate`: bounds_, residuals_.

    >>> display = ScreeDisplay([3.0, 2.0, 1.0], [0.1, 0.1, 0.1]).plot()
    >>> len(display.figure_.axes)
    1
    """

    def __init__(self, eigenvalues: Any, errors: Any, residuals: Any = None, *, name: str = "eigenvalue") -> None:
        self.eigenvalues, self.errors = to_numpy(eigenvalues), to_numpy(errors)
        if self.eigenvalues.shape != self.errors.shape:
            raise ValueError(
                f"eigenvalues have shape {self.eigenvalues.shape} and errors {self.errors.shape}; both must be (k,)."
            )
        self.residuals = None if residuals is None else to_numpy(residuals)
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: Axes | None = None, log: bool = True, colour: str = FEW[0], label: str = ""
    ) -> ScreeDisplay:
        """Draw the spectrum of a fitted KernelPCA (γ, of the centred kernel matrix) or PCA (λ, of the covariance)."""
        if hasattr(estimator, "eigenvalue_error_"):
            values, errors = estimator.eigenvalues_, estimator.eigenvalue_error_
            display = cls(values, errors, estimator.residuals_, name="eigenvalue γ")
        elif hasattr(estimator, "explained_variance_") and hasattr(estimator, "residuals_"):
            values = to_numpy(estimator.explained_variance_)
            display = cls(values, estimator.residuals_, estimator.residuals_, name="variance λ")
        else:
            raise TypeError(
                f"{type(estimator).__name__} has no eigenvalues with errors: fit a mercer.KernelPCA or a mercer.PCA."
            )
        return display.plot(ax=ax, log=log, colour=colour, label=label)

    def plot(self, *, ax: Axes | None = None, log: bool = True, colour: str = FEW[0], label: str = "") -> ScreeDisplay:
        """Draw the eigenvalues; call it again with the same `ax` to compare spectra."""
        ax = self._on(ax)
        self.bars_ = ax.errorbar(
            self._order(), self.eigenvalues, yerr=self.errors, fmt="o", color=colour, ms=4, capsize=2.5, lw=1.3
        )  # fmt: skip
        self.bars_.set_label(label)
        positive = self.eigenvalues[self.eigenvalues > 0]
        if log and positive.size:
            ax.set_yscale("log", nonpositive="clip")
            if (self.errors >= self.eigenvalues).any():  # a bar that reaches zero has no lower end on a log scale
                ax.set_ylim(bottom=positive.min() / 3)
        self._label(self.name)
        return self

    def plot_certificate(self, *, ax: Axes | None = None, colour: str = FEW[0]) -> ScreeDisplay:
        """Draw residuals and error bounds on a log scale. Their distance below γ shows how many digits are certain."""
        ax = self._on(ax)
        ax.set_yscale("log", nonpositive="mask")
        (self.bounds_,) = ax.plot(self._order(), self.errors, "_", color=colour, ms=4, mew=1.8)
        self.bounds_.set_label("bound on the error of γ")
        self.residuals_ = None
        if self.residuals is not None:
            (self.residuals_,) = ax.plot(self._order(), self.residuals, "o", color=FEW[1], ms=4)
            self.residuals_.set_label("residual")
        self._label("")
        return self

    def _order(self) -> np.ndarray:
        return np.arange(1, len(self.eigenvalues) + 1)

    def _label(self, name: str) -> None:
        self.ax_.xaxis.set_major_locator(MaxNLocator(integer=True))
        self.ax_.set_xlabel("component")
        self.ax_.set_ylabel(name)
