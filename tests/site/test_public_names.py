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
