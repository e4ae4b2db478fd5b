"""Tables in and out: a file becomes X with ids, labels and other columns, and columns become a file.

>>> import tempfile, numpy as np
>>> path = tempfile.mkdtemp() + "/flowers.csv"
>>> write_table(path, {"length": np.array([1.5, 2.5]), "kind": np.array(["rose", "lily"], object)})
>>> table = read_table(path, label="kind")
>>> table.X.tolist(), table.labels.tolist(), table.features
([[1.5], [2.5]], ['rose', 'lily'], ['length'])
>>> read_columns(path)["kind"].tolist()
['rose', 'lily']
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from mercer.amounts import amount
from mercer.tables import prepare
from mercer.tables.pipes import content_suffix, is_pipe, local_copy, pipe_name
from mercer.tables.preparation import Choice, Preparation, unfitted
from mercer.tables.roles import roles_again, roles_of, vectors_asked
from mercer.tables.row_names import by_name_first, likely_ids, take_out
from mercer.tables.screening import notes_on
from mercer.tables.source import Matrix, Raw, Role, Source, TableError, listed, refuse_address
from mercer.tables.writing import table_writer, write_table

__all__ = [
    "Choice",
    "Preparation",
    "Table",
    "TableError",
    "open_source",
    "read_columns",
    "read_table",
    "table_writer",
    "write_table",
]

# Suffix → module and function. A module is imported when its kind of file is read: h5py alone takes 0.2 s.
_READERS = {
    suffix: (module, function)
    for module, function, suffixes in (
        ("text", "open_text", ".csv .tsv .txt .csv.gz .tsv.gz .txt.gz"),
        ("arrow", "open_parquet", ".parquet"),
        ("arrow", "open_ipc", ".arrow .feather"),
        ("arrays", "open_npy", ".npy"),
        ("arrays", "open_npz", ".npz"),
        ("h5ad", "open_h5ad", ".h5ad"),
        ("json_lines", "open_json_lines", ".jsonl .ndjson .jsonl.gz .ndjson.gz"),
        ("spreadsheet", "open_spreadsheet", ".xlsx"),
    )
    for suffix in suffixes.split()
}
READABLE = ".csv, .tsv, .jsonl (also .gz), .parquet, .arrow, .feather, .npy, .npz, .h5ad, .xlsx, a folder of images"


@dataclass(frozen=True)
class Table:
    """A table turned into numbers.

    Attributes
    ----------
    X : (n, d) float array or csr_array. A file of floats that needs no change is a read-only memory map.
    features : (d,) names of the columns of X, after encoding.
    ids, labels : (n,) numbers or text (missing: NaN or None), or None.
    columns : columns that are not in X but can be shown, name → (n,).
    images : one thumbnail per row as PNG, or None.
    preparation : how X was made. `read_table(path, preparation=…)` treats new rows in the same way.
    digest : SHA-256 of the bytes of the input.
    notes : sentences worth reading before a fit: constant columns, very different scales, …
    originals : the columns that X is made of as the file has them, unscaled and with their gaps, name → (n,). Empty
        unless `read_table` was asked for them.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mercer.tables import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("a,kind\\n1,x\\n2,y\\n")
    ...     table = read_table(path, label="kind")
    >>> table.X.ravel().tolist(), list(table.labels)
    ([1.0, 2.0], ['x', 'y'])
    """

    X: Matrix
    features: list[str]
    ids: np.ndarray | None
    labels: np.ndarray | None
    columns: dict[str, np.ndarray]
    images: list[bytes] | None
    preparation: Preparation
    digest: str
    notes: list[str]
    originals: dict[str, np.ndarray] = field(default_factory=dict)


def read_table(
    path: str | Path,
    choice: Choice | None = None,
    *,
    preparation: Preparation | None = None,
    originals: int = 0,
    **options: Any,
) -> Table:
    """Read a file as a matrix of numbers, with ids, labels and other columns beside it.

    Parameters
    ----------
    path : a file whose suffix says its format; a pipe, or "-" for stdin, whose content says it; a folder of images.
    choice : which columns are used for what, and how text, missing values and scales are handled.
    preparation : the preparation of a table read before. New rows become X exactly as its rows did. Of the choice, only
        label, id, drop and keep are then used.
    originals : keep a copy of the values as they are in the file, if there are no more than this many. The numbers of
        a vector are not kept.
    **options : fields of `Choice` by keyword: `read_table("flowers.csv", label="kind", scale="standard")`.

    Cost: memory for n · d numbers and the other columns, plus blocks of a few megabytes; 2 n · d if text is encoded.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("a,b\\n1,2.5\\n3,4.5\\n")
    ...     table = read_table(path, scale="standard")
    >>> table.features, table.X.ravel().tolist()
    (['a', 'b'], [-1.0, -1.0, 1.0, 1.0])
    """
    choice = replace(choice or Choice(), **options)
    source = open_source(path, preparation, choice)
    source.stop = None if choice.rows is None else choice.rows[1]
    notes = list(source.notes)
    if preparation is None:
        read = _fit(source, choice, originals, notes)
    else:
        read = _replay(source, choice, preparation, originals, notes)
    raw, keep, preparation = read.raw, read.keep, read.preparation
    images = source.images
    if images is not None and choice.rows is not None:
        images = images[choice.rows[0] - 1 : choice.rows[1]]
    if images is not None and keep is not None:
        images = [image for image, kept in zip(images, keep, strict=True) if kept]
    as_given = read.as_given if keep is None else {name: values[keep] for name, values in read.as_given.items()}
    labels, ids = (None if name is None else raw.carried.pop(name) for name in (read.label, read.id))
    if ids is not None and preparation.id == choice.id and len(set(ids.tolist())) < len(ids):
        notes.append(f"Rows of other files cannot be matched by the id {choice.id!r}, as some rows share one.")
    kept = raw.carried if choice.keep is None else {*choice.keep, *choice.show}
    shown = {name: raw.carried[name] for name in raw.carried if name in kept} | raw.texts
    return Table(read.X, preparation.features, ids, labels, shown, images, preparation, source.digest, notes, as_given)


@dataclass(frozen=True)
class _Prepared:
    """Columns that were read and made X.

    label, id : the names of columns among those that `raw` carries
    as_given : the features as the file has them, if they were asked for
    keep : which rows X has, None for all
    """

    raw: Raw
    label: str | None
    id: str | None
    as_given: dict[str, np.ndarray]
    X: Matrix
    keep: np.ndarray | None
    preparation: Preparation


def _fit(source: Source, choice: Choice, originals: int, notes: list[str]) -> _Prepared:
    """X as the options say."""
    source.expand(vectors_asked(source, choice))
    roles, label, id_ = roles_of(source, choice)
    raw = _read(source, roles, choice, choice)
    if choice.columns is None and not choice.vector and source.named:
        id_ = _without_ids(source, raw, roles, id_, choice, notes)
    start = unfitted(source, choice, label, id_)
    order = [name for name, role in roles.items() if role is Role.FEATURE]
    as_given = _copies(source, raw, originals)
    X, keep, preparation = prepare.fit(raw, order, start, source.path, notes)
    notes.extend(notes_on(X, preparation.features, preparation.scale is not None))
    return _Prepared(raw, label, id_, as_given, X, keep, preparation)


def _replay(source: Source, choice: Choice, preparation: Preparation, originals: int, notes: list[str]) -> _Prepared:
    """X as that of a table read before."""
    source.expand(name for name in preparation.vectors if name in source.lists)
    roles, label, id_, places = roles_again(source, choice, preparation)
    raw = _read(source, roles, preparation, choice)
    names = {there: name for name, there in places.items()}
    raw.numbers = [names[name] for name in raw.numbers]
    raw.texts = {names[name]: values for name, values in raw.texts.items()}
    as_given = _copies(source, raw, originals)
    X, keep = prepare.replay(raw, preparation, source.path, notes)
    return _Prepared(raw, label, id_, as_given, X, keep, preparation)


def _without_ids(
    source: Source, raw: Raw, roles: dict[str, Role], id_: str | None, choice: Choice, notes: list[str]
) -> str | None:
    """Take columns that look like ids out of the features, in place. Returns the name of the id, perhaps a new one."""
    found, doubtful = likely_ids(raw, texts_stay=choice.encode != "drop")
    if found:
        found = by_name_first(name for name in roles if name in found)
        taken = take_out(raw, found)
        for name in found:
            del roles[name]
        if id_ is None:
            id_ = found[0]
            # Numbers were read as floats, which do not hold every id exactly: read the column again as an id.
            text = taken[id_].dtype.kind not in "iu"
            raw.carried[id_] = taken[id_] if text else _cut(source, {id_: Role.ID}, "float64", choice).carried[id_]
        notes.append(
            f"Left out as ids, since all values are different: {listed(found)}. To fit such a column, name all columns "
            "that are to be fitted in `columns`."
        )
    if doubtful:
        notes.append(
            f"All values of {listed(doubtful)} are different whole numbers. If they name the rows, make one the `id`."
        )
    return id_


def _copies(source: Source, raw: Raw, most: int) -> dict[str, np.ndarray]:
    """The features as the file has them, unless they are sparse or more than `most` values.

    The numbers of a vector mean nothing one by one, so they are left out.
    """
    inside = {entry for entries in source.vectors.values() for entry in entries}
    if sparse.issparse(raw.matrix) or raw.rows * (len(raw.numbers) + len(raw.texts)) > most:
        return {}
    numbers = {name: raw.matrix[:, j].copy() for j, name in enumerate(raw.numbers) if name not in inside}
    return numbers | {name: values.copy() for name, values in raw.texts.items()}


def _read(source: Source, roles: dict[str, Role], asked: Choice | Preparation, choice: Choice) -> Raw:
    """Read the columns. Numbers that will be scaled are read as float64, and rounded once, after scaling."""
    raw = _cut(source, roles, asked.dtype if asked.scale is None else "float64", choice)
    if not raw.rows:
        raise TableError(f"{source.path} has no rows.")
    return raw


def _cut(source: Source, roles: dict[str, Role], dtype: str, choice: Choice) -> Raw:
    """Read the columns, from the first to the last row of the choice."""
    raw = source.read(roles, dtype)
    if choice.rows is None:
        return raw
    first, last = choice.rows
    if raw.rows < first:
        raise TableError(f"rows: {source.path} has only {amount(raw.rows, 'row')}, so row {first} does not exist.")
    part = slice(first - 1, last)
    raw.matrix, raw.first = raw.matrix[part], first - 1
    for columns in (raw.texts, raw.carried):
        columns.update({name: values[part] for name, values in columns.items()})
    return raw


def read_columns(path: str | Path, choice: Choice | None = None) -> dict[str, np.ndarray]:
    """Read a table as it is: name → (n,) integers, floats, dates or text (missing: NaN, NaT or None).

    choice : its rows, delimiter, encoding, header and sheet set how to read the file; its other fields are not used

    `path` is the file; "-" is stdin.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "t.csv"
    ...     _ = path.write_text("a,b\\n1,2.5\\n3,4.5\\n")
    ...     columns = read_columns(path)
    >>> columns["a"].tolist(), columns["b"].tolist()
    ([1, 3], [2.5, 4.5])
    """
    choice = choice or Choice()
    source = open_source(path, choice=choice)
    source.stop = None if choice.rows is None else choice.rows[1]
    names = [*source.extras, *source.names]
    raw = _cut(source, dict.fromkeys(names, Role.CARRIED), "float64", choice)
    return {name: raw.carried[name] for name in names}


def open_source(path: str | Path, preparation: Preparation | None = None, choice: Choice | None = None) -> Source:
    """Open a file with the reader of its suffix, or of its content if it is a pipe or has no suffix.

    A preparation decides the size of images. Of the choice, `delimiter`, `encoding`, `header` and `sheet` are used.
    """
    choice = choice or Choice()
    if is_pipe(path):
        copy = local_copy(path)
        try:
            source = _open_file(copy, content_suffix(copy), choice)
        except TableError as error:
            raise TableError(str(error).replace(str(copy), pipe_name(path))) from error
        source.path = pipe_name(path)
        return source
    refuse_address(path)
    path = Path(path)
    if path.is_dir():
        image = None if preparation is None else preparation.image
        return import_module("mercer.tables.images").open_folder(path, image)
    suffix = _suffix(path)
    if suffix and suffix not in _READERS:
        raise TableError(f"{path}: {suffix!r} files are not read. Known: {READABLE}.")
    if not path.exists():
        raise TableError(f"{path}: the file does not exist.")
    if not path.is_file():
        raise TableError(f"{path} is a device, which holds no table.")
    if not os.access(path, os.R_OK):
        raise TableError(f"{path}: you do not have permission to read it.")
    return _open_file(path, suffix or content_suffix(path), choice)


def _open_file(path: Path, suffix: str, choice: Choice) -> Source:
    """Open a regular file with the reader of a suffix. TableError for options that this kind of file does not have."""
    module, function = _READERS[suffix]
    for name in ("delimiter", "encoding", "header"):
        if module != "text" and getattr(choice, name) is not None:
            raise TableError(f"{name}: {path} is not a text file, so the option does not apply to it.")
    if choice.sheet is not None and module != "spreadsheet":
        raise TableError(f"sheet: {path} is not a spreadsheet, so the option does not apply to it.")
    given = {"text": choice.text_format, "spreadsheet": choice.sheet}
    reader = getattr(import_module(f"mercer.tables.{module}"), function)
    return reader(path, given[module]) if module in given else reader(path)


def _suffix(path: Path) -> str:
    """The suffix in lower case; for .gz, with the one before it."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    return "".join(endings) if endings[-1:] == [".gz"] else "".join(endings[-1:])
