"""Progress of a long computation, reported to a listener if there is one.

Loops that deal out jobs (`for_each` of a backend) count them while someone listens. A computation names its phase, so
that a listener knows what is counted. Without a listener all of this costs one comparison per loop.

A listener hears what its own thread computes, with the jobs that this thread deals out to others. A fit in another
thread is not its concern: a live map may be computed in the background of a notebook while a cell fits something else.

>>> seen = []
>>> with listening(lambda *told: seen.append(told)), phase("rows"):
...     done_one = counter(2)
...     done_one(), done_one()
(None, None)
>>> seen
[('rows', 0, 0, ''), ('rows', 0, 2, ''), ('rows', 1, 2, ''), ('rows', 2, 2, '')]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, local
from typing import Any, TypeVar

Listener = Callable[[str, int, int, str], None]  # (phase, jobs done, jobs in all or 0 if unknown, note)


class _Heard(local):
    """What a thread computes, and who listens to it."""

    def __init__(self) -> None:
        self.listeners: list[Listener] = []  # the last one listens
        self.phases: list[str] = []  # the innermost is last
        self.note = [""]


_here = _Heard()
_lock = Lock()
_F = TypeVar("_F", bound=Callable[..., Any])


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a listener called when this thread begins a phase, and when a job of a named phase is done.

    A job is told of from the thread that has done it.
    """
    _here.listeners.append(listener)
    _here.note[0] = ""
    try:
        yield
    finally:
        _here.listeners.remove(listener)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name what is computed within the block. After it, the phase around it goes on."""
    _here.phases.append(name)
    try:
        _announce()  # a listener may end the computation here
        yield
    finally:
        _here.phases.pop()
        _announce()


def _announce() -> None:
    if _here.listeners and _here.phases:
        _here.listeners[-1](_here.phases[-1], 0, 0, _here.note[0])


def in_phase(name: str) -> Callable[[_F], _F]:
    """A decorator that names what a function computes."""

    def decorate(function: _F) -> _F:
        @wraps(function)
        def named(*args: Any, **settings: Any) -> Any:
            if not _here.listeners:
                return function(*args, **settings)
            with phase(name):
                return function(*args, **settings)

        return named  # type: ignore[return-value]

    return decorate


def tell(note: str) -> None:
    """Add what is known beyond the count, such as a residual."""
    if _here.listeners:
        _here.note[0] = note


def listened() -> bool:
    """Whether a note would be heard."""
    return bool(_here.listeners)


def counter(total: int) -> Callable[[], None] | None:
    """A function to call after each of the jobs; None if no one listens or the phase has no name."""
    if not _here.listeners or not _here.phases:
        return None
    note, listener, name, done = _here.note, _here.listeners[-1], _here.phases[-1], [0]
    listener(name, 0, total, note[0])

    def done_one() -> None:
        with _lock:
            done[0] += 1
            listener(name, done[0], total, note[0])  # of the thread that deals out the jobs

    return done_one


def counted(name: str, items: Iterable[Any], total: int) -> Iterator[Any]:
    """Yield the items, `total` of them, and count them under one name. What happens within an item is not reported.

    >>> seen = []
    >>> with listening(lambda *told: seen.append(told[:3])):
    ...     for _ in counted("rows", ["first"], 1):
    ...         with phase("a detail"):
    ...             counter(9)()
    >>> seen
    [('rows', 0, 0), ('rows', 0, 1), ('rows', 1, 1)]
    """
    with phase(name):
        done_one = counter(total)
    if done_one is None:
        yield from items
        return

    def unheard(*_: Any) -> None: ...

    _here.listeners.append(unheard)
    try:
        for item in items:
            yield item
            done_one()
    finally:
        _here.listeners.remove(unheard)
