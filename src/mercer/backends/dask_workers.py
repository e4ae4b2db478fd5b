"""The workers of a dask cluster: they compute functions of something that all tasks share, and of a job each.

What must survive a lost worker is a task's result: dask computes it again from the task, which the scheduler keeps.
Data that is scattered among workers is gone with them. So what is shared is cut into pieces, each a task of its own,
and one more task puts them together.
"""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import cloudpickle
from dask import config, delayed

from mercer.backends import cpu

_PIECE = 2**22  # bytes: dask warns of tasks that bring more than 10 MB, since the scheduler has to hold them
# How often processes look at themselves, mostly for a dashboard, which a cluster of this machine does not have. As dask
# has it, a scheduler with two workers takes 6 % of a core to do nothing, and with these settings 1 %.
_SELDOM = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "500ms",
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
}
_AHEAD = 4  # tasks per thread that are dealt out before the first of them is collected: none waits for this process


class DaskWorkers:
    """The workers that a client of dask.distributed knows (final)."""

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def name(self) -> str:
        count = len(self.client.nthreads())
        return f"{count} {'worker' if count == 1 else 'workers'} of {self.client.scheduler.address}"

    @property
    def threads(self) -> int:
        with self._reached():
            return max(1, sum(self.client.nthreads().values()))  # while no worker has come yet, work is dealt for one

    def share(self, value: Any) -> Any:
        """A value as the result of a task, for tasks to share. It is pickled, with the classes of a script."""
        data = cloudpickle.dumps(value)
        pieces = [data[start : start + _PIECE] for start in range(0, len(data), _PIECE)]
        return self._submit(_joined, *(self._submit(bytes, piece) for piece in pieces))

    def each(self, function: Callable[..., Any], shared: Any, jobs: Iterable[Sequence[Any]]) -> Iterator[Any]:
        """function(shared, *job) for each job, in the order of the jobs; `shared` is what `share` gave.

        A few tasks per thread are under way at any time, so the memory of the workers and of the scheduler is bounded.
        """
        coming, waiting = iter(jobs), deque[Any]()
        try:
            while True:
                room = _AHEAD * self.threads - len(waiting)
                for _ in range(room):
                    job = next(coming, None)
                    if job is None:
                        break
                    waiting.append(self._submit(_in_one_thread, function, shared, *job))
                if not waiting:
                    return
                yield self._result(waiting.popleft())
        finally:
            self._cancel(waiting)

    def chains(self, function: Callable[..., Any], shared: Any, chains: Sequence[Sequence[Any]]) -> Iterator[Any]:
        """The last state of each chain, in order. A chain is a list of jobs; state ← function(shared, state, *job).

        Jobs may hold parts of a dask graph (Delayed). All chains become one graph, so that what several parts depend on
        is computed once. A part is dropped when its job is done.
        """
        task = delayed(_in_one_thread, pure=False)
        ends = []
        for number, chain in enumerate(chains):
            state = None
            for place, job in enumerate(chain):
                # Of tasks that dask likes equally well it takes the one with the smallest name first.
                name = f"{shared.key}-{number:08d}-{place:04d}"
                state = task(function, shared, state, *job, dask_key_name=name)
            ends.append(state)
        with self._reached():
            waiting = deque(self.client.compute(ends))
        try:
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            self._cancel(waiting)

    def _submit(self, function: Callable[..., Any], *args: Any) -> Any:
        with self._reached():
            return self.client.submit(function, *args, pure=False)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """A context in which the scheduler is asked something. RuntimeError if it does not answer any more."""
        try:
            yield
        except OSError as error:
            raise self._gone() from error

    def _gone(self) -> RuntimeError:
        address = getattr(self.client.scheduler, "address", "an unknown address")
        return RuntimeError(
            f"The scheduler at {address} has gone, or has dropped a task. If checkpoints are kept, the same fit on "
            "another cluster, or without one, resumes from them."
        )

    def _result(self, future: Any) -> Any:
        from distributed.scheduler import KilledWorker

        try:
            return future.result()
        except KilledWorker as error:
            raise RuntimeError(
                "A task ended every worker that tried it, most likely because the workers have too little memory: a "
                f"thread needs room for a chunk of rows, its features and their products. {error}"
            ) from error
        except CancelledError as error:
            raise self._gone() from error

    def _cancel(self, futures: Iterable[Any]) -> None:
        left = [future for future in futures if self.client.status == "running"]
        if left:
            self.client.cancel(left)


def _joined(*pieces: bytes) -> Any:
    return cloudpickle.loads(b"".join(pieces))


def _in_one_thread(function: Callable[..., Any], *args: Any) -> Any:
    with cpu.in_this_thread():  # the scheduler deals out tasks to threads: a task that took more would take another's
        return function(*args)


def pickled_bytes(value: Any) -> float:
    """The bytes that a pickle of the value takes, without a copy of its arrays; infinite if it cannot be pickled."""
    arrays: list[Any] = []
    try:
        rest = cloudpickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    except (pickle.PicklingError, TypeError, AttributeError):
        return float("inf")
    return len(rest) + sum(array.raw().nbytes for array in arrays)


def in_graph(value: Any) -> Any:
    """A value as one part of a dask graph, however many tasks use it."""
    return delayed(value, pure=False, traverse=False)


def current_workers() -> DaskWorkers | None:
    """The workers of the client that dask itself would use now, if there is one."""
    distributed = sys.modules.get("distributed")  # nobody has a client who has not imported it
    if distributed is None:
        return None
    try:
        return DaskWorkers(distributed.Client.current())
    except ValueError:
        return None


@contextmanager
def workers_at(place: Any) -> Iterator[DaskWorkers]:
    """Connect to a cluster, or start one, for the length of a context.

    place : "local" or "local:3" for processes of this machine, each with one thread; the address of a scheduler; a
        client of dask.distributed, or a cluster that a client can connect to. Those stay open.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(f"A cluster needs dask and distributed: pip install 'mercer[dask]' ({error}).") from None
    if isinstance(place, Client):
        with place.as_current():
            yield DaskWorkers(place)
        return
    if isinstance(place, str) and place.partition(":")[0] == "local":
        with _local(place) as started, Client(started) as client, client.as_current():
            yield DaskWorkers(client)
        return
    if isinstance(place, str) and "://" not in place:
        raise ValueError(
            f"cluster({place!r}): give the address of a scheduler, such as 'tcp://10.0.0.1:8786', or 'local:4' for "
            "four processes of this machine."
        )
    if not isinstance(place, str) and not hasattr(place, "scheduler_address"):
        raise TypeError(f"cluster() takes an address, a client or a cluster of dask, not {type(place).__name__}.")
    try:
        client = Client(place)
    except (OSError, ValueError) as error:
        raise ConnectionError(f"No scheduler of dask answers at {place}: {error}") from error
    with client, client.as_current():
        yield DaskWorkers(client)


def _local(place: str) -> Any:
    from distributed import LocalCluster

    count = place.partition(":")[2]
    if place != "local" and not (count.isdecimal() and int(count) > 0):
        raise ValueError(f"cluster({place!r}): 'local:4' starts four processes; 'local' starts one per core.")
    workers = int(count) if count else cpu.usable_cores()
    with config.set(_SELDOM):
        return LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
