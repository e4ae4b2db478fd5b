"""What can be asked of a table, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mercer.tables.source import Matrix, TableError

if TYPE_CHECKING:
    from mercer.tables.preparation import Preparation

IMPUTE = ("mean", "median", "zero", "drop")
ENCODE = ("onehot", "ordinal", "drop")
SCALE = ("standard", "robust", "minmax")
DTYPES = ("float64", "float32")


@dataclass(frozen=True)
class Choice:
    """What is asked of a table: which columns play which part, and what is done to them.

    Parameters
    ----------
    label, id : name of the column that is carried as `Table.labels`, `Table.ids`; neither is part of X.
    drop : names of columns that are kept out of X.
    columns : names of the columns that X is made of, in this order; by default all that are left.
    impute : for missing values: "mean", "median", "zero" (columns of text: the most frequent text), or "drop" (rows).
    encode : for columns of text: "onehot", "ordinal" (0, 1, … in alphabetical order), or "drop" (columns).
    scale : "standard" (mean 0, deviation 1), "robust" (median 0, quartiles 1 apart), "minmax" (from 0 to 1).
    dtype : "float64" or "float32".
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    impute: str | None = None
    encode: str | None = None
    scale: str | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        for name, known in (("impute", IMPUTE), ("encode", ENCODE), ("scale", SCALE)):
            given = getattr(self, name)
            if given is not None and given not in known:
                raise TableError(f"{name}={given!r} is unknown; it is one of {', '.join(known)}.")
        if self.dtype not in DTYPES:
            raise TableError(f"dtype={self.dtype!r} is unknown; it is one of {', '.join(DTYPES)}.")
        for name in ("drop", "columns"):
            given = getattr(self, name)
            if isinstance(given, str):  # one name, not its letters
                given = (given,)
            object.__setattr__(self, name, None if given is None else tuple(given))


@dataclass(frozen=True)
class Table:
    """A table made into numbers.

    Attributes
    ----------
    X : (n, d) float array, or csr_array; a read-only memory map where a file of floats is used as it is.
    features : (d,) names of the columns of X, after encoding.
    ids, labels : (n,) numbers or text (missing: NaN, None), or None.
    columns : columns that are not in X but can be shown, name → (n,).
    images : thumbnails as PNG, one a row, or None.
    preparation : how X was made; `read_table(path, preparation=…)` makes new rows the same way.
    digest : SHA-256 of the bytes of the input.
    notes : sentences for the person: constant columns, widely differing scales, …
    """

    X: Matrix
    features: list[str]
    ids: np.ndarray | None
    labels: np.ndarray | None
    columns: dict[str, np.ndarray]
    images: list[bytes] | None
    preparation: Preparation
    digest: str
    notes: list[str]
