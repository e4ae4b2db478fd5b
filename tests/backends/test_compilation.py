"""What makes compiled code give the same bits in every process; scripts/test_compilation.py runs it in several."""

import importlib
from pathlib import Path

from mercer.backends import compilation

LOOPS = sorted(path.stem for path in Path(compilation.__file__).parent.glob("compiled_*.py"))


def dispatchers():
    """Every compiled function of the package, by module and name."""
    from numba.core.registry import CPUDispatcher

    modules = [importlib.import_module(f"mercer.backends.{name}") for name in LOOPS]
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, CPUDispatcher)
    }


def test_every_option_that_decides_about_bits_is_given():
    named = dispatchers()
    assert len(named) > 40
    for name, function in named.items():
        assert set(compilation.options()) <= set(function.targetoptions), name


def test_functions_with_flags_that_compiled_code_calls_are_inlined():
    named = dispatchers()
    flagged = {
        id(function): name
        for name, function in named.items()
        if function.targetoptions["fastmath"] and not function.targetoptions["forceinline"]
    }
    assert flagged
    for name, function in named.items():
        code, scope = function.py_func.__code__, function.py_func.__globals__
        called = {flagged.get(id(scope.get(used))) for used in code.co_names} - {None}
        assert not called, f"{name} calls {called}: decorate them with inlined()"
