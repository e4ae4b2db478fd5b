"""scikit-learn's own tests, read from the installed package and run on Mercer's classes instead."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def load_swapped(module_name: str, replacements: dict[str, Any]) -> ModuleType:
    """The test module `module_name`, run with `replacements` (name -> object) in place of what it imports.

    Each name is rebound right after the statement that imports it, so decorators that build estimators while
    the module runs already see the replacement. A name that the module never imports is an error.
    """
    spec = importlib.util.find_spec(module_name)
    if spec is None or spec.origin is None:
        raise ImportError(f"{module_name} has no source file to read.")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"), spec.origin)
    missing = set(replacements) - _rebind_imports(tree, set(replacements))
    if missing:
        raise ImportError(f"{module_name} does not import {sorted(missing)} at its top level.")
    module = ModuleType(f"swapped_{module_name.rpartition('.')[2]}")
    module.__file__ = spec.origin
    module.__package__ = module_name.rpartition(".")[0]
    vars(module)["__replacements__"] = replacements
    exec(compile(tree, spec.origin, "exec"), vars(module))
    return module


def collected(module: ModuleType, exceptions: dict[str, str] | None = None) -> dict[str, Any]:
    """The tests of a swapped module, for a test file's globals; `exceptions` (test -> reason) are skipped."""
    exceptions = exceptions or {}
    tests = {name: value for name, value in vars(module).items() if name.startswith(("test_", "Test"))}
    unknown = set(exceptions) - set(tests)
    if unknown:
        raise LookupError(f"Exceptions for tests that {module.__name__} does not have: {sorted(unknown)}.")
    return {
        name: pytest.mark.skip(reason=exceptions[name])(test) if name in exceptions else test
        for name, test in tests.items()
    }


def _rebind_imports(tree: ast.Module, names: set[str]) -> set[str]:
    """After each top-level import of one of `names`, bind it to its replacement; the names found."""
    body: list[ast.stmt] = []
    found: set[str] = set()
    for statement in tree.body:
        body.append(statement)
        if not isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        for bound in (alias.asname or alias.name for alias in statement.names):
            if bound in names:
                found.add(bound)
                rebinding = ast.parse(f"{bound} = __replacements__[{bound!r}]").body[0]
                body.append(ast.fix_missing_locations(ast.copy_location(rebinding, statement)))
    tree.body = body
    return found
