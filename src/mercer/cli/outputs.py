"""Writing: checked before the work, all files or none, never onto an input."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import numpy as np

from mercer.cli.errors import USAGE, Failure

STDOUT = "-"


def refuse_bad_outputs(outputs: list[str], inputs: list[str]) -> None:
    """Failure for a file that cannot be written, or that would be written onto an input or another output.

    - is stdout, which takes coordinates alone: what may go there is not asked about here.
    """
    seen: dict[Path, str] = {}
    for name in outputs:
        if name == STDOUT:
            continue
        path = Path(name)
        for given in inputs:
            if given != STDOUT and path.exists() and Path(given).exists() and path.samefile(given):
                raise Failure(f"{name} is an input: write somewhere else", USAGE)
        if path.resolve() in seen:
            raise Failure(f"{name} would be written twice", USAGE)
        seen[path.resolve()] = name
        _refuse_unwritable(path)


def _refuse_unwritable(path: Path) -> None:
    if path.is_dir():
        raise Failure(f"cannot write {path}: it is a folder")
    try:
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise Failure(f"cannot write {path}: {path.parent}: {error.strerror}") from error


def refuse_unwritable_table(name: str, columns: dict[str, np.ndarray] | None = None) -> None:
    """Failure for a suffix that no table, or none with such columns, is written as: found out by writing a row."""
    from mercer.tables.table import TableError, write_table

    if name == STDOUT:
        return
    row = {key: values[:1] for key, values in (columns or {}).items()} | {"x": np.zeros(1)}
    with TemporaryDirectory() as folder:
        try:
            write_table(Path(folder) / f"table{ending(Path(name))}", row)
        except TableError as error:
            raise Failure(f"{name}: {str(error).partition(': ')[2] or error}", USAGE) from error


def ending(path: Path) -> str:
    """What says how a file is written: .csv, or .csv.gz."""
    return "".join(path.suffixes[-2:] if path.suffix.lower() == ".gz" else path.suffixes[-1:])


def refuse_other_than_page(name: str | None) -> None:
    """Failure for a page that is not named as one: it would be opened by something else, or be someone's table."""
    if name is not None and Path(name).suffix.lower() not in (".html", ".htm"):
        raise Failure(f"{name} would be a page of html: end its name with .html", USAGE)


def make_folder(folder: Path) -> None:
    """Make the folder and try it, before anything is computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise Failure(f"cannot write to {folder}: {error.strerror}") from error


class Writing:
    """Files that appear together: each is written beside its place, and all are moved there at the end.

    >>> with Writing() as files:
    ...     pass
    """

    def __init__(self) -> None:
        self._moves: list[tuple[Path, Path]] = []

    def __enter__(self) -> Writing:
        return self

    def add(self, path: str | Path, write: Callable[[Path], Any]) -> Path:
        """Have `write` write a file; where it stands until the end."""
        path = Path(path)
        part = path.with_name(f".mercer-{os.getpid()}-{len(self._moves)}{ending(path)}")
        self._moves.append((part, path))
        write(part)
        return part

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        if kind is None:
            for part, path in self._moves:
                os.replace(part, path)
        for part, _path in self._moves:
            with suppress(FileNotFoundError):
                part.unlink()
