"""Rows that are dealt to the processes of torch.distributed: each holds a shard, and all fit one model.

Every process runs the same program and calls `fit` with its own shard. A pass sums the statistics of each shard where
it is, and the sums are added over the processes, so all of them end with the same model, to the bit.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from itertools import accumulate
from typing import Any

import joblib
import numpy as np

from mercer.streams.checkpoint_file import open_checkpoint
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.local_driver import VIEWED, Step, fingerprint_of, folded_here, read_ahead, sharded_source
from mercer.streams.row_source import Rows, RowSource, row_starts
from mercer.streams.source_views import RecutRows, columns_named
from mercer.streams.sufficient_statistics import SufficientStatistics


class ShardedRows:
    """The shards of all processes as one source (final). Chunks are numbered by rank, and then as in the shard.

    rows : the shard of this process, a source; it may have no rows, but must have the columns of the others
    group : a group of torch.distributed; None is all processes

    Every process has to give its estimator the same parameters. A fit compares them, and raises ValueError in all
    processes if they differ.

    Cost of a pass: that of the shard, and an exchange of 8 m² bytes for m columns of the map. The rows of samples
    travel as well, once.

    >>> import torch.distributed as dist  # doctest: +SKIP
    >>> dist.init_process_group("gloo")  # doctest: +SKIP
    >>> rows = ShardedRows(mercer.open_rows(f"part-{dist.get_rank()}.parquet"))  # doctest: +SKIP
    """

    def __init__(self, rows: RowSource, group: Any = None) -> None:
        from mercer.backends.process_group import ProcessGroup  # loaded late: it imports torch

        self.shard, self.group = rows, ProcessGroup(group)
        told = self.group.everyone((list(rows.lengths), rows.n_features, np.dtype(rows.dtype).name, rows.feature_names))
        for rank, (_, *facts) in enumerate(told):
            if facts != list(told[0][1:]):
                raise ValueError(
                    f"Process {rank} has {facts[0]} columns of {facts[1]}, process 0 has {told[0][1]} of {told[0][2]}: "
                    "all shards need the same columns, names and types."
                )
        self.n_features, self.dtype, self.feature_names = rows.n_features, np.dtype(rows.dtype), rows.feature_names
        self.lengths: Sequence[int] = [length for lengths, *_ in told for length in lengths]
        ends = list(accumulate(len(lengths) for lengths, *_ in told))
        self._owners = [rank for rank, (lengths, *_) in enumerate(told) for _ in lengths]
        self.first = ends[self.group.rank] - len(rows.lengths)  # the number of this shard's first chunk

    def only(self, names: Sequence[str]) -> ShardedRows:
        """The columns with these names. Only their chunks are exchanged."""
        return ShardedRows(columns_named(self.shard, names), self.group.group)

    def refuse_other(self, what: Any) -> None:
        """Raise ValueError in every process unless all have the same value, such as the rows of a sample."""
        told = self.group.everyone(_known_by(what))
        others = [str(rank) for rank, fingerprint in enumerate(told) if fingerprint != told[0]]
        if others:
            raise ValueError(
                f"Process {' and '.join(others)} did not choose what process 0 chose, so their results do not belong "
                "together. Give every process the same parameters, and the same whole number as random_state."
            )

    def chunk(self, i: int) -> Rows:
        """Chunk i, sent by the process that has it. All processes must ask for it."""
        self.refuse_other(i)
        owner, rows, error = self._owners[i], None, None
        if owner == self.group.rank:
            try:
                rows = self.shard.chunk(i - self.first)
            except Exception as trouble:
                error = trouble
        self.group.fail_together(error)
        return self.group.from_rank(rows, owner)

    def sum_chunks(self, work: ChunkWork, sources: Sequence[RowSource]) -> SufficientStatistics:
        """The statistics of all shards: each process sums its own chunks, and the sums are added."""
        self.refuse_other(fingerprint_of(work, []))
        starts, error = row_starts(self), None
        total = work.nothing(sources)
        try:
            shards = [own_part(source, self.first, self.shard.lengths) for source in sources]
            everything, file = open_checkpoint(), None
            done, key = 0, ""
            if everything is not None:
                file = everything.of_process(self.group.rank)
                key = file.begin(fingerprint_of(work, shards))
                done, total = file.known(key) or (0, total)
            numbers = range(done, len(self.shard.lengths))
            for i, views in read_ahead(shards, numbers):
                total = total.merge(work(self.first + i, int(starts[self.first + i]), views))
                if file is not None:
                    file.keep(key, i + 1, total, last=False)
            if file is not None and numbers:
                file.keep(key, numbers.stop, total, last=True)
        except Exception as trouble:
            error = trouble
        self.group.fail_together(error)
        return self._over_all(total)

    def folded(self, step: Step, sources: Sequence[RowSource], groups: Sequence[Sequence[int]]) -> Iterator[Any]:
        """The state after the chunks of each group, in every process. The process that has the chunks computes it.

        The chunks of a group lie in one shard. States are exchanged, so they should be small.
        """
        self.refuse_other((list(groups), step))
        found: dict[int, Any] = {}
        error = None
        try:
            shards = [own_part(source, self.first, self.shard.lengths) for source in sources]
            own = [place for place, group in enumerate(groups) if self._owners[group[0]] == self.group.rank]
            chunks = [[i - self.first for i in groups[place]] for place in own]
            step_here: Step = lambda state, i, views: step(state, self.first + i, views)  # noqa: E731
            found = dict(zip(own, folded_here(step_here, shards, chunks), strict=True))
        except Exception as trouble:
            error = trouble
        self.group.fail_together(error)
        states = {place: state for part in self.group.everyone(found) for place, state in part.items()}
        return iter([states[place] for place in range(len(groups))])

    def _over_all(self, mine: SufficientStatistics) -> SufficientStatistics:
        names = ("sums", "products", "trace", "left", "negative")
        added = self.group.sums({"n": np.array([mine.n])} | {name: getattr(mine, name) for name in names})
        draws, *others = self.group.everyone(mine.draws)
        for theirs in others:  # in the order of ranks, so that all processes decide alike
            draws = tuple(
                b if a is None else a if b is None else a.merge(b) for a, b in zip(draws, theirs, strict=True)
            )
        return replace(mine, n=int(added.pop("n")[0]), largest=self.group.largest(mine.largest), draws=draws, **added)


def _known_by(what: Any) -> str:
    """A hash of a value. Functions without a name, which do not pickle, count as alike."""
    if isinstance(what, dict):
        return joblib.hash({name: _known_by(value) for name, value in what.items()})
    try:
        return joblib.hash(what)
    except (pickle.PicklingError, TypeError, AttributeError):
        return type(what).__qualname__


class _Part:
    """Some consecutive chunks of a source that every process has as a whole."""

    def __init__(self, source: RowSource, first: int, lengths: Sequence[int]) -> None:
        self.source, self.first, self.lengths = source, first, lengths
        self.n_features, self.dtype, self.feature_names = source.n_features, source.dtype, source.feature_names

    def chunk(self, i: int) -> Rows:
        return self.source.chunk(self.first + i)


def own_part(source: RowSource, first: int, lengths: Sequence[int]) -> RowSource:
    """What a source that lies beside shards has for this process: its shard, or the chunks from number `first` on.

    Codes, scores or columns of a sharded source are those of the shard.
    """
    if isinstance(source, ShardedRows):
        return source.shard
    if isinstance(source, RecutRows) and sharded_source(source) is not None:
        raise ValueError("The shards of the two views have chunks of different lengths. Cut both in the same places.")
    for name in VIEWED:
        inner: Any = getattr(source, name, None)
        if sharded_source(inner) is not None:
            made = copy(source)
            setattr(made, name, own_part(inner, first, lengths))
            return made
    return _Part(source, first, lengths)
