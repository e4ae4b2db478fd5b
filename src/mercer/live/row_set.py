"""A set of rows as a trait of a widget: an array of indices in Python, little-endian bytes on the way to the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets


class RowSet(traitlets.TraitType[np.ndarray, Any]):
    """Rows in ascending order, each once.

    A list or an array of indices sets it, a mask of all rows, a slice, or None for no rows. What comes back is an array
    that cannot be written to: rows are selected by setting the trait, `widget.selected = rows`.
    """

    info_text = "indices of rows, a mask of all rows, a slice, or None"

    def __init__(self, **settings: Any) -> None:
        super().__init__(_sealed(np.empty(0, np.int64)), **settings)
        self.tag(sync=True, to_json=_to_bytes, from_json=_from_bytes)

    def validate(self, obj: Any, value: Any) -> np.ndarray:
        rows = int(obj.rows)
        if value is None:
            return _sealed(np.empty(0, np.int64))
        found = np.arange(rows)[value] if isinstance(value, slice) else np.asarray(value)
        if found.dtype == bool:
            if found.shape != (rows,):
                raise traitlets.TraitError(f"A mask of the {rows:,} rows has the shape ({rows},), not {found.shape}.")
            return _sealed(np.flatnonzero(found))
        if found.size == 0:
            return _sealed(np.empty(0, np.int64))
        if found.ndim != 1 or found.dtype.kind not in "iu":
            raise traitlets.TraitError(f"A selection is one-dimensional and whole, not {found.dtype} of {found.shape}.")
        if found.min() < 0 or found.max() >= rows:
            raise traitlets.TraitError(f"Rows are numbered from 0 to {rows - 1:,}, not {found.min()} to {found.max()}.")
        return _sealed(np.unique(found).astype(np.int64))

    def set(self, obj: Any, value: Any) -> None:
        """Set the trait; observers are told only if the rows have changed."""
        new = self._validate(obj, value)
        old = obj._trait_values.get(self.name, self.default_value)
        if old is not None and np.array_equal(new, old):
            return
        obj._trait_values[self.name] = new
        obj._notify_trait(self.name, old, new)


def _sealed(rows: np.ndarray) -> np.ndarray:
    rows.flags.writeable = False
    return rows


def _to_bytes(rows: np.ndarray, _: Any) -> memoryview:
    return memoryview(np.ascontiguousarray(rows, "<u4").tobytes())


def _from_bytes(value: Any, _: Any) -> np.ndarray:
    return np.frombuffer(bytes(value), "<u4").astype(np.int64)
