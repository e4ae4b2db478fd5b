"""Tables in and out: a file becomes X, with ids, labels and what else there is; and columns become a file.

>>> import tempfile, numpy as np
>>> path = tempfile.mkdtemp() + "/flowers.csv"
>>> write_table(path, {"length": np.array([1.5, 2.5]), "kind": np.array(["rose", "lily"], object)})
>>> table = read_table(path, Choice(label="kind"))
>>> table.X.tolist(), table.labels.tolist(), table.features
([[1.5], [2.5]], ['rose', 'lily'], ['length'])
>>> read_columns(path)["kind"].tolist()
['rose', 'lily']
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np

from mercer.tables import preparing
from mercer.tables.preparation import Preparation
from mercer.tables.roles import roles_again, roles_of
from mercer.tables.source import Raw, Role, Source, TableError
from mercer.tables.table_notes import notes_on
from mercer.tables.table_types import Choice, Table
from mercer.tables.writing import write_table

__all__ = ["Choice", "Preparation", "Table", "TableError", "read_columns", "read_table", "write_table"]

# The modules are imported when a file of their kind is read: none of them is needed for anything else.
_READERS = {
    ".csv": ("text", "open_text"),
    ".tsv": ("text", "open_text"),
    ".txt": ("text", "open_text"),
    ".csv.gz": ("text", "open_text"),
    ".tsv.gz": ("text", "open_text"),
    ".txt.gz": ("text", "open_text"),
    ".parquet": ("arrow", "open_parquet"),
    ".arrow": ("arrow", "open_ipc"),
    ".feather": ("arrow", "open_ipc"),
    ".npy": ("arrays", "open_npy"),
    ".npz": ("arrays", "open_npz"),
    ".h5ad": ("h5ad", "open_h5ad"),
}
READABLE = (
    ".csv, .tsv (also .gz), .parquet, .arrow, .feather, .npy, .npz, .h5ad, a folder of images, or - for csv on stdin"
)


def read_table(path: str | Path, choice: Choice | None = None, *, preparation: Preparation | None = None) -> Table:
    """The table of a file as numbers, with what is carried along.

    Parameters
    ----------
    path : a file, by its suffix; a folder of images; "-" is csv on stdin.
    choice : which columns are for what, and what is done about text, missing values and scale.
    preparation : that of a table read before: new rows are made into X exactly as its rows were. Of the choice, only
        label, id and drop count then.

    Cost: n · d numbers and what is carried, beside blocks of a few megabytes; 2 n · d where text is encoded.
    """
    choice = choice or Choice()
    source = open_source(path, preparation)
    fitting = preparation is None
    if preparation is None:
        roles, label, id_ = roles_of(source, choice)
        places = {name: name for name in roles}
    else:
        choice = replace(choice, scale=preparation.scale, dtype=preparation.dtype)
        roles, label, id_, places = roles_again(source, choice, preparation)
    raw = source.read(roles, choice.dtype if choice.scale is None else "float64")
    if not raw.rows:
        raise TableError(f"{source.path} has no rows.")
    notes = list(source.notes)
    if preparation is None:
        order = [name for name, role in roles.items() if role is Role.FEATURE]
        preparation = _start(source, choice, preparing.find_rules(raw, choice, order, source.path), label, id_)
        X, keep = preparing.make(raw, preparation, source.path, notes)
        preparation = preparing.find_scale(X, preparation, notes)
    else:
        _rename(raw, {there: name for name, there in places.items()})
        preparing.check_new(raw, preparation, source.path)
        X, keep = preparing.make(raw, preparation, source.path, notes)
    X = preparing.scaled(X, preparation, raw.owned, source.path)
    if fitting:
        notes.extend(notes_on(X, preparation))
    images = source.images if source.images is None or keep is None else _kept(source.images, keep)
    labels, ids = (None if name is None else raw.carried.pop(name) for name in (label, id_))
    shown = raw.carried | raw.texts
    return Table(X, preparation.features, ids, labels, shown, images, preparation, source.digest, notes)


def read_columns(path: str | Path) -> dict[str, np.ndarray]:
    """A table as it is: name → (n,) whole numbers, floats or text (missing: NaN, None)."""
    source = open_source(path)
    names = [*source.extras, *source.names]
    raw = source.read(dict.fromkeys(names, Role.CARRIED), "float64")
    return {name: raw.carried[name] for name in names}


def open_source(path: str | Path, preparation: Preparation | None = None) -> Source:
    """The reader of a file, by its suffix; images are made the size of those of the preparation."""
    if str(path) == "-":
        return import_module("mercer.tables.text").open_stdin()
    path = Path(path)
    if path.is_dir():
        image = None if preparation is None else preparation.image
        return import_module("mercer.tables.images").open_folder(path, image)
    suffix = _suffix(path)
    if suffix not in _READERS:
        kind = f"files that end in {suffix!r}" if suffix else "files without a suffix"
        raise TableError(f"{path}: {kind} are not read; known are {READABLE}.")
    if not path.exists():
        raise TableError(f"{path}: there is no such file.")
    if not path.is_file():
        raise TableError(
            f"{path} is no plain file, and a table is read more than once; pipe it in, with - as its name."
        )
    if not os.access(path, os.R_OK):
        raise TableError(f"{path} may not be read by this user.")
    module, function = _READERS[suffix]
    return getattr(import_module(f"mercer.tables.{module}"), function)(path)


def _suffix(path: Path) -> str:
    """The suffix in small letters, with what .gz is a compression of."""
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    return "".join(endings) if endings[-1:] == [".gz"] else "".join(endings[-1:])


def _start(source: Source, choice: Choice, rules: tuple, label: str | None, id_: str | None) -> Preparation:
    return Preparation(
        rules,
        source.named,
        tuple(source.names),
        label,
        id_,
        choice.drop,
        choice.impute,
        choice.encode,
        choice.scale,
        choice.dtype,
        image=None if source.image is None else tuple(source.image),
    )


def _rename(raw: Raw, names: dict[str, str]) -> None:
    """Call the columns as the fitted table does."""
    raw.numbers = [names[name] for name in raw.numbers]
    raw.texts = {names[name]: values for name, values in raw.texts.items()}


def _kept(images: list[bytes], keep: np.ndarray) -> list[bytes]:
    return [image for image, kept in zip(images, keep, strict=True) if kept]
