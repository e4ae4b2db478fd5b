"""What every reader of a format shares: an open table, its values, the one error, and the checks before allocating."""

from __future__ import annotations

import difflib
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from mercer import memory

CHUNK = 1 << 22  # bytes of a file that are hashed at a time: few calls, and little memory

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")  # a single letter before the colon is a drive of Windows
Matrix = Any  # (n, p): np.ndarray, np.memmap or scipy.sparse.csr_array


class TableError(ValueError):
    """A table cannot be read, turned into numbers, or written. One line says what is wrong, where, and what to do.

    >>> from mercer.tables import read_table
    >>> try:
    ...     read_table("nowhere.csv")
    ... except TableError as error:
    ...     print("nowhere.csv" in str(error))
    True
    """

    def __init__(self, message: str):
        super().__init__(" ".join(str(message).split()))  # text from a hostile file must not break the line


class Role(Enum):
    """What a column is used for."""

    FEATURE = "feature"  # part of X: numbers if every value is a number, otherwise text to be encoded
    CATEGORY = "category"  # part of X, and text whatever the values look like: the categories are already known
    CARRIED = "carried"  # not in X: whole numbers stay exact, other numbers become floats, the rest is text
    ID = "id"  # not in X: whole numbers stay exact, everything else is text


@dataclass
class Raw:
    """The values of a table's columns as the file has them, before preparation."""

    matrix: Matrix  # (n, p) the numeric features; NaN where a value is missing
    numbers: list[str]  # (p,) names of its columns
    texts: dict[str, np.ndarray] = field(default_factory=dict)  # text features: (n,) str objects, None where missing
    carried: dict[str, np.ndarray] = field(default_factory=dict)
    owned: bool = True  # whether the matrix may be changed in place
    decimal: str = "."  # decimal sign of the numbers that appear in the texts
    dated: set[str] = field(default_factory=set)  # text features that hold dates
    first: int = 0  # the place in the file of the first row

    @property
    def rows(self) -> int:
        return int(self.matrix.shape[0])


@dataclass
class Source(ABC):
    """An open table: the names of its columns are known, its values are not read yet."""

    path: str
    digest: str
    names: list[str]  # the columns that can be features, in the order of the file
    named: bool = True  # whether the names come from the file
    extras: list[str] = field(default_factory=list)  # further columns, which become features only on request
    id: str | None = None  # the extra that holds ids, unless another column is asked for
    label: str | None = None  # the same for labels
    images: list[bytes] | None = None
    image: list[int] | None = None  # width, height and channels if rows are images
    notes: list[str] = field(default_factory=list)
    stop: int | None = None  # how many rows to read at most, counted from the start of the file
    vectors: dict[str, list[str]] = field(default_factory=dict)  # column of lists → the names of its numbers
    lists: list[str] = field(default_factory=list)  # columns of lists of numbers that are not features

    def expand(self, names: Iterable[str]) -> None:
        """Make features of the numbers in columns of lists. TableError if a column does not hold lists of numbers."""
        for name in names:
            raise TableError(f"vector: column {shortened(name)!r} of {self.path} does not hold lists of numbers.")

    def truths(self, columns: dict[str, np.ndarray]) -> set[str]:
        """Which of some columns, read as they are, hold true and false: as features they are numbers, not text."""
        return set()

    @abstractmethod
    def read(self, roles: dict[str, Role], dtype: str) -> Raw:
        """Read the columns that have a role. A matrix that has to be built anyway is built in `dtype`."""


def refuse_address(path: object) -> None:
    """TableError for an address on the network, which a Path would take for a file in a folder `https:`."""
    if _ADDRESS.match(str(path)):
        raise TableError(f"{path} is an address, and only files are read. Download the file first.")


def digest_of(path: Path, watch: Callable[[bytes], None] | None = None) -> str:
    """SHA-256 of a file's bytes. The file is read once, in pieces, and `watch` sees every piece."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(CHUNK):
            found.update(piece)
            if watch is not None:
                watch(piece)
    return found.hexdigest()


@contextmanager
def readable(path: object, kind: str) -> Iterator[None]:
    """Turn any error that a library raises on a damaged or hostile file into a TableError of one line."""
    try:
        yield
    except TableError:
        raise
    except MemoryError as error:
        raise TableError(f"{path}: reading it as {kind} needs more memory than is free; it may be damaged.") from error
    except Exception as error:
        why = shortened(" ".join(str(error).split()) or type(error).__name__, 200)
        raise TableError(f"{path} cannot be read as {kind}: {why}") from error


def check_room(path: object, rows: int, columns: int, itemsize: int = 8) -> None:
    """TableError, before allocating, if a matrix does not fit in free memory."""
    needed, free = rows * columns * itemsize, memory.available_bytes()
    if needed > free:
        raise TableError(
            f"{path}: {rows} rows of {columns} numbers need {memory.format_bytes(needed)}, but only "
            f'{memory.format_bytes(free)} are free. Choose fewer columns, use dtype="float32", or save the table as '
            ".npy, which is mapped instead of read."
        )


def check_text(path: object, size: int) -> None:
    """TableError if the text read so far takes more than the memory that is left, half of what was free."""
    free = memory.available_bytes()
    if size > free:
        raise TableError(
            f"{path}: its text needs more than {memory.format_bytes(size)}, but only {memory.format_bytes(free)} "
            "are free. Choose fewer columns."
        )


def unique_names(names: list[str]) -> tuple[list[str], list[str]]:
    """Name the unnamed columns, tell repeated names apart, and return notes on what was changed.

    >>> unique_names(["a", "", "a"])[0]
    ['a', 'x2', 'a_2']
    """
    taken = set(names)
    seen: set[str] = set()
    counts: dict[str, int] = {}  # copies of each name so far: without it, n copies would take n² steps
    made: list[str] = []
    unnamed: list[str] = []
    copies: list[str] = []
    for place, given in enumerate(names, 1):
        stem = given or f"x{place}"
        name = stem
        while name in seen or (name != given and name in taken):
            counts[stem] = counts.get(stem, 1) + 1
            name = f"{stem}_{counts[stem]}"
        if not given:
            unnamed.append(name)
        if given and name != given:
            copies.append(given)
        seen.add(name)
        made.append(name)
    notes = []
    if unnamed:
        are = "column has no name and is" if len(unnamed) == 1 else "columns have no names and are"
        notes.append(f"{len(unnamed):,} {are} called {', '.join(unnamed[:2])}{', …' if len(unnamed) > 2 else ''}.")
    if copies:
        notes.append(f"Repeated column names were told apart with _2, _3, …: {listed(dict.fromkeys(copies))}.")
    return made, notes


def place_names(count: int) -> list[str]:
    """x1, x2, … for columns without names."""
    return [f"x{place}" for place in range(1, count + 1)]


def listed(names: Iterable[str], most: int = 5, room: int = 56) -> str:
    """Names for a message: up to `most`, and no more than fit into `room` letters after the first; then a count.

    >>> listed(["a", "b"]), listed("abcdefg"), listed(["a long name"] * 9, 9, 30)
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e' and 2 more", "'a long name', 'a long name' and 7 more")
    """
    said = [repr(shortened(name)) for name in names]
    fit = sum(end - 2 <= room for end in accumulate(len(name) + 2 for name in said))
    shown = max(1, min(most, fit))
    return ", ".join(said[:shown]) + (f" and {len(said) - shown} more" if len(said) > shown else "")


def shortened(text: Any, most: int = 40) -> str:
    """Text from a file, cut to a length that suits a message."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def check_known(asked: Iterable[str], names: Iterable[str], what: str) -> None:
    """TableError if a column does not exist; the message suggests the closest names."""
    known = dict.fromkeys(names)
    for name in asked:
        if name not in known:
            hint = closest(name, known, "columns")
            if len(known) == 1 and any(sign in next(iter(known)) for sign in ",;\t|"):
                hint += " Is the delimiter right?"
            raise TableError(f"{what}: the table has no column {shortened(name)!r}. {hint}")


def closest(given: str, names: Iterable[str], kind: str) -> str:
    """A hint for a name that does not exist: the closest ones, or else the first of them.

    >>> closest("heigth", ["age", "height"], "columns"), closest("AGE", ["age", "AGED"], "columns")
    ("Did you mean 'height'?", "Did you mean 'age'?")
    >>> closest("x", ["age"], "columns")
    "The columns are 'age'."
    """
    names = list(names)
    close = [name for name in names if name.casefold() == str(given).casefold()]
    close = close or difflib.get_close_matches(str(given), names[:10_000], n=3, cutoff=0.5)  # more would take seconds
    return f"Did you mean {listed(close)}?" if close else f"The {kind} are {listed(names, 10)}."
