"""run.json: all there is to know about a run, and to do it again."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict, is_dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from typing import Any

from mercer.cli.errors import unsuitable
from mercer.cli.methods import METHODS

FORMAT, VERSION = "mercer run", 1
PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "numba", "pyarrow")
# What an estimator may know of its fit, without asking it to compute anything.
FACTS = (
    *("eigenvalues_", "residuals_", "eigenvalue_error_", "explained_variance_ratio_", "total_variance_"),
    *("residual_variance_", "correlations_", "training_correlations_", "kl_divergence_", "n_iter_", "recall_"),
    *("gamma_", "gamma_y_", "reg_", "penalty_", "loo_error_", "rank_", "factor_error_", "learning_rate_"),
    *("n_connected_components_", "solver_", "report_"),
)
MOST = 1000  # numbers of a fact that are kept


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, numbers that are none as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [plain(part) for part in value[:MOST]]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def facts_of(estimator: Any) -> dict[str, Any]:
    """What is known of a fit: solver, eigenvalues with their residuals, divergence, recall, as far as there are any."""
    own = {name.rstrip("_"): plain(vars(estimator)[name]) for name in FACTS if name in vars(estimator)}
    affinities = getattr(estimator, "affinities_", None)
    if affinities is not None and "recall" not in own:
        own["recall"] = plain(affinities.recall)
    return own


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"platform": platform.platform(), "machine": platform.machine()}


def digest_of(path: str | Path) -> str:
    """sha256 of a file."""
    found = sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


def command_line() -> list[str]:
    """The words as they were typed."""
    return ["mercer", *sys.argv[1:]]


def record_path(output: str | Path) -> Path:
    """Where the record of an output stands: coords.csv.gz -> coords.run.json.

    >>> record_path("a/coords.csv.gz").name, record_path("model.v2.mercer").name
    ('coords.run.json', 'model.v2.run.json')
    """
    path = Path(output)
    name = path.name.removesuffix(".gz")
    return path.with_name(f"{name.rpartition('.')[0] or name}.run.json")


def read_record(path: str | Path) -> dict[str, Any]:
    """A run.json, checked; its faults are faults of the input."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise unsuitable(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise unsuitable(f"{path} is no run.json: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise unsuitable(f'{path} is no run.json of mercer: "format" is not "{FORMAT}"')
    if not isinstance(found.get("version"), int) or found["version"] > VERSION:
        raise unsuitable(f"{path} has version {found.get('version')}; this mercer reads up to {VERSION}: update it")
    if not _whole(found):
        raise unsuitable(f"{path} is broken: something that every run.json has is missing, or is of the wrong type")
    return found


def _whole(record: dict[str, Any]) -> bool:
    """Whether what the verbs read is there, as what it should be."""
    shapes = {"method": str, "parameters": dict, "choice": dict, "input": dict, "outputs": list, "coordinates": list}
    if not all(isinstance(record.get(name), kind) for name, kind in shapes.items()) or record["method"] not in METHODS:
        return False
    sources = [record["input"], *([record["second"]] if record.get("second") else [])]
    texts = [
        source.get(name) if isinstance(source, dict) else None for source in sources for name in ("path", "sha256")
    ]
    texts += [
        out.get(name) if isinstance(out, dict) else None for out in record["outputs"] for name in ("what", "path")
    ]
    texts += [record.get("verb", "fit"), *record["coordinates"]]
    numbers = [record.get("seed", 0), record.get("jobs") or 1]
    named = all(isinstance(record.get(name, {}), dict) for name in ("versions", "seconds", "fit"))
    return named and all(isinstance(t, str) for t in texts) and all(type(k) is int and k >= 0 for k in numbers)


def record_beside(output: str | Path) -> dict[str, Any] | None:
    """The record of an output, if one stands beside it and knows it."""
    path = record_path(output)
    if str(output) == "-" or not path.is_file():
        return None
    record = read_record(path)
    names = {Path(str(entry.get("path", ""))).name for entry in record["outputs"] if isinstance(entry, dict)}
    return record if Path(output).name in names else None
