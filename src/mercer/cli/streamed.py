"""Tables that are read part by part: fits of tables that do not fit in memory, and new rows placed by a model.

A fit streams if the table and what the method needs beside it exceed the memory that is allowed, or if the user asks
for it. The output has the ids and labels that it would have otherwise, and is written as the rows come.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.cli.console import Console
from mercer.cli.devices import CPU, CUDA, STREAMED_ON_DEVICE, card_holds, chosen_device
from mercer.cli.errors import USAGE, Failure, unsuitable
from mercer.cli.fitted import FittedParts
from mercer.cli.methods import AUTO, METHODS, FitMethod, LabelledTable, as_classes, choose_method
from mercer.cli.outputs import STDOUT, refuse_unwritable_table
from mercer.cli.request import CHECKPOINT, FitRequest
from mercer.cli.table_input import as_choice
from mercer.cli.wording import in_options
from mercer.memory import available_bytes, format_bytes
from mercer.planning import Plan, limit_of
from mercer.streams.checkpoint_file import checkpoints
from mercer.streams.cluster_driver import cluster
from mercer.streams.device_rows import DeviceRows
from mercer.streams.row_source import bounded_rows, even_cuts
from mercer.streams.table_rows import STREAMED, TableRows, can_stream, open_table_rows, table_shape

# A table is cut into at least _PARTS parts, unless they would have fewer than _LEAST_PART rows. Workers share them,
# progress counts them, and a checkpoint follows every few. Computing the features of that many rows takes much longer
# than adding the sums of a part.
_PARTS, _LEAST_PART = 64, 2**14
CHECKPOINT_SECONDS = 60.0  # between two states in the checkpoint: little is lost, and writing them takes little


@dataclass(frozen=True)
class Streaming:
    """A fit of a table that is read in parts.

    reason : why it is
    rows, columns : of the file
    """

    method: FitMethod
    why: str
    reason: str
    rows: int
    columns: int


@dataclass(frozen=True)
class _Announced:
    """A table of which the plan of a fit needs no more than this."""

    lengths: list[int]
    n_features: int
    dtype: np.dtype
    feature_names: None = None

    def chunk(self, i: int) -> Any:
        raise AssertionError("a plan reads no rows")


def how_to_stream(request: FitRequest) -> Streaming | None:
    """How the table of a request is streamed; None if it is read as a whole. Only metadata are read to decide.

    Failure if the user asks for it, or the table is too large to be read, and it cannot be done.
    """
    wanted = _what_asks(request)
    if request.stream is False and wanted is None:
        return None
    hindrance = _hindrance(request)
    if hindrance is not None:
        if wanted is not None:
            raise unsuitable(f"{wanted} needs a table that is read part by part. {hindrance}")
        return None
    rows, columns = table_shape(request.table)
    choice = as_choice(request.choice)
    beside = {choice.label, choice.id} - {None}
    features = len(choice.columns) if choice.columns else max(1, columns - len(choice.drop) - len(beside))
    method, why = (METHODS[request.method], "as requested") if request.method != AUTO else _auto(rows)
    dtype = np.dtype(choice.dtype)
    mapped = Path(request.table).suffix.lower() == ".npy" and choice.scale is None and dtype == np.float64
    table_bytes = 0 if mapped else rows * features * dtype.itemsize
    allowed = limit_of(request.parameters.get("memory_limit"), available_bytes())
    needed = table_bytes + _needed_beside(request, method, (rows, features), dtype)
    on_card = method.name not in STREAMED_ON_DEVICE or card_holds(request.device, method, table_bytes)
    if wanted is None and needed <= allowed and on_card:
        return None
    try:
        streaming_plan(request, method, (rows, features), dtype)
    except (ValueError, TypeError) as error:
        if isinstance(error, MemoryError):
            raise
        if wanted is None and table_bytes <= allowed:
            return None  # the table can be read: the method itself says what it lacks
        size = f"{rows:,} rows of {amount(features, 'column')} take {format_bytes(table_bytes)}"
        limit = f"{wanted} was given" if wanted else f"{format_bytes(allowed)} are allowed"
        because = f"{size}, and {limit}. {_way_out(request, method, error)}"
        raise unsuitable(f"{request.table} has to be read part by part: {because}") from error
    if wanted:
        reason = f"with {wanted}"
    elif needed <= allowed:
        reason = f"its {format_bytes(table_bytes)} and a fit of them do not fit on the card at once"
    else:
        reason = f"{format_bytes(needed)} in memory, of {format_bytes(allowed)} allowed"
    return Streaming(method, why, reason, rows, features)


def _device(request: FitRequest, method: FitMethod) -> str:
    """Where chunks are computed. A failure if a card is asked for that the fit has no use for."""
    if request.device == CPU or (method.name in STREAMED_ON_DEVICE and request.cluster is None):
        return chosen_device(request.device, method)
    if request.device == CUDA:
        many = ", ".join(STREAMED_ON_DEVICE)
        raise unsuitable(f"--device cuda: tables that are read in parts are computed on a card for {many} alone.")
    return CPU


def _way_out(request: FitRequest, method: FitMethod, error: Exception) -> str:
    """What to do about a method that cannot stream as it was asked for."""
    needed = method.streams_with
    if needed is None:
        others = ", ".join(name for name, other in METHODS.items() if other.streams_with is not None)
        return f"{method.title} needs all rows in memory. Fit some of them with --rows, or take one of {others}."
    missing = [f"--{name} {value}" for name, value in needed.items() if request.parameters.get(name) is None]
    return f"Add {missing[0]}, so that {method.title} can be streamed." if missing else in_options(str(error))


def _what_asks(request: FitRequest) -> str | None:
    """The option that asks for a table in parts, if there is one."""
    if request.cluster is not None:
        return "--cluster"
    if request.resume is not None and request.resume.endswith(CHECKPOINT):
        return "--resume"
    return "--stream" if request.stream else None


def _hindrance(request: FitRequest) -> str | None:
    """Why the table of a request cannot be read in parts, if so."""
    if not can_stream(request.table) or not Path(request.table).is_file():
        return f"{request.table} is not one of {', '.join(STREAMED)}: save it as parquet first."
    if request.second is not None:
        return "The rows of two tables are matched in memory: fit KernelCCA to sources of rows in Python."
    if request.report is not None:
        return "A page holds all rows: leave out --report, or fit some of them with --rows."
    if request.choice.get("rows"):
        return "Leave out --rows."
    if request.choice.get("impute") in ("drop", "median") or request.choice.get("scale") == "robust":
        return "Medians, quartiles and dropped rows need all rows. Take --impute mean or zero, --scale standard."
    if request.resume is not None and not request.resume.endswith(CHECKPOINT):
        return "A saved map goes on with all its rows."
    return None


def _auto(rows: int) -> tuple[FitMethod, str]:
    return choose_method(rows, second=False)


def _needed_beside(request: FitRequest, method: FitMethod, shape: tuple[int, int], dtype: np.dtype) -> int:
    """The bytes that a fit of all rows at once would take; 0 if the plan has to see them."""
    estimator = method.build(request.parameters, seed=request.seed, jobs=request.jobs, shape=shape)
    try:
        return int(estimator.plan(np.broadcast_to(np.zeros((), dtype), shape)).needed_bytes)
    except (ValueError, TypeError, AttributeError, IndexError):
        return 0


def streaming_plan(request: FitRequest, method: FitMethod, shape: tuple[int, int], dtype: np.dtype) -> Plan:
    """The plan of a streamed fit. Raises what the estimator raises if it cannot stream."""
    estimator = method.build(request.parameters, seed=request.seed, jobs=request.jobs, shape=shape)
    cuts = even_cuts(shape[0], _part_rows(*shape))
    source = _Announced(np.diff(cuts).tolist(), shape[1], dtype)
    plan: Plan = estimator.plan(source)
    return plan


def _part_rows(rows: int, columns: int) -> int:
    """The most rows of a part of a table."""
    return min(bounded_rows(8 * columns), max(_LEAST_PART, -(-rows // _PARTS)))


# --- fitting ---------------------------------------------------------------------------------------------------


@contextmanager
def fit_in_parts(
    request: FitRequest, streaming: Streaming, record_at: Path | None, console: Console
) -> Iterator[tuple[FittedParts, dict[str, float]]]:
    """A fit of a table in parts, and the seconds that reading took.

    Its rows are placed as they are written, so workers and checkpoint are kept until the block ends.
    """
    started, method = time.perf_counter(), streaming.method
    checkpoint = _checkpoint_of(request, record_at)
    with console.working(f"reading {request.table}"):
        part = _part_rows(streaming.rows, streaming.columns)
        table = open_table_rows(request.table, as_choice(request.choice), chunk_rows=part)
    for note in table.notes:
        console.note(note)
    refuse_unwritable_table(request.output or STDOUT, table.beside(0))
    device = _device(request, method)
    rows = table if device == CPU else DeviceRows(table, device)
    parts = amount(len(table.lengths), "part")
    console.note(f"{request.table} is streamed in {parts}: {streaming.reason}.")
    read = time.perf_counter() - started
    with _kept_checkpoint(checkpoint, console), _workers(request):
        begun = time.perf_counter()
        shape = table.rows, table.n_features
        estimator = method.build(request.parameters, seed=request.seed, jobs=request.jobs, shape=shape)
        with console.working(f"{method.title} of {table.rows:,} rows"):
            estimator.fit(rows, *_targets(method, table))
        took = time.perf_counter() - begun
        placed = estimator.transform(rows)
        names = method.column_names(placed.n_features)
        fit = FittedParts(request, method, streaming.why, estimator, names, took, False, device, table, placed)
        yield fit, {"read": read}


def _targets(method: FitMethod, table: TableRows) -> tuple[Any, ...]:
    return (as_classes(table.all_labels()),) if isinstance(method, LabelledTable) else ()


def _checkpoint_of(request: FitRequest, record_at: Path | None) -> Path | None:
    """The file that holds the state of the fit: the one to continue from, or one beside the first output."""
    if request.resume is not None:
        return Path(request.resume)
    if record_at is None:
        return None
    path = record_at.with_name(record_at.name.removesuffix(".run.json") + CHECKPOINT)
    if path.exists():
        raise Failure(
            f"{path} is left from a fit that was interrupted. Continue it with --resume {path}, or delete it.", USAGE
        )
    return path


@contextmanager
def _kept_checkpoint(path: Path | None, console: Console) -> Iterator[None]:
    """A context in which the sums of a fit go to a file, which stays if anything stops the fit."""
    if path is None:
        yield
        return
    try:
        with checkpoints(path, every=CHECKPOINT_SECONDS):
            yield
    except BaseException:
        if path.exists():
            console.note(f"The fit so far is kept. To continue it, repeat the command with --resume {path}.")
        raise


@contextmanager
def _workers(request: FitRequest) -> Iterator[None]:
    with ExitStack() as stack:
        if request.cluster is not None:
            logging.getLogger("distributed").setLevel(logging.ERROR)  # a worker that ends slowly concerns no user
            try:
                stack.enter_context(cluster(request.cluster))
            except (ValueError, OSError, ImportError) as error:
                raise Failure(f"--cluster {request.cluster}: {error}") from error
        yield
