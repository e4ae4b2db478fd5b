"""Passes over rows on the workers of a dask cluster: `with cluster("tcp://…"): model.fit(source)`.

A context, as `checkpoints` is: every pass of every estimator runs on the workers, over any source. A worker is sent the
source, which holds paths, and reads its chunks itself. Rows that only this process has are read here and sent with
their task. States come back in the order of the chunks and are merged in that order, so the bits are those of a fit in
one process, whatever the number of workers and whichever of them are lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any

from mercer.linalg.dealt_gram import DealtGram
from mercer.linalg.gram import Gram
from mercer.streams.dask_rows import DaskRows, RowFacts
from mercer.streams.iterable_rows import IterableRows
from mercer.streams.local_driver import VIEWED, Step, computed_by, is_row_source
from mercer.streams.mapped_rows import MappedRows
from mercer.streams.row_source import RowSource, checked_chunk
from mercer.streams.source_views import JoinedRows, LastChunk

# Bytes of a source that is sent to the workers as a whole. Sources of files take far less, whatever their chunks hold;
# more than this is rows, and a worker needs few of them.
_SENT_WHOLE = 2**24


@contextmanager
def cluster(place: Any) -> Iterator[None]:
    """Fits on sources of rows within this context have the workers of a dask cluster compute their passes.

    So have fits of `KernelPCA(eigen_solver="krylov")` to NumPy rows, more than 8192 of them: the workers multiply with
    the kernel matrix, and each of them holds all rows.

    place : the address of a scheduler, such as "tcp://10.0.0.1:8786"; "local:4" for four processes of this machine,
        "local" for one per core, which end with the context; a client of dask.distributed; a cluster that a client can
        connect to

    Workers need Mercer, and the files of a source under the same paths. Rows of arrays, frames and iterables in this
    process are sent to them chunk by chunk. A task takes one thread of its worker, and room for a chunk, the features
    of a run of rows and 8 m² bytes twice, for m columns of the map.

    Cost: per chunk, 8 m² bytes come back; beyond 1,024 chunks, per group of chunks.

    >>> from mercer import KernelPCA, open_rows
    >>> with cluster("local:4"):  # doctest: +SKIP
    ...     KernelPCA(3, kernel="rbf", gamma=0.1, rank=500).fit(open_rows("big.parquet"))
    """
    try:
        from mercer.backends.dask_workers import workers_at  # loaded late: dask need not be installed
    except ImportError as error:
        raise ImportError(f"A cluster needs dask and distributed: pip install 'mercer[dask]' ({error}).") from None
    with workers_at(place) as workers, computed_by(ClusterDriver(workers)):
        yield


def current_driver() -> ClusterDriver | None:
    """The workers of the client that dask itself would use now, if there is one."""
    from mercer.backends.dask_workers import current_workers

    found = current_workers()
    return None if found is None else ClusterDriver(found)


class ClusterDriver:
    """Workers that compute the chunks of a pass (final)."""

    def __init__(self, workers: Any) -> None:
        self.workers = workers

    @property
    def name(self) -> str:
        return self.workers.name

    def folded(self, step: Step, sources: Sequence[RowSource], groups: Sequence[Sequence[int]]) -> Iterator[Any]:
        """The state after the chunks of each group, in the order of the groups."""
        parts = [_parted(source) for source in sources]
        shared = self.workers.share(_SharedPass(step, [part.view for part in parts]))
        brought: Callable[[int], list[Any]] = lambda i: [part.brought(i) for part in parts]  # noqa: E731
        if any(part.in_graph for part in parts):
            return self.workers.chains(_SharedPass.add, shared, [[(i, brought(i)) for i in group] for group in groups])
        jobs = ((list(group), [brought(i) for i in group]) for group in groups)
        return self.workers.each(_SharedPass.total, shared, jobs)

    def dealt(self, gram: Gram) -> DealtGram:
        """A streamed kernel matrix whose products the workers compute."""
        return DealtGram(gram, self.workers)


@dataclass(frozen=True)
class _SharedPass:
    """What all tasks of a pass share."""

    step: Step
    views: Sequence[Callable[[int, Any], Any]]  # (number of a chunk, what came with the task) → its rows

    def add(self, state: Any, number: int, brought: Sequence[Any]) -> Any:
        return self.step(state, number, [view(number, each) for view, each in zip(self.views, brought, strict=True)])

    def total(self, numbers: Sequence[int], brought: Sequence[Sequence[Any]]) -> Any:
        state = None
        for number, each in zip(numbers, brought, strict=True):
            state = self.add(state, number, each)
        return state


@dataclass(frozen=True)
class _Parted:
    """A source in two parts: what workers are sent once, and what comes with the task of each chunk."""

    view: Callable[[int, Any], Any]
    brought: Callable[[int], Any]
    in_graph: bool = False  # whether that is a part of a dask graph


def _parted(source: RowSource) -> _Parted:
    if isinstance(source, DaskRows):
        return _Parted(_CheckedBlock(source.facts), source.block, in_graph=True)
    from mercer.backends.dask_workers import pickled_bytes

    if isinstance(source, MappedRows):
        inner = _parted(source.source)
        return _Parted(_MappedView(inner.view, source.mapped), inner.brought, inner.in_graph)
    if isinstance(source, LastChunk):
        return _parted(source.source)
    if isinstance(source, JoinedRows) and any(isinstance(part, DaskRows) for part in source.parts):
        parts, places = [_parted(part) for part in source.parts], source.places
        brought: Callable[[int], Any] = lambda i: parts[places[i][0]].brought(places[i][1])  # noqa: E731
        return _Parted(_JoinedView(_without(source, "parts"), [part.view for part in parts]), brought, in_graph=True)
    name = next((name for name in VIEWED if is_row_source(getattr(source, name, None))), None)
    if name is not None and hasattr(source, "of_chunk"):
        inner = _parted(getattr(source, name))
        return _Parted(_ChunkView(inner.view, _without(source, name)), inner.brought, inner.in_graph)
    if _reads_anywhere(source) and pickled_bytes(source) <= _SENT_WHOLE:
        return _Parted(_Reading(source), lambda i: None)
    return _Parted(_as_sent, source.chunk)


def _reads_anywhere(source: RowSource) -> bool:
    """Whether a chunk can be read without those before it, and by a process that has no client of dask."""
    inner = [*getattr(source, "parts", ())] if isinstance(source, JoinedRows) else []
    inner += [found for name in VIEWED if is_row_source(found := getattr(source, name, None))]
    return not isinstance(source, IterableRows | DaskRows) and all(map(_reads_anywhere, inner))


def _without(source: Any, name: str) -> Any:
    """A view for workers, to which the source that it is a view of is sent."""
    made = copy(source)
    setattr(made, name, None)
    return made


@dataclass(frozen=True)
class _Reading:
    source: RowSource

    def __call__(self, number: int, nothing: None) -> Any:
        return self.source.chunk(number)


@dataclass(frozen=True)
class _CheckedBlock:
    facts: RowFacts

    def __call__(self, number: int, rows: Any) -> Any:
        return checked_chunk(rows, self.facts, number)


@dataclass(frozen=True)
class _MappedView:
    inner: Callable[[int, Any], Any]
    function: Callable[[Any], Any]

    def __call__(self, number: int, brought: Any) -> Any:
        return self.function(self.inner(number, brought))


@dataclass(frozen=True)
class _ChunkView:
    inner: Callable[[int, Any], Any]
    view: Any

    def __call__(self, number: int, brought: Any) -> Any:
        return self.view.of_chunk(number, self.inner(number, brought))


@dataclass(frozen=True)
class _JoinedView:
    joined: JoinedRows
    parts: Sequence[Callable[[int, Any], Any]]

    def __call__(self, number: int, brought: Any) -> Any:
        p, own = self.joined.places[number]
        return self.joined.of_part(number, lambda: self.parts[p](own, brought))


def _as_sent(number: int, rows: Any) -> Any:
    return rows
