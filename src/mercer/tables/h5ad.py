"""Reader of annotated matrices (.h5ad): X, dense or sparse, the columns of obs, and the names of var.

Nothing outside the file is followed: links to other files, external and virtual data are refused.

The HDF5 library trusts some of what a file says, and can loop forever or crash on a damaged one. What it does not check
and this reader needs is checked here first, in plain Python: the heaps that hold text of variable length (an entry of
length zero is an endless loop in HDF5), and the types of attributes (sequences of sequences crash the conversion).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

from mercer.tables.arrays import MatrixSource, sparse_matrix
from mercer.tables.source import Matrix, TableError, check_room, digest_of, listed, readable, unique_names

_BLOCK = 1 << 24  # numbers that are read at a time: HDF5 converts and unpacks a copy of each block
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_HEAP = b"GCOL\x01"  # signature and version of a global heap collection
_HEAD = 16  # bytes before the first entry of a heap, and of each entry, with lengths of 8 bytes
_PLAIN_TYPES = (h5py.h5t.TypeStringID, h5py.h5t.TypeIntegerID, h5py.h5t.TypeFloatID, h5py.h5t.TypeEnumID)


def open_h5ad(path: Path) -> MatrixSource:
    heaps = _Heaps()
    digest = digest_of(path, heaps.watch)
    with readable(path, ".h5ad"):
        heaps.check(path)
    given, ids, columns, left = _read_names(path)
    features, notes = unique_names(given)
    if left:
        notes.append(f"Columns of obs that hold neither numbers nor text were left out: {listed(left)}.")
    known = set(features)
    extras = {f"obs/{name}" if name in known else name: values for name, values in columns.items()}
    index = next(name for name in ("obs_names", "obs/index", "obs/names") if name not in known and name not in extras)
    return MatrixSource(
        str(path),
        digest,
        features,
        extras=[index, *extras],
        id=index,
        notes=notes,
        load=lambda: _matrix(path, len(ids), len(features)),
        columns={index: ids, **extras},
    )


class _Heaps:
    """Finds the global heap collections of a file while it is hashed, and then checks that their entries end.

    The signature of five bytes appears by chance once in 10¹² bytes, and then a good file would be refused.
    """

    def __init__(self) -> None:
        self.found: list[int] = []
        self.done = 0
        self.tail = b""

    def watch(self, piece: bytes) -> None:
        text = self.tail + piece  # a signature may lie across two pieces
        start = self.done - len(self.tail)
        place = text.find(_HEAP)
        while place >= 0:
            self.found.append(start + place)
            place = text.find(_HEAP, place + 1)
        self.tail = text[-len(_HEAP) + 1 :]
        self.done += len(piece)

    def check(self, path: Path) -> None:
        with open(path, "rb") as file:
            start = file.read(16)
            lengths = start[14:15] if start[8:9] < b"\x02" else start[10:11]  # by the version of the superblock
            if not start.startswith(_SIGNATURE) or lengths != b"\x08":
                raise TableError(f"{path} is not a .h5ad file as anndata writes it: its first bytes differ.")
            for place in self.found:
                _check_heap(path, file, place, self.done)


def _check_heap(path: Path, file: BinaryIO, place: int, end: int) -> None:
    """TableError if the entries of a heap do not lie one after the other within it."""
    file.seek(place + 8)
    size = int.from_bytes(file.read(8), "little")
    if place + size > end:
        raise TableError(f"{path} is damaged: a heap of text is longer than the file.")
    file.seek(place)
    heap = file.read(size)
    at = _HEAD
    while at + _HEAD <= size:
        index, length = int.from_bytes(heap[at : at + 2], "little"), int.from_bytes(heap[at + 8 : at + 16], "little")
        step = _HEAD + (length + 7) // 8 * 8 if index else length  # index 0 is free space, header included
        if not 0 < step <= size - at:
            raise TableError(f"{path} is damaged: an entry in a heap of text has length {length}.")
        at += step


def _read_names(path: Path) -> tuple[list[str], np.ndarray, dict[str, np.ndarray], list[str]]:
    """Names of the features, names of the rows, columns of obs, and the names of columns that cannot be shown."""
    with opened(path) as file:
        features = index_names(path, member(path, file, "var")).tolist()
        obs = member(path, file, "obs")
        ids = index_names(path, obs)
        return features, ids, *_columns(path, obs, len(ids))


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """An HDF5 file for reading; every error of the library is a TableError."""
    with readable(path, Path(path).suffix.lower() or "HDF5"), h5py.File(path, "r", locking=False) as file:
        yield file


def member(path: Path, group: h5py.Group, name: str, *, whole: bool = True) -> Any:
    """A group or dataset that lies in the file itself. If `whole`, it must also fit in memory."""
    link = group.get(name, getlink=True)
    if link is None:
        there = f"It has {listed(list(group))}" if len(group) else "It is empty"
        raise TableError(f"{path} has no {group.name.rstrip('/')}/{name}. {there} in {group.name}.")
    if not isinstance(link, h5py.HardLink):
        raise TableError(f"{path}: {name} is a link to another place, which is not followed.")
    found = group[name]
    if isinstance(found, h5py.Dataset):
        if found.is_virtual or found.external:
            raise TableError(f"{path}: the values of {name} are in another file, which is not read.")
        if whole:
            check_room(path, found.size or 0, 1, max(1, found.dtype.itemsize))
    return found


def _values(path: Path, group: h5py.Group, name: str) -> np.ndarray:
    """A whole dataset; text as str objects."""
    found = member(path, group, name)
    if not isinstance(found, h5py.Dataset):
        raise TableError(f"{path}: {name} is a group, but should hold values.")
    if h5py.check_string_dtype(found.dtype) is not None:
        return np.array(found.asstr(errors="replace")[()], object)
    if found.dtype.kind not in "biuf":
        raise TableError(f"{path}: {name} holds {found.dtype}, but should hold numbers or text.")
    return np.asarray(found[()])


def attribute(path: Path, part: h5py.Group | h5py.Dataset, name: str) -> Any:
    """An attribute that holds numbers or text; None if no attribute has that name."""
    if name not in part.attrs:
        return None
    found = part.attrs.get_id(name)
    if not isinstance(found.get_type(), _PLAIN_TYPES):
        raise TableError(f"{path}: the attribute {name} holds neither numbers nor text.")
    check_room(path, math.prod(found.shape or ()), 1)
    return part.attrs[name]


def word(path: Path, part: h5py.Group | h5py.Dataset, name: str, default: str) -> str:
    """An attribute that is a single text."""
    value = attribute(path, part, name)
    return default if value is None else _text(value)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def index_names(path: Path, group: Any) -> np.ndarray:
    """The names of the rows of obs or var."""
    if not isinstance(group, h5py.Group):
        raise TableError(f"{path} was written by anndata before 0.7. Read it with a later version, and write it again.")
    name = word(path, group, "_index", "_index")
    name = name if name in group else "index"
    return np.array([str(value) for value in _values(path, group, name).ravel().tolist()], object)


def _columns(path: Path, obs: h5py.Group, rows: int) -> tuple[dict[str, np.ndarray], list[str]]:
    """The columns of obs, and the names of those that cannot be shown."""
    order = attribute(path, obs, "column-order")
    names = [_text(name) for name in order] if order is not None else list(obs)
    index = word(path, obs, "_index", "_index")
    found, left = {}, []
    for name in names:
        if name in (index, "_index", "__categories") or name not in obs:
            continue
        values = _column(path, obs, name)
        if values is not None and values.shape == (rows,):
            found[name] = values
        else:
            left.append(name)
    return found, left


def _column(path: Path, obs: h5py.Group, name: str) -> np.ndarray | None:
    part = member(path, obs, name)
    if isinstance(part, h5py.Group):
        kind = word(path, part, "encoding-type", "")
        if kind == "categorical":
            return _decoded(_values(path, part, "codes"), _values(path, part, "categories"))
        if kind.startswith("nullable"):
            return _masked(_values(path, part, "values"), _values(path, part, "mask"))
        return None
    if part.dtype.kind not in "biufSO":
        return None
    values = _values(path, obs, name)
    if "__categories" in obs and name in member(path, obs, "__categories"):  # how anndata wrote them before 0.8
        return _decoded(values, _values(path, member(path, obs, "__categories"), name))
    return values


def _decoded(codes: np.ndarray, categories: np.ndarray) -> np.ndarray | None:
    """Replace codes by their categories; −1 is missing."""
    if codes.dtype.kind not in "iu" or categories.ndim != 1:
        return None
    if len(codes) and not (int(codes.min()) >= -1 and int(codes.max()) < len(categories)):
        return None
    table = np.empty(len(categories) + 1, object)
    table[:-1] = categories.tolist()
    found = table[codes]
    if categories.dtype.kind == "O":
        return found
    gone = codes == -1
    return np.where(gone, np.nan, found).astype(np.float64) if gone.any() else np.array(found.tolist())


def _masked(values: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """Values with NaN or None where the mask is set."""
    if values.shape != mask.shape or mask.dtype.kind != "b":
        return None
    if values.dtype.kind == "O":
        return np.where(mask, None, values)  # type: ignore[call-overload]
    return np.where(mask, np.nan, values) if mask.any() else values


def _matrix(path: Path, n: int, d: int) -> Matrix:
    """X: an array, or a csr_array."""
    with opened(path) as file:
        part = member(path, file, "X")
        found = _sparse(path, part) if isinstance(part, h5py.Group) else _dense(path, part)
        if found.shape != (n, d):
            raise TableError(f"{path}: X has shape {found.shape}, but obs has {n} names and var has {d}.")
        return found


def _sparse(path: Path, group: h5py.Group) -> Matrix:
    old = word(path, group, "h5sparse_format", "")
    kind = word(path, group, "encoding-type", old).removesuffix("_matrix")
    if kind not in ("csr", "csc"):
        raise TableError(f"{path}: X is stored as {kind!r}. Known are arrays, csr_matrix and csc_matrix.")
    shape = attribute(path, group, "shape")
    shape = attribute(path, group, "h5sparse_shape") if shape is None else shape
    if shape is None:
        raise TableError(f"{path}: the sparse X has no shape.")
    data, indices, indptr = (_values(path, group, name) for name in ("data", "indices", "indptr"))
    return sparse_matrix(path, kind, data, indices, indptr, shape)


def _dense(path: Path, part: h5py.Dataset) -> np.ndarray:
    if part.ndim != 2 or part.dtype.kind not in "biuf" or not part.size:
        raise TableError(f"{path}: X holds {part.dtype} of shape {part.shape}, but should be a matrix of numbers.")
    found = np.empty(part.shape, part.dtype.newbyteorder("="))
    step = max(1, _BLOCK // part.shape[1])
    for start in range(0, part.shape[0], step):
        found[start : start + step] = part[start : start + step]
    return found
