"""run.json: everything about a run that is needed to understand it, and to repeat it.

Help loads this module, so modules of the standard library that take long to import are imported where they are used.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, is_dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.cli.errors import unsuitable
from mercer.cli.methods import METHODS

if TYPE_CHECKING:
    from mercer.tables.table import Table

FORMAT, VERSION = "mercer run", 1
_PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "numba", "pyarrow")
# What an estimator may know about its fit without computing anything more.
_FACTS = (
    *("eigenvalues_", "residuals_", "eigenvalue_error_", "explained_variance_ratio_", "total_variance_"),
    *("residual_variance_", "correlations_", "training_correlations_", "kl_divergence_", "n_iter_", "recall_"),
    *("gamma_", "gamma_y_", "reg_", "penalty_", "loo_error_", "rank_", "factor_error_", "learning_rate_"),
    *("n_connected_components_", "report_"),
)
_MOST_VALUES = 1000  # of a list: enough for any spectrum that someone reads, and the file stays small


def new_record(verb: str, **facts: Any) -> dict[str, Any]:
    """The record of a run that ends now. Its outputs are added when they are written."""
    from datetime import UTC, datetime

    return {
        "format": FORMAT,
        "version": VERSION,
        "verb": verb,
        "command": ["mercer", *sys.argv[1:]],
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
        "versions": versions(),
        "outputs": [],
    }


def input_entry(path: str, table: Table) -> dict[str, Any]:
    """A table as a record names it."""
    return {"path": path, "sha256": table.digest, "rows": table.X.shape[0], "columns": table.X.shape[1]}


def json_value(value: Any) -> Any:
    """A value as JSON can hold it: arrays as lists, NaN and infinities as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return json_value(asdict(value))
    if isinstance(value, dict):
        return {str(name): json_value(part) for name, part in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [json_value(part) for part in value[:_MOST_VALUES]]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def fit_facts(estimator: Any) -> dict[str, Any]:
    """What a fitted estimator knows: its solver, eigenvalues with residuals, divergence, recall, if it has them."""
    own = {name.rstrip("_"): json_value(vars(estimator)[name]) for name in _FACTS if name in vars(estimator)}
    if hasattr(estimator, "solver_"):
        own["solver"] = json_value(estimator.solver_)
    affinities = getattr(estimator, "affinities_", None)
    if affinities is not None and "recall" not in own:
        own["recall"] = json_value(affinities.recall)
    return own


def versions() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"platform": platform.platform(), "machine": platform.machine()}


# --- files -----------------------------------------------------------------------------------------------------


def record_path(output: str | Path) -> Path:
    """Where the record of an output stands: coords.csv.gz -> coords.run.json.

    >>> record_path("a/coords.csv.gz").name, record_path("model.v2.mercer").name
    ('coords.run.json', 'model.v2.run.json')
    """
    path = Path(output)
    name = path.name.removesuffix(".gz")
    return path.with_name(f"{name.rpartition('.')[0] or name}.run.json")


def write_record(record: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def read_record(path: str | Path) -> dict[str, Any]:
    """Read and check a run.json. Whatever is wrong with it is a fault of the input."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise unsuitable(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise unsuitable(f"{path} is not a run.json: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise unsuitable(f'{path} is not a run.json of mercer: its "format" is not "{FORMAT}".')
    if not isinstance(found.get("version"), int) or found["version"] > VERSION:
        raise unsuitable(
            f"{path} has version {found.get('version')}, and this mercer reads up to {VERSION}. Update it."
        )
    _refuse_damaged(found, path)
    return found


def _refuse_damaged(record: dict[str, Any], path: str | Path) -> None:
    """Failure if a field that the verbs read is missing, or has the wrong type."""
    from mercer.models.fields import Mismatch, Scope, flag, if_set, list_of, mapping, one_of, optional, text, whole

    table, some = mapping(path=text, sha256=text), if_set(mapping())
    shown = mapping(page_columns=if_set(optional(list_of(text))), page_record=if_set(flag), inert=if_set(flag))
    expected = mapping(
        verb=if_set(text),
        method=one_of(*METHODS),
        parameters=mapping(),
        choice=mapping(),
        input=table,
        second=if_set(optional(table)),
        outputs=list_of(mapping(what=text, path=text)),
        coordinates=list_of(text),
        seed=if_set(whole()),
        jobs=if_set(optional(whole())),
        versions=some,
        seconds=some,
        fit=some,
        page=if_set(shown),  # records of earlier versions have none
    )
    try:
        expected(record, Scope())
    except Mismatch as mismatch:
        raise unsuitable(f"{path} is damaged: {mismatch}.") from mismatch


def record_beside(output: str | Path) -> dict[str, Any] | None:
    """The record of an output, if one stands beside it and lists that output."""
    if str(output) == "-" or not Path(output).is_file() or not (path := record_path(output)).is_file():
        return None
    record = read_record(path)
    names = {Path(str(entry.get("path", ""))).name for entry in record["outputs"] if isinstance(entry, dict)}
    return record if Path(output).name in names else None
