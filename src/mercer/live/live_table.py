"""The table that a live page is about: rows to map, and what the page shows of them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.estimators.pca import PCA
from mercer.web.page import Map, Page

MOST_ROWS = 200_000  # rows that can be mapped while someone waits; of more, a random sample is shown
MOST_MORE = 5_000  # rows that can be added to a map: each is placed by a search and 100 steps of its own
MORE = "rows"  # the column that tells the rows that can be added from the others


@dataclasses.dataclass(frozen=True)
class LiveTable:
    """Rows X (n, d), dense or CSR, and what a page shows beside them.

    more : (m, d) rows that can be added to the map, or None; ids, columns and images then have values for all n + m
        rows
    title, ids, columns, label, images : as in `mercer.web.Page`
    features : names of the columns of X
    image_shape : (height, width) if a row of X is a grey image, whose pre-images can then be drawn
    notes : sentences that the page shows once
    origin : lines of Python that give X, and `more` as X_more
    words : the words after `mercer fit` that name the table and how to read it; empty if the table is not a file
    more_words : those after `mercer transform MODEL`
    model_notes : what a saved model keeps beside itself, such as how the rows were prepared

    >>> table = LiveTable(np.eye(3), columns={"kind": np.array(["a", "b", "a"])}, label="kind")
    >>> table.X.shape, table.title
    ((3, 3), 'Live map')
    """

    X: Any
    title: str = "Live map"
    ids: np.ndarray | None = None
    columns: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    label: str | None = None
    images: Sequence[bytes | None] | None = None
    features: Sequence[str] = ()
    image_shape: tuple[int, int] | None = None
    notes: Sequence[str] = ()
    more: Any = None
    origin: str = ""
    words: Sequence[str] = ()
    more_words: Sequence[str] = ()
    model_notes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any = None,
        *,
        images: Any = None,
        ids: Any = None,
        columns: Mapping[str, Any] | None = None,
        label: str | None = None,
        title: str = "Live map",
        features: Sequence[str] = (),
        image_shape: tuple[int, int] | None = None,
        more: Any = None,
        seed: int = 0,
        most: int = MOST_ROWS,
    ) -> LiveTable:
        """A checked table from arrays, cut to a random sample if there are too many rows to follow a slider.

        more : rows that can be added to the map. y, ids, columns and images have values for the rows of X, or for
            these and then for the rows of `more`. A sample can add some of the rows that are not in it.

        >>> table = LiveTable.of(np.eye(3), y=["a", "b", "a"])
        >>> table.rows, table.label
        (3, 'label')
        """
        X = _checked(X)
        n = X.shape[0]
        more = None if more is None else _checked_more(more, X)
        total = n + (0 if more is None else more.shape[0])
        shown: dict[str, np.ndarray] = {str(name): np.asarray(values) for name, values in (columns or {}).items()}
        if y is not None:
            label = _free_name("label", shown)
            shown = {label: np.asarray(y)} | shown
        for name, values in [*shown.items(), *([("ids", np.asarray(ids))] if ids is not None else [])]:
            if values.shape[:1] not in ((n,), (total,)):
                raise ValueError(f"{name!r} has shape {values.shape}, but X has {n:,} rows. Give one value per row.")
        if images is not None and len(images) not in (n, total):
            raise ValueError(f"There are {len(images):,} images for {n:,} rows. Give one per row, None for none.")
        shown = {name: filled(values, total) for name, values in shown.items()}
        images = images if images is None or len(images) == total else [*images, *[None] * (total - n)]
        if image_shape is not None and image_shape[0] * image_shape[1] != X.shape[1]:
            raise ValueError(f"image_shape={image_shape!r} does not fit rows of {X.shape[1]} numbers.")
        ids = None if ids is None else _filled_ids(np.asarray(ids), total)
        if more is not None:
            shown[_free_name(MORE, shown)] = np.repeat(["first", "added"], [n, total - n])
        named = [str(name) for name in features]
        table = cls(X, str(title), ids, shown, label, images, named, image_shape, more=more)
        return table if n <= most else table.sample(most, seed)

    @property
    def rows(self) -> int:
        """The rows of the page: those of X, and those that can be added."""
        return int(self.X.shape[0]) + (0 if self.more is None else int(self.more.shape[0]))

    @functools.cached_property
    def first(self) -> LiveTable:
        """The table of the rows of X alone."""
        return self if self.more is None else self._taken(np.arange(self.X.shape[0]), self.X)

    @functools.cached_property
    def joined(self) -> LiveTable:
        """The table of all rows."""
        if self.more is None:
            return self
        stack = sp.vstack if sp.issparse(self.X) else np.vstack
        return self._taken(np.arange(self.rows), stack([self.X, self.more]))

    @cached_property
    def middle(self) -> np.ndarray:
        """The means of the columns, (d,), of a dense table."""
        return np.asarray(self.X.mean(axis=0, dtype=np.float64))

    @cached_property
    def spread(self) -> np.ndarray:
        """Their standard deviations, (d,)."""
        return np.asarray(self.X.std(axis=0, dtype=np.float64))

    def sample(self, count: int, seed: int) -> LiveTable:
        """A random sample of the rows, in their order, some of the others to add, and a note that says so."""
        n = self.X.shape[0]
        order = np.random.default_rng(seed).permutation(n)
        kept, others = np.sort(order[:count]), np.sort(order[count : count + MOST_MORE])
        note = (
            f"The table has {n:,} rows. The live map shows a random sample of {count:,}, because more could not follow "
            "a slider. `mercer fit` maps all of them."
        )
        lines = f"order = np.random.default_rng({seed}).permutation(X.shape[0])\n"
        if self.more is not None:  # what was asked to be added stays
            table = self._taken(np.concatenate([kept, np.arange(n, self.rows)]), self.X[kept])
            lines += f"X = X[np.sort(order[:{count}])]"
            return dataclasses.replace(table, more=self.more, notes=[*self.notes, note], origin=self.origin + lines)
        table = self._taken(np.concatenate([kept, others]), self.X[kept])
        columns = dict(table.columns)
        columns[_free_name(MORE, columns)] = np.repeat(["first", "added"], [len(kept), len(others)])
        lines += f"X, X_more = X[np.sort(order[:{count}])], X[np.sort(order[{count}:{count + MOST_MORE}])]"
        note += f" Of the others, {len(others):,} can be added."
        return dataclasses.replace(
            table, more=self.X[others], columns=columns, notes=[*self.notes, note], origin=self.origin + lines
        )

    def _taken(self, kept: np.ndarray, X: Any) -> LiveTable:
        """A table of the rows X, with what the page shows of the rows `kept`, and none to add."""
        return dataclasses.replace(
            self,
            X=X,
            more=None,
            ids=None if self.ids is None else self.ids[kept],
            columns={name: values[kept] for name, values in self.columns.items()},
            images=None if self.images is None else [self.images[row] for row in kept],
        )

    def page(self, name: str, coordinates: np.ndarray, axes: Sequence[str], run: Mapping[str, Any] | None) -> Page:
        """A page of one map of the table."""
        shown = Map(name, coordinates, axes, run=run)
        return Page(self.title, [shown], self.ids, self.columns, self.label, self.images)

    def first_page(self) -> Page:
        """The page as it opens, with the principal components, which take no time to compute."""
        k = min(2, *self.X.shape)
        coordinates = np.asarray(PCA(k).set_output(transform="default").fit_transform(self.X))
        coordinates = np.vstack([coordinates, np.zeros((self.rows - len(coordinates), k))])  # these are hidden at first
        return self.page("PCA", coordinates, [f"component {i + 1}" for i in range(k)], None)


def _checked(X: Any, least: int = 2) -> Any:
    names = getattr(X, "columns", None)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.dtype.kind not in "biuf":
        what = "a table with columns of text" if names is not None else f"values of type {X.dtype}"
        raise TypeError(f"X must hold numbers, not {what}. `mercer explore TABLE` encodes text.")
    if X.ndim != 2 or X.shape[0] < least or X.shape[1] < 1:
        raise ValueError(f"X has shape {X.shape}; at least {least} rows and one column are needed.")
    values = X.data if sp.issparse(X) else X
    if not np.all(np.isfinite(values)):
        raise ValueError("X has NaN or infinite values. Fill them in first; `mercer explore TABLE` does.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _checked_more(more: Any, X: Any) -> Any:
    """Rows to add, in the form of X."""
    more = _checked(more, least=1)
    if more.shape[1] != X.shape[1]:
        raise ValueError(f"The rows to add have {more.shape[1]:,} columns, and X has {X.shape[1]:,}.")
    if more.shape[0] > MOST_MORE:
        raise ValueError(f"{more.shape[0]:,} rows are too many to add to a live map. Give at most {MOST_MORE:,}.")
    if sp.issparse(X):
        return sp.csr_array(more, dtype=X.dtype)
    return (more.toarray() if sp.issparse(more) else more).astype(X.dtype)


def filled(values: np.ndarray, total: int) -> np.ndarray:
    """A column with missing values for rows at its end that it does not have.

    >>> filled(np.array([1, 2]), 3).tolist(), filled(np.array(["a"]), 2).tolist()
    ([1.0, 2.0, nan], ['a', None])
    """
    missing = total - len(values)
    if not missing:
        return values
    if values.dtype.kind in "mM":
        return np.concatenate([values, np.full(missing, np.array("NaT", values.dtype))])
    if values.dtype.kind in "iuf":
        return np.concatenate([values.astype(np.float64), np.full(missing, np.nan)])
    return np.concatenate([values.astype(object), np.full(missing, None)])


def _filled_ids(ids: np.ndarray, total: int) -> np.ndarray:
    if len(ids) == total:
        return ids
    return np.array([*map(str, ids.tolist()), *(f"added {k + 1}" for k in range(total - len(ids)))])


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name
