"""The public names of Mercer, and the page of each: what `reference_pages` and `linked_names` and their tests share."""

import inspect
import re
import sys
from dataclasses import dataclass
from typing import Any

import mercer

MODULES = [name for name in dir(mercer) if inspect.ismodule(getattr(mercer, name))]


@dataclass(frozen=True)
class PublicName:
    """A name that users import: `mercer.KernelPCA` or `mercer.kernels.RBF`."""

    module: str  # "mercer" or "mercer.kernels"
    name: str
    value: Any

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def kind(self) -> str:
        if inspect.ismodule(self.value):
            return "module"
        if inspect.isclass(self.value):
            return "exception" if issubclass(self.value, BaseException) else "class"
        return "function" if callable(self.value) else "data"

    @property
    def comment(self) -> str:
        """What the `#:` comment above a constant says, in whichever module of the package defines it."""
        for path in sorted(path for path in sys.modules if path.split(".")[0] == "mercer"):
            if getattr(sys.modules[path], self.name, None) is self.value:
                said = re.search(
                    rf"((?:^#: .*\n)+){self.name}\b.*=", inspect.getsource(sys.modules[path]), re.MULTILINE
                )
                if said:
                    return " ".join(line.removeprefix("#:").strip() for line in said[1].splitlines())
        return ""


def names_of(module: Any) -> list[PublicName]:
    return [PublicName(module.__name__, name, getattr(module, name)) for name in module.__all__]


def public_names() -> list[PublicName]:
    """Every public name, those of `mercer` itself first. Names of one object share a page: that of the first."""
    return [name for module in (mercer, *(getattr(mercer, each) for each in MODULES)) for name in names_of(module)]


def pages() -> dict[str, PublicName]:
    """The path of every public name, and the name that has the page: itself, or an earlier name of the same object."""
    first: dict[int, PublicName] = {}
    answer = {}
    for name in public_names():
        answer[name.path] = first.setdefault(id(name.value), name) if name.kind != "data" else name
    return answer
