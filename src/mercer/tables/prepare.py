"""From raw columns to X, by scikit-learn's imputers, encoders and scalers; fitted once, and replayed from a record.

scikit-learn computes the statistics and encodes text. The rest is here, because a user would lose something without it:

- The record (`Preparation`) is replayed by plain arithmetic: fitted transformers cannot be stored without pickle or
  private attributes. X is filled and scaled in place, where transformers copy it. One formula, (x − centre) / spread,
  serves every scale to the same bits; MinMaxScaler's x · scale + min rounds differently.
- `ColumnTransformer` wants all columns in one array or data frame: as objects, numbers take four times the memory.
- Values that cannot be used are refused with their row, column and the options that help. scikit-learn says "Input X
  contains NaN".
- Rows can be dropped, constant columns become exactly 0, and unseen categories are named in a note.
- Columns whose squares overflow are scaled too. scikit-learn returns NaN for them.

scikit-learn is imported where it is used: loading it takes longer than reading most tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from mercer.amounts import amount
from mercer.tables.dates import dates_among
from mercer.tables.dialect import is_number
from mercer.tables.preparation import Preparation, Rule
from mercer.tables.screening import Findings, absent, extremes, row_blocks, screen
from mercer.tables.source import Matrix, Raw, TableError, check_room, listed, shortened

MOST_CATEGORIES = 1000  # one-hot columns per column of text: more is a name or an id rather than a category
_BLOCK = 1 << 20  # numbers that scikit-learn sees at once: its medians and quartiles copy them several times
_UNIT = 2.0**600  # divides columns whose squares overflow: exactly, and the largest float64 becomes 10¹²⁷
_IMPUTE = 'impute="mean", "median", "zero" or "drop"'


def fit(
    raw: Raw, order: list[str], start: Preparation, path: str, notes: list[str]
) -> tuple[Matrix, np.ndarray | None, Preparation]:
    """X, which rows were kept (None for all), and the record, `start` completed by what the rows say.

    TableError for text and missing values that the options in `start` do not cover.
    """
    if raw.texts and start.encode is None:
        refuse_text(raw, path)
    if start.encode == "drop":
        order = [name for name in order if name not in raw.texts]
        raw.carried.update({name: _shown(raw, name) for name in raw.texts})
        raw.texts.clear()
        if not order:
            raise TableError(f"{path}: every column is text, so encode='drop' leaves none.")
    found = screen(raw)
    refuse_infinite(raw, found, path, f"leave it empty and use {_IMPUTE}")
    if start.impute is None:
        refuse_missing(raw, found, path, f"Use {_IMPUTE}, or drop={{}}")
    fills = _fit_fills(raw, found, start.impute, path)
    rules = tuple(Rule(name, _fit_categories(name, raw, start.encode), fills.get(name)) for name in order)
    preparation = replace(start, rules=rules)
    X, keep = _assembled(raw, found, preparation, path, notes)
    preparation = fit_scale(X, preparation, notes)
    return _scaled(X, preparation, raw.owned, path), keep, preparation


def replay(
    raw: Raw, preparation: Preparation, path: str, notes: list[str], *, fitting: bool = False
) -> tuple[Matrix, np.ndarray | None]:
    """X of new rows, and which of them were kept (None for all).

    fitting : whether these are some of the fitted rows, which have not been looked through before

    TableError if they have text, missing or infinite values where the fitted table had none.
    """
    found = screen(raw)
    refuse_infinite(raw, found, path, f"leave it empty and use {_IMPUTE}" if fitting else "leave the row out")
    if preparation.impute is None:
        way_out = f"The fitted table had no missing values: leave out these rows, or fit again with {_IMPUTE}"
        refuse_missing(raw, found, path, f"Use {_IMPUTE}, or drop={{}}" if fitting else way_out)
    kinds = {rule.name: rule.categories for rule in preparation.rules}
    bad = {name: values for name, values in raw.texts.items() if kinds[name] is None}
    if bad:
        name, values = next(iter(bad.items()))
        row = _first_text(values, raw.decimal)
        raise TableError(
            f"{path}: {amount(len(bad), 'column')} held numbers in the fitted table, but text here: {listed(bad)} "
            f"(row {raw.first + row + 1} of {shortened(name)!r} is {shortened(values[row])!r})."
        )
    X, keep = _assembled(raw, found, preparation, path, notes)
    return _scaled(X, preparation, raw.owned, path), keep


def _assembled(
    raw: Raw, found: Findings, preparation: Preparation, path: str, notes: list[str]
) -> tuple[Matrix, np.ndarray | None]:
    """X before scaling, and which rows were kept."""
    keep = None
    if found.missing and preparation.impute == "drop":
        keep = ~found.incomplete
        if not keep.any():
            raise TableError(f"{path}: every row has a missing value, so dropping rows leaves none. Use impute='mean'.")
        lost = int((~keep).sum())
        why = "it has" if lost == 1 else "they have"
        were = "was" if lost == 1 else "were"
        notes.append(f"{lost:,} of {len(keep):,} rows {were} dropped, because {why} missing values.")
        raw.matrix, raw.owned = raw.matrix[keep], True
        for columns in (raw.texts, raw.carried):
            columns.update({name: values[keep] for name, values in columns.items()})
    elif found.missing:
        _fill(raw, preparation)
    if not raw.texts and raw.numbers == preparation.columns:
        return raw.matrix, keep
    return _encoded(raw, preparation, path, notes), keep


def fit_scale(X: Matrix, preparation: Preparation, notes: list[str]) -> Preparation:
    """Add centre and spread to the record. A column that does not vary is centred and not divided."""
    scale = preparation.scale
    if scale is None:
        return preparation
    if sparse.issparse(X):
        if scale != "standard":
            raise TableError(f"scale={scale!r} would make a sparse table dense. Use 'standard', which only divides.")
        from sklearn.preprocessing import StandardScaler

        notes.append("The table is sparse: columns are divided by their standard deviation, but not centred.")
        scaler = StandardScaler(with_mean=False)
        (spread,) = _without_overflow(lambda part: scaler.fit(part).scale_[None], X)
        return replace(preparation, spread=tuple(usable_spread(spread, *extremes(X)).tolist()))
    least, most = extremes(X)
    if scale == "standard":
        centre, spread = _without_overflow(_mean_and_deviation, X)
    elif scale == "robust":
        low, centre, high = np.hstack([_without_overflow(_quartiles, X[:, some]) for some in _column_blocks(X)])
        spread = high - low
    else:
        with np.errstate(over="ignore"):
            centre, spread = least, most - least
    centre = np.where(least < most, centre, least)
    spread = usable_spread(spread, least, most)
    return replace(preparation, centre=tuple(centre.tolist()), spread=tuple(spread.tolist()))


def _scaled(X: Matrix, preparation: Preparation, owned: bool, path: str) -> Matrix:
    """(X − centre) / spread in the type of the record; in place if X is ours to change."""
    dtype = np.dtype(preparation.dtype)
    if preparation.spread is None:
        return X if X.dtype == dtype else X.astype(dtype)
    spread = np.array(preparation.spread)
    if sparse.issparse(X):
        if preparation.centre is not None:
            raise TableError(f"{path} is sparse, but the model was fitted to centred rows. Save the table as dense.")
        return sparse.csr_array(X.multiply(1 / spread)).astype(dtype)
    centre = np.zeros(len(spread)) if preparation.centre is None else np.array(preparation.centre)
    target = X if owned and X.dtype == dtype else np.empty(X.shape, dtype)
    for rows in row_blocks(X):
        with np.errstate(over="ignore"):
            target[rows] = (X[rows] - centre) / spread
        if not np.isfinite(target[rows]).all():
            raise TableError(f"{path}: rows {rows.start + 1} to {rows.stop} hold values too large to be scaled.")
    return target


def _column_blocks(X: Matrix) -> list[slice]:
    """Slices of columns, of at most _BLOCK numbers each. A sparse matrix is one slice."""
    step = max(1, X.shape[1] if sparse.issparse(X) else _BLOCK // X.shape[0])
    return [slice(start, min(start + step, X.shape[1])) for start in range(0, X.shape[1], step)]


def _mean_and_deviation(X: np.ndarray) -> np.ndarray:
    """(2, p) by StandardScaler, which accepts one block of rows after the other."""
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    for rows in row_blocks(X):
        scaler.partial_fit(X[rows])
    return np.array([scaler.mean_, scaler.scale_])


def _quartiles(X: np.ndarray) -> np.ndarray:
    """(3, p). RobustScaler computes them by functions that look for NaN, which is twice as slow; X has none."""
    return np.percentile(X, (25, 50, 75), axis=0)


def _without_overflow(fit: Callable[[Matrix], np.ndarray], X: Matrix) -> np.ndarray:
    """fit(X), (k, p). Columns whose statistics overflow are fitted again in units of 2⁶⁰⁰."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.array(fit(X), np.float64)
        for j in np.flatnonzero(~np.isfinite(found).all(axis=0)):
            found[:, j] = fit(X[:, [j]] / _UNIT).ravel() * _UNIT
    return found


def usable_spread(spread: np.ndarray, least: np.ndarray, most: np.ndarray) -> np.ndarray:
    """The spread of each column, 1 if it does not vary or the difference of its extremes overflows."""
    return np.where((least < most) & (spread > 0) & np.isfinite(spread), spread, 1.0)


def _fit_fills(raw: Raw, found: Findings, impute: str | None, path: str) -> dict[str, Any]:
    """What replaces missing values, for every column: new rows may lack values that these rows have."""
    if impute in (None, "drop"):
        return {}
    empty = [name for name, (count, _) in found.missing.items() if count == raw.rows]
    if empty:
        raise TableError(
            f"{path}: {amount(len(empty), 'column')} without any value: {listed(empty)}. "
            f"Leave them out (drop={_argument(empty[0])})."
        )
    from sklearn.impute import SimpleImputer

    imputer = SimpleImputer(strategy={"zero": "constant"}.get(str(impute), impute), fill_value=0.0)
    fills: dict[str, Any] = {}
    for some in _column_blocks(raw.matrix):
        part = raw.matrix[:, some].astype(np.float64)  # float32 sums would lose digits
        (values,) = _without_overflow(lambda some: imputer.fit(some).statistics_[None], part)
        fills.update(zip(raw.numbers[some], values.tolist(), strict=True))
    common = SimpleImputer(strategy="most_frequent", missing_values=None)
    for name, texts in raw.texts.items():
        fills[name] = str(common.fit(texts[:, None]).statistics_[0])
    return fills


def _fit_categories(name: str, raw: Raw, encode: str | None) -> tuple[str, ...] | None:
    values = raw.texts.get(name)
    if values is None:
        return None
    known = sorted({value for value in values if value is not None})
    if encode == "onehot" and len(known) > MOST_CATEGORIES:
        raise TableError(
            f"Column {shortened(name)!r} has {len(known)} different texts, and onehot would make a column of each. "
            f"Leave it out (drop={_argument(name)}), make it the `id`, or use encode='ordinal'."
        )
    return tuple(known)


def _fill(raw: Raw, preparation: Preparation) -> None:
    """Replace missing values, in place."""
    fills = {rule.name: rule.fill for rule in preparation.rules}
    values = np.array([fills[name] for name in raw.numbers], np.float64)
    if not raw.owned:
        raw.matrix, raw.owned = raw.matrix.copy(), True
    if sparse.issparse(raw.matrix):
        data = raw.matrix.data
        raw.matrix.data = np.where(np.isnan(data), values[raw.matrix.indices].astype(data.dtype), data)
        raw.matrix.eliminate_zeros()
    else:
        for rows in row_blocks(raw.matrix):
            block = raw.matrix[rows]
            np.copyto(block, values.astype(block.dtype), where=np.isnan(block))
    for name, texts in raw.texts.items():
        raw.texts[name] = np.where(absent(texts), np.array(fills[name], object), texts)


def _encoded(raw: Raw, preparation: Preparation, path: str, notes: list[str]) -> Matrix:
    """X with text as numbers, and all columns in the order of the record."""
    place = {name: j for j, name in enumerate(raw.numbers)}
    if sparse.issparse(raw.matrix):
        if raw.texts:
            raise TableError(f"{path}: text beside a sparse matrix cannot be encoded. Leave it out with `drop`.")
        return sparse.csr_array(raw.matrix[:, [place[name] for name in preparation.columns]])
    check_room(path, raw.rows, len(preparation.features), raw.matrix.itemsize)
    X = np.empty((raw.rows, len(preparation.features)), raw.matrix.dtype)
    start = 0
    for rule in preparation.rules:
        stop = start + len(rule.features(preparation.encode))
        if rule.categories is None:
            X[:, start] = raw.matrix[:, place[rule.name]]
        else:
            _encode(X[:, start:stop], raw.texts[rule.name], rule, preparation.encode, notes)
        start = stop
    raw.owned = True
    return X


def _encode(target: np.ndarray, values: np.ndarray, rule: Rule, encode: str | None, notes: list[str]) -> None:
    """Write a column of text as numbers. Unseen texts become all zeros, or −1."""
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

    categories = np.array(rule.categories, object)
    encoder = (
        OrdinalEncoder(categories=[categories], handle_unknown="use_encoded_value", unknown_value=-1)
        if encode == "ordinal"
        else OneHotEncoder(categories=[categories], handle_unknown="ignore", sparse_output=False)
    ).fit(categories[:, None])
    for rows in row_blocks(target):
        target[rows] = encoder.transform(values[rows, None])
    unseen = sorted(set(values) - set(rule.categories or ()))
    if unseen:
        become = "−1" if encode == "ordinal" else "all zeros"
        notes.append(f"Column {rule.name!r} has texts unseen in the fit, which become {become}: {listed(unseen)}.")


def refuse_missing(raw: Raw, findings: Findings, path: str, way_out: str) -> None:
    """TableError that ends with a way out; {} in it stands for the first column."""
    found = findings.missing
    if not found:
        return
    name, (_, row) = next(iter(found.items()))
    total = sum(count for count, _ in found.values())
    raise TableError(
        f"{path}: {amount(total, 'value')} {'is' if total == 1 else 'are'} missing "
        f"in {len(found)} of {len(raw.texts) + len(raw.numbers)} columns: {listed(found, 2)} "
        f"(the first in row {raw.first + row + 1} of {shortened(name, 20)!r}). {way_out.format(_argument(name))}."
    )


def refuse_infinite(raw: Raw, found: Findings, path: str, way_out: str) -> None:
    if found.infinite is not None:
        name, row = found.infinite
        raise TableError(
            f"{path}: column {shortened(name)!r} is infinite, or too large for its type, "
            f"in row {raw.first + row + 1}. Correct it, or {way_out}."
        )


def refuse_text(raw: Raw, path: str) -> None:
    name, values = next(iter(raw.texts.items()))
    row = _first_text(values, raw.decimal)
    held = "holds" if len(raw.texts) == 1 else "hold"
    if raw.dated >= raw.texts.keys():
        raise TableError(
            f"{path}: {len(raw.texts)} of {len(raw.texts) + len(raw.numbers)} columns {held} dates, which are not "
            f"fitted: {listed(raw.texts)}. Keep them beside the map (keep={_argument(name)}), or leave them out "
            f"(drop={_argument(name)})."
        )
    left_out = f"drop={_argument(name)}" if len(name) <= 20 else "`drop` them"  # a long name is told once
    raise TableError(
        f"{path}: {len(raw.texts)} of {len(raw.texts) + len(raw.numbers)} columns {held} text: {listed(raw.texts, 2)} "
        f"(row {raw.first + row + 1}: {shortened(values[row], 12)!r}). "
        f'Set encode="onehot", a `label` or an `id`, or {left_out}.'
    )


def _shown(raw: Raw, name: str) -> np.ndarray:
    """A text feature that turned out not to be one, as it is shown: dates as dates."""
    dates = dates_among(raw.texts[name]) if name in raw.dated else None
    return raw.texts[name] if dates is None else dates


def _first_text(values: np.ndarray, decimal: str) -> int:
    """The first row whose value is not a number."""
    return next((i for i, value in enumerate(values) if value is not None and not is_number(value, decimal)), 0)


def _argument(name: str) -> str:
    """A column's name as an argument."""
    return repr(shortened(name))
