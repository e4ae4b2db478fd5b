"""Checkpoints of a pass over rows: `with checkpoints("fit.part"): model.fit(source)`.

A context, not a parameter of an estimator: it serves every estimator, also one inside another, and a path on one
machine does not become part of a model. The file holds arrays and a JSON document, never code. It is replaced as a
whole, so that whenever a fit is killed the last checkpoint is complete. Statistics are stored with all their bits, and
chunks are added in order, so a resumed fit ends with the bits of one that was never interrupted.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from mercer.exceptions import ModelFileError
from mercer.models.container import read_container, write_container
from mercer.streams.sufficient_statistics import SufficientStatistics

_KIND = "checkpoint of a pass over rows, version 1"
_innermost: ContextVar[CheckpointFile | None] = ContextVar("checkpoint", default=None)  # other threads: none


@contextmanager
def checkpoints(path: str | os.PathLike[str], *, every: float = 60.0) -> Iterator[None]:
    """Fits on sources of rows within this context write their state to `path`, and resume from it if it is there.

    Fits that other threads run meanwhile are not affected.

    every : seconds between two writes, at least. A state of rank m takes 8 m² bytes.

    Each process of `ShardedRows` writes a file of its own, `path` with its rank behind it, and resumes from that.

    The file is deleted when the context ends without an error. ValueError is raised, and the file kept, if it belongs
    to other rows or to another fit.

    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from mercer import PCA, open_rows
    >>> with TemporaryDirectory() as folder, checkpoints(f"{folder}/fit.part"):
    ...     pca = PCA(1).fit(open_rows(np.arange(20.0).reshape(10, 2)))
    >>> pca.components_.shape
    (1, 2)
    """
    if not every >= 0:
        raise ValueError(f"every={every!r} must be a number of seconds ≥ 0.")
    file = CheckpointFile(Path(path), float(every))
    before = _innermost.set(file)
    try:
        yield
    finally:
        _innermost.reset(before)
    file.remove()


def open_checkpoint() -> CheckpointFile | None:
    """The file of the innermost context, if there is one."""
    return _innermost.get()


class CheckpointFile:
    """The passes of a program, in order: of each its key, the number of chunks done, and their statistics.

    The key is the fingerprint of the pass and how often it was asked for before. So two fits within one context never
    share a pass, however alike their fingerprints are.
    """

    def __init__(self, path: Path, every: float) -> None:
        self.path, self.every = path, every
        self.passes: dict[str, tuple[int, SufficientStatistics]] = {}
        self.asked: Counter[str] = Counter()  # how often each fingerprint was asked for
        self.written = time.monotonic()
        self.shards: dict[int, CheckpointFile] = {}

    def of_process(self, rank: int) -> CheckpointFile:
        """The file of one of several processes that share the rows: each continues with its own shard."""
        if rank not in self.shards:
            self.shards[rank] = CheckpointFile(self.path.with_name(f"{self.path.name}.{rank}"), self.every)
        return self.shards[rank]

    def remove(self) -> None:
        """Delete what was written, after a fit that ended."""
        for file in (self, *self.shards.values()):
            file.path.unlink(missing_ok=True)

    def begin(self, fingerprint: str) -> str:
        """The key of a pass that begins. ValueError if it is the first one and the file knows others instead."""
        if not self.asked and self.path.exists():
            self.passes = self._read()
            if fingerprint not in self.passes:
                raise ValueError(
                    f"The checkpoint {self.path} belongs to other rows or to a fit with other parameters, so this fit "
                    "cannot resume from it. Use the same rows and parameters, delete the file, or give another path."
                )
        before = self.asked[fingerprint]
        self.asked[fingerprint] += 1
        return f"{fingerprint} {before}" if before else fingerprint

    def known(self, key: str) -> tuple[int, SufficientStatistics] | None:
        """The chunks done of a pass, and their statistics, if the file has them."""
        return self.passes.get(key)

    def keep(self, key: str, done: int, statistics: SufficientStatistics, *, last: bool) -> None:
        """Note the state of a pass, and write it if the last write is long enough ago or the pass has ended."""
        if not last and time.monotonic() - self.written < self.every:
            return
        self.passes[key] = done, statistics
        arrays = {
            f"{number}.{name}": np.ascontiguousarray(array)
            for number, (_, state) in enumerate(self.passes.values())
            for name, array in state.to_arrays().items()
        }
        counts = [{"fingerprint": key, "done": count} for key, (count, _) in self.passes.items()]
        write_container(self.path, arrays, {"kind": _KIND, "passes": counts})
        self.written = time.monotonic()

    def _read(self) -> dict[str, tuple[int, SufficientStatistics]]:
        try:
            arrays, document, wrong = read_container(self.path)
            if wrong or document.get("kind") != _KIND:
                raise ModelFileError(wrong or "it is of another kind")
            return {
                each["fingerprint"]: (int(each["done"]), SufficientStatistics.from_arrays(_part(arrays, number)))
                for number, each in enumerate(document["passes"])
            }
        except (ModelFileError, KeyError, TypeError) as error:
            raise ValueError(f"{self.path} is not a checkpoint that can be resumed: {error}") from error


def _part(arrays: dict[str, Any], number: int) -> dict[str, Any]:
    start = f"{number}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
