"""The table that a live page is about: rows to map, and what the page shows of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.estimators.pca import PCA
from mercer.web.page import Map, Page

MOST_ROWS = 200_000  # rows that can be mapped while someone waits; of more, a random sample is shown


@dataclasses.dataclass(frozen=True)
class LiveTable:
    """Rows X (n, d), dense or CSR, and what a page shows beside them.

    title, ids, columns, label, images : as in `mercer.web.Page`
    features : names of the columns of X
    image_shape : (height, width) if a row of X is a grey image, whose pre-images can then be drawn
    notes : sentences that the page shows once

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
        seed: int = 0,
        most: int = MOST_ROWS,
    ) -> LiveTable:
        """A table from arrays, checked, and cut to a random sample if there are more rows than can follow a slider.

        >>> table = LiveTable.of(np.eye(3), y=["a", "b", "a"])
        >>> table.rows, table.label
        (3, 'label')
        """
        X = _checked(X)
        n = X.shape[0]
        shown: dict[str, np.ndarray] = {str(name): np.asarray(values) for name, values in (columns or {}).items()}
        if y is not None:
            label = _free_name("label", shown)
            shown = {label: np.asarray(y)} | shown
        for name, values in [*shown.items(), *([("ids", np.asarray(ids))] if ids is not None else [])]:
            if values.shape[:1] != (n,):
                raise ValueError(f"{name!r} has shape {values.shape}, but X has {n:,} rows. Give one value per row.")
        if images is not None and len(images) != n:
            raise ValueError(f"There are {len(images):,} images for {n:,} rows. Give one per row, None for none.")
        if image_shape is not None and image_shape[0] * image_shape[1] != X.shape[1]:
            raise ValueError(f"image_shape={image_shape!r} does not fit rows of {X.shape[1]} numbers.")
        ids = None if ids is None else np.asarray(ids)
        table = cls(X, str(title), ids, shown, label, images, [str(name) for name in features], image_shape)
        return table if n <= most else table.sample(most, seed)

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    def sample(self, count: int, seed: int) -> LiveTable:
        """A random sample of the rows, in their order, and a note that says so."""
        kept = np.sort(np.random.default_rng(seed).permutation(self.rows)[:count])
        note = (
            f"The table has {self.rows:,} rows. The live map shows a random sample of {count:,}, because more could "
            "not follow a slider. `mercer fit` maps all of them."
        )
        return dataclasses.replace(
            self,
            X=self.X[kept],
            ids=None if self.ids is None else self.ids[kept],
            columns={name: values[kept] for name, values in self.columns.items()},
            images=None if self.images is None else [self.images[row] for row in kept],
            notes=[*self.notes, note],
        )

    def page(self, name: str, coordinates: np.ndarray, axes: Sequence[str], run: Mapping[str, Any] | None) -> Page:
        """A page of one map of the table."""
        shown = Map(name, coordinates, axes, run=run)
        return Page(self.title, [shown], self.ids, self.columns, self.label, self.images)

    def first_page(self) -> Page:
        """The page as it opens, before anything was asked for: the principal components, which take no time."""
        k = min(2, *self.X.shape)
        coordinates = PCA(k).set_output(transform="default").fit_transform(self.X)
        return self.page("PCA", np.asarray(coordinates), [f"component {i + 1}" for i in range(k)], None)


def _checked(X: Any) -> Any:
    names = getattr(X, "columns", None)
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.dtype.kind not in "biuf":
        what = "a table with columns of text" if names is not None else f"values of type {X.dtype}"
        raise TypeError(f"X must hold numbers, not {what}. `mercer explore TABLE` encodes text.")
    if X.ndim != 2 or X.shape[0] < 2 or X.shape[1] < 1:
        raise ValueError(f"X has shape {X.shape}; at least two rows and one column are needed.")
    values = X.data if sp.issparse(X) else X
    if not np.all(np.isfinite(values)):
        raise ValueError("X has NaN or infinite values. Fill them in first; `mercer explore TABLE` does.")
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "_"
    return name
