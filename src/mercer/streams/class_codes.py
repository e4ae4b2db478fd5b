"""Labels of streamed rows: which classes there are, how many rows each has, and the number of every row's class."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer.backends import to_numpy
from mercer.streams.local_driver import folded, is_row_source
from mercer.streams.opening import beside
from mercer.streams.row_source import ArraySource, RowSource
from mercer.streams.source_views import without_column

_MOST_CLASSES = 10_000  # the sums hold a column per class: more different values than this are measurements


class ClassCodes:
    """The classes of rows as a source of one column, the codes 0 … C − 1.

    labels : a source of one column, of codes, or of the labels `values`
    classes : (C,), the labels in rising order
    counts : (C,), the rows of each
    digest : a hash of all labels, by which a checkpoint knows them
    """

    n_features, dtype, feature_names = 1, np.dtype(np.float32), None  # float32 holds every code exactly

    def __init__(
        self,
        labels: RowSource,
        classes: np.ndarray,
        counts: np.ndarray,
        values: np.ndarray | None = None,
        digest: str = "",
    ) -> None:
        self.labels, self.classes, self.counts, self.values, self.digest = labels, classes, counts, values, digest

    @property
    def lengths(self) -> Sequence[int]:
        return self.labels.lengths

    def chunk(self, i: int) -> np.ndarray:
        return self.of_chunk(i, self.labels.chunk(i))

    def of_chunk(self, i: int, rows: Any) -> Any:
        if self.values is None:
            return rows
        found = _column(rows)
        codes = np.minimum(np.searchsorted(self.values, found), len(self.values) - 1)
        if np.any(self.values[codes] != found):
            raise ValueError(f"Chunk {i} of the labels has classes that it did not have when they were counted.")
        return codes.astype(np.float32)[:, None]


def with_target(source: RowSource, y: Any) -> tuple[RowSource, Any]:
    """The source and y. If y is the name of a column, the other columns and that one."""
    if isinstance(y, str):
        return without_column(source, y)
    return source, y


def class_codes(source: RowSource, y: Any) -> ClassCodes:
    """The classes y of the rows of a source: an array (n,), or a source of one column, which is read once for them."""
    if not is_row_source(y):
        labels = column_or_1d(to_numpy(y), warn=True)
        check_classification_targets(labels)
        classes, codes, counts = np.unique(labels, return_inverse=True, return_counts=True)
        _refuse_many(len(classes))
        column = ArraySource(codes.astype(np.float32)[:, None])
        sha = hashlib.sha256(column.array.tobytes())
        return ClassCodes(beside(source, column), classes, counts, digest=sha.hexdigest())
    if y.n_features != 1:
        raise ValueError(f"y is a source of {y.n_features} columns, but labels are one column.")
    y = beside(source, y)
    classes, counts, sha = np.empty(0), np.empty(0, np.int64), hashlib.sha256()
    for found, own, digest in folded(_counted, [y], [[i] for i, length in enumerate(y.lengths) if length]):
        sha.update(digest)
        classes, place = np.unique(np.concatenate([classes, found]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([counts, own])).astype(np.int64)
        _refuse_many(len(classes))
    check_classification_targets(classes)
    whole = classes.astype(np.int64)
    classes, values = whole if np.array_equal(whole, classes) else classes, classes
    return ClassCodes(y, classes, counts, values, sha.hexdigest())


def _counted(state: None, number: int, views: list[Any]) -> tuple[np.ndarray, np.ndarray, bytes]:
    """The classes of a chunk, the rows of each, and a hash of all labels."""
    column = _column(views[0])
    classes, counts = np.unique(column, return_counts=True)
    _refuse_many(len(classes))
    return classes, counts, hashlib.sha256(column.tobytes()).digest()


def _column(rows: Any) -> np.ndarray:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)[:, 0]


def _refuse_many(classes: int) -> None:
    if classes > _MOST_CLASSES:
        raise ValueError(f"y has more than {_MOST_CLASSES:,} different values. These are measurements, not classes.")
