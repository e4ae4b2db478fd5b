"""Options of a method, read off its estimator: the constructor has names and defaults, the docstring types and docs.

The source is parsed, not imported, so that `mercer fit --method tsne --help` need not wait for scikit-learn.
"""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import isfinite
from typing import Any

from mercer.cli.methods import METHODS

# Objects and callbacks, what other options set, and what is taken for scikit-learn's sake and not used.
HIDDEN = {
    *("kernel_params", "kernel_params_y", "metric_params", "fixed", "callbacks", "callback_every", "snapshots"),
    *("random_state", "n_jobs", "verbose", "copy", "copy_X"),
    *("angle", "path_method"),
}


RENAMED = {"method": "repulsion"}  # t-SNE's method is how it repels; --method is t-SNE itself
UNSAID = {"n_components": "How many coordinates.", "eigen_solver": "How eigenvectors are found."}


@dataclass(frozen=True)
class Parameter:
    """One parameter of an estimator.

    kind : its type as the docstring has it
    text : what the docstring says
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
    def names(self) -> list[str]:
        """The words that stand for themselves, such as "auto"."""
        return [] if self.is_text else re.findall(r'"([^"]+)"', self.kind)

    @property
    def is_text(self) -> bool:
        return bool(re.search(r"\b(str|text)\b", self.kind))

    def takes(self, what: str) -> bool:
        """Whether int, float, list or None is among its types."""
        words = {"int": r"\b(int|bytes)\b", "float": r"\bfloats?\b", "list": r"\b(list|pair|array of)\b"}
        return bool(re.search(words.get(what, rf"\b{what}\b"), re.sub(r'"[^"]*"|of floats', "", self.kind)))

    @property
    def metavar(self) -> str:
        """What --help shows for the value."""
        parts = list(self.names)
        if self.is_text:
            parts.append("NAME" if not self.takes("int") else "SIZE")
        elif self.takes("float"):
            parts.append("NUMBER")
        elif self.takes("int"):
            parts.append("INT")
        if self.takes("list"):
            parts.append("LIST")
        if self.takes("None"):
            parts.append("none")
        return "|".join(parts)

    def parse(self, text: str) -> Any:
        """The value that a word of the command line stands for; ValueError where it is none."""
        for name in self.names:
            if text.lower() == name.lower():
                return name
        if self.takes("None") and text.lower() == "none":
            return None
        for what, convert in (("int", int), ("float", _finite), ("list", _numbers)):
            if self.takes(what):
                try:
                    return convert(text)
                except ValueError:
                    continue
        if self.is_text and text:
            return text
        raise ValueError(f"{self.option} takes {self.wanted()}, not {text!r}")

    def wanted(self) -> str:
        """The values in words."""
        words = [f'"{name}"' for name in self.names]
        words += [word for what, word in _WORDS.items() if self.takes(what)]
        words += ["a name"] if self.is_text else []
        return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


_WORDS = {"int": "a whole number", "float": "a number", "list": "a list such as 30,100", "None": "none"}


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


def _numbers(text: str) -> list[float]:
    parts = [part for part in text.split(",") if part.strip()]
    if len(parts) < 2 and "," not in text:
        raise ValueError(text)
    return [int(part) if re.fullmatch(r"\s*[-+]?\d+\s*", part) else _finite(part) for part in parts]


@cache
def parameters_of(method: str) -> tuple[Parameter, ...]:
    """The parameters of a method that make sense in a shell, in the constructor's order."""
    found = METHODS[method]
    tree = _source(found.module)
    described = _described(ast.get_docstring(_class(tree, found.documented_by or found.estimator)) or "")
    result = []
    for name, default in _constructor(_class(tree, found.estimator)).items():
        if name not in HIDDEN:
            kind, text = described.get(name, ("", ""))
            default = found.defaults.get(name, default)
            kind = kind or _kind_of(name, default, described)
            kind = kind if default is not None or "None" in kind else f"{kind} or None"
            result.append(Parameter(name, default, kind, text or UNSAID.get(name, "")))
    return tuple(result)


@cache
def owners() -> dict[str, list[str]]:
    """Option -> the methods that have it."""
    found: dict[str, list[str]] = {}
    for method in METHODS:
        for parameter in parameters_of(method):
            found.setdefault(parameter.option, []).append(method)
    return found


def _kind_of(name: str, default: Any, described: dict[str, tuple[str, str]]) -> str:
    """The type of a parameter that the docstring names without one: that of its default, or of its stem."""
    if default is None and name.endswith("_y"):
        return described.get(name[:-2], ("", ""))[0] or "float"
    return "float" if isinstance(default, int | float) else type(default).__name__


def _source(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None and spec.loader is not None
    return ast.parse(spec.loader.get_source(module))  # type: ignore[attr-defined]


def _class(tree: ast.Module, name: str) -> ast.ClassDef:
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _constructor(node: ast.ClassDef) -> dict[str, Any]:
    """Names and defaults of __init__, which are literals."""
    init = next(part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__")
    own = init.args.args[1:]
    pairs = list(zip(own[len(own) - len(init.args.defaults) :], init.args.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True) if d is not None]
    return {argument.arg: ast.literal_eval(default) for argument, default in pairs}


def _described(docstring: str) -> dict[str, tuple[str, str]]:
    """Name -> (type, text) of the entries of a docstring's Parameters."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", inspect.cleandoc(docstring), re.M | re.S)
    entries: dict[str, tuple[str, str]] = {}
    for heading, body in re.findall(
        r"^(\S[^\n]*)\n((?:[ \t]+[^\n]*\n|\n)*)", (section[1] if section else "") + "\n", re.M
    ):
        names, _, kind = heading.partition(" : ")
        kind = re.sub(r",?\s*default[ =].*$", "", kind)
        for name in names.split(","):
            entries[name.strip()] = kind.strip(), " ".join(body.split())
    return entries
