"""A method fitted to a table: what its run.json and its model file say, and the files that are made of it.

The rows were read as a whole (`FittedTable`) or part by part (`FittedParts`). All that follows a fit is the same.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.cli.console import Console, spoken
from mercer.cli.coordinates import Columns, carried_columns, carried_names, write_coordinates
from mercer.cli.devices import CPU, fitting_device, on_host, placed
from mercer.cli.errors import unsuitable
from mercer.cli.methods import HIDDEN, FitMethod, NeighborMap
from mercer.cli.outputs import STDOUT, OutputFiles
from mercer.cli.pages import contents, page_of, run_shown, title_of
from mercer.cli.record import fit_facts, input_entry, json_value, new_record
from mercer.cli.request import PAGE_OPTIONS, FitRequest
from mercer.cli.summary import doubt
from mercer.cli.table_input import source_name
from mercer.cli.transform import open_model
from mercer.models.model_file import save_model
from mercer.progress import counted
from mercer.streams.local_driver import chunks
from mercer.streams.mapped_rows import MappedRows
from mercer.streams.table_rows import TableRows
from mercer.tables.table import Preparation, Table
from mercer.web.page import Map, Page, write_page


@dataclass(frozen=True)
class Fitted(ABC):
    """A fitted method (abstract).

    why : why this method was chosen
    names : (k,), of the coordinates
    seconds : how long the fit took
    stopped : whether Ctrl-C ended it early
    device : where it was computed
    """

    request: FitRequest
    method: FitMethod
    why: str
    estimator: Any
    names: list[str]
    seconds: float
    stopped: bool
    device: str

    @property
    def components(self) -> int:
        """How many coordinates the table's own map has."""
        return len(self.names[self.method.views(len(self.names))[0][1]])

    @property
    @abstractmethod
    def entry(self) -> dict[str, Any]:
        """The table as a record names it."""

    @property
    @abstractmethod
    def preparation(self) -> Preparation:
        """How its rows became numbers."""

    @property
    @abstractmethod
    def carried(self) -> tuple[str | None, str | None]:
        """The names of the columns of ids and labels."""

    @abstractmethod
    def parts(self) -> Iterable[tuple[Columns, np.ndarray]]:
        """What stands beside the rows, and their coordinates, as `write_coordinates` takes them."""

    def facts(self) -> dict[str, Any]:
        """What the record tells besides."""
        return {}

    def notes(self) -> dict[str, Any]:
        """What a model file keeps beside the model: how rows are prepared, and what coordinates are called."""
        return {
            "method": self.method.name,
            "choice": json_value(self.request.choice),
            "preparation": self.preparation.to_dict(),
            "coordinates": self.names,
            "input": self.entry,
        }

    def record(self, seconds: dict[str, float]) -> dict[str, Any]:
        """The run.json of the fit, without the outputs."""
        from mercer.backends.cpu import workers

        id_, label = self.carried
        return new_record(
            "fit",
            method=self.method.name,
            estimator=f"mercer.{self.method.estimator}",
            parameters=shown_parameters(self.estimator),
            seed=self.request.seed,
            jobs=self.request.jobs,
            threads=workers(self.request.jobs),
            device=self.device,
            choice=json_value(self.request.choice),
            page=json_value({name: getattr(self.request, name) for name in PAGE_OPTIONS}),
            fit=fit_facts(self.estimator),
            seconds=seconds,
            why=self.why,
            input=self.entry,
            id=id_,
            label=label,
            coordinates=self.names,
            stopped=self.stopped,
            **({"second": None} | self.facts()),
        )

    def write(
        self,
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
        started, request = time.perf_counter(), self.request
        written = {what: path for what, path in request.files.items() if path != STDOUT}
        with OutputFiles() as files, console.working("writing"):
            made = {}
            if request.output not in (None, STDOUT):
                made["coordinates"] = files.add(request.output, self.write_coordinates)
            if request.save is not None:
                made["model"] = files.add(request.save, lambda path: save_model(self.estimator, path, self.notes()))
            if request.report is not None:
                assert isinstance(self, FittedTable)  # a page holds all rows: `how_to_stream` has refused others
                page = self.page(record)
                made["page"] = files.add(request.report, lambda path: write_page(page, path))
                written["page"] += f" ({contents(page, made['page'].stat().st_size)})"
            seconds["write"] = time.perf_counter() - started
            files.add_record(record_at, record, {what: (request.files[what], part) for what, part in made.items()})
            if group is not None:
                group.push(files.pop_all())
        if request.output == STDOUT:
            self.write_coordinates(STDOUT)
        return written

    def write_coordinates(self, path: str | Path) -> None:
        write_coordinates(path, self.parts(), lambda _: self.names, inert=self.request.inert)

    def summarize(self, files: dict[str, str], console: Console) -> None:
        """Tell what was done, in a few lines."""
        size = f"{amount(self.entry['rows'], 'row')}, {amount(self.entry['columns'], 'column')}"
        read = f", in {amount(self.facts()['parts'], 'part')}" if "parts" in self.facts() else ""
        console.field("table", f"{source_name(self.request.table)}: {size}{read}")
        console.field("method", f"{self.method.title}: {self.why}")
        for name, value in self.method.summarize(self.estimator):
            console.field(name, value)
        console.field("time", spoken(self.seconds))
        if (warning := doubt(self.estimator)) is not None:
            console.warn(warning)
        for what, path in files.items():
            console.field(what, path)


@dataclass(frozen=True)
class FittedTable(Fitted):
    """A fit of a table that was read as a whole (final).

    coordinates : (n, k); with a second table those of both, side by side
    """

    table: Table
    second: Table | None
    coordinates: np.ndarray

    @property
    def entry(self) -> dict[str, Any]:
        return input_entry(self.request.table, self.table)

    @property
    def preparation(self) -> Preparation:
        return self.table.preparation

    @property
    def carried(self) -> tuple[str | None, str | None]:
        return carried_names(self.table, self.request.choice)

    def parts(self) -> Iterable[tuple[Columns, np.ndarray]]:
        return [(carried_columns(self.table, self.request.choice), self.coordinates)]

    def facts(self) -> dict[str, Any]:
        return {} if self.second is None else {"second": input_entry(str(self.request.second), self.second)}

    def notes(self) -> dict[str, Any]:
        second = {} if self.second is None else {"second": self.second.preparation.to_dict()}
        return super().notes() | second

    def page(self, record: dict[str, Any]) -> Page:
        """The page of the fit. The scores are those of its first map."""
        run = run_shown(record, self.request.page_record)
        maps = [
            Map(title, self.coordinates[:, part], self.names[part], record.get("quality") if i == 0 else None, run)
            for i, (title, part) in enumerate(self.method.views(len(self.names)))
        ]
        taken = getattr(self.estimator, "snapshots_", [])
        if taken and taken[0][1].shape[1] > 1:  # a slider moves points of the plane
            maps[0] = replace(maps[0], snapshots=taken)
        title = f"{title_of(self.request.table)}: {self.method.title}"
        return page_of(title, maps, self.table, self.request.choice.get("label"), self.request.page_columns)


@dataclass(frozen=True)
class FittedParts(Fitted):
    """A fit of a table that was read part by part (final). Its coordinates are computed as they are written.

    placed : the coordinates of the rows, as a source
    """

    table: TableRows
    placed: MappedRows

    @property
    def entry(self) -> dict[str, Any]:
        return self.table.entry()

    @property
    def preparation(self) -> Preparation:
        return self.table.preparation

    @property
    def carried(self) -> tuple[str | None, str | None]:
        return self.table.id, self.table.label

    def parts(self) -> Iterable[tuple[Columns, np.ndarray]]:
        values = counted("rows written", chunks(self.placed), len(self.placed.lengths))
        return ((self.table.beside(i), np.asarray(part)) for i, part in enumerate(values))

    def facts(self) -> dict[str, Any]:
        return {"stream": True, "parts": len(self.table.lengths)}


def fit_table(
    request: FitRequest, method: FitMethod, why: str, table: Table, second: Table | None, console: Console
) -> FittedTable:
    """Fit a method to a table, with progress on a terminal. What comes back is on the host, also from a card."""
    arguments = method.arguments(table, second)
    device, said = fitting_device(request.device, method, arguments)
    if said:
        console.note(said)
    with console.working(f"loading {method.title}"):
        estimator = method.build(request.parameters, seed=request.seed, jobs=request.jobs, shape=table.X.shape)
    started = time.perf_counter()
    with console.working(f"{method.title} of {table.X.shape[0]:,} rows", method.steps(estimator)) as update:
        coordinates = method.fit(estimator, placed(arguments, device), update)
        estimator = estimator if device == CPU else on_host(estimator)
    names = method.column_names(coordinates.shape[1])
    stopped = getattr(getattr(estimator, "report_", None), "ended", "") == "interrupted"
    seconds = time.perf_counter() - started
    return FittedTable(request, method, why, estimator, names, seconds, stopped, device, table, second, coordinates)


def resume_fit(request: FitRequest, method: FitMethod, table: Table, console: Console) -> FittedTable:
    """Go on with a saved map, up to `max_iter` steps in all: the same bits as a fit of that many steps.

    By default that is the number of steps that the fit was asked for, before Ctrl-C ended it.
    """
    model, most = str(request.resume), request.parameters.get("max_iter")
    if request.device == "cuda":
        raise unsuitable("--resume continues on the processor: leave out --device cuda.")
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
    return FittedTable(request, method, why, estimator, names, seconds, stopped, CPU, table, None, coordinates)


def shown_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator that are options of the command."""
    return {name: json_value(value) for name, value in estimator.get_params(deep=False).items() if name not in HIDDEN}
