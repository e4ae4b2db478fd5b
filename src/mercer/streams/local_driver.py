"""A pass over all rows on this machine: chunks in order, the next one read while the last is computed.

Memory holds two chunks, the sums and a run of features per thread, however many chunks there are. A source that knows
better, because its chunks live on other machines, has a method `sum_chunks(work, sources)`. If it merges by the numbers
of the chunks, it has the same bits.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from mercer.models.container import digest
from mercer.progress import counted, tell
from mercer.streams.checkpoint_file import open_checkpoint
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.row_maps import LandmarkFeatures, RowMap
from mercer.streams.row_source import RowSource, row_starts
from mercer.streams.sufficient_statistics import SufficientStatistics


def is_row_source(X: Any) -> bool:
    """Whether X is a matrix in numbered chunks, without reading any."""
    return all(hasattr(X, name) for name in ("chunk", "lengths", "n_features"))


def row_count(source: RowSource) -> int:
    return int(sum(source.lengths))


def total_statistics(work: ChunkWork, sources: Sequence[RowSource], name: str = "rows") -> SufficientStatistics:
    """The statistics of all rows, chunk after chunk; resumes from an open checkpoint.

    sources : one per map, cut into chunks of the same lengths
    name : what the pass is called while it runs
    """
    _refuse_other_lengths(sources)
    elsewhere = getattr(sources[0], "sum_chunks", None)
    if elsewhere is not None:
        return elsewhere(work, sources)
    starts, chunks = row_starts(sources[0]), len(sources[0].lengths)
    file, fingerprint = open_checkpoint(), ""
    done, total = 0, work.nothing(sources)
    if file is not None:
        fingerprint = fingerprint_of(work, sources)
        done, total = file.resume(fingerprint) or (0, total)
    clock, wanted = _Clock(int(starts[-1] - starts[done])), [i for i in range(done, chunks) if sources[0].lengths[i]]
    for i, views in counted(name, read_ahead(sources, wanted), len(wanted)):
        total = total.merge(work(i, int(starts[i]), views))
        if file is not None:
            file.keep(fingerprint, i + 1, total, last=i == wanted[-1])
        tell(clock.note(int(starts[i + 1] - starts[done])))
    return total


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
    """A hash of the maps, the key of the draws, and the shape, type and first rows of the sources."""
    sha = hashlib.sha256(repr((work.key, work.draws, work.weights)).encode())
    for source in sources:
        facts = list(source.lengths), source.n_features, np.dtype(source.dtype).name, source.feature_names
        sha.update(repr(facts).encode())
        filled = [i for i, length in enumerate(source.lengths) if length]
        if filled:
            first = source.chunk(filled[0])[:8]
            first = first.toarray() if hasattr(first, "toarray") else first
            sha.update(digest("first rows", {"rows": np.ascontiguousarray(first)}).encode())
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
