"""Names of a package are imported when they are first used, and completion lists them before."""

import sys
from importlib import import_module

import pytest

from mercer.deferred_names import deferred_names

PACKAGES = [
    "mercer",
    "mercer.embedding",
    "mercer.graph",
    "mercer.linalg",
    "mercer.models",
    "mercer.streams",
    "mercer.tables",
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_listed_and_found(package):
    module = import_module(package)
    assert set(module.__all__) <= set(dir(module))
    for name in dir(module):
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_unknown_names_are_attribute_errors(package):
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nobody'"):
        _ = import_module(package).nobody


def test_a_module_is_loaded_when_its_name_is_used(tmp_path, monkeypatch):
    folder = tmp_path / "lazy_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "home.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    get, listed = deferred_names("lazy_package", {"value": "home", "home": "home"}, ["own"])
    assert listed() == ["home", "own", "value"] and "lazy_package.home" not in sys.modules
    assert get("value") == 7 and get("home") is sys.modules["lazy_package.home"]
