"""What a table holds, column by column, and which options of `mercer fit` it calls for."""

from __future__ import annotations

import re
import shlex
from typing import Any

import numpy as np

from mercer.tables.preparation import Choice
from mercer.tables.prepare import MOST_CATEGORIES
from mercer.tables.row_names import all_different, by_name_first, names_rows
from mercer.tables.screening import copies
from mercer.tables.table import open_source, read_columns

# Text that people read as a number or a date, and no reader does: the value would depend on the country.
_DRESSED = re.compile(r"\s*[-+(]?\s*[$€£¥]?\s*-?(\d{1,3}([ ,.'’]\d{3})+|\d+)([.,]\d+)?\s*[%€$£¥]?\s*\)?\s*")
_LOCAL_DATE = re.compile(r"\s*\d{1,2}[./-]\d{1,2}[./-](\d{2}|\d{4})(\s.*)?")
_CLASS_NAMES = ("label", "target", "class", "kind", "species", "y", "digit")


def table_facts(path: str, choice: Choice | None = None) -> dict[str, Any]:
    """The rows and columns of a table, what is missing or repeated, and suggestions.

    choice : how to read the file
    """
    columns = read_columns(path, choice)
    n = len(next(iter(columns.values()))) if columns else 0
    source = open_source(path, choice=choice)
    described = {
        name: vector_facts(values) if name in source.lists else column_facts(values) for name, values in columns.items()
    }
    for name in source.truths(columns):
        described[name]["kind"] = "yes/no"
    return {
        "path": path,
        "rows": n,
        "columns": described,
        "duplicate_rows": duplicate_rows(columns),
        "suggestions": suggestions(described, n, _ids(columns)),
    }


def vector_facts(values: np.ndarray) -> dict[str, Any]:
    """The length of the lists in a column, which are text here, and how many are missing."""
    there = [value for value in values.tolist() if value is not None]
    width = there[0].count(",") + 1 if there and there[0] != "[]" else 0
    return {"kind": "vector", "width": width, "missing": len(values) - len(there), "distinct": len(set(there))}


def date_facts(values: np.ndarray) -> dict[str, Any]:
    """The first and the last date of a column."""
    known = values[~np.isnat(values)]
    ends = [str(known.min()), str(known.max())] if known.size else []
    missing = int(np.isnat(values).sum())
    return {"kind": "date", "range": ends, "missing": missing, "distinct": int(np.unique(known).size)}


def column_facts(values: np.ndarray) -> dict[str, Any]:
    """The kind of a column, its missing values, and its range or most common values."""
    if values.dtype.kind == "M":
        return date_facts(values)
    if values.dtype.kind in "iufb":
        numbers = values.astype(np.float64)
        missing = np.isnan(numbers)
        known = numbers[np.isfinite(numbers)]
        whole = bool(known.size) and bool(np.all(known == np.floor(known)))
        facts: dict[str, Any] = {"kind": "yes/no" if values.dtype.kind == "b" else "whole" if whole else "number"}
        distinct = int(np.unique(known).size)
        if known.size:
            facts |= {"least": float(known.min()), "median": float(np.median(known)), "most": float(known.max())}
            facts |= {"deviation": float(known.std())}
        if np.isinf(numbers).any():
            facts["infinite"] = int(np.isinf(numbers).sum())
    else:
        missing = np.array([value is None or value == "" or value != value for value in values.tolist()], bool)
        texts = np.array([str(value) for value in values[~missing].tolist()], dtype=object)
        names, counts = np.unique(texts.astype(str), return_counts=True) if texts.size else (np.array([]), np.array([]))
        order = np.argsort(-counts, kind="stable")[:3]
        distinct = len(names)
        facts = {"kind": "text", "commonest": {str(names[i]): int(counts[i]) for i in order}}
        facts |= {"meant": meant} if (meant := meant_as(names.tolist())) else {}
    return facts | {"missing": int(missing.sum()), "distinct": distinct}


def meant_as(texts: list[str]) -> str | None:
    """What all texts seem to be meant as, though they are text to every reader: "number", "date", or None.

    >>> meant_as(["$1,234.50", "$7"]), meant_as(["31.12.2024", "1.2.2025"]), meant_as(["00123", "00456"])
    ('number', 'date', None)
    """
    if not texts:
        return None
    if all(_LOCAL_DATE.fullmatch(text) for text in texts):
        return "date"
    dressed = all(_DRESSED.fullmatch(text) for text in texts) and not all(text.strip().isdigit() for text in texts)
    return "number" if dressed else None


def duplicate_rows(columns: dict[str, np.ndarray]) -> int:
    """How many rows equal an earlier one; two missing values count as equal."""
    numbers = [_codes(values) for values in columns.values()]
    return copies(np.column_stack(numbers)) if numbers else 0


def _codes(values: np.ndarray) -> np.ndarray:
    """Numbers as they are, without the sign of zero and of NaN; texts numbered."""
    if values.dtype.kind in "iufb":
        numbers = values.astype(np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan
        return numbers
    return np.unique(values.astype(str), return_inverse=True)[1].astype(np.float64)


def _ids(columns: dict[str, np.ndarray]) -> list[str]:
    """The columns that may name the rows, the best first: those that `fit` takes for ids, then other texts."""
    likely = by_name_first(name for name, values in columns.items() if names_rows(name, values))
    different = [name for name, values in columns.items() if values.dtype.kind in "OUT" and all_different(values)]
    return list(dict.fromkeys([*likely, *different]))


def suggestions(columns: dict[str, dict[str, Any]], n: int, ids: list[str]) -> list[str]:
    """Options of `mercer fit` that suit this table, each with its reason."""
    meant = {name: facts["meant"] for name, facts in columns.items() if facts.get("meant")}
    plain = {name: facts for name, facts in columns.items() if name not in meant}
    ids = [name for name in ids if name in plain]
    label = _label_in(plain, n, ids)
    found = [f"--id {shlex.quote(name)}: its values are all different" for name in ids[:1]]
    if label is not None:
        found.append(f"--label {shlex.quote(label)}: {columns[label]['distinct']} different values")
    vectors = [name for name, facts in columns.items() if facts["kind"] == "vector"]
    if vectors:
        return [*found, f"--vector {as_typed(vectors[0])}: fits its numbers, and no other column"]
    dates = [name for name, facts in columns.items() if facts["kind"] == "date"]
    if dates:
        found.append(f"--keep {as_typed(*dates)}: dates are shown beside the map, not fitted")
    found += _about_text(plain, n, ids, label)
    for name, what in meant.items():
        example = next(iter(columns[name]["commonest"]))
        good = "1234.5" if what == "number" else "2024-12-31"
        found.append(f"--drop {as_typed(name)}: {example!r} is text; to use it, write {what}s like {good}")
    fitted = {name: facts for name, facts in columns.items() if name not in dates and name != label}
    return found + _about_values(fitted, n) + _about_scales(columns)


def _about_text(columns: dict[str, dict[str, Any]], n: int, ids: list[str], label: str | None) -> list[str]:
    """What to do with text: columns in which nearly every text is different cannot become numbers, others can."""
    text = [name for name, facts in columns.items() if facts["kind"] == "text"]
    others = [name for name in text if name not in ids and name != label]
    few = min(MOST_CATEGORIES, max(20, n // 2))  # categories that each stand in two rows, or are few anyway
    wide = [name for name in text if name in ids[1:]]  # one column names the rows
    wide += [name for name in others if columns[name]["distinct"] > few]
    drop = f"--drop {as_typed(*wide)}: nearly every text is different, so it cannot become numbers"
    encode = "--encode onehot: text must become numbers (--encode drop leaves it out)"
    return [*([drop] if wide else []), *([encode] if set(others) - set(wide) else [])]


def _about_values(columns: dict[str, dict[str, Any]], n: int) -> list[str]:
    """What to do with values that cannot be fitted, and with columns that say nothing."""
    infinite = [name for name, facts in columns.items() if facts.get("infinite")]
    missing = [name for name, facts in columns.items() if facts["missing"]]
    constant = [name for name, facts in columns.items() if facts["distinct"] <= 1] if n > 1 else []
    found = []
    if infinite:
        found.append(f"--drop {as_typed(*infinite)}: values are infinite; correct them, or leave the column out")
    if missing:
        shown = f"{', '.join(missing[:4])}{' …' if len(missing) > 4 else ''}"
        found.append(f"--impute median: values are missing in {shown}")
    if 0 < len(constant) < len(columns):
        found.append(f"--drop {as_typed(*constant)}: {'they are' if len(constant) > 1 else 'it is'} constant")
    return found


def _about_scales(columns: dict[str, dict[str, Any]]) -> list[str]:
    """Whether one column would dominate every distance: a deviation of 100 others is 10⁴ of their squares."""
    deviations = sorted(facts["deviation"] for facts in columns.values() if facts.get("deviation"))
    if not deviations or deviations[-1] <= 100 * deviations[(len(deviations) - 1) // 2]:
        return []
    return ["--scale standard: one column varies a hundred times as much as most, and would dominate them"]


def _label_in(columns: dict[str, dict[str, Any]], n: int, ids: list[str]) -> str | None:
    """The column that most likely holds classes: one with few values and a telling name, or one of text."""
    few = max(2, min(50, n // 4))  # four rows of each on average, and no more than a page has colours to tell apart
    classes = [
        name
        for name, facts in columns.items()
        if name not in ids and 1 < facts["distinct"] <= few and facts["kind"] in ("text", "whole", "yes/no")
    ]
    named = [name for name in classes if name.lower() in _CLASS_NAMES]
    return next(iter(named or [name for name in classes if columns[name]["kind"] == "text"]), None)


def as_typed(*names: str) -> str:
    """Names of columns as one types them after --drop in a shell.

    >>> print(as_typed("a", "b"), as_typed("petal width"), as_typed("size, cm", 'a"b'))
    a,b 'petal width' '"size, cm","a""b"'
    """
    quoted = ['"' + name.replace('"', '""') + '"' if set(name) & set(',"') else name for name in names]
    return shlex.quote(",".join(quoted))
