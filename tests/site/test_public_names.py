"""What the reference promises of every public name, checked on the docstrings that its pages are made of."""

import inspect

import pytest
from public_names import pages

NAMES = sorted({name.path: name for name in pages().values()}.items())


def docstring(name):
    return inspect.getdoc(name.value) or ""


def test_names_of_one_object_share_a_page():
    homes = pages()
    assert homes["mercer.selection.diagnose_neighbors"].path == "mercer.diagnose_neighbors"
    assert homes["mercer.kernels.RBF"].path == "mercer.kernels.RBF"


@pytest.mark.parametrize("name", [name for _, name in NAMES if name.kind != "data"], ids=lambda name: name.path)
def test_a_docstring_says_first_what_the_name_is(name):
    first = docstring(name).partition("\n\n")[0]
    assert first.strip().endswith((".", ":", "…")), f"{name.path}: the first paragraph is not a sentence: {first!r}"
    assert len(first.split()) >= 3, f"{name.path}: {first!r} says too little"


def explained(name):
    """The text in which a parameter may be explained: the docstring, that of its class, and comments beside fields."""
    text = docstring(name)
    if name.kind in ("class", "exception"):
        text += inspect.getdoc(name.value.__init__) or ""
        text += inspect.getsource(name.value)
    return text


def parameters(name):
    try:
        found = inspect.signature(name.value).parameters
    except (TypeError, ValueError):
        return []
    return [each for each in found if each not in ("self", "args", "kwargs", "kernel_params")]


@pytest.mark.parametrize(
    "name", [name for _, name in NAMES if name.kind in ("class", "function")], ids=lambda name: name.path
)
def test_every_parameter_is_named_where_it_is_explained(name):
    text = explained(name)
    missing = [each for each in parameters(name) if each not in text]
    assert not missing, f"{name.path} does not mention {missing}"


# What opens a page, and the parts of pages: the guides to the page and to live maps show them together.
PAGES_OF_MAPS = ("explore", "live.LiveTable", "live.Session")
PARTS_OF_PAGES = ("web.AsFitted", "web.Map", "web.NearRows", "web.Page", "web.page_bytes")
WITHOUT_EXAMPLE = {f"mercer.{name}" for name in PAGES_OF_MAPS + PARTS_OF_PAGES}


def test_every_public_name_has_an_example_that_doctest_runs():
    missing = {path for path, name in NAMES if name.kind not in ("data", "module") and ">>> " not in docstring(name)}
    assert missing == WITHOUT_EXAMPLE
