"""A pass over all rows: chunks in order, the next one read while the last is computed, or dealt to workers.

Memory holds two chunks, the sums and a run of features per thread, however many chunks there are. Sums are merged by
the numbers of the chunks, so it makes no difference to the bits who computes them. The first of these that applies
decides where that is:

- a source whose chunks live in other processes of the same program has a method `sum_chunks(work, sources)`, and may
  have `folded(step, sources, groups)` for passes that take other things than sums;
- within `cluster(…)` workers compute the chunks of any source;
- a source that names workers of its own, `workers()`, has them compute its chunks;
- all other chunks are computed in this process.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.backends import to_numpy
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Operator
from mercer.models.container import digest
from mercer.progress import counted, tell
from mercer.streams.checkpoint_file import open_checkpoint
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.row_maps import LandmarkFeatures, RowMap
from mercer.streams.row_source import Rows, RowSource, row_starts
from mercer.streams.sufficient_statistics import SufficientStatistics

# Groups of chunks whose sums one task computes: enough to keep a thousand workers busy, and few enough that a state of
# 32 MB (2,000 landmarks) per group passes through one process in the time that the workers take for the chunks.
GROUPS = 1024
_KNOWN_BY = 256  # rows of the first chunk that a checkpoint knows a source by

VIEWED = ("source", "labels")  # where views of a source keep it

Step = Callable[[Any, int, list[Any]], Any]  # (state so far or None, number of a chunk, its rows by source) → state


class Workers(Protocol):
    """Who computes chunks elsewhere."""

    @property
    def name(self) -> str:
        """What reports call them."""
        ...

    def folded(self, step: Step, sources: Sequence[RowSource], groups: Sequence[Sequence[int]]) -> Iterator[Any]:
        """What `folded` of this module gives. Step and sources are pickled."""
        ...

    def dealt(self, gram: Gram) -> Operator:
        """A streamed kernel matrix whose products they compute."""
        ...


_innermost: ContextVar[Workers | None] = ContextVar("workers", default=None)  # other threads: none


@contextmanager
def computed_by(workers: Workers) -> Iterator[None]:
    """A context in which these workers compute the chunks of every pass of this thread."""
    before = _innermost.set(workers)
    try:
        yield
    finally:
        _innermost.reset(before)


def open_workers() -> Workers | None:
    """Those of the innermost context, if one is open."""
    return _innermost.get()


def workers_of(sources: Sequence[RowSource]) -> Workers | None:
    """Who computes the chunks of these sources, if it is not this process."""
    if any(sharded_source(source) is not None for source in sources):
        return None  # every process of the group asks for the same chunks, and no one else can
    return open_workers() or next((found for source in sources if (found := _own_workers(source)) is not None), None)


def sharded_source(source: Any) -> Any:
    """The shards that a source is, or is a view of; None if every chunk can be read in this process."""
    if source is None or hasattr(source, "sum_chunks"):
        return source
    return next((found for name in VIEWED if (found := sharded_source(getattr(source, name, None))) is not None), None)


def shared_result(source: RowSource, value: Any) -> Any:
    """The value that the first process of a group has computed, where chance may have given the others another."""
    shards = sharded_source(source)
    return value if shards is None or not hasattr(shards, "group") else shards.group.from_rank(value, 0)


def _own_workers(source: Any) -> Workers | None:
    """The workers that a source names, or the source that it is a view of."""
    if source is None or hasattr(source, "workers"):
        return None if source is None else source.workers()
    return next((found for name in VIEWED if (found := _own_workers(getattr(source, name, None))) is not None), None)


def is_row_source(X: Any) -> bool:
    """Whether X is a matrix in numbered chunks, without reading any."""
    # The class is asked first: a source may have to count its rows to know its lengths.
    return all(hasattr(type(X), name) or hasattr(X, name) for name in ("chunk", "n_features", "lengths"))


def row_count(source: RowSource) -> int:
    return int(sum(source.lengths))


def total_statistics(work: ChunkWork, sources: Sequence[RowSource], name: str = "rows") -> SufficientStatistics:
    """The statistics of all rows, group of chunks after group; resumes from an open checkpoint.

    sources : one per map, cut into chunks of the same lengths
    name : what the pass is called while it runs
    """
    _refuse_other_lengths(sources)
    shards = next((found for source in sources if (found := sharded_source(source)) is not None), None)
    if shards is not None:
        return shards.sum_chunks(work, sources)
    starts, groups = row_starts(sources[0]), groups_of(sources[0].lengths)
    file, key = open_checkpoint(), ""
    done, total = 0, work.nothing(sources)
    if file is not None:
        key = file.begin(fingerprint_of(work, sources))
        done, total = file.known(key) or (0, total)
    clock, wanted = _Clock(int(starts[-1] - starts[done])), [group for group in groups if group[0] >= done]
    states = zip(wanted, folded(_Summing(work, starts), sources, wanted), strict=True)
    workers = workers_of(sources)
    name += "" if workers is None else f" on {workers.name}"
    for group, state in counted(name, states, len(wanted)):
        total = total.merge(state)
        if file is not None:
            file.keep(key, group[-1] + 1, total, last=group is wanted[-1])
        tell(clock.note(int(starts[group[-1] + 1] - starts[done])))
    return total


def groups_of(lengths: Sequence[int], most: int = GROUPS) -> list[list[int]]:
    """The numbers of the chunks that have rows, in up to `most` groups of neighbours. The lengths alone decide.

    >>> groups_of([5, 0, 5, 5, 5], most=3)
    [[0], [2, 3], [4]]
    """
    size = -(-len(lengths) // most) or 1
    runs = (range(start, min(start + size, len(lengths))) for start in range(0, len(lengths), size))
    groups = ([i for i in run if lengths[i]] for run in runs)
    return [group for group in groups if group]


@dataclass(frozen=True)
class _Summing:
    """The step that adds the statistics of a chunk."""

    work: ChunkWork
    starts: np.ndarray

    def __call__(self, state: SufficientStatistics | None, number: int, views: list[Any]) -> SufficientStatistics:
        found = self.work(number, int(self.starts[number]), views)
        return found if state is None else state.merge(found)


def folded(step: Step, sources: Sequence[RowSource], groups: Sequence[Sequence[int]]) -> Iterator[Any]:
    """The state after the chunks of each group, in the order of the groups; wherever the chunks are computed."""
    shards = next((found for source in sources if (found := sharded_source(source)) is not None), None)
    workers = shards if hasattr(shards, "folded") else workers_of(sources)
    return folded_here(step, sources, groups) if workers is None else workers.folded(step, sources, groups)


def folded_here(step: Step, sources: Sequence[RowSource], groups: Sequence[Sequence[int]]) -> Iterator[Any]:
    chunks = read_ahead(sources, [i for group in groups for i in group])
    for group in groups:
        state = None
        for _ in group:
            i, views = next(chunks)
            state = step(state, i, views)
        yield state


def chunks(source: RowSource) -> Iterator[Rows]:
    """All chunks in order, the empty ones too. What this process holds of them is a few, whoever computes them."""
    filled = [[i] for i, length in enumerate(source.lengths) if length]
    # The tasks of a dask graph are all dealt out at once, and would leave their chunks in the workers' memory. Shards
    # are exchanged as a whole, too.
    here = _own_workers(source) is not None or sharded_source(source) is not None
    states = (folded_here if here else folded)(_itself, [source], filled)
    for i, length in enumerate(source.lengths):
        yield next(states) if length else source.chunk(i)


def _itself(state: None, number: int, views: list[Any]) -> Any:
    return views[0]


def read_ahead(sources: Sequence[RowSource], numbers: Sequence[int]) -> Iterator[tuple[int, list[Any]]]:
    """(number, the chunk of each source); a thread reads the next one meanwhile. Empty chunks are not read."""
    wanted = [i for i in numbers if sources[0].lengths[i]]
    with ThreadPoolExecutor(1, thread_name_prefix="mercer-reader") as reader:
        read: Callable[[int], list[Any]] = lambda i: [source.chunk(i) for source in sources]  # noqa: E731
        coming = reader.submit(read, wanted[0]) if wanted else None
        for place, i in enumerate(wanted):
            assert coming is not None
            views = coming.result()
            coming = reader.submit(read, wanted[place + 1]) if place + 1 < len(wanted) else None
            yield i, views


def fingerprint_of(work: ChunkWork, sources: Sequence[RowSource]) -> str:
    """A hash of the maps, of the key of the draws, and of each source: its shape, type, some rows of its first chunk,
    and its `digest` if it has one."""
    sha = hashlib.sha256(repr((work.key, work.draws, work.weights)).encode())
    for source in sources:
        facts = list(source.lengths), source.n_features, np.dtype(source.dtype).name, source.feature_names
        sha.update(repr((*facts, getattr(source, "digest", ""))).encode())
        filled = [i for i, length in enumerate(source.lengths) if length]
        if filled:
            first = source.chunk(filled[0])
            first = first[:: -(-first.shape[0] // _KNOWN_BY)]
            names = ("data", "indices", "indptr") if hasattr(first, "indptr") else ()
            parts = {name: getattr(first, name) for name in names} or {"rows": np.ascontiguousarray(to_numpy(first))}
            sha.update(digest("first rows", parts).encode())
    for each in work.maps:
        sha.update(_map_digest(each).encode())
    return sha.hexdigest()


def _map_digest(each: RowMap) -> str:
    arrays = {"shift": np.asarray(each.shift)}
    text = type(each).__name__
    if isinstance(each, LandmarkFeatures):
        anchors = each.expansion.anchors
        arrays["anchors"] = np.ascontiguousarray(anchors.toarray() if hasattr(anchors, "toarray") else anchors)
        arrays["coefs"] = np.ascontiguousarray(each.expansion.coefs)
        text += repr(each.expansion.kernel)
    return digest(text, arrays)


def _refuse_other_lengths(sources: Sequence[RowSource]) -> None:
    for other in sources[1:]:
        if list(other.lengths) != list(sources[0].lengths):
            raise ValueError(
                f"The two views have {len(sources[0].lengths)} chunks of {row_count(sources[0]):,} rows and "
                f"{len(other.lengths)} chunks of {row_count(other):,} rows: cut both in the same places."
            )


class _Clock:
    """The time left of a pass, from the rows done so far."""

    def __init__(self, rows: int) -> None:
        self.rows, self.started = rows, time.monotonic()

    def note(self, done: int) -> str:
        spent = time.monotonic() - self.started
        left = spent * (self.rows - done) / max(1, done)
        return f"{done:,} of {self.rows:,} rows, {left:.0f} s left"
