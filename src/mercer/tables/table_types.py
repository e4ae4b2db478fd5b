"""What is asked of a table, what comes of it, and the one error that reading and writing raise."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mercer.tables.preparation import Preparation

Matrix = Any  # (n, p): np.ndarray, np.memmap or scipy.sparse.csr_array

IMPUTE = ("mean", "median", "zero", "drop")
ENCODE = ("onehot", "ordinal", "drop")
SCALE = ("standard", "robust", "minmax")
DTYPES = ("float64", "float32")


class TableError(ValueError):
    """A table cannot be read, made into numbers or written; one line: what, where, and what to do."""

    def __init__(self, message: str):
        super().__init__(" ".join(str(message).split()))  # values of a hostile file must not break the line


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


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names for a message: up to five, then a count.

    >>> listed(["a", "b"]), listed("abcdefg")
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more")
    """
    names = [shortened(name) for name in names]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more


def shortened(text: Any, most: int = 40) -> str:
    """Text of a file for a message: one line, not too long."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def absent(values: np.ndarray) -> np.ndarray:
    """(n,) where a column of text has no value."""
    none: Any = None
    return np.equal(values, none).astype(bool)


def check_known(asked: Iterable[str], names: Iterable[str], what: str) -> None:
    """TableError for a name that is no column, with those that come closest."""
    names = list(names)
    known = set(names)
    for name in asked:
        if name not in known:
            close = difflib.get_close_matches(str(name), names[:10_000], n=3, cutoff=0.5)
            hint = f"did you mean {listed(close)}?" if close else f"the columns are {listed(names, 10)}."
            raise TableError(f"{what} {shortened(name)!r} is no column of the table; {hint}")
