"""The tables of docs/coming_from: what they call by Mercer's names exists, and takes the arguments that they show."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import mercer

PAGES = sorted((Path(__file__).parents[2] / "docs" / "coming_from").glob("*.md"))
MODULES = [
    getattr(mercer, name) for name in ("kernels", "linalg", "embedding", "selection", "quality", "graph", "streams")
]
NAMES = {name: getattr(module, name) for module in (*MODULES, mercer) for name in module.__all__} | {"mercer": mercer}
NAMES |= {"tsne": mercer.TSNE, "estimator": mercer.PCA}  # variables of the tables
OTHERS = {"Ridge", "k", "fit", "transform", "scipy", "pip"}  # scikit-learn's, a kernel, and methods of any estimator


def rows(page):
    """(page, the cell in Mercer's column) of every row of every table."""
    column = None
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            column = None
        elif column is None:
            column = next((i for i, cell in enumerate(cells) if "Mercer" in cell), None)
        elif not set(line) <= set("|-: "):
            yield page.name, cells[column]


def calls():
    """Every call of a name in a cell of Mercer's column."""
    for page in PAGES:
        for name, cell in rows(page):
            for span in re.findall(r"`([^`]+)`", cell):
                try:
                    tree = ast.parse(span, mode="eval")
                except SyntaxError:
                    continue  # a keyword alone, such as init="pca"
                yield from ((name, span, node) for node in ast.walk(tree) if isinstance(node, (ast.Call, ast.Name)))


def resolved(node):
    """What a dotted name stands for."""
    if isinstance(node, ast.Attribute):
        return getattr(resolved(node.value), node.attr)
    return NAMES[node.id]


def root(node):
    return root(node.value) if isinstance(node, ast.Attribute) else node


CALLS = list(calls())


def test_the_tables_have_rows():
    assert len(PAGES) == 7
    assert len({span for _, span, _ in CALLS}) > 50


@pytest.mark.parametrize(("page", "span", "node"), CALLS, ids=[f"{page}: {span}" for page, span, _ in CALLS])
def test_what_a_table_names_exists(page, span, node):
    if isinstance(node, ast.Name):
        if node.id[0].isupper() and node.id not in OTHERS | {"X", "D"}:
            assert node.id in NAMES, f"{page}: {span}"
        return
    start = root(node.func)
    if not isinstance(start, ast.Name) or start.id in OTHERS:
        return
    called = resolved(node.func)
    given = {keyword.arg for keyword in node.keywords}
    assert given <= set(inspect.signature(called).parameters), f"{page}: {span}"
