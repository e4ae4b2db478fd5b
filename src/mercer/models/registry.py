"""The classes that a model file may name, where they live, and what each is made of.

This is the whole list: a file chooses among these names and nothing else, and each value is held to its line before an
object is built of it. The same lines are read when a model is saved, so that what is saved can be loaded.
"""

from __future__ import annotations

import sys
from typing import Any

from mercer.models.checks import Wrong
from mercer.models.entry import Entry
from mercer.models.known_estimators import ESTIMATORS
from mercer.models.known_indexes import INDEXES
from mercer.models.known_kernels import GAUSSIAN_PROCESS, KERNELS
from mercer.models.known_parts import PARTS, PREIMAGES
from mercer.models.known_sklearn import SKLEARN

ENTRIES: dict[str, Entry] = {
    **ESTIMATORS, **PARTS, **PREIMAGES, **INDEXES, **KERNELS, **GAUSSIAN_PROCESS, **SKLEARN,
}  # fmt: skip
SHARED = ("KernelExpansion",)  # objects that several others hold, and must go on holding together

_BY_NAME: dict[str, list[str]] = {}
for _name, _entry in ENTRIES.items():
    _BY_NAME.setdefault(_entry.home.partition(":")[2], []).append(_name)


def entry_of(name: Any) -> Entry:
    """The line of a name that stands in a file."""
    if not isinstance(name, str) or name not in ENTRIES:
        raise Wrong(f"{str(name)[:60]!r} is no class that this Mercer knows")
    return ENTRIES[name]


def find_entry(value: Any) -> tuple[str, Entry] | None:
    """The name and the line of an object's class; None where it has none. Nothing is imported."""
    for name in _BY_NAME.get(type(value).__name__, ()):
        module, _, attribute = ENTRIES[name].home.partition(":")
        if getattr(sys.modules.get(module), attribute, None) is type(value):
            return name, ENTRIES[name]
    return None


def describe(value: Any, place: str = "") -> str:
    """The end of the sentence that refuses an object, at that place, which is not in the table."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    inner = getattr(value, "function", value)
    if callable(inner) and not hasattr(inner, "get_params"):
        name = getattr(inner, "__name__", type(inner).__name__)
        if place.startswith("callbacks"):
            return f"a function ({name}), and a model file holds data, never code: set_params(callbacks=None) first."
        return (
            f"a function ({name}), and a model file holds data, never code. Take a kernel of mercer.kernels or a "
            "metric by its name, or set it to None, and fit again; or save the matrix it gives, and fit to that."
        )
    if hasattr(value, "fit"):
        known = ", ".join(sorted(name.partition(".")[2] for name in SKLEARN if not name.endswith("Binarizer")))
        return f"an estimator {kind}, which a model file does not hold. Besides Mercer's own it holds {known}."
    return f"an object of {kind}, which a model file does not hold: it holds plain values, arrays and Mercer's own."
