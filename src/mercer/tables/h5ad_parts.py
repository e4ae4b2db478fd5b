"""What a .h5ad file holds, by h5py alone: names, the columns of obs, and X, dense or as the parts of a sparse matrix.

Nothing outside the file is followed: links to other files, external and virtual data are refused. The HDF5 library
itself may never return, or bring the process down, on a damaged file. So the same calls are made by another process
first, which is given so much time: `python -m mercer.tables.h5ad_parts FILE`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from mercer.memory import available_bytes
from mercer.tables.table_source import check_room, readable
from mercer.tables.table_types import TableError

_BLOCK = 1 << 24  # numbers that are read at a time
_WHOLE = 1 << 28  # bytes of files of which the other process reads every value, not the first and the last alone
_SECONDS, _SPEED = 15.0, 1e7  # what the other process may take, and bytes a second beyond that
_REFUSED = 3  # its exit status where it found a mistake and can say which


def try_elsewhere(path: Path) -> None:
    """TableError if another process cannot read the file either, in bounded time. -P: nothing of the folder is run."""
    allowed = _SECONDS + min(path.stat().st_size, _WHOLE) / _SPEED
    command = [sys.executable, "-P", "-m", "mercer.tables.h5ad_parts", str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    try:
        ended = subprocess.run(command, capture_output=True, timeout=allowed, env=environment, check=False)
    except subprocess.TimeoutExpired as error:
        raise TableError(
            f"{path} cannot be read as .h5ad: HDF5 does not come to an end with it; it is damaged."
        ) from error
    except OSError as error:
        raise TableError(
            f"{path} cannot be read as .h5ad: no other process can be started to try it: {error}"
        ) from error
    if ended.returncode == _REFUSED:
        raise TableError(ended.stdout.decode("utf-8", "replace"))
    if ended.returncode:
        raise TableError(f"{path} cannot be read as .h5ad: HDF5 breaks down on it; it is damaged.")


def _try_here(path: Path) -> None:
    """All calls that reading makes."""
    _limit_memory()
    read_names(path)
    with opened(path) as file:
        part = member(path, file, "X")
        datasets = [member(path, part, name) for name in _PARTS] if isinstance(part, h5py.Group) else [part]
        for dataset in datasets:
            _touch(dataset, whole=path.stat().st_size <= _WHOLE)


def _limit_memory() -> None:
    """What a damaged file asks for beyond what is free is refused, not taken."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (available_bytes() + 2**30,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass  # a system without limits


def _touch(dataset: h5py.Dataset, whole: bool) -> None:
    rows = dataset.shape[0] if dataset.ndim else 0
    step = block_rows(dataset)
    starts = list(range(0, rows, step))
    for start in starts if whole else starts[:1] + starts[-1:]:
        dataset[start : start + step]


def block_rows(dataset: h5py.Dataset) -> int:
    return max(1, _BLOCK // max(1, int(np.prod(dataset.shape[1:]))))


_PARTS = ("data", "indices", "indptr")


def read_names(path: Path) -> tuple[list[str], np.ndarray, dict[str, np.ndarray], list[str]]:
    """Names of the columns, names of the rows, the columns of obs, and the names of those that cannot be shown."""
    with opened(path) as file:
        features = _index(path, member(path, file, "var")).tolist()
        obs = member(path, file, "obs")
        ids = _index(path, obs)
        return features, ids, *_columns(path, obs, len(ids))


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    with readable(path, ".h5ad"), h5py.File(path, "r", locking=False) as file:
        yield file


def member(path: Path, group: h5py.Group, name: str) -> Any:
    """A member that lies in the file itself."""
    link = group.get(name, getlink=True)
    if link is None:
        raise TableError(f"{path} has no {group.name.rstrip('/')}/{name}; is it a .h5ad file?")
    if not isinstance(link, h5py.HardLink):
        raise TableError(f"{path}: {name} is a link to somewhere else, which is not followed.")
    found = group[name]
    if isinstance(found, h5py.Dataset):
        if found.is_virtual or found.external:
            raise TableError(f"{path}: the values of {name} lie in another file, which is not read.")
        check_room(path, found.size or 0, 1, max(1, found.dtype.itemsize))
    return found


def values_of(path: Path, group: h5py.Group, name: str) -> np.ndarray:
    """A dataset in full; text as str objects."""
    found = member(path, group, name)
    if not isinstance(found, h5py.Dataset):
        raise TableError(f"{path}: {name} is a group where values are needed.")
    if h5py.check_string_dtype(found.dtype) is not None:
        return np.array(found.asstr(errors="replace")[()], object)
    return np.asarray(found[()])


def _index(path: Path, group: Any) -> np.ndarray:
    """The names of the rows of obs or var."""
    if not isinstance(group, h5py.Group):
        raise TableError(f"{path} has the layout of old versions of anndata; read and write it with one since 0.7.")
    name = attribute(group, "_index", "_index")
    name = name if name in group else "index"
    return np.array([str(value) for value in values_of(path, group, name).ravel().tolist()], object)


def attribute(group: h5py.Group | h5py.Dataset, name: str, default: str) -> str:
    value = group.attrs.get(name, default)
    return value.decode() if isinstance(value, bytes) else str(value)


def _columns(path: Path, obs: h5py.Group, rows: int) -> tuple[dict[str, np.ndarray], list[str]]:
    """The columns of obs, and the names of those that cannot be shown."""
    order = obs.attrs.get("column-order")
    names = [_plain(name) for name in order] if order is not None else list(obs)
    index = attribute(obs, "_index", "_index")
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


def _plain(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _column(path: Path, obs: h5py.Group, name: str) -> np.ndarray | None:
    part = member(path, obs, name)
    if isinstance(part, h5py.Group):
        kind = attribute(part, "encoding-type", "")
        if kind == "categorical":
            return _decoded(values_of(path, part, "codes"), values_of(path, part, "categories"))
        if kind.startswith("nullable"):
            return _masked(values_of(path, part, "values"), values_of(path, part, "mask"))
        return None
    values = values_of(path, obs, name)
    if "__categories" in obs and name in member(path, obs, "__categories"):
        return _decoded(values, values_of(path, member(path, obs, "__categories"), name))
    return values if values.dtype.kind in "biufO" else None


def _decoded(codes: np.ndarray, categories: np.ndarray) -> np.ndarray | None:
    """Codes to categories; −1 is missing."""
    if codes.dtype.kind not in "iu" or categories.ndim != 1 or (len(codes) and int(codes.max()) >= len(categories)):
        return None
    table = np.empty(len(categories) + 1, object)
    table[:-1] = categories.tolist()
    if len(codes) and int(codes.min()) < -1:
        return None
    found = table[codes]
    return found if h5py.check_string_dtype(categories.dtype) or categories.dtype.kind == "O" else _numbers(found)


def _numbers(values: np.ndarray) -> np.ndarray:
    """Categories that are numbers; NaN where missing."""
    gone = np.array([value is None for value in values])
    return np.array(values.tolist()) if not gone.any() else np.where(gone, np.nan, values).astype(np.float64)


def _masked(values: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    if values.shape != mask.shape or mask.dtype.kind != "b":
        return None
    if values.dtype.kind == "O":
        return np.where(mask, None, values)  # type: ignore[call-overload]
    return np.where(mask, np.nan, values) if mask.any() else values


if __name__ == "__main__":
    try:
        _try_here(Path(sys.argv[1]))
    except TableError as error:
        sys.stdout.buffer.write(str(error).encode("utf-8", "replace"))
        sys.stdout.flush()
        os._exit(_REFUSED)  # HDF5 may trip over the file once more when it is closed
    os._exit(0)
