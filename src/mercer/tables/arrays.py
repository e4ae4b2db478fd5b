"""Reader of matrices: .npy, which is mapped, and .npz, dense or sparse; and the source shared with h5ad and images.

Nothing is ever unpickled. Headers are checked before anything is allocated, and the parts of a sparse matrix before
SciPy's compiled code follows their indices.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from mercer import memory
from mercer.amounts import amount
from mercer.tables.arrow import from_columns
from mercer.tables.arrow_columns import arrow_column, as_text, carried_values, float_values, is_number
from mercer.tables.source import (
    Matrix,
    Raw,
    Role,
    Source,
    TableError,
    check_room,
    digest_of,
    listed,
    place_names,
    readable,
    unique_names,
)

_MOST_AXES = 4  # rows × height × width × channels
_SPARSE = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col")}
_OBJECTS = "holds Python objects, which are never loaded. Save numbers, or text with dtype str."


@dataclass
class MatrixSource(Source):
    """A matrix whose columns are the features, with further columns beside it."""

    load: Callable[[], Matrix] = lambda: np.empty((0, 0))  # the matrix, (n, len(names)): array, memory map or csr_array
    columns: dict[str, Any] = field(default_factory=dict)  # the extras: name → (n,) NumPy array
    mapped: bool = False  # whether the matrix belongs to the file and must not be changed

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
        """Keep the chosen columns of the matrix, and append the columns beside it that are to be features."""
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
        """Convert to floats of this type. A memory map that already holds them stays a map."""
        if raw.matrix.dtype.kind not in "biuf":
            raise TableError(
                f"{self.path} holds values of type {raw.matrix.dtype}, which are not numbers. Save the table as csv."
            )
        if raw.matrix.dtype != np.dtype(dtype):
            if not sparse.issparse(raw.matrix):
                check_room(self.path, raw.matrix.shape[0], raw.matrix.shape[1], np.dtype(dtype).itemsize)
            with np.errstate(over="ignore"):  # a value too large for float32 becomes infinite, which is refused later
                raw.matrix = raw.matrix.astype(dtype)
            raw.owned = True
        if not sparse.issparse(raw.matrix) and raw.owned and not raw.matrix.flags.c_contiguous:
            raw.matrix = np.ascontiguousarray(raw.matrix)


def open_npy(path: Path) -> Source:
    """Open a matrix, an array of images, or a structured array, whose fields become columns."""
    digest = digest_of(path)
    with readable(path, ".npy"):
        with open(path, "rb") as file:
            shape, _, dtype = _header(file, path)
        if not 1 <= len(shape) <= _MOST_AXES or min(shape) < 1:
            raise TableError(f"{path} holds an array of shape {shape}, which has no rows and columns.")
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        return _of_fields(path, digest, array) if dtype.names else _of_matrix(path, digest, array, {}, mapped=True)


def _header(file: IO[bytes], path: object) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether the order is Fortran's, and type, from the header alone."""
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise TableError(f"{path} is in version {version} of NumPy's format. Save it again with a current NumPy.")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise TableError(f"{path} {_OBJECTS}")
    return shape, fortran, dtype


def _of_fields(path: Path, digest: str, array: np.ndarray) -> Source:
    if array.ndim != 1 or any(array.dtype[name].shape or array.dtype[name].names for name in array.dtype.names or ()):
        raise TableError(f"{path}: a structured array must have one axis, and fields that hold single values.")
    columns = {name: arrow_column(array[name], empty_is_missing=True) for name in array.dtype.names or ()}
    return from_columns(path, digest, columns)


def _of_matrix(path: Path, digest: str, array: np.ndarray, columns: dict[str, Any], mapped: bool = False) -> Source:
    """The source of a matrix; for images, with their thumbnails."""
    notes, images, flat = [], None, array
    if array.ndim > 2:
        flat = array.reshape(len(array), -1)
        shape = " × ".join(map(str, array.shape[1:]))
        notes.append(f"Rows of shape {shape} were flattened to {amount(flat.shape[1], 'column')}.")
        if array.dtype == np.uint8 and (array.ndim == 3 or array.shape[3] in (1, 3)):
            from mercer.tables.images import thumbnail_of_array

            images = [thumbnail_of_array(np.asarray(image)) for image in array]
    elif array.ndim == 1:
        flat = array.reshape(-1, 1)
    names = place_names(flat.shape[1])
    source = MatrixSource(str(path), digest, names, False, images=images, notes=notes, load=lambda: flat, mapped=mapped)
    return _with_columns(source, columns)


def _with_columns(source: MatrixSource, columns: dict[str, Any]) -> MatrixSource:
    """Add the arrays beside a matrix: feature names, labels, ids, and every array with one value per row."""
    rows = source.load().shape[0]
    features = columns.pop("features", columns.pop("feature_names", None))
    if features is not None and features.shape == (len(source.names),):
        source.names, source.named = [str(name) for name in features.tolist()], True
    fitting = {name: values for name, values in columns.items() if values.shape == (rows,)}
    unique, notes = unique_names([*source.names, *fitting])
    d = len(source.names)
    source.names, source.extras = unique[:d], unique[d:]
    called = dict(zip(fitting, source.extras, strict=True))
    source.columns = {called[name]: values for name, values in fitting.items()}
    source.label = next((called[name] for name in ("y", "label", "labels", "target") if name in called), None)
    source.id = next((called[name] for name in ("ids", "id") if name in called), None)
    source.notes.extend(notes)
    left = [name for name in columns if name not in fitting]
    if left:
        source.notes.append(f"Arrays without one value per row were left out: {listed(left)}.")
    return source


def open_npz(path: Path) -> Source:
    """Open one matrix, alone or as X beside y and ids; one array per column; or what scipy.sparse.save_npz writes."""
    digest = digest_of(path)
    with readable(path, ".npz"):
        arrays = _load(path)
        if "format" in arrays and "shape" in arrays:
            return _of_sparse(path, digest, arrays)
        matrices = [name for name, array in arrays.items() if array.ndim > 1]
        if not matrices and len({array.shape for array in arrays.values()}) == 1 and len(arrays) > 1:
            return from_columns(path, digest, {name: arrow_column(a, True) for name, a in arrays.items()})
        name = "X" if "X" in arrays else matrices[0] if len(matrices) == 1 else next(iter(arrays), "")
        if name != "X" and len(arrays) > 1 and len(matrices) != 1:
            raise TableError(f"{path} holds {listed(arrays)}, but no array named X. Save the matrix as X.")
        if not arrays:
            raise TableError(f"{path} holds no array.")
        if arrays[name].dtype.names or (arrays[name].ndim == 1 and arrays[name].dtype.kind not in "biuf"):
            return from_columns(path, digest, {name: arrow_column(arrays[name], True)})
        return _of_matrix(path, digest, arrays.pop(name), arrays)


def _load(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an archive. None allocates more than the archive says it holds."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        needed, free = sum(member.file_size for member in members), memory.available_bytes()
        if needed > free:
            raise TableError(
                f"{path} unpacks to {memory.format_bytes(needed)}, but only {memory.format_bytes(free)} are free."
            )
        found = {}
        for member in members:
            with archive.open(member) as file:
                found[member.filename.removesuffix(".npy")] = _array(file, path, member.file_size)
    return found


def _array(file: IO[bytes], path: Path, size: int) -> np.ndarray:
    """Read one array. Those of sparse matrices (shape, format) may be empty or have no axes."""
    shape, fortran, dtype = _header(file, path)
    count = math.prod(shape)
    if len(shape) > _MOST_AXES or min(shape, default=1) < 0 or count * dtype.itemsize > size:
        raise TableError(f"{path} is damaged: it claims an array of shape {shape}, which is more than the file holds.")
    if not dtype.itemsize:  # text of width zero has no bytes, whatever its shape
        return np.zeros(shape, dtype) if count <= size else np.zeros(0, dtype)
    values = np.empty(count, dtype)
    if file.readinto(values.view(np.uint8)) != values.nbytes:  # type: ignore[attr-defined]
        raise TableError(f"{path} is damaged: it ends early.")
    return values.reshape(shape, order="F" if fortran else "C")


def _of_sparse(path: Path, digest: str, arrays: dict[str, np.ndarray]) -> MatrixSource:
    kind = arrays.pop("format").item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
    if kind not in _SPARSE:
        raise TableError(f"{path} holds a sparse matrix in format {kind!r}. Save it as csr, csc or coo.")
    data, first, second = (arrays.pop(name) for name in _SPARSE[kind])
    shape = arrays.pop("shape")
    arrays.pop("_is_array", None)
    found = sparse_matrix(path, kind, data, first, second, shape)
    names = place_names(found.shape[1])
    return _with_columns(MatrixSource(str(path), digest, names, False, load=lambda: found), arrays)


def sparse_matrix(path: object, kind: str, data: Any, first: Any, second: Any, shape: Any) -> sparse.csr_array:
    """Build a csr_array from the parts of a csr or csc (data, indices, indptr) or coo (data, row, col) matrix."""
    sizes = [int(size) for size in np.asarray(shape).ravel()]
    if len(sizes) != 2 or min(sizes) < 1:
        raise TableError(f"{path} holds a sparse matrix of shape {tuple(sizes)}, which has no rows and columns.")
    check_room(path, sum(sizes), 1)  # even an empty row takes a place in indptr
    n, d = sizes
    if kind == "coo":
        good = data.ndim == 1 and len(data) == len(first) == len(second)
        good = good and _indices_below(n, first) and _indices_below(d, second)
    else:
        lines, width = (n, d) if kind == "csr" else (d, n)
        good = data.ndim == 1 and len(data) == len(first) and _indices_below(width, first)
        good = good and _indices_below(len(data) + 1, second) and len(second) == lines + 1
        good = good and second[0] == 0 and int(second[-1]) == len(data) and bool((second[1:] >= second[:-1]).all())
    if not good or data.dtype.kind not in "biuf":
        raise TableError(f"{path} is damaged: the parts of its sparse matrix do not fit together.")
    first, second = first.astype(np.int64), second.astype(np.int64)
    if kind == "coo":
        found = sparse.csr_array((data, (first, second)), shape=(n, d))
    else:
        build = sparse.csr_array if kind == "csr" else sparse.csc_array
        found = sparse.csr_array(build((data, first, second), shape=(n, d)))
    found.sum_duplicates()
    if max(n, d) < 2**31 and found.nnz < 2**31:  # some of scikit-learn accepts only 32-bit indices
        found.indices, found.indptr = found.indices.astype(np.int32), found.indptr.astype(np.int32)
    return found


def _indices_below(limit: int, values: Any) -> bool:
    """Whether values are a vector of integers in 0 … limit − 1."""
    good = values.ndim == 1 and values.dtype.kind in "iu"
    return good and (not len(values) or (int(values.min()) >= 0 and int(values.max()) < limit))
