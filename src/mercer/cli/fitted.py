"""A method fitted to a table: its coordinates, and the files that are made of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.cli.console import Console
from mercer.cli.devices import CPU, fitting_device, on_host, placed
from mercer.cli.errors import unsuitable
from mercer.cli.methods import HIDDEN, FitMethod, NeighborMap
from mercer.cli.outputs import STDOUT, OutputFiles
from mercer.cli.pages import contents, page_of, run_shown, title_of
from mercer.cli.record import fit_facts, input_entry, json_value, new_record, write_record
from mercer.cli.request import PAGE_OPTIONS, FitRequest
from mercer.cli.transform import open_model
from mercer.models.model_file import save_model
from mercer.tables.source import digest_of
from mercer.tables.table import Preparation, Table, write_table
from mercer.web.page import Map, Page, write_page


@dataclass(frozen=True)
class FittedTable:
    """A fitted method.

    why : why this method was chosen
    coordinates : (n, k); with a second table those of both, side by side
    names : (k,)
    seconds : how long the fit took
    stopped : whether Ctrl-C ended it early
    device : where it was computed
    """

    method: FitMethod
    why: str
    estimator: Any
    table: Table
    second: Table | None
    coordinates: np.ndarray
    names: list[str]
    seconds: float
    stopped: bool
    device: str = CPU

    @property
    def components(self) -> int:
        """How many coordinates the table's own map has."""
        return len(self.names[self.method.views(len(self.names))[0][1]])

    def record(self, request: FitRequest, seconds: dict[str, float]) -> dict[str, Any]:
        """The run.json of the fit, without the outputs."""
        id_, label = carried_names(self.table, request.choice)
        return fit_record(
            request,
            self.method,
            self.estimator,
            seconds,
            why=self.why,
            input=input_entry(request.table, self.table),
            second=None if self.second is None else input_entry(str(request.second), self.second),
            id=id_,
            label=label,
            coordinates=self.names,
            stopped=self.stopped,
            device=self.device,
        )

    def notes(self, request: FitRequest) -> dict[str, Any]:
        """What a model file keeps beside the model: how rows are prepared, and what coordinates are called."""
        entry = input_entry(request.table, self.table)
        notes = fit_notes(request, self.method, self.table.preparation, self.names, entry)
        if self.second is not None:
            notes["second"] = self.second.preparation.to_dict()
        return notes

    def page(self, request: FitRequest, record: dict[str, Any]) -> Page:
        """The page of the fit. The scores are those of its first map."""
        run = run_shown(record, request.page_record)
        maps = [
            Map(title, self.coordinates[:, part], self.names[part], record.get("quality") if i == 0 else None, run)
            for i, (title, part) in enumerate(self.method.views(len(self.names)))
        ]
        taken = getattr(self.estimator, "snapshots_", [])
        if taken and taken[0][1].shape[1] > 1:  # a slider moves points of the plane
            maps[0] = replace(maps[0], snapshots=taken)
        title = f"{title_of(request.table)}: {self.method.title}"
        return page_of(title, maps, self.table, request.choice.get("label"), request.page_columns)

    def write(
        self,
        request: FitRequest,
        record: dict[str, Any],
        record_at: Path | None,
        console: Console,
        seconds: dict[str, float],
        group: OutputFiles | None = None,
    ) -> dict[str, str]:
        """Write all files or none. Coordinates for stdout come last, when nothing else can fail.

        group : outputs of other fits, with which these are to appear; without, they appear now
        Returns what was written, each with its path, and for a page what it holds.
        """
        started = time.perf_counter()
        columns = map_columns(self.table, self.names, self.coordinates, request.choice)
        written = {what: path for what, path in request.files.items() if path != STDOUT}
        with OutputFiles() as files, console.working("writing"):
            parts = {}
            if request.output not in (None, STDOUT):
                parts["coordinates"] = files.add(
                    request.output, lambda path: write_table(path, columns, inert=request.inert)
                )
            if request.save is not None:
                notes = self.notes(request)
                parts["model"] = files.add(request.save, lambda path: save_model(self.estimator, path, notes))
            if request.report is not None:
                page = self.page(request, record)
                parts["page"] = files.add(request.report, lambda path: write_page(page, path))
                written["page"] += f" ({contents(page, parts['page'].stat().st_size)})"
            seconds["write"] = time.perf_counter() - started
            record["outputs"] = [
                {"what": what, "path": request.files[what], "sha256": digest_of(part)} for what, part in parts.items()
            ]
            if record_at is not None:
                files.add(record_at, lambda path: write_record(record, path))
            if group is not None:
                group.push(files.pop_all())
        if request.output == STDOUT:
            write_table(STDOUT, columns)
        return written


def fit_record(
    request: FitRequest,
    method: FitMethod,
    estimator: Any,
    seconds: dict[str, float],
    device: str = CPU,
    **facts: Any,
) -> dict[str, Any]:
    """The run.json of a fit, without the outputs. `facts` are those of the table and its coordinates."""
    from mercer.backends.cpu import workers

    return new_record(
        "fit",
        method=method.name,
        estimator=f"mercer.{method.estimator}",
        parameters=shown_parameters(estimator),
        seed=request.seed,
        jobs=request.jobs,
        threads=workers(request.jobs),
        device=device,
        choice=json_value(request.choice),
        page=json_value({name: getattr(request, name) for name in PAGE_OPTIONS}),
        fit=fit_facts(estimator),
        seconds=seconds,
        **facts,
    )


def fit_notes(
    request: FitRequest, method: FitMethod, preparation: Preparation, names: list[str], entry: dict[str, Any]
) -> dict[str, Any]:
    """What a model file keeps beside the model of one table. `entry`: the table as a record names it."""
    return {
        "method": method.name,
        "choice": json_value(request.choice),
        "preparation": preparation.to_dict(),
        "coordinates": names,
        "input": entry,
    }


def fit_table(
    method: FitMethod,
    why: str,
    table: Table,
    second: Table | None,
    given: dict[str, Any],
    console: Console,
    *,
    seed: int = 0,
    jobs: int | None = None,
    device: str = "cpu",
) -> FittedTable:
    """Fit a method to a table, with progress on a terminal. What comes back is on the host, also from a card."""
    arguments = method.arguments(table, second)
    device, said = fitting_device(device, method, arguments)
    if said:
        console.note(said)
    with console.working(f"loading {method.title}"):
        estimator = method.build(given, seed=seed, jobs=jobs, shape=table.X.shape)
    started = time.perf_counter()
    with console.working(f"{method.title} of {table.X.shape[0]:,} rows", method.steps(estimator)) as update:
        coordinates = method.fit(estimator, placed(arguments, device), update)
        estimator = estimator if device == CPU else on_host(estimator)
    names = method.column_names(coordinates.shape[1])
    stopped = getattr(getattr(estimator, "report_", None), "ended", "") == "interrupted"
    seconds = time.perf_counter() - started
    return FittedTable(method, why, estimator, table, second, coordinates, names, seconds, stopped, device)


def resume_fit(method: FitMethod, table: Table, model: str, most: int | None, console: Console) -> FittedTable:
    """Go on with a saved map, up to `most` steps in all: the same bits as a fit of that many steps.

    most : by default the number of steps that the fit was asked for, before Ctrl-C ended it
    """
    estimator, _ = open_model(model)
    done = int(estimator.report_.steps)
    total = int(estimator.max_iter) if most is None else int(most)
    if total <= done:
        hint = f"Give --max-iter {done + 500} for 500 more."
        raise unsuitable(f"{model} has taken {amount(done, 'step')}, and {total:,} are asked for in all. {hint}")
    if len(estimator.embedding_) != table.X.shape[0]:
        raise unsuitable(
            f"{model} is a map of {amount(len(estimator.embedding_), 'row')}, not of {table.X.shape[0]:,}."
        )
    estimator.max_iter = total
    started = time.perf_counter()
    with console.working(f"{method.title} of {table.X.shape[0]:,} rows", total) as update:
        assert isinstance(method, NeighborMap)  # `resumed_method` has refused others
        coordinates = method.resume(estimator, total - done, update)
    stopped = estimator.report_.ended == "interrupted"
    why = f"resumed after {amount(done, 'step')} of {model}"
    names = method.column_names(coordinates.shape[1])
    seconds = time.perf_counter() - started
    return FittedTable(method, why, estimator, table, None, coordinates, names, seconds, stopped)


def shown_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator that are options of the command."""
    return {name: json_value(value) for name, value in estimator.get_params(deep=False).items() if name not in HIDDEN}


def map_columns(
    table: Table, names: list[str], coordinates: np.ndarray, choice: dict[str, Any]
) -> dict[str, np.ndarray]:
    """The columns of a file of coordinates: id, label, coordinates."""
    columns = carried_columns(table, choice)
    for name, values in zip(names, coordinates.T, strict=True):
        columns[name if name not in columns else f"{name}_"] = np.ascontiguousarray(values)
    return columns


def carried_columns(table: Table, choice: dict[str, Any]) -> dict[str, np.ndarray]:
    """The columns of ids and labels, if there are any."""
    found = zip(carried_names(table, choice), (table.ids, table.labels), strict=True)
    return {name: values for name, values in found if name is not None and values is not None}


def carried_names(table: Table, choice: dict[str, Any]) -> tuple[str | None, str | None]:
    """The names of the columns of ids and labels, or None for a column that the table does not have."""
    id_ = choice.get("id") or table.preparation.id or "id"
    label = choice.get("label") or table.preparation.label or "label"
    return (None if table.ids is None else id_), (None if table.labels is None else label)
