"""How the columns of a table become X: what a caller chooses, and the record of what was found.

The record holds a few numbers and names per column. It is kept with a model, as JSON that comes back to the last bit,
and is all that is needed to turn new rows into X in the same way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.tables.dialect import TextFormat
from mercer.tables.source import Source, TableError

IMPUTE = ("mean", "median", "zero", "drop")
ENCODE = ("onehot", "ordinal", "drop")
SCALE = ("standard", "robust", "minmax")
DTYPES = ("float64", "float32")
_MOST_PIXELS = 10**5  # per side: a hostile model file must not have images enlarged without limit


@dataclass(frozen=True)
class Choice:
    """Which columns of a table are used for what, and how they become numbers.

    Parameters
    ----------
    label, id : the columns that become `Table.labels` and `Table.ids`; they are not part of X.
    drop : columns to leave out altogether.
    columns : the columns that make up X, in this order; by default all that are left.
    vector : columns of lists, each of which becomes as many columns of X as its lists have numbers. X then consists of
        these, and of the columns that `columns` names.
    keep : columns to carry beside X, in `Table.columns`. They are not part of X unless `columns` names them too. By
        default all that are neither in X nor dropped.
    show : more columns to carry, without any effect on X.
    impute : what replaces missing numbers: "mean", "median" or "zero". Missing text becomes the most frequent text.
        "drop" removes the rows instead.
    encode : how text becomes numbers: "onehot", or "ordinal" (0, 1, … in alphabetical order). "drop" leaves text out.
    scale : "standard" (mean 0, deviation 1), "robust" (median 0, quartiles 1 apart) or "minmax" (0 to 1).
    dtype : "float64" or "float32".
    rows : the first and the last row to read, counted from 1; a last row of None is the end.
    delimiter, encoding, header : how a text file is written: the character between cells, the name of the encoding,
        and whether the first row holds names. By default the reader finds all three.
    sheet : the sheet of a spreadsheet, by default the first.

    >>> choice = Choice(label="kind", id="name")
    >>> choice.label, choice.id
    ('kind', 'name')
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    vector: tuple[str, ...] = ()
    keep: tuple[str, ...] | None = None
    show: tuple[str, ...] = ()
    impute: str | None = None
    encode: str | None = None
    scale: str | None = None
    dtype: str = "float64"
    rows: tuple[int, int | None] | None = None
    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        for name, known in (("impute", IMPUTE), ("encode", ENCODE), ("scale", SCALE), ("dtype", DTYPES)):
            given = getattr(self, name)
            if given not in known and not (given is None and name != "dtype"):
                raise TableError(f"Unknown {name} {given!r}. Choose one of: {', '.join(known)}.")
        for name in ("drop", "columns", "vector", "keep", "show"):
            given = getattr(self, name)
            if isinstance(given, str):  # one name, not its letters
                given = (given,)
            object.__setattr__(self, name, None if given is None else tuple(given))
        object.__setattr__(self, "rows", _row_range(self.rows))

    @property
    def text_format(self) -> TextFormat:
        """What is known about a text file before Mercer reads it."""
        return TextFormat(self.delimiter, self.encoding, self.header)


def _row_range(given: Any) -> tuple[int, int | None] | None:
    if given is None:
        return None
    good = isinstance(given, tuple | list) and len(given) == 2 and type(given[0]) is int
    first, last = given if good else (0, 0)
    if first < 1 or not (last is None or (type(last) is int and last >= first)):
        raise TableError(f"rows: {given!r} is not a first and a last row, counted from 1.")
    return first, last


@dataclass(frozen=True)
class Rule:
    """What becomes of one column of a table."""

    name: str
    categories: tuple[str, ...] | None = None  # None for a column of numbers
    fill: float | str | None = None  # replaces missing values; None if they are an error or their rows are dropped

    def features(self, encode: str | None) -> list[str]:
        """The names of the columns of X that this column becomes."""
        if self.categories is None or encode == "ordinal":
            return [self.name]
        return [f"{self.name}={category}" for category in self.categories]


@dataclass(frozen=True)
class Preparation:
    """How a table was turned into X = (encoded and filled columns − centre) / spread.

    Attributes
    ----------
    rules : one per column that X is made of.
    named : whether the file named its columns; otherwise they are known only by their position.
    layout : the names of all columns of the fitted table, in the order of the file.
    label, id, drop : the columns of the fitted table that are not in X.
    impute, encode, scale, dtype : as in `Choice`.
    centre, spread : (d,) floats, or None if X is not centred or scaled.
    image : width, height and channels, if rows are images.
    vectors : the columns of lists that X is made of. Each has one rule per number: `embedding[1]`, `embedding[2]`, …

    >>> p = Preparation((Rule("a"), Rule("b", ("x", "y"))), encode="onehot")
    >>> p.features
    ['a', 'b=x', 'b=y']
    >>> Preparation.from_dict(p.to_dict()) == p
    True
    """

    rules: tuple[Rule, ...]
    named: bool = True
    layout: tuple[str, ...] = ()
    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    impute: str | None = None
    encode: str | None = None
    scale: str | None = None
    dtype: str = "float64"
    centre: tuple[float, ...] | None = None
    spread: tuple[float, ...] | None = None
    image: tuple[int, ...] | None = None
    vectors: tuple[str, ...] = ()
    features: list[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = [name for rule in self.rules for name in rule.features(self.encode)]
        object.__setattr__(self, "features", names)

    @property
    def columns(self) -> list[str]:
        """The names of the columns that X is made of."""
        return [rule.name for rule in self.rules]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON values. Floats come back from JSON to the same bits."""
        rules = [{"name": r.name, "categories": _list(r.categories), "fill": r.fill} for r in self.rules]
        plain = {name: getattr(self, name) for name in _PLAIN}
        return {"rules": rules, **plain, **{name: _list(getattr(self, name)) for name in _LISTS}}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Preparation:
        """The record that `to_dict` wrote; TableError if it is not one. Model files may come from anywhere."""
        try:
            rules = tuple(Rule(rule["name"], _tuple(rule["categories"]), rule["fill"]) for rule in given["rules"])
            plain = {name: given[name] for name in _PLAIN}
            lists: dict[str, Any] = {name: _tuple(given[name]) for name in _LISTS if name in given or name != "vectors"}
            found = cls(rules, **plain, **lists)
            _check(found)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise TableError(f"This is not the preparation of a table: {error}") from error
        return found


_PLAIN = ("named", "label", "id", "impute", "encode", "scale", "dtype")
_LISTS = ("layout", "drop", "centre", "spread", "image", "vectors")  # early records have no vectors


def _list(values: tuple[Any, ...] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)


def _check(found: Preparation) -> None:
    """ValueError if a value of the record is not what it should be."""
    categories = [rule.categories for rule in found.rules if rule.categories is not None]
    texts = [
        *found.columns,
        *found.layout,
        *found.drop,
        *found.vectors,
        *(text for known in categories for text in known),
    ]
    texts += [name for name in (found.label, found.id) if name is not None]
    if not found.rules or not all(isinstance(text, str) for text in texts):
        raise ValueError("it needs at least one column, and names and categories must be text")
    if any(len(set(known)) < max(1, len(known)) for known in categories):
        raise ValueError("the categories of a column must be different texts, and at least one")
    for given, known in ((found.impute, IMPUTE), (found.encode, ENCODE), (found.scale, SCALE), (found.dtype, DTYPES)):
        if given is not None and given not in known:
            raise ValueError(f"{given!r} is not one of {', '.join(known)}")
    for rule in found.rules:
        kind = (int, float) if rule.categories is None else str
        needed = rule.fill is not None or found.impute not in (None, "drop")
        if needed and not (isinstance(rule.fill, kind) and (isinstance(rule.fill, str) or math.isfinite(rule.fill))):
            raise ValueError(f"the fill value of {rule.name!r} is {rule.fill!r}")
    for values in (found.centre, found.spread):
        if values is not None and (
            len(values) != len(found.features) or not np.isfinite(np.array(values, np.float64)).all()
        ):
            raise ValueError("centre and spread need one finite number per feature")
    if found.spread is not None and not all(value > 0 for value in found.spread):
        raise ValueError("spread must be positive")
    if found.image is not None:
        _, _, channels = found.image
        good = all(type(size) is int and 1 <= size <= _MOST_PIXELS for size in found.image)
        if not good or channels not in (1, 3):
            raise ValueError("image must be width, height and 1 or 3 channels")


def unfitted(source: Source, choice: Choice, label: str | None, id_: str | None) -> Preparation:
    """What is known of a preparation before its rules are fitted: the columns of the file, and what was chosen."""
    return Preparation(
        (),
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
        vectors=tuple(source.vectors),
    )
