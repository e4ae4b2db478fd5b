"""Files that hold a matrix: .npy, .npz, .h5ad and folders of images, with columns beside it or without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from mercer.tables.arrow_values import arrow_column, as_text, carried_values, float_values, is_number
from mercer.tables.table_source import Raw, Role, Source, check_room, readable
from mercer.tables.table_types import Matrix, TableError


def _nothing() -> Matrix:
    return np.empty((0, 0))


@dataclass
class MatrixSource(Source):
    load: Callable[[], Matrix] = _nothing  # the matrix, (n, len(names)): an array, a map, or csr_array
    columns: dict[str, Any] = field(default_factory=dict)  # the extras: name → (n,) array of NumPy
    mapped: bool = False  # whether the matrix is that of a file, and not ours to change

    def read(self, roles: dict[str, Role], dtype: str) -> Raw:
        with readable(self.path, "a matrix"):
            return self._read(roles, dtype)

    def _read(self, roles: dict[str, Role], dtype: str) -> Raw:
        matrix = self.load()
        raw = Raw(matrix, self.names, owned=not self.mapped)
        kept = [name for name in roles if roles[name] in (Role.FEATURE, Role.CATEGORY)]
        place = {name: j for j, name in enumerate(self.names)}
        for name in roles:
            if roles[name] in (Role.CARRIED, Role.ID):
                column = arrow_column(self._column(matrix, name, place))
                raw.carried[name] = carried_values(column, floats=roles[name] is not Role.ID)
        if kept != self.names or any(roles[name] is Role.CATEGORY for name in kept):
            self._select(raw, matrix, {name: roles[name] for name in kept}, place)
        self._convert(raw, dtype)
        return raw

    def _column(self, matrix: Matrix, name: str, place: dict[str, int]) -> np.ndarray:
        if name not in place:
            return self.columns[name]
        column = matrix[:, [place[name]]]
        return np.asarray(column.toarray() if sparse.issparse(column) else column).ravel()

    def _select(self, raw: Raw, matrix: Matrix, roles: dict[str, Role], place: dict[str, int]) -> None:
        """Take the chosen columns of the matrix, and those beside it that are asked for as features."""
        inside = [name for name in roles if name in place and roles[name] is Role.FEATURE]
        if not sparse.issparse(matrix):
            check_room(self.path, matrix.shape[0], len(inside), matrix.dtype.itemsize)
        raw.numbers, raw.owned = inside, True
        raw.matrix = matrix[:, [place[name] for name in inside]]
        beside = []
        known = set(inside)
        for name in roles:
            if name in known:
                continue
            column = arrow_column(self._column(matrix, name, place))
            if roles[name] is Role.FEATURE and is_number(column.type):
                beside.append(float_values(column)[:, None])
                raw.numbers.append(name)
            else:
                raw.texts[name] = as_text(column)
        if beside and sparse.issparse(matrix):
            raw.matrix = sparse.csr_array(sparse.hstack([raw.matrix, *beside]))
        elif beside:
            raw.matrix = np.hstack([raw.matrix, *beside])

    def _convert(self, raw: Raw, dtype: str) -> None:
        """Floats of the type that is asked for; a map of such floats stays one."""
        if raw.matrix.dtype.kind not in "biuf":
            raise TableError(f"{self.path} holds {raw.matrix.dtype}, which are no numbers; write such a table as csv.")
        if raw.matrix.dtype != np.dtype(dtype):
            if not sparse.issparse(raw.matrix):
                check_room(self.path, raw.matrix.shape[0], raw.matrix.shape[1], np.dtype(dtype).itemsize)
            with np.errstate(over="ignore"):  # what is too large for float32 is found as an infinite value
                raw.matrix = raw.matrix.astype(dtype)
            raw.owned = True
        if not sparse.issparse(raw.matrix) and raw.owned and not raw.matrix.flags.c_contiguous:
            raw.matrix = np.ascontiguousarray(raw.matrix)


def place_names(count: int) -> list[str]:
    """x1 … for columns that have no names."""
    return [f"x{place}" for place in range(1, count + 1)]
