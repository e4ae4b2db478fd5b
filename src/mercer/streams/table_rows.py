"""Rows of a table as `mercer.tables` prepares them, part by part: columns by role, text encoded, gaps filled, scaled.

`read_table` reads a table as a whole. Here the file stays where it is. What a preparation has to know of all rows
(means, deviations, categories) comes from one pass over the parts; then every part becomes a chunk of X on its own,
with ids and labels beside it. A table of a single part is prepared by the very steps of `read_table`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mercer.streams.arrow_rows import ArrowRows, IpcRows, ParquetRows
from mercer.streams.column_survey import survey
from mercer.streams.local_driver import read_ahead
from mercer.streams.npy_rows import open_npy_rows
from mercer.streams.row_source import Rows, bounded_rows, row_starts
from mercer.tables import prepare
from mercer.tables.arrays import MatrixSource
from mercer.tables.arrow import ArrowSource
from mercer.tables.pipes import is_pipe
from mercer.tables.preparation import Choice, Preparation, unfitted
from mercer.tables.roles import roles_again, roles_of, vectors_asked
from mercer.tables.row_names import by_name_first, likely_ids
from mercer.tables.source import Raw, Role, Source, TableError, listed
from mercer.tables.table import open_source
from mercer.tables.text import TextSource

STREAMED = (".parquet", ".arrow", ".feather", ".npy")  # formats that can be read from any row on
_TEXTS = (".csv", ".tsv", ".txt")
_READERS: dict[str, Any] = {".parquet": ParquetRows, ".arrow": IpcRows, ".feather": IpcRows}


def can_stream(path: str | Path) -> bool:
    """Whether the format of a file lets its rows be read part by part, as its name says."""
    return not is_pipe(path) and Path(path).suffix.lower() in STREAMED and not Path(path).is_dir()


class WholeTableError(TableError):
    """What is asked of a table can only be told of all its rows at once, so it cannot be read in parts."""


class TableRows:
    """A table as a source of its prepared rows (final). Chunk i is part i of the file.

    The columns have no names, as those of `Table.X` have none: models of both take the same arrays.

    ids, labels : the names of the columns that stand beside X, or None
    digest : SHA-256 of the file
    notes : sentences worth reading before a fit
    """

    def __init__(
        self,
        parts: TableParts,
        roles: dict[str, Role],
        preparation: Preparation,
        *,
        label: str | None,
        id_: str | None,
        names: dict[str, str] | None = None,
        fitting: bool = False,
        notes: Iterable[str] = (),
    ) -> None:
        self.parts, self.roles, self.preparation, self.fitting = parts, roles, preparation, fitting
        self.label, self.id = label, id_
        self.path, self.digest, self.notes = parts.opened.path, parts.opened.digest, list(notes)
        self.lengths: Sequence[int] = parts.lengths
        self.n_features = len(preparation.features)
        self.dtype = np.dtype(preparation.dtype)
        self.feature_names: list[str] | None = None
        self._names = names or {}
        self._starts = row_starts(self)
        self._kinds: dict[str, np.dtype] = {}

    @property
    def rows(self) -> int:
        return int(self._starts[-1])

    def entry(self) -> dict[str, Any]:
        """The table as a record names it."""
        return {"path": self.path, "sha256": self.digest, "rows": self.rows, "columns": self.n_features}

    def chunk(self, i: int) -> Rows:
        raw = self.parts.raw(i, _features(self.roles), reading_type(self.preparation))
        raw.first = int(self._starts[i])
        raw.numbers = [self._names.get(name, name) for name in raw.numbers]
        raw.texts = {self._names.get(name, name): values for name, values in raw.texts.items()}
        notes: list[str] = []
        X, _ = prepare.replay(raw, self.preparation, self.path, notes, fitting=self.fitting)
        self.notes.extend(note for note in notes if note not in self.notes)
        return np.ascontiguousarray(X)

    def beside(self, i: int) -> dict[str, np.ndarray]:
        """The ids and labels of part i, by the names of their columns."""
        wanted = {name: self.roles[name] for name in (self.id, self.label) if name is not None}
        if not wanted:
            return {}
        carried = self.parts.raw(i, wanted, "float64").carried
        return {name: self._as_all_parts(name, carried[name]) for name in wanted}

    def all_labels(self) -> np.ndarray:
        """The labels of all rows, (n,)."""
        assert self.label is not None
        found = [self.parts.raw(i, {self.label: self.roles[self.label]}, "float64") for i in range(len(self.lengths))]
        return np.concatenate([self._as_all_parts(self.label, raw.carried[self.label]) for raw in found])

    def placed_from(self) -> Iterator[tuple[dict[str, np.ndarray], Rows]]:
        """What stands beside X, and X, part by part; the next part is read meanwhile."""
        for i, (rows,) in read_ahead([self], range(len(self.lengths))):
            yield self.beside(i), rows

    def _as_all_parts(self, name: str, values: np.ndarray) -> np.ndarray:
        """Whole numbers as floats if some part lacks a value, as `read_table` has them."""
        if values.dtype.kind not in "iuf":
            return values
        if name not in self._kinds:
            self._kinds[name] = self.parts.column_type(name, self.roles[name], values.dtype)
        return values.astype(self._kinds[name], copy=False)


class TextRows:
    """New rows of a text file, prepared as a fitted table was, one part after the other (final).

    Types of a text file hold for all of its rows, so one pass finds them. Ids and labels are read at once and kept.

    rows : how many there are; known when all parts were read
    """

    def __init__(self, opened: TextSource, choice: Choice, preparation: Preparation) -> None:
        self.opened, self.preparation = opened, preparation
        self.path, self.digest, self.notes, self.rows = opened.path, opened.digest, list(opened.notes), 0
        roles, self.label, self.id, places = roles_again(opened, choice, preparation)
        self.roles, self._names = _features(roles), {there: name for name, there in places.items()}
        self._beside = {name: roles[name] for name in (self.id, self.label) if name is not None}

    def entry(self) -> dict[str, Any]:
        """The table as a record names it."""
        columns = len(self.preparation.features)
        return {"path": self.path, "sha256": self.digest, "rows": self.rows, "columns": columns}

    def placed_from(self) -> Iterator[tuple[dict[str, np.ndarray], Rows]]:
        """What stands beside X, and X, part by part."""
        carried = self.opened.read(self._beside, "float64").carried if self._beside else {}
        size = bounded_rows(8 * max(1, len(self.roles)))
        self.rows = 0
        for raw in self.opened.parts(self.roles, reading_type(self.preparation), size):
            start, self.rows = self.rows, self.rows + raw.rows
            raw.numbers = [self._names[name] for name in raw.numbers]
            raw.texts = {self._names[name]: values for name, values in raw.texts.items()}
            notes: list[str] = []
            X, _ = prepare.replay(raw, self.preparation, self.path, notes)
            self.notes.extend(note for note in notes if note not in self.notes)
            yield {name: values[start : self.rows] for name, values in carried.items()}, X


def open_new_rows(path: str | Path, choice: Choice, preparation: Preparation | None) -> TableRows | TextRows | None:
    """New rows of a file, to be read in parts; None if its format or its preparation needs all rows at once."""
    path = Path(path)
    try:
        if can_stream(path):
            return open_table_rows(path, choice, preparation=preparation)
    except WholeTableError:
        return None
    is_text = path.name.lower().removesuffix(".gz").endswith(_TEXTS) and path.is_file() and not is_pipe(path)
    if not is_text or preparation is None or preparation.impute == "drop" or choice.rows is not None:
        return None
    opened = open_source(path, preparation, choice)
    assert isinstance(opened, TextSource)
    return TextRows(opened, choice, preparation)


def _features(roles: dict[str, Role]) -> dict[str, Role]:
    return {name: role for name, role in roles.items() if role in (Role.FEATURE, Role.CATEGORY)}


def reading_type(asked: Choice | Preparation) -> str:
    """Numbers that will be scaled are read as float64, and rounded once, after scaling."""
    return asked.dtype if asked.scale is None else "float64"


class TableParts:
    """An open table whose rows are read in numbered parts (final). It holds no open file, and pickles.

    opened : the table, as `open_source` gives it
    columns : those that will be read
    """

    def __init__(self, opened: Source, columns: Iterable[str], chunk_rows: int | None, width: int) -> None:
        path = Path(opened.path)
        inside = {entry: name for name, entries in opened.vectors.items() for entry in entries}
        self.columns = list(dict.fromkeys(inside.get(name, name) for name in columns))
        rows = bounded_rows(8 * max(1, width), chunk_rows)
        if isinstance(opened, ArrowSource):
            # A source of Arrow columns reads what its `batches` give: here those of one part.
            self.opened: Source = replace(opened, batches=_no_batches)
            reader = _READERS[path.suffix.lower()]
            self.reader: Any = reader([path], columns=self.columns, chunk_rows=rows, numbers=False)
        else:
            assert isinstance(opened, MatrixSource)
            self.opened = replace(opened, load=_no_matrix, mapped=False)
            self.reader = open_npy_rows(path, columns=None, chunk_rows=rows)
        self.lengths: list[int] = list(self.reader.lengths)
        self._readers: dict[tuple[str, ...], ArrowRows] = {}  # each keeps the place where its last read ended

    def raw(self, i: int, roles: dict[str, Role], dtype: str) -> Raw:
        """The values of part i, before preparation."""
        if isinstance(self.opened, MatrixSource):
            start, stop = self.reader.cuts[i], self.reader.cuts[i + 1]
            return replace(self.opened, load=lambda: self.reader.read(start, stop)).read(roles, dtype)
        assert isinstance(self.opened, ArrowSource)
        inside = {entry: name for name, entries in self.opened.vectors.items() for entry in entries}
        wanted = tuple(dict.fromkeys(inside.get(name, name) for name in roles))
        reader = self._readers.setdefault(wanted, self.reader.only(wanted))
        types = list(self.opened.types)

        def batches(places: list[int]) -> Iterable[pa.RecordBatch]:
            names = [types[place] for place in places]
            return (batch.select(names) for batch in reader.record_batches(i))

        return replace(self.opened, rows=self.lengths[i], batches=batches, stop=None).read(roles, dtype)

    def column_type(self, name: str, role: Role, found: np.dtype) -> np.dtype:
        """The type that a column of numbers beside X has over all parts."""
        kind = getattr(self.opened, "types", {}).get(name)
        if kind is None or not pa.types.is_integer(kind):
            return found
        types = []
        for i in range(len(self.lengths)):
            types.append(self.raw(i, {name: role}, "float64").carried[name].dtype)
            if types[-1].kind == "O":
                raise TableError(
                    f"{self.opened.path}: column {name!r} lacks values, and has whole numbers that no float holds. "
                    "Store it as text."
                )
            if types[-1].kind == "f":
                break
        return types[-1]


def _no_batches(places: list[int]) -> Iterable[pa.RecordBatch]:
    raise AssertionError("the rows of a table in parts are read part by part")


def _no_matrix() -> np.ndarray:
    raise AssertionError("the rows of a table in parts are read part by part")


def open_table_rows(
    path: str | Path,
    choice: Choice,
    *,
    preparation: Preparation | None = None,
    chunk_rows: int | None = None,
) -> TableRows:
    """A table as a source of prepared rows, as `read_table` prepares them.

    preparation : that of a fitted table; new rows become X in the same way. Otherwise the choice says how, and what it
        needs to know of all rows takes a pass over them.
    chunk_rows : the most rows of a part; by default 64 MB of float64

    TableError for what only the whole table can tell: medians, quartiles, and how many rows are left without those that
    have gaps.
    """
    if choice.rows is not None:
        raise WholeTableError("rows: a table is read in parts from its first row to its last. Leave out `rows`.")
    opened = open_source(path, preparation, choice)
    _refuse_format(opened)
    if preparation is not None:
        opened.expand(name for name in preparation.vectors if name in opened.lists)
        roles, label, id_, places = roles_again(opened, choice, preparation)
        if preparation.impute == "drop":
            raise WholeTableError(
                "impute: the model leaves out rows with missing values, and how many is not known before they are read."
            )
        names = {there: name for name, there in places.items()}
        parts = TableParts(opened, roles, chunk_rows, len(_features(roles)))
        return TableRows(parts, roles, preparation, label=label, id_=id_, names=names, notes=opened.notes)
    opened.expand(vectors_asked(opened, choice))
    roles, label, id_ = roles_of(opened, replace(choice, keep=()))
    return _prepared(opened, roles, label, id_, choice, chunk_rows)


def _refuse_format(opened: Source) -> None:
    matrix = isinstance(opened, MatrixSource) and opened.images is None and not opened.columns
    if not can_stream(opened.path) or not (isinstance(opened, ArrowSource) or matrix):
        raise WholeTableError(
            f"{opened.path} cannot be read part by part. Tables that can are {', '.join(STREAMED)}: save it as one of "
            "these, parquet for instance."
        )


def _prepared(
    opened: Source, roles: dict[str, Role], label: str | None, id_: str | None, choice: Choice, chunk_rows: int | None
) -> TableRows:
    """The table with a preparation that its own rows decide."""
    notes = list(opened.notes)
    parts = TableParts(opened, roles, chunk_rows, len(_features(roles)))
    if not sum(parts.lengths):
        raise TableError(f"{opened.path} has no rows.")
    # Columns that look like ids are told by as many rows as possible, however the table is cut.
    long = TableParts(opened, roles, None, len(_features(roles)))
    first = long.raw(0, _features(roles), reading_type(choice))
    if choice.columns is None and not choice.vector and opened.named:
        id_ = _without_ids(first, roles, id_, choice, notes)
    start = unfitted(opened, choice, label, id_)
    features = _features(roles)
    if len(parts.lengths) == 1:
        raw = parts.raw(0, features, reading_type(choice))
        _, kept, preparation = prepare.fit(raw, list(features), start, opened.path, notes)
        if kept is not None:
            raise WholeTableError(f"{opened.path}: impute='drop' leaves out rows, which a table in parts cannot.")
    else:
        if choice.encode == "drop":
            for name in [name for name in features if name in first.texts]:
                del roles[name], features[name]
        preparation = survey(parts, features, start, opened.path)
    return TableRows(parts, roles, preparation, label=label, id_=id_, fitting=True, notes=notes)


def _without_ids(raw: Raw, roles: dict[str, Role], id_: str | None, choice: Choice, notes: list[str]) -> str | None:
    """Take columns that look like ids out of the features, as the first part shows them. Returns the name of the id."""
    likely, doubtful = likely_ids(raw, texts_stay=choice.encode != "drop")
    found = by_name_first(name for name in roles if name in likely)
    for name in found:
        roles.pop(name)
    if found and id_ is None:
        id_ = found[0]
        roles[id_] = Role.ID
    if found:
        notes.append(
            f"Left out as ids, since all values of the first {raw.rows:,} rows are different: {listed(found)}. To fit "
            "such a column, name all columns that are to be fitted in `columns`."
        )
    if doubtful:
        notes.append(
            f"All values of {listed(doubtful)} in the first {raw.rows:,} rows are different whole numbers. If they "
            "name the rows, make one the `id`."
        )
    return id_


def table_shape(path: str | Path) -> tuple[int, int]:
    """The rows and columns of a file that can be read in parts, from its metadata alone."""
    path = Path(path)
    if path.suffix.lower() == ".npy":
        reader = open_npy_rows(path, columns=None, chunk_rows=None)
    else:
        reader = _READERS[path.suffix.lower()]([path], numbers=False)
    return sum(reader.lengths), reader.n_features
