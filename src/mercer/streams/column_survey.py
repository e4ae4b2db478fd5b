"""What a preparation has to know of the columns of a table in parts, from one pass over them.

Sums of numbers are taken about the mean of the first part in float64, so that a column far from the origin keeps its
digits. Columns of text are counted. From both follow the fills, the categories, and the centre and spread of every
column of X after it has been filled and encoded: to rounding, those of `mercer.tables.prepare`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from mercer.progress import counted
from mercer.tables.preparation import Preparation, Rule
from mercer.tables.prepare import (
    MOST_CATEGORIES,
    refuse_infinite,
    refuse_missing,
    refuse_text,
    usable_spread,
)
from mercer.tables.screening import screen
from mercer.tables.source import Raw, Role, TableError, listed, shortened

_NEEDS_ALL = {"median": "impute", "robust": "scale"}
_MOST_TEXTS = 10**6  # different texts of a column that are counted: more are names, and would fill the memory


class Parts(Protocol):
    """A table that is read in numbered parts."""

    @property
    def lengths(self) -> Sequence[int]: ...

    def raw(self, i: int, roles: dict[str, Role], dtype: str) -> Raw: ...


class _Numbers:
    """Sums, extremes and gaps of the columns of numbers."""

    def __init__(self, first: np.ndarray) -> None:
        p = first.shape[1]
        with np.errstate(invalid="ignore"):
            there = np.isfinite(first)
            self.shift = np.where(there, first, 0.0).sum(axis=0) / np.maximum(1, there.sum(axis=0))
        self.count, self.sums, self.squares = np.zeros(p, np.int64), np.zeros(p), np.zeros(p)
        self.least, self.most = np.full(p, np.inf), np.full(p, -np.inf)

    def add(self, matrix: np.ndarray) -> None:
        """Add some rows, (r, p); NaN is a gap."""
        away = matrix.astype(np.float64) - self.shift
        gone = np.isnan(away)
        self.least = np.minimum(self.least, np.where(gone, np.inf, matrix).min(axis=0, initial=np.inf))
        self.most = np.maximum(self.most, np.where(gone, -np.inf, matrix).max(axis=0, initial=-np.inf))
        away[gone] = 0.0
        self.count += len(matrix) - gone.sum(axis=0)
        with np.errstate(over="ignore"):
            self.sums += away.sum(axis=0)
            self.squares += (away**2).sum(axis=0)

    @property
    def means(self) -> np.ndarray:
        return self.shift + self.sums / np.maximum(1, self.count)

    def filled(self, fills: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Mean, deviation, least and greatest value of each column once its gaps are filled."""
        gaps, away = n - self.count, fills - self.shift
        sums, squares = self.sums + gaps * away, self.squares + gaps * away**2
        mean = sums / n
        deviation = np.sqrt(np.maximum(squares / n - mean**2, 0.0))
        none = gaps == 0
        least = np.where(none, self.least, np.minimum(self.least, fills))
        most = np.where(none, self.most, np.maximum(self.most, fills))
        return self.shift + mean, deviation, least, most


def survey(parts: Parts, roles: dict[str, Role], start: Preparation, path: str) -> Preparation:
    """The preparation of a table in parts: `start`, completed by what all rows say.

    TableError for text, missing and infinite values that the options in `start` do not cover, and for options that need
    all values of a column at once.
    """
    for given in (start.impute, start.scale):
        if given in _NEEDS_ALL:
            other = "mean or zero" if given == "median" else "standard or minmax"
            raise TableError(
                f"{_NEEDS_ALL[given]}={given!r} needs all values of a column at once, and the table is read in parts. "
                f"Choose {other}."
            )
    if start.impute == "drop":
        raise TableError("impute='drop' leaves out rows, which a table in parts does not. Choose mean or zero.")
    dtype = "float64" if start.scale is not None else start.dtype
    first = parts.raw(0, roles, dtype)
    if first.texts and start.encode is None:
        refuse_text(first, path)
    if start.impute is None and start.scale is None and not first.texts:
        return replace(start, rules=tuple(Rule(name) for name in roles))  # gaps are looked for as chunks are read
    numbers, texts, n = _sums(parts, roles, dtype, start, path, first)
    fills, filled = _fills(first.numbers, numbers, texts, start.impute, path)
    rules = []
    for name in roles:
        categories = None if name not in texts else _categories(name, texts[name], start.encode)
        rules.append(Rule(name, categories, filled.get(name)))
    preparation = replace(start, rules=tuple(rules))
    return preparation if start.scale is None else _scaled(preparation, first.numbers, numbers, texts, fills, n)


def _sums(
    parts: Parts, roles: dict[str, Role], dtype: str, start: Preparation, path: str, first: Raw
) -> tuple[_Numbers, dict[str, Counter[Any]], int]:
    numbers, done = _Numbers(first.matrix), 0
    texts: dict[str, Counter[Any]] = {name: Counter() for name in first.texts}
    for i in counted("columns of the table", range(len(parts.lengths)), len(parts.lengths)):
        raw = parts.raw(i, roles, dtype)
        raw.first = done
        found = screen(raw)
        refuse_infinite(raw, found, path, 'leave it empty and use impute="mean" or "zero"')
        if start.impute is None:
            refuse_missing(raw, found, path, 'Use impute="mean" or "zero", or drop={}')
        numbers.add(raw.matrix)
        for name, values in raw.texts.items():
            texts[name].update(values.tolist())
            if len(texts[name]) > _MOST_TEXTS:
                raise TableError(
                    f"Column {shortened(name)!r} has more than {_MOST_TEXTS:,} different texts. Leave it out "
                    f"(drop={shortened(name)!r}), or make it the `id`."
                )
        done += raw.rows
    return numbers, texts, done


def _fills(
    names: list[str], numbers: _Numbers, texts: dict[str, Counter[Any]], impute: str | None, path: str
) -> tuple[np.ndarray, dict[str, Any]]:
    """What replaces gaps in the columns of numbers, and in all columns by name."""
    if impute is None:
        return np.zeros(len(names)), {}
    empty = [name for name, count in zip(names, numbers.count, strict=True) if not count]
    empty += [name for name, counts in texts.items() if set(counts) <= {None}]
    if empty:
        raise TableError(f"{path}: columns without any value: {listed(empty)}. Leave them out (drop={empty[0]!r}).")
    values = numbers.means if impute == "mean" else np.zeros(len(names))
    common = {name: _commonest(counts) for name, counts in texts.items()}
    return values, {**dict(zip(names, values.tolist(), strict=True)), **common}


def _commonest(counts: Counter[Any]) -> str:
    """The most frequent text; of several the first by alphabet, as scikit-learn has it."""
    return str(min((-count, text) for text, count in counts.items() if text is not None)[1])


def _categories(name: str, counts: Counter[Any], encode: str | None) -> tuple[str, ...]:
    known = sorted(text for text in counts if text is not None)
    if encode == "onehot" and len(known) > MOST_CATEGORIES:
        raise TableError(
            f"Column {shortened(name)!r} has {len(known)} different texts, and onehot would make a column of each. "
            f"Leave it out (drop={shortened(name)!r}), make it the `id`, or use encode='ordinal'."
        )
    return tuple(known)


def _scaled(
    preparation: Preparation,
    names: list[str],
    numbers: _Numbers,
    texts: dict[str, Counter[Any]],
    fills: np.ndarray,
    n: int,
) -> Preparation:
    """Centre and spread of every column of X."""
    of_numbers = dict(zip(names, np.array(numbers.filled(fills, n)).T, strict=True))
    columns: list[Any] = []
    for rule in preparation.rules:
        if rule.categories is None:
            columns.append(of_numbers[rule.name])
            continue
        counts = Counter(texts[rule.name])
        counts[rule.fill] += counts.pop(None, 0)
        shares = np.array([counts[text] for text in rule.categories]) / n
        if preparation.encode == "ordinal":
            codes = np.arange(len(shares))
            mean = float(shares @ codes)
            columns.append((mean, float(shares @ (codes - mean) ** 2) ** 0.5, codes[0], codes[-1]))
        else:
            columns.extend((p, (p * (1 - p)) ** 0.5, float(p == 1), float(p > 0)) for p in shares)
    mean, deviation, least, most = np.array(columns, np.float64).T
    with np.errstate(over="ignore"):
        centre, spread = (mean, deviation) if preparation.scale == "standard" else (least, most - least)
    if not np.isfinite(centre).all():
        raise TableError("A column holds values too large to be summed. Divide it by a power of ten first.")
    centre = np.where(least < most, centre, least)
    spread = usable_spread(spread, least, most)
    return replace(preparation, centre=tuple(centre.tolist()), spread=tuple(spread.tolist()))
