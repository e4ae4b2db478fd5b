"""What a person would want to be told about a table before it is fitted."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from mercer.tables import column_statistics as statistics
from mercer.tables.preparation import Preparation
from mercer.tables.source import Matrix, listed

_WIDE = 1000  # how much more one column may vary than another before it is said
_MANY_COPIES = 0.01  # share of the rows


def notes_on(X: Matrix, preparation: Preparation) -> list[str]:
    """Constant columns, columns on different scales, and rows that are copies of others."""
    if X.shape[0] < 2:
        return []
    least, most = statistics.extremes(X)
    names = [preparation.features[j] for j in np.flatnonzero(least == most)]
    constant = [f"{len(names)} of {X.shape[1]} columns are constant: {listed(names)}."] if names else []
    compared = preparation.scale is None and not sparse.issparse(X)
    return [*constant, *(_scales(least, most, preparation) if compared else []), *_copies(X)]


def _scales(least: np.ndarray, most: np.ndarray, preparation: Preparation) -> list[str]:
    half = most / 2 - least / 2  # the difference of two large numbers may be infinite
    if not (half > 0).any():
        return []
    spans = np.where(half > 0, half, np.nan)
    large, small = int(np.nanargmax(spans)), int(np.nanargmin(spans))
    if not spans[large] / _WIDE > spans[small]:
        return []
    first, last = (preparation.features[j] for j in (large, small))
    return [
        f"Column {first!r} spans {2 * spans[large]:.3g} and {last!r} {2 * spans[small]:.3g}, so the first outweighs "
        'the other in every distance; scale="standard" (--scale standard) makes them equal.'
    ]


def _copies(X: Matrix) -> list[str]:
    count = statistics.copies(X)
    share = count / X.shape[0]
    return [f"{count} of {X.shape[0]} rows ({share:.0%}) are copies of others."] if share >= _MANY_COPIES else []
