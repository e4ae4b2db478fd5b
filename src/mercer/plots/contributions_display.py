"""How much each variable moves each component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from mercer.amounts import amount
from mercer.backends import to_numpy
from mercer.plots.style import INK, Display, new_figure, palette, tidy


class ContributionsDisplay(Display):
    """The share of each variable in what moves each component, one bar per variable and component.

    shares : (k, d), from `KernelPCA.feature_contributions`
    names, components : the names of the variables, and those of the components for the key

    Variables are ordered by their largest share, the largest on top.

    Attributes after `plot`: ax_, figure_, bars_ (one container per component), order_ (of the variables), legend_.

    >>> display = ContributionsDisplay(np.array([[0.75, 0.25]]), ["height", "width"], ["component 1"]).plot()
    >>> len(display.figure_.axes)
    1
    """

    def __init__(self, shares: Any, names: Sequence[str], components: Sequence[str]) -> None:
        self.shares, self.names, self.components = to_numpy(shares), list(names), list(components)
        if self.shares.shape != (len(self.components), len(self.names)):
            raise ValueError(
                f"shares have shape {self.shares.shape}, but there are names for {len(self.components)} components and "
                f"{len(self.names)} variables."
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        names: Sequence[str] | None = None,
        components: Sequence[int] = (0, 1),
        most: int = 15,
        ax: Axes | None = None,
    ) -> ContributionsDisplay:
        """Draw the `most` largest of `feature_contributions(X, standardize=True, shares=True)` of a KernelPCA."""
        shares = to_numpy(estimator.feature_contributions(X, standardize=True, shares=True))
        if max(components) >= len(shares):
            raise ValueError(
                f"The model has only {amount(len(shares), 'component')}, so there is no component {max(components)}."
            )
        if names is None:
            names = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(shares.shape[1])])
        labels = [f"component {i + 1}" for i in components]
        return cls(shares[list(components)], [str(name) for name in names], labels).plot(most=most, ax=ax)

    def plot(self, *, most: int = 15, ax: Axes | None = None) -> ContributionsDisplay:
        """Draw the `most` variables with the largest shares."""
        self.order_ = np.argsort(-self.shares.max(axis=0), kind="stable")[:most]
        if ax is None:
            ax = new_figure(width=6.4, height=1.1 + 0.3 * len(self.order_))[1][0]
        self.ax_, self.figure_ = tidy(ax), ax.figure
        places, thick = np.arange(len(self.order_)), 0.8 / len(self.components)
        self.bars_ = [
            ax.barh(
                places + (i - (len(self.components) - 1) / 2) * thick, row[self.order_], thick, color=colour, label=name
            )
            for i, (row, name, colour) in enumerate(
                zip(self.shares, self.components, palette(len(self.components)), strict=True)
            )
        ]
        ax.set_yticks(places, [self.names[i] for i in self.order_])
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(self.order_) - 0.4, -0.6)
        ax.set_xlabel("share of what moves the component")
        self.legend_ = ax.legend(frameon=False, labelcolor=INK, fontsize=9, loc="lower right")
        return self
