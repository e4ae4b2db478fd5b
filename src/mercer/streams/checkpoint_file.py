"""Checkpoints of a pass over rows: `with checkpoints("fit.part"): model.fit(source)`.

A context, not a parameter of an estimator: it serves every estimator, also one inside another, and a path on one
machine does not become part of a model. The file holds arrays and a JSON document, never code. It is replaced as a
whole, so that whenever a fit is killed the last checkpoint is complete. Statistics are stored with all their bits, and
chunks are added in order, so a resumed fit ends with the bits of one that was never interrupted.

A pass that has ended moves to a file of its own beside the checkpoint, which is written once and read when a resumed
program comes to that pass again. So a program of many fits takes the memory, and the time to write, of one pass.
"""

from __future__ import annotations

import hashlib
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

_KIND = "checkpoint of passes over rows, version 2"
_innermost: ContextVar[CheckpointFile | None] = ContextVar("checkpoint", default=None)  # other threads: none


@contextmanager
def checkpoints(path: str | os.PathLike[str], *, every: float = 60.0) -> Iterator[None]:
    """Fits on sources of rows within this context write their state to `path`, and resume from it if it is there.

    Fits that other threads run meanwhile are not affected.

    every : seconds between two writes, at least. A state of rank m takes 8 m² bytes.

    Each process of `ShardedRows` writes a file of its own, `path` with its rank behind it, and resumes from that.
    Passes that have ended are in files beside it, `path` with ".pass-" and a number behind it. If they are lost, those
    passes are computed again.

    All files are deleted when the context ends without an error. ValueError is raised, and the file kept, if it belongs
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
    """The passes of a program: of each its key, the number of chunks done, and their statistics.

    The key is the fingerprint of the pass and how often it was asked for before. So two fits within one context never
    share a pass, however alike their fingerprints are.
    """

    def __init__(self, path: Path, every: float) -> None:
        self.path, self.every = path, every
        self.done: dict[str, int] = {}  # chunks of each pass that was noted
        self.open: tuple[str, SufficientStatistics] | None = None  # the pass that has not ended
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
            for key in file.done:
                file._ended(key).unlink(missing_ok=True)

    def begin(self, fingerprint: str) -> str:
        """The key of a pass that begins. ValueError if it is the first one and the file knows others instead."""
        if not self.asked and self.path.exists():
            self._read()
            if fingerprint not in self.done:
                raise ValueError(
                    f"The checkpoint {self.path} belongs to other rows or to a fit with other parameters, so this fit "
                    "cannot resume from it. Use the same rows and parameters, delete the file, or give another path."
                )
        before = self.asked[fingerprint]
        self.asked[fingerprint] += 1
        return f"{fingerprint} {before}" if before else fingerprint

    def known(self, key: str) -> tuple[int, SufficientStatistics] | None:
        """The chunks done of a pass, and their statistics, if the files have them."""
        if self.open is not None and self.open[0] == key:
            return self.done[key], self.open[1]
        if key not in self.done or not self._ended(key).exists():
            return None
        arrays, _ = _contents(self._ended(key))
        return self.done[key], SufficientStatistics.from_arrays(arrays)

    def keep(self, key: str, done: int, statistics: SufficientStatistics, *, last: bool) -> None:
        """Note the state of a pass, and write it if the last write is long enough ago or the pass has ended."""
        if not last and time.monotonic() - self.written < self.every:
            return
        self.done[key] = done
        self.open = None if last else (key, statistics)
        if last:
            write_container(self._ended(key), _arrays(statistics), {"kind": _KIND})
        document = {"kind": _KIND, "passes": self.done, "open": None if last else key}
        write_container(self.path, {} if last else _arrays(statistics), document)
        self.written = time.monotonic()

    def _ended(self, key: str) -> Path:
        """The file of a pass that has ended."""
        return self.path.with_name(f"{self.path.name}.pass-{hashlib.sha256(key.encode()).hexdigest()[:16]}")

    def _read(self) -> None:
        arrays, document = _contents(self.path)
        try:
            self.done = {str(key): int(count) for key, count in document["passes"].items()}
            key = document["open"]
            self.open = None if key is None else (str(key), SufficientStatistics.from_arrays(arrays))
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"{self.path} is not a checkpoint that can be resumed: {error}") from error


def _contents(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and the document in a file of a checkpoint. ValueError if the file is anything else."""
    try:
        arrays, document, wrong = read_container(path)
        if wrong or document.get("kind") != _KIND:
            raise ModelFileError(wrong or "it is of another kind")
    except ModelFileError as error:
        raise ValueError(f"{path} is not a checkpoint that can be resumed: {error}") from error
    return arrays, document


def _arrays(statistics: SufficientStatistics) -> dict[str, np.ndarray]:
    return {name: np.ascontiguousarray(array) for name, array in statistics.to_arrays().items()}
