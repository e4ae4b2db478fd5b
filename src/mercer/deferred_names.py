"""Public names of a package that are imported when they are first used, so that a program loads only what it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def deferred_names(
    package: str, homes: Mapping[str, str], others: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package.

    homes : the module inside the package that each name lives in; a name that is its own home is that module
    others : names that the package defines itself
    """
    listed = sorted({*homes, *others})

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return module if homes[name] == name else getattr(module, name)

    return get, lambda: list(listed)
