"""How the columns of a table become X: what a caller chooses, and the record of what was found.

The record holds a few numbers and names per column. It is kept with a model, as JSON that comes back to the last bit,
and is all that is needed to turn new rows into X in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mercer.models.fields import (
    Check,
    Line,
    Scope,
    either,
    finite,
    flag,
    if_set,
    list_of,
    mapping,
    one_of,
    optional,
    require,
    text,
    whole,
)
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
        plain = {name: getattr(self, name) for name in _RECORD if name != "rules"}
        rules = [{"name": r.name, "categories": _listed(r.categories), "fill": r.fill} for r in self.rules]
        return {"rules": rules, **{name: _listed(value) for name, value in plain.items()}}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Preparation:
        """The record that `to_dict` wrote; TableError if it is not one. Model files may come from anywhere."""
        try:
            mapping(**_RECORD)(given, Scope())
            rules = tuple(Rule(each["name"], _tupled(each["categories"]), each["fill"]) for each in given["rules"])
            found = cls(rules, **{n: _tupled(given[n]) for n in _RECORD if n in given and n != "rules"})
            _check_together(found)
        except ValueError as error:
            raise TableError(f"This is not the preparation of a table: {error}") from error
        return found


_TEXTS, _NUMBERS = list_of(text), optional(list_of(finite))
_RECORD: dict[str, Check | Line] = {
    "rules": list_of(mapping(name=text, categories=optional(_TEXTS), fill=optional(either(text, finite)))),
    "named": flag,
    "label": optional(text),
    "id": optional(text),
    "impute": optional(one_of(*IMPUTE)),
    "encode": optional(one_of(*ENCODE)),
    "scale": optional(one_of(*SCALE)),
    "dtype": one_of(*DTYPES),
    "layout": _TEXTS,
    "drop": _TEXTS,
    "centre": _NUMBERS,
    "spread": _NUMBERS,
    "image": optional(list_of(whole(1, _MOST_PIXELS))),
    "vectors": if_set(_TEXTS),  # early records have none
}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _check_together(found: Preparation) -> None:
    """Mismatch if values of the record are right one by one, and do not fit together."""
    require(bool(found.rules), "it needs at least one column")
    for rule in found.rules:
        known = rule.categories
        distinct = known is None or len(set(known)) == len(known) > 0
        require(distinct, "the categories of a column must be different texts, and at least one")
        needed = rule.fill is not None or found.impute not in (None, "drop")
        fits = isinstance(rule.fill, str) == (known is not None) and rule.fill is not None
        require(fits or not needed, f"the fill value of {rule.name!r} is {rule.fill!r}")
    for values in (found.centre, found.spread):
        require(values is None or len(values) == len(found.features), "centre and spread need one number per feature")
    require(all(value > 0 for value in found.spread or ()), "spread must be positive")
    image = found.image
    good = image is None or (len(image) == 3 and image[2] in (1, 3))
    require(good, "image must be width, height and 1 or 3 channels")


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
