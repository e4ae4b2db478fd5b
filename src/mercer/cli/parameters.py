"""The options of a method, read from its estimator: names and defaults from the constructor, types from the docstring.

The source is parsed, not imported, so that `mercer fit --method tsne --help` does not wait for scikit-learn.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import isfinite
from typing import Any

from mercer.cli.methods import HIDDEN, METHODS

RENAMED = {"method": "repulsion"}  # t-SNE's `method` chooses its repulsion; --method chooses t-SNE itself
# Type -> the words of a docstring that mean it, and what a message calls it.
_TYPES = {
    "int": (r"\b(int|bytes)\b", "a whole number"),
    "float": (r"\bfloats?\b", "a number"),
    "pairs": (r"\blist of pairs\b", "pairs of rows such as 3-17,20-41"),
    "list": (r"\b(list(?! of pairs)|pair|array of)\b", "a list such as 30,100"),
    "text": (r"\b(str|text)\b", "a name"),
    "none": (r"\bNone\b", "none"),
}


@dataclass(frozen=True)
class Parameter:
    """One parameter of an estimator.

    kind : its type in the words of the docstring
    text : what the docstring says about it
    """

    name: str
    default: Any
    kind: str
    text: str

    @property
    def option(self) -> str:
        return "--" + RENAMED.get(self.name, self.name).replace("_", "-")

    @property
    def is_flag(self) -> bool:
        return isinstance(self.default, bool)

    @property
    def types(self) -> set[str]:
        unquoted = re.sub(r'"[^"]*"|of floats', "", self.kind)
        return {name for name, (words, _) in _TYPES.items() if re.search(words, unquoted)}

    @property
    def choices(self) -> list[str]:
        """The words that stand for themselves, such as "auto". If any text will do, quoted words are only examples."""
        return [] if "text" in self.types else re.findall(r'"([^"]+)"', self.kind)

    @property
    def metavar(self) -> str:
        """What --help shows in place of the value."""
        types = self.types
        if "text" in types:
            shown = ["SIZE" if "int" in types else "NAME"]  # a size is a number of bytes, or text such as 4GB
        else:
            shown = ["NUMBER"] if "float" in types else ["INT"] if "int" in types else []
        shown += [word for name, word in (("pairs", "PAIRS"), ("list", "LIST"), ("none", "none")) if name in types]
        return "|".join([*self.choices, *shown])

    def parse(self, text: str) -> Any:
        """The value that a word of the command line means. ValueError if it means none."""
        for name in self.choices:
            if text.lower() == name.lower():
                return name
        if "none" in self.types and text.lower() == "none":
            return None
        for name, convert in (("int", int), ("float", _finite), ("pairs", _pairs), ("list", _numbers)):
            if name in self.types:
                try:
                    return convert(text)
                except ValueError:
                    continue
        if "text" in self.types and text:
            return text
        from mercer.cli.options import did_you_mean

        if hint := did_you_mean(text.lower(), self.choices):
            raise ValueError(f"{self.option} {text!r} is unknown. {hint}")
        wanted = sorted(self.choices)
        wanted += [words for name, (_, words) in _TYPES.items() if name in self.types]
        listed = " or ".join(filter(None, [", ".join(wanted[:-1]), wanted[-1]]))
        raise ValueError(f"{self.option} takes {listed}, not {text!r}.")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


def _numbers(text: str) -> list[float]:
    if "," not in text:
        raise ValueError(text)
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return [int(part) if re.fullmatch(r"[-+]?\d+", part) else _finite(part) for part in parts]


def _pairs(text: str) -> list[tuple[int, int]]:
    found = [re.fullmatch(r"(\d+)-(\d+)", part.strip()) for part in text.split(",") if part.strip()]
    if not found or not all(found):
        raise ValueError(text)
    return [(int(pair[1]), int(pair[2])) for pair in found if pair]


@cache
def parameters_of(method: str) -> tuple[Parameter, ...]:
    """The parameters of a method that make sense in a shell, in the constructor's order."""
    found = METHODS[method]
    # The nearest class that has a constructor, or a list of parameters, is enough: more files would take time to parse.
    constructors = map(_constructor, _with_bases(found.module, found.estimator))
    defaults = next(filter(None, constructors)) | found.defaults
    documents = map(_described, _with_bases(found.module, found.documented_by or found.estimator))
    described = next(filter(None, documents))
    result = []
    for name, default in defaults.items():
        if name not in HIDDEN:
            kind, text = described[name]
            kind = kind if default is not None or "None" in kind else f"{kind} or None"
            result.append(Parameter(name, default, kind, text))
    return tuple(result)


@cache
def option_owners() -> dict[str, list[str]]:
    """Option -> the methods that have it."""
    found: dict[str, list[str]] = {}
    for method in METHODS:
        for parameter in parameters_of(method):
            found.setdefault(parameter.option, []).append(method)
    return found


@cache
def _parsed(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None and spec.loader is not None
    return ast.parse(spec.loader.get_source(module))  # type: ignore[attr-defined]


def _with_bases(module: str, name: str) -> Iterator[ast.ClassDef]:
    """A class and its bases within the package, as syntax trees, nearest first."""
    tree = _parsed(module)
    node = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    yield node
    imported = {
        alias.name: part.module
        for part in tree.body
        if isinstance(part, ast.ImportFrom) and (part.module or "").startswith("mercer.")
        for alias in part.names
    }
    own = {part.name for part in tree.body if isinstance(part, ast.ClassDef)}
    for base in node.bases:
        if isinstance(base, ast.Name) and (base.id in own or base.id in imported):
            yield from _with_bases(imported.get(base.id) or module, base.id)


def _constructor(node: ast.ClassDef) -> dict[str, Any]:
    """Names and defaults of __init__, all of them literals; empty if the class has none."""
    init = next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"), None)
    if init is None:
        return {}
    own = init.args.args[1:]
    pairs = list(zip(own[len(own) - len(init.args.defaults) :], init.args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True) if d is not None]
    return {argument.arg: ast.literal_eval(default) for argument, default in pairs}


def _described(node: ast.ClassDef) -> dict[str, tuple[str, str]]:
    """Name -> (type, text) of the entries under Parameters in the docstring of a class."""
    docstring = inspect.cleandoc(ast.get_docstring(node) or "")
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", docstring, re.M | re.S)
    entries: dict[str, tuple[str, str]] = {}
    for heading, body in re.findall(
        r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n|\n)*)", (section[1] if section else "") + "\n", re.M
    ):
        names, _, kind = heading.partition(" : ")
        kind = re.sub(r",?\s*default[ =].*$", "", kind)
        for name in names.split(","):
            entries[name.strip()] = kind.strip(), " ".join(body.split())
    return entries
