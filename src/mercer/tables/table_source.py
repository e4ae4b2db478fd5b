"""A file that is open as a table: its columns by name, and their values once it is known what they are for."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import numpy as np

from mercer.memory import available_bytes, format_bytes
from mercer.tables.table_types import Matrix, TableError, listed, shortened

CHUNK = 1 << 22  # bytes of a file that are read at a time


class Role(Enum):
    """What a column is for."""

    FEATURE = "feature"  # a number if every value is one, else text
    CATEGORY = "category"  # text whatever its values look like, for its categories are known
    CARRIED = "carried"  # not in X: whole numbers exactly, other numbers as floats, everything else as text
    ID = "id"  # carried; whole numbers, everything else as text


@dataclass
class Raw:
    """The values of a table's columns, before anything is done to them."""

    matrix: Matrix  # (n, p) the numbers among the features; NaN where missing
    numbers: list[str]  # (p,) names of its columns
    texts: dict[str, np.ndarray] = field(
        default_factory=dict
    )  # features that are text, (n,) object; None where missing
    carried: dict[str, np.ndarray] = field(default_factory=dict)
    owned: bool = True  # whether the matrix may be changed in place
    decimal: str = "."  # of the numbers in the texts
    dated: set[str] = field(default_factory=set)  # texts that are dates in the file

    @property
    def rows(self) -> int:
        return self.matrix.shape[0]


@dataclass
class Source(ABC):
    """An open table."""

    path: str
    digest: str
    names: list[str]  # every column, in the order of the file
    named: bool = True  # whether the file gives the names
    extras: list[str] = field(default_factory=list)  # further columns, which are never features unless asked for
    id: str | None = None  # an extra that holds ids, labels, where nothing else is asked for
    label: str | None = None
    images: list[bytes] | None = None
    image: list[int] | None = None  # width, height and channels of rows that are images
    notes: list[str] = field(default_factory=list)

    @abstractmethod
    def read(self, roles: dict[str, Role], dtype: str) -> Raw:
        """The values of the columns that have a role; the matrix in `dtype` where it has to be made anyway."""


def digest_of(path: Path, watch: Callable[[bytes], None] | None = None) -> str:
    """SHA-256 of a file's bytes, read once in pieces, which `watch` sees too."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(CHUNK):
            found.update(piece)
            if watch is not None:
                watch(piece)
    return found.hexdigest()


@contextmanager
def readable(path: object, kind: str) -> Iterator[None]:
    """Whatever a library says of a damaged or hostile file becomes a TableError of one line."""
    try:
        yield
    except TableError:
        raise
    except MemoryError as error:
        raise TableError(f"{path} asks for more memory than there is, read as {kind}; it may be damaged.") from error
    except Exception as error:
        why = shortened(" ".join(str(error).split()) or type(error).__name__, 200)
        raise TableError(f"{path} cannot be read as {kind}: {why}") from error


def check_room(path: object, rows: int, columns: int, itemsize: int = 8) -> None:
    """TableError before allocating what the memory cannot hold."""
    needed, free = rows * columns * itemsize, available_bytes()
    if needed > free:
        raise TableError(
            f"{path}: {rows} rows of {columns} numbers take {format_bytes(needed)}, and {format_bytes(free)} are free; "
            'choose fewer columns, use dtype="float32", or write the table as .npy, which is not read as a whole.'
        )


def check_text(path: object, size: int) -> None:
    """TableError where the text of a table takes more than half of the memory that was free: all of what is left."""
    if size > available_bytes():
        raise TableError(
            f"{path}: its text takes {format_bytes(size)} and more, and {format_bytes(available_bytes())} are free; "
            "choose fewer columns."
        )


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Names without gaps and copies, and notes on what was changed.

    >>> unique_names(["a", "", "a"])[0]
    ['a', 'x2', 'a_2']
    """
    taken = set(names)
    seen: set[str] = set()
    counts: dict[str, int] = {}  # of each name the copies so far, so that many copies take no longer
    made, empty, copies = [], 0, []
    for place, given in enumerate(names, 1):
        stem = given or f"x{place}"
        name = stem
        while name in seen or (name != given and name in taken):
            counts[stem] = counts.get(stem, 1) + 1
            name = f"{stem}_{counts[stem]}"
        empty += not given
        if given and name != given:
            copies.append(given)
        seen.add(name)
        made.append(name)
    notes = [f"Columns without a name are called by their place, x1, x2, …: there are {empty}."] if empty else []
    if copies:
        notes.append(f"Columns of the same name were told apart by endings _2, _3, …: {listed(dict.fromkeys(copies))}.")
    return made, notes
