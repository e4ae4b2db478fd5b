"""NumPy's files: .npy, mapped and not copied where nothing has to change, and .npz, dense or sparse. Never pickle."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer.memory import available_bytes, format_bytes
from mercer.tables import sparse_parts
from mercer.tables.arrow_reader import from_columns
from mercer.tables.arrow_values import arrow_column
from mercer.tables.matrix_reader import MatrixSource, place_names
from mercer.tables.table_source import Source, digest_of, readable, unique_names
from mercer.tables.table_types import TableError, listed

_MOST_AXES = 4  # rows, and images with channels
_SPARSE = {"csr": ("data", "indices", "indptr"), "csc": ("data", "indices", "indptr"), "coo": ("data", "row", "col")}


def open_npy(path: Path) -> Source:
    """A matrix, rows of images, or a structured array, whose fields are columns."""
    digest = digest_of(path)
    with readable(path, ".npy"):
        with open(path, "rb") as file:
            dtype = _checked_type(file, path)
        if dtype.names:
            return _fields(path, digest, np.load(path, mmap_mode="r", allow_pickle=False))
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        return _matrix(path, digest, array, {}, mapped=True)


def _checked_type(file: IO[bytes], path: object) -> np.dtype:
    """The type of an array's values, by its header: before anything is allocated."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(file)
    else:
        raise TableError(f"{path} is of version {version} of NumPy's format; write it anew.")
    if dtype.hasobject:
        raise TableError(f"{path} holds Python objects, which are never loaded; save numbers, or text of dtype str.")
    if not 1 <= len(shape) <= _MOST_AXES or min(shape) < 1:
        raise TableError(f"{path} holds an array of shape {shape}; rows and columns are needed.")
    return dtype


def _fields(path: Path, digest: str, array: np.ndarray) -> Source:
    if array.ndim != 1 or any(array.dtype[name].shape or array.dtype[name].names for name in array.dtype.names or ()):
        raise TableError(f"{path}: a structured array is a table if it has one axis and its fields are single values.")
    columns = {name: arrow_column(array[name], empty_is_missing=True) for name in array.dtype.names or ()}
    return from_columns(path, digest, columns)


def _matrix(path: Path, digest: str, array: np.ndarray, columns: dict[str, Any], mapped: bool = False) -> MatrixSource:
    """The source of a matrix; of images, also their thumbnails."""
    notes, images, flat = [], None, array
    if array.ndim > 2:
        flat = array.reshape(len(array), -1)
        notes.append(f"Rows of shape {' × '.join(map(str, array.shape[1:]))} were laid out as {flat.shape[1]} columns.")
        if array.dtype == np.uint8 and (array.ndim == 3 or array.shape[3] in (1, 3)):
            from mercer.tables.thumbnails import thumbnail_of_array

            images = [thumbnail_of_array(np.asarray(image)) for image in array]
    elif array.ndim == 1:
        flat = array.reshape(-1, 1)
    names = place_names(flat.shape[1])
    source = MatrixSource(str(path), digest, names, False, images=images, notes=notes, load=lambda: flat, mapped=mapped)
    return _beside(source, columns)


def _beside(source: MatrixSource, columns: dict[str, Any]) -> MatrixSource:
    """Columns beside the matrix: y or labels, ids, features, and whatever has a value for every row."""
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
        source.notes.append(f"Arrays that do not have a value for every row were left out: {listed(left)}.")
    return source


def open_npz(path: Path) -> Source:
    """One matrix, alone or as X beside y and ids; a column an array; or what scipy.sparse.save_npz writes."""
    digest = digest_of(path)
    with readable(path, ".npz"):
        arrays = _load(path)
        if "format" in arrays and "shape" in arrays:
            return _sparse(path, digest, arrays)
        matrices = [name for name, array in arrays.items() if array.ndim > 1]
        if not matrices and len({array.shape for array in arrays.values()}) == 1 and len(arrays) > 1:
            return from_columns(path, digest, {name: arrow_column(a, True) for name, a in arrays.items()})
        name = "X" if "X" in arrays else matrices[0] if len(matrices) == 1 else next(iter(arrays), "")
        if name != "X" and len(arrays) > 1 and len(matrices) != 1:
            raise TableError(f"{path} holds {listed(arrays)}, and none is called X; save the matrix as X.")
        if not arrays:
            raise TableError(f"{path} holds no array.")
        if arrays[name].dtype.names or (arrays[name].ndim == 1 and arrays[name].dtype.kind not in "biuf"):
            return from_columns(path, digest, {name: arrow_column(arrays[name], True)})
        return _matrix(path, digest, arrays.pop(name), arrays)


def _load(path: Path) -> dict[str, np.ndarray]:
    """The arrays, after their headers: no more is allocated than the archive holds, and no more than there is room."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        needed = sum(member.file_size for member in members)
        if needed > available_bytes():
            raise TableError(
                f"{path} unpacks to {format_bytes(needed)}, and {format_bytes(available_bytes())} are free."
            )
        found = {}
        for member in members:
            with archive.open(member) as file:
                found[member.filename.removesuffix(".npy")] = _array(file, path, member.file_size)
    return found


def _array(file: IO[bytes], path: Path, size: int) -> np.ndarray:
    """One array; numbers of sparse matrices (shape, format) may be without axes or empty."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise TableError(f"{path} holds Python objects, which are never loaded; save numbers, or text of dtype str.")
    count = math.prod(shape)
    if len(shape) > _MOST_AXES or min(shape, default=1) < 0 or count * dtype.itemsize > size:
        raise TableError(f"{path} holds an array of shape {shape}, which is more than the file has; it is damaged.")
    if not dtype.itemsize:  # text without a letter has no bytes
        return np.zeros(shape, dtype) if count <= size else np.zeros(0, dtype)
    values = np.empty(count, dtype)
    if file.readinto(values.view(np.uint8)) != values.nbytes:  # type: ignore[attr-defined]
        raise TableError(f"{path} ends early; it is damaged.")
    return values.reshape(shape, order="F" if fortran else "C")


def _sparse(path: Path, digest: str, arrays: dict[str, np.ndarray]) -> MatrixSource:
    kind = arrays.pop("format").item()
    kind = kind.decode("ascii") if isinstance(kind, bytes) else str(kind)
    if kind not in _SPARSE:
        raise TableError(f"{path} holds a sparse matrix of format {kind!r}; save it as csr, csc or coo.")
    parts = [arrays.pop(name) for name in _SPARSE[kind]]
    shape = arrays.pop("shape")
    arrays.pop("_is_array", None)
    if kind == "coo":
        found = sparse_parts.coordinates(path, parts[0], parts[1], parts[2], shape)
    else:
        found = sparse_parts.compressed(path, kind, parts[0], parts[1], parts[2], shape)
    names = place_names(found.shape[1])
    return _beside(MatrixSource(str(path), digest, names, False, load=lambda: found), arrays)
