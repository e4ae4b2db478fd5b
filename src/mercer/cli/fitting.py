"""The work of `mercer fit`: read, choose, fit, write. What is kept when it is stopped is whole."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from mercer.cli.data import as_choice, match, read, read_second, refuse_metric, source_name
from mercer.cli.errors import INPUT, STOPPED, Failure, unsuitable
from mercer.cli.messages import Voice, print_json
from mercer.cli.methods import METHODS, choose_method
from mercer.cli.outputs import (
    STDOUT,
    Writing,
    refuse_bad_outputs,
    refuse_other_than_page,
    refuse_unwritable_table,
)
from mercer.cli.parameters import HIDDEN
from mercer.cli.record import FORMAT, VERSION, command_line, digest_of, facts_of, plain, record_path, versions
from mercer.cli.request import Request
from mercer.models.model_file import save_model
from mercer.tables.table import Table, write_table

FEWEST_SCORED = 4  # rows; `mercer.quality.report` refuses fewer
_FROM_OPTIONS = {"random_state": "seed", "n_jobs": "jobs"}


@dataclass(frozen=True)
class Fit:
    """A fitted method on a table.

    coordinates : (n, k); with a second table those of both, side by side
    names : (k,)
    """

    method: str
    why: str
    estimator: Any
    table: Table
    second: Table | None
    coordinates: np.ndarray
    names: list[str]
    seconds: float
    stopped: bool = False

    @property
    def title(self) -> str:
        return METHODS[self.method].title


def run(request: Request, voice: Voice, *, as_json: bool = False, dry: bool = False) -> int:
    """Do what is asked; the exit status."""
    started = time.perf_counter()
    files = dict(request.files)
    named = [path for path in files.values() if path != STDOUT]
    refuse_bad_outputs(named, request.inputs)
    record_at = record_path(named[0]) if named else None
    refuse_bad_outputs([*files.values(), *([str(record_at)] if record_at else [])], request.inputs)
    refuse_unwritable_table(files.get("coordinates", STDOUT))
    refuse_other_than_page(request.report)
    refuse_parameters(request)
    table, second = read_tables(request, voice)
    refuse_no_rows(table)
    refuse_unwritable_table(files.get("coordinates", STDOUT), carried(table, request.choice))
    method, why = choose(request, table)
    seconds = {"read": time.perf_counter() - started}
    if dry:
        from mercer.cli.plan import tell_plan

        tell_plan(request, method, why, table, second, [*named, *([str(record_at)] if record_at else [])], as_json)
        return 0
    fit = fit_table(method, why, table, second, request.parameters, voice, seed=request.seed, jobs=request.jobs)
    seconds["fit"] = fit.seconds
    record = record_of(request, fit, seconds)
    if request.report is not None:
        record |= scores_of(fit, request.seed, voice)
    write(request, fit, record, record_at, voice, seconds)
    tell(fit, request, voice, files, record_at)
    if as_json:
        print_json(record)
    return STOPPED if record["stopped"] else 0


# --- reading -------------------------------------------------------------------------------------------------


def read_tables(request: Request, voice: Voice) -> tuple[Table, Table | None]:
    choice = as_choice(request.choice)
    table = read(request.table, choice, voice)
    _compare_digest(request, "table", table, voice)
    if request.second is None:
        return table, None
    second = read_second(request.second, choice, voice)
    _compare_digest(request, "second", second, voice)
    return match(table, second, (request.table, request.second), voice)


def _compare_digest(request: Request, name: str, table: Table, voice: Voice) -> None:
    expected = request.expected.get(name)
    if expected is None or expected == table.digest:
        return
    message = f"{getattr(request, name)} is not the data of the recorded run: its sha256 has changed"
    if request.strict:
        raise Failure(message, INPUT)
    voice.warn(message)


def refuse_parameters(request: Request) -> None:
    """Failure for parameters that the estimator would refuse, before a large table is read."""
    if request.method == "auto":
        return
    estimator = build(request.method, request.parameters, seed=request.seed, jobs=request.jobs)
    estimator._validate_params()
    refuse_metric(getattr(estimator, "metric", None))


def refuse_no_rows(table: Table) -> None:
    if table.X.shape[0] < 2:
        raise unsuitable("the table has a single row; at least 2 are needed")


def choose(request: Request, table: Table) -> tuple[str, str]:
    """The method and why."""
    if request.method != "auto":
        return request.method, "asked for"
    return choose_method(table.X.shape[0], second=request.second is not None)


# --- fitting -------------------------------------------------------------------------------------------------


def build(
    method: str, given: dict[str, Any], *, seed: int, jobs: int | None, shape: tuple[int, int] | None = None
) -> Any:
    """The estimator, with the command's defaults and what was given. PCA of one column has one component."""
    kind = METHODS[method].load()
    known = kind._get_param_names()
    settings = dict(METHODS[method].defaults)
    if method == "pca" and shape is not None:
        settings["n_components"] = min(settings["n_components"], *shape)
    settings |= {name: value for name, value in given.items() if name in known and name not in HIDDEN}
    settings |= {name: {"seed": seed, "jobs": jobs}[option] for name, option in _FROM_OPTIONS.items() if name in known}
    return kind(**settings)


def fit_table(
    method: str,
    why: str,
    table: Table,
    second: Table | None,
    given: dict[str, Any],
    voice: Voice,
    *,
    seed: int = 0,
    jobs: int | None = None,
) -> Fit:
    """Fit a method to a table, showing how it goes."""
    estimator = build(method, given, seed=seed, jobs=jobs, shape=table.X.shape)
    started = time.perf_counter()
    title = f"{METHODS[method].title} of {table.X.shape[0]:,} rows"
    steps = estimator.max_iter if method in ("sne", "tsne") else None
    with voice.working(title, steps) as update:
        if steps:
            estimator.callbacks = lambda done, divergence, _: update(done, f"KL {divergence:.3f}")
        coordinates = _coordinates(method, estimator, table, second)
        if steps:
            estimator.callbacks = None
    names = coordinate_names(method, coordinates.shape[1])
    stopped = getattr(getattr(estimator, "report_", None), "ended", "") == "interrupted"
    seconds = time.perf_counter() - started
    return Fit(method, why, estimator, table, second, coordinates, names, seconds, stopped)


def _coordinates(method: str, estimator: Any, table: Table, second: Table | None) -> np.ndarray:
    if method == "kcca":
        assert second is not None
        estimator.fit(table.X, second.X)
        return np.hstack([estimator.x_scores_, estimator.y_scores_])
    if method == "kda":
        return estimator.fit(table.X, as_classes(table.labels)).transform(table.X)
    return np.asarray(estimator.fit_transform(table.X))


def as_classes(labels: Any) -> np.ndarray:
    """Labels as classes: whole numbers stay numbers, all else is text; refused where there are fractions or gaps."""
    labels = np.asarray(labels)
    if labels.dtype.kind == "f" and not np.array_equal(labels, np.floor(labels)):
        raise unsuitable("the label has fractions or misses values: kda needs classes")
    if labels.dtype.kind in "iubf":
        return labels.astype(np.int64)
    if any(label is None for label in labels.tolist()):
        raise unsuitable("the label misses values: kda needs a class for every row")
    return labels.astype(str)


def coordinate_names(method: str, count: int) -> list[str]:
    """kpca1, kpca2 …; with two tables kcca_x1 …, kcca_y1 ….

    >>> coordinate_names("tsne", 2), coordinate_names("kcca", 2)
    (['tsne1', 'tsne2'], ['kcca_x1', 'kcca_y1'])
    """
    if method == "kcca":
        return [f"kcca_{view}{i}" for view in "xy" for i in range(1, count // 2 + 1)]
    return [f"{method}{i}" for i in range(1, count + 1)]


# --- writing -------------------------------------------------------------------------------------------------


def columns_of(
    table: Table, names: list[str], coordinates: np.ndarray, choice: dict[str, Any]
) -> dict[str, np.ndarray]:
    """The columns of a file of coordinates: id, label, coordinates."""
    columns = carried(table, choice)
    for name, values in zip(names, coordinates.T, strict=True):
        columns[name if name not in columns else f"{name}_"] = np.ascontiguousarray(values)
    return columns


def carried(table: Table, choice: dict[str, Any]) -> dict[str, np.ndarray]:
    """The columns of ids and labels, as far as there are any."""
    found = zip(carried_names(table, choice), (table.ids, table.labels), strict=True)
    return {name: values for name, values in found if name is not None and values is not None}


def carried_names(table: Table, choice: dict[str, Any]) -> tuple[str | None, str | None]:
    """The names of the columns of ids and labels, where there are such columns."""
    id_ = choice.get("id") or table.preparation.id or "id"
    label = choice.get("label") or table.preparation.label or "label"
    return (None if table.ids is None else id_), (None if table.labels is None else label)


def record_of(request: Request, fit: Fit, seconds: dict[str, float]) -> dict[str, Any]:
    """The record, but for what is known after writing."""
    from mercer.backends.cpu import workers

    parameters = {
        name: plain(value) for name, value in fit.estimator.get_params(deep=False).items() if name not in HIDDEN
    }
    id_, label = carried_names(fit.table, request.choice)
    return {
        "format": FORMAT,
        "version": VERSION,
        "verb": "fit",
        "command": command_line(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "method": fit.method,
        "why": fit.why,
        "estimator": f"mercer.{METHODS[fit.method].estimator}",
        "parameters": parameters,
        "seed": request.seed,
        "jobs": request.jobs,
        "threads": workers(request.jobs),
        "input": _input(request.table, fit.table),
        "second": _input(request.second, fit.second) if fit.second is not None else None,
        "choice": plain(request.choice),
        "id": id_,
        "label": label,
        "coordinates": fit.names,
        "fit": facts_of(fit.estimator),
        "stopped": fit.stopped,
        "seconds": seconds,
        "versions": versions(),
        "outputs": [],
    }


def _input(path: str | None, table: Table) -> dict[str, Any]:
    return {"path": path, "sha256": table.digest, "rows": table.X.shape[0], "columns": table.X.shape[1]}


def notes_of(request: Request, fit: Fit) -> dict[str, Any]:
    """What a model file keeps beside the model: how rows are prepared, and what they were called."""
    notes = {
        "method": fit.method,
        "choice": plain(request.choice),
        "preparation": fit.table.preparation.to_dict(),
        "coordinates": fit.names,
        "input": _input(request.table, fit.table),
    }
    if fit.second is not None:
        notes["second"] = fit.second.preparation.to_dict()
    return notes


def scores_of(fit: Fit, seed: int, voice: Voice) -> dict[str, Any]:
    """What the record says of the map's quality. Ctrl-C leaves it out: the map took longer, and is kept."""
    from mercer.cli.pages import quality_of

    if fit.table.X.shape[0] < FEWEST_SCORED:
        voice.say(f"mercer: note: a map of fewer than {FEWEST_SCORED} rows has no scores")
        return {}
    try:
        with voice.working("looking at neighbours"):
            return {"quality": quality_of(fit.table, fit.coordinates, seed=seed)}
    except KeyboardInterrupt:
        voice.warn("stopped while the map was scored: the page has no scores")
        return {"stopped": True}


def write(
    request: Request, fit: Fit, record: dict[str, Any], record_at: Path | None, voice: Voice, seconds: dict[str, float]
) -> None:
    """All files or none; coordinates for stdout come last, when nothing else can fail."""
    started = time.perf_counter()
    columns = columns_of(fit.table, fit.names, fit.coordinates, request.choice)
    with Writing() as files, voice.working("writing"):
        parts = {}
        if request.output not in (None, STDOUT):
            parts["coordinates"] = files.add(request.output, lambda path: write_table(path, columns))
        if request.save is not None:
            parts["model"] = files.add(
                request.save, lambda path: save_model(fit.estimator, path, notes_of(request, fit))
            )
        if request.report is not None:
            from mercer.cli.pages import page_of_fit

            parts["page"] = files.add(request.report, page_of_fit(fit, request, record))
        seconds["write"] = time.perf_counter() - started
        record["outputs"] = [
            {"what": what, "path": request.files[what], "sha256": digest_of(part)} for what, part in parts.items()
        ]
        if record_at is not None:
            text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
            files.add(record_at, lambda path: path.write_text(text, encoding="utf-8"))
    if request.output == STDOUT:
        write_table(STDOUT, columns)


def tell(fit: Fit, request: Request, voice: Voice, files: dict[str, str], record_at: Path | None) -> None:
    """What was done, in a few lines on stderr."""
    n, d = fit.table.X.shape
    voice.field("table", f"{source_name(request.table)}: {n:,} rows, {d:,} columns")
    voice.field("method", f"{fit.title}: {fit.why}")
    for name, value in summary(fit):
        voice.field(name, value)
    voice.field("time", f"{fit.seconds:.2g} s")
    for what, path in files.items():
        if path != STDOUT:
            voice.field(what, path)
    if record_at is not None:
        voice.field("record", str(record_at))


def summary(fit: Fit) -> list[tuple[str, str]]:
    """What the fit found, as far as the method can say it."""
    from mercer.cli.summary import lines_of

    return lines_of(fit.method, fit.estimator)
