"""Inputs that can be read only once: stdin, `<(command)` in a shell, and named pipes (mkfifo).

A table is read more than once, so the bytes of a pipe are copied to a temporary file. The copy lasts as long
as the process, and every later read of the same pipe gets it. The first bytes tell the format.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from mercer.tables.source import TableError

_MAGIC = {  # the first bytes of a file → the suffix that stands for its format
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\xff\xff\xff\xff": ".arrow",  # a stream
    b"FEA1": ".feather",
    b"\x93NUMPY": ".npy",
    b"\x89HDF\r\n\x1a\n": ".h5ad",
}
_OBJECT = re.compile(rb"(\xef\xbb\xbf)?\s*\{\s*[\"}]")  # how a line of JSON begins
_copies: dict[Any, tuple[Any, Any]] = {}  # which pipe → its owner, which must outlive its entry, and the copy


def is_pipe(path: str | Path) -> bool:
    """Whether a path is stdin or a pipe. Reading a pipe that has no writer waits for one, as `cat` does.

    >>> is_pipe("-"), is_pipe("table.csv")
    (True, False)
    """
    if str(path) == "-":
        return True
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def pipe_name(path: str | Path) -> str:
    """What messages call a pipe."""
    return "the table on stdin" if str(path) in ("-", "/dev/stdin") else f"the table in {path}"


def local_copy(path: str | Path) -> Path:
    """A file with the bytes of a pipe, the same one whenever the pipe is asked for."""
    owner: Any = sys.stdin.buffer if str(path) == "-" else None
    found = None if str(path) == "-" else os.stat(path)
    key = id(owner) if found is None else (found.st_dev, found.st_ino)
    if key not in _copies:
        copy = tempfile.NamedTemporaryFile(prefix="mercer-")  # noqa: SIM115  lives as long as the process
        try:
            if owner is not None:
                shutil.copyfileobj(owner, copy)
            else:
                with open(path, "rb") as pipe:
                    shutil.copyfileobj(pipe, copy)
            copy.flush()
        except OSError as error:
            if error.filename is None and error.errno is not None:
                raise OSError(
                    error.errno, error.strerror, f"a copy of {pipe_name(path)} in {Path(copy.name).parent}"
                ) from error
            raise
        _copies[key] = owner, copy
    return Path(_copies[key][1].name)


def content_suffix(path: Path) -> str:
    """The suffix of the format that a file's bytes are in; ".csv" for text of any kind."""
    with open(path, "rb") as file:
        start = file.read(4096)
    for magic, suffix in _MAGIC.items():
        if start.startswith(magic):
            return suffix
    if start.startswith(b"PK\x03\x04"):
        return ".xlsx" if _holds_workbook(path) else ".npz"
    if start.startswith((b"\x80\x03", b"\x80\x04", b"\x80\x05")):
        raise TableError(f"{path} is a pickle, which could run code. Save the table as csv or parquet.")
    if start.startswith(b"\x1f\x8b"):
        with suppress(OSError, EOFError, ValueError), gzip.open(path) as packed:
            start = packed.read(4096)
        return ".jsonl.gz" if _OBJECT.match(start) else ".csv.gz"
    return ".jsonl" if _OBJECT.match(start) else ".csv"


def _holds_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False
