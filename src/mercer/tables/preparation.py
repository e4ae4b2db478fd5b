"""How the columns of a table become X: kept with the model, so that new rows are made the same way.

A column of numbers has its missing values filled, a column of text becomes numbers by its categories, and
X ← (X − centre) / spread. All that is needed is a few numbers and names a column, kept as JSON to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.tables.source import TableError
from mercer.tables.table_types import DTYPES, ENCODE, IMPUTE, SCALE


@dataclass(frozen=True)
class Rule:
    """What becomes of one column of a table."""

    name: str
    categories: tuple[str, ...] | None = None  # None: a column of numbers
    fill: float | str | None = None  # in place of missing values; None: they are an error, or their rows go

    def features(self, encode: str | None) -> list[str]:
        """The names of the columns of X that it becomes."""
        if self.categories is None or encode == "ordinal":
            return [self.name]
        return [f"{self.name}={category}" for category in self.categories]


@dataclass(frozen=True)
class Preparation:
    """The columns in order, their categories and fill values, centre and spread.

    Attributes
    ----------
    rules : one a column that X is made of.
    named : whether the names are those of the file; else columns are known by their place alone.
    layout : the names of all columns of the fitted table, in the order of the file.
    label, id, drop : the columns of the fitted table that are kept out of X.
    impute, encode, scale, dtype : as in `Choice`.
    centre, spread : (d,) X is made (X − centre) / spread, where they are given.
    image : width, height and channels, where rows are images.

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
    features: list[str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        names = [name for rule in self.rules for name in rule.features(self.encode)]
        object.__setattr__(self, "features", names)

    @property
    def columns(self) -> list[str]:
        """The names of the columns that X is made of."""
        return [rule.name for rule in self.rules]

    def to_dict(self) -> dict[str, Any]:
        """JSON values alone; floats come back from JSON to the same bits."""
        known = {name: getattr(self, name) for name in _PLAIN}
        rules = [{"name": r.name, "categories": _list(r.categories), "fill": r.fill} for r in self.rules]
        return {"rules": rules, **known, **{name: _list(getattr(self, name)) for name in _LISTS}}

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Preparation:
        """The preparation of `to_dict`; TableError where it is none."""
        try:
            rules = tuple(_rule(rule) for rule in given["rules"])
            plain = {name: given[name] for name in _PLAIN}
            lists: dict[str, Any] = {name: None if given[name] is None else tuple(given[name]) for name in _LISTS}
            found = cls(rules, **plain, **lists)
            _check(found)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise TableError(f"this is no preparation of a table: {error}") from error
        return found


_PLAIN = ("named", "label", "id", "impute", "encode", "scale", "dtype")
_LISTS = ("layout", "drop", "centre", "spread", "image")


def _list(values: tuple[Any, ...] | None) -> list[Any] | None:
    return None if values is None else list(values)


def _rule(given: dict[str, Any]) -> Rule:
    categories = given["categories"]
    return Rule(given["name"], None if categories is None else tuple(categories), given["fill"])


def _check(found: Preparation) -> None:
    """ValueError where a value is not what it should be; files of models may come from anywhere."""
    names = [*found.columns, *found.layout, *found.drop]
    texts = [category for rule in found.rules for category in rule.categories or ()]
    if not found.rules or not all(isinstance(name, str) for name in names + texts):
        raise ValueError("names of columns and categories are text, and there is at least one column")
    if not all(name is None or isinstance(name, str) for name in (found.label, found.id)):
        raise ValueError("names of columns are text")
    for given, known in ((found.impute, IMPUTE), (found.encode, ENCODE), (found.scale, SCALE), (found.dtype, DTYPES)):
        if given is not None and given not in known:
            raise ValueError(f"{given!r} is none of {', '.join(known)}")
    for rule in found.rules:
        kind = (int, float) if rule.categories is None else str
        filled = rule.fill is not None if found.impute in (None, "drop") else True
        if filled and not (isinstance(rule.fill, kind) and (isinstance(rule.fill, str) or math.isfinite(rule.fill))):
            raise ValueError(f"the fill value of {rule.name!r} is {rule.fill!r}")
    for values in (found.centre, found.spread):
        if values is not None and (
            len(values) != len(found.features) or not np.isfinite(np.array(values, np.float64)).all()
        ):
            raise ValueError("centre and spread are a finite number for every column")
    if found.spread is not None and not all(value > 0 for value in found.spread):
        raise ValueError("spread is above zero")
    if found.image is not None:
        _, _, channels = found.image
        good = all(type(size) is int and 1 <= size <= 10**5 for size in found.image)
        if not good or channels not in (1, 3):
            raise ValueError("image is width, height and 1 or 3 channels")
