"""The public names: what `import mercer` offers at once, what it costs, and what is written beside the package."""

import inspect
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import mercer

ROOT = Path(__file__).parents[1]
MODULES = [name for name in dir(mercer) if inspect.ismodule(getattr(mercer, name))]


def in_fresh_interpreter(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_public_module_is_there_after_import_mercer():
    names = {"exceptions", "kernels", "linalg", "models", "plots", "preimage", "quality", "selection", "tables", "web"}
    assert names | {"testing"} <= set(MODULES)
    for name in MODULES:
        in_fresh_interpreter(f"import mercer; assert mercer.{name}.__name__ == 'mercer.{name}'")


def test_import_mercer_loads_no_library():
    heavy = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "pyarrow", "torch", "h5py")
    loaded = in_fresh_interpreter(f"import sys, mercer; print([name for name in {heavy} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_completion_offers_public_names_alone():
    assert set(dir(mercer)) == {*mercer.__all__, *MODULES, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mercer.nothing  # noqa: B018
    for name in MODULES:
        module = getattr(mercer, name)
        if hasattr(module, "__all__"):
            assert set(dir(module)) == set(module.__all__), f"dir(mercer.{name}) is not its __all__"
            assert not [name for name in module.__all__ if name.startswith("_")]
            assert all(hasattr(module, public) for public in module.__all__)


def test_the_package_says_that_it_is_typed():
    assert (Path(mercer.__file__).parent / "py.typed").exists()


def test_the_version_is_the_same_wherever_it_stands():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert project["version"] == mercer.__version__ == version("mercer")
    assert f"\nversion: {mercer.__version__}\n" in citation
    assert f"\nlicense: {project['license']}\n" in citation
