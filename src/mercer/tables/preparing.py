"""From raw columns to X: missing values, text, scale; once to find the rules, and again to follow them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer.tables import column_statistics as statistics
from mercer.tables.dialect import is_number
from mercer.tables.preparation import Preparation, Rule
from mercer.tables.source import Matrix, Raw, TableError, check_room, listed, shortened
from mercer.tables.table_types import Choice

MOST_CATEGORIES = 1000


def absent(values: np.ndarray) -> np.ndarray:
    """(n,) where a column of text has no value."""
    none: Any = None
    return np.equal(values, none).astype(bool)


_IMPUTE = 'impute="mean", "median", "zero" or "drop" (--impute mean|median|zero|drop; drop leaves out the rows)'


def find_rules(raw: Raw, choice: Choice, order: list[str], path: str) -> tuple[Rule, ...]:
    """What is to become of every column; TableError for text and missing values that nothing was said about."""
    _refuse_infinite(raw, path, f"leave it empty and use {_IMPUTE}")
    if raw.texts and choice.encode is None:
        _refuse_text(raw, path)
    if choice.encode == "drop":
        order = [name for name in order if name not in raw.texts]
        raw.carried.update(raw.texts)
        raw.texts.clear()
        if not order:
            raise TableError(f"{path}: every column is text, and encode='drop' leaves none.")
    if choice.impute is None:
        _refuse_missing(raw, path, f"use {_IMPUTE}, or leave out the columns (--drop {{}})")
    fills = _fills(raw, choice.impute, path)
    return tuple(Rule(name, _categories(name, raw, choice), fills.get(name)) for name in order)


def check_new(raw: Raw, preparation: Preparation, path: str) -> None:
    """TableError where new rows have what the fitted table had not: text, infinite or missing values."""
    _refuse_infinite(raw, path, "leave the row out")
    if preparation.impute is None:
        _refuse_missing(raw, path, f"the fitted table had none: leave out these rows, or fit again with {_IMPUTE}")
    kinds = {rule.name: rule.categories for rule in preparation.rules}
    bad = {name: values for name, values in raw.texts.items() if kinds[name] is None}
    if bad:
        name, values = next(iter(bad.items()))
        row = _first_text(values, raw.decimal)
        raise TableError(
            f"{path}: {len(bad)} columns hold text that are numbers in the fitted table: {listed(bad)} "
            f"(row {row + 1} of {shortened(name)!r} is {shortened(values[row])!r})."
        )


def make(raw: Raw, preparation: Preparation, path: str, notes: list[str]) -> tuple[Matrix, np.ndarray | None]:
    """X before scaling, and the rows that are kept (None: all)."""
    keep = _kept_rows(raw, notes, path) if preparation.impute == "drop" else None
    if keep is not None:
        _keep(raw, keep)
    _fill(raw, preparation)
    if not raw.texts and raw.numbers == preparation.columns:
        return raw.matrix, keep
    return _encoded(raw, preparation, path, notes), keep


def find_scale(X: Matrix, preparation: Preparation, notes: list[str]) -> Preparation:
    """The preparation with centre and spread."""
    if preparation.scale is None:
        return preparation
    if sparse.issparse(X):
        if preparation.scale != "standard":
            raise TableError(
                f"scale={preparation.scale!r} would fill a sparse table; use 'standard', which divides only."
            )
        notes.append("The table is sparse: columns are divided by their standard deviation and not centred.")
        return replace(preparation, spread=tuple(statistics.sparse_deviation(X).tolist()))
    centre, spread = statistics.centre_and_spread(X, preparation.scale)
    return replace(preparation, centre=tuple(centre.tolist()), spread=tuple(spread.tolist()))


def scaled(X: Matrix, preparation: Preparation, owned: bool, path: str) -> Matrix:
    """(X − centre) / spread in the type that is asked for; in place where X is ours."""
    dtype = np.dtype(preparation.dtype)
    if preparation.spread is None:
        return X if X.dtype == dtype else X.astype(dtype)
    spread = np.array(preparation.spread)
    if sparse.issparse(X):
        if preparation.centre is not None:
            raise TableError("The model was fitted to a dense table that was centred; a sparse one cannot be centred.")
        return sparse.csr_array(X.multiply(1 / spread)).astype(dtype)
    centre = np.zeros(len(spread)) if preparation.centre is None else np.array(preparation.centre)
    target = X if owned and X.dtype == dtype else np.empty(X.shape, dtype)
    for rows in statistics.row_blocks(X):
        with np.errstate(over="ignore"):
            target[rows] = (X[rows] - centre) / spread
        if statistics.first_infinite(target[rows]) is not None:
            raise TableError(f"{path}: rows {rows.start + 1} to {rows.stop} hold values too large to be scaled.")
    return target


def _refuse_infinite(raw: Raw, path: str, way_out: str) -> None:
    place = statistics.first_infinite(raw.matrix)
    if place is not None:
        row, column = place
        raise TableError(
            f"{path}: column {shortened(raw.numbers[column])!r} is infinite, or too large for its type, "
            f"in row {row + 1}; correct it, or {way_out}."
        )


def _refuse_text(raw: Raw, path: str) -> None:
    name, values = next(iter(raw.texts.items()))
    row = _first_text(values, raw.decimal)
    kind = "dates" if raw.dated and raw.dated >= raw.texts.keys() else "text"
    raise TableError(
        f"{path}: {len(raw.texts)} of {len(raw.texts) + len(raw.numbers)} columns hold {kind}, not numbers: "
        f"{listed(raw.texts)} (row {row + 1} of {shortened(name)!r} is {shortened(values[row])!r}); "
        'use encode="onehot", "ordinal" or "drop" (--encode onehot|ordinal|drop), '
        f"make one the label or the id, or leave them out (--drop {_argument(name)})."
    )


def _first_text(values: np.ndarray, decimal: str) -> int:
    """The first row whose value is no number."""
    return next((i for i, value in enumerate(values) if value is not None and not is_number(value, decimal)), 0)


def _argument(name: str) -> str:
    return shortened(name) if name.isidentifier() else repr(shortened(name))


def _refuse_missing(raw: Raw, path: str, way_out: str) -> None:
    """TableError that ends in what can be done; {} there is the first of the columns."""
    found = _missing(raw)
    if not found:
        return
    name, (_, row) = next(iter(found.items()))
    total = sum(count for count, _ in found.values())
    raise TableError(
        f"{path}: {total} {'value is' if total == 1 else 'values are'} missing "
        f"in {len(found)} of {len(raw.texts) + len(raw.numbers)} columns: {listed(found)} "
        f"(the first in row {row + 1} of {shortened(name)!r}); {way_out.format(_argument(name))}."
    )


def _missing(raw: Raw) -> dict[str, tuple[int, int]]:
    """Name → how many values are missing, and the first row."""
    counts, first = statistics.missing(raw.matrix)
    found = {raw.numbers[j]: (int(counts[j]), int(first[j])) for j in np.flatnonzero(counts)}
    for name, values in raw.texts.items():
        gone = absent(values)
        if gone.any():
            found[name] = int(gone.sum()), int(gone.argmax())
    return found


def _fills(raw: Raw, impute: str | None, path: str) -> dict[str, Any]:
    """What stands in for missing values, for every column: new rows may lack what these have."""
    if impute in (None, "drop"):
        return {}
    numbers = statistics.fill_values(raw.matrix, str(impute))
    fills: dict[str, Any] = dict(zip(raw.numbers, numbers.tolist(), strict=True))
    empty = [name for name, value in fills.items() if value != value]
    empty += [name for name, values in raw.texts.items() if absent(values).all()]
    if empty:
        raise TableError(
            f"{path}: {len(empty)} columns have no value at all: {listed(empty)}; "
            f"leave them out (--drop {_argument(empty[0])})."
        )
    for name, values in raw.texts.items():
        known, counts = np.unique(values[~absent(values)].astype(str), return_counts=True)
        fills[name] = str(known[counts.argmax()])
    return fills


def _categories(name: str, raw: Raw, choice: Choice) -> tuple[str, ...] | None:
    values = raw.texts.get(name)
    if values is None:
        return None
    known = sorted({value for value in values if value is not None})
    if choice.encode == "onehot" and len(known) > MOST_CATEGORIES:
        raise TableError(
            f"column {shortened(name)!r} has {len(known)} different texts, and onehot makes a column of each; "
            f"leave it out (--drop {_argument(name)}), make it the id, or use encode='ordinal'."
        )
    return tuple(known)


def _kept_rows(raw: Raw, notes: list[str], path: str) -> np.ndarray | None:
    """Which rows have every value; None: all of them."""
    keep = ~statistics.rows_missing(raw.matrix)
    for values in raw.texts.values():
        keep &= ~absent(values)
    if keep.all():
        return None
    if not keep.any():
        raise TableError(f"{path}: every row has a missing value, so dropping rows leaves none; use impute='mean'.")
    notes.append(f"{int((~keep).sum())} of {len(keep)} rows were dropped, for a value is missing in them.")
    return keep


def _keep(raw: Raw, keep: np.ndarray) -> None:
    raw.matrix, raw.owned = raw.matrix[keep], True
    for columns in (raw.texts, raw.carried):
        columns.update({name: values[keep] for name, values in columns.items()})


def _fill(raw: Raw, preparation: Preparation) -> None:
    """Put fill values in place of missing ones."""
    fills = {rule.name: rule.fill for rule in preparation.rules}
    if preparation.impute in (None, "drop") or not _missing(raw):
        return
    if not raw.owned:
        raw.matrix, raw.owned = raw.matrix.copy(), True
    values = np.array([fills[name] for name in raw.numbers], np.float64)
    raw.matrix = statistics.filled(raw.matrix, values)
    for name, texts in raw.texts.items():
        raw.texts[name] = np.where(absent(texts), np.array(fills[name], object), texts)


def _encoded(raw: Raw, preparation: Preparation, path: str, notes: list[str]) -> Matrix:
    """X with columns of text as numbers, all columns in the order of the rules."""
    if sparse.issparse(raw.matrix):
        if raw.texts:
            raise TableError(
                f"{path}: columns of text beside a sparse matrix cannot be encoded; leave them out (--drop)."
            )
        place = {name: j for j, name in enumerate(raw.numbers)}
        return sparse.csr_array(raw.matrix[:, [place[name] for name in preparation.columns]])
    check_room(path, raw.rows, len(preparation.features), raw.matrix.itemsize)
    X = np.zeros((raw.rows, len(preparation.features)), raw.matrix.dtype)
    place = {name: j for j, name in enumerate(raw.numbers)}
    start = 0
    for rule in preparation.rules:
        if rule.categories is None:
            X[:, start] = raw.matrix[:, place[rule.name]]
            start += 1
        else:
            start += _encode(X[:, start:], raw.texts[rule.name], rule, preparation.encode, notes)
    raw.owned = True
    return X


def _encode(target: np.ndarray, values: np.ndarray, rule: Rule, encode: str | None, notes: list[str]) -> int:
    """Write one column of text as numbers; how many columns that took."""
    known = {category: code for code, category in enumerate(rule.categories or ())}
    codes = np.fromiter((known.get(value, -1) for value in values), np.intp, len(values))
    unseen = sorted({value for value in values[codes < 0] if value is not None})
    if unseen:
        become = "all zeros" if encode == "onehot" else "−1"
        notes.append(
            f"Column {rule.name!r} has texts that the model has not seen, which become {become}: {listed(unseen)}."
        )
    if encode == "ordinal":
        target[:, 0] = codes
        return 1
    rows = np.flatnonzero(codes >= 0)
    target[rows, codes[rows]] = 1
    return len(known)
