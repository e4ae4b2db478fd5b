"""What the reference promises of every public name, checked on the docstrings that its pages are made of."""

import inspect
import re

import pytest
from public_names import pages

NAMES = sorted({name.path: name for name in pages().values()}.items())


def docstring(name):
    return inspect.getdoc(name.value) or ""


def test_names_of_one_object_share_a_page():
    homes = pages()
    assert homes["mercer.selection.diagnose_neighbors"].path == "mercer.diagnose_neighbors"
    assert homes["mercer.kernels.RBF"].path == "mercer.kernels.RBF"


def test_every_constant_has_a_comment():
    """Without one its page would show the docstring of str or tuple."""
    assert not [path for path, name in NAMES if name.kind == "data" and not name.comment.endswith(".")]


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


# These hold, read, write, draw, check or run something. They compute nothing that a formula could say.
WITHOUT_FORMULA = {
    *("explore", "load", "open_rows", "widget", "write_rows"),
    *("graph.NeighborIndex", "graph.Neighbors", "kernels.Points"),
    *("preimage.InverseRequest", "preimage.Method", "preimage.PreImage", "preimage.resolve_method"),
    *("quality.QualityReport", "quality.Score", "quality.report"),
    *("selection.DistanceSummary", "selection.KernelSelection", "selection.NeighborsDiagnosis"),
    *("selection.ScoredKernel",),
    *("streams.ArraySource", "streams.ChunkWork", "streams.DeviceRows", "streams.ListSource", "streams.RowSource"),
    *("streams.ShardedRows", "streams.checkpoints", "streams.cluster"),
}
MODULES_WITHOUT_FORMULAS = ("live", "models", "plots", "tables", "testing", "web")
FORMULA = re.compile(r"[=∝≈≤‖Σ√↦→]")


def test_what_computes_has_a_formula():
    """A line of the docstring, before its example, that is mathematics and not the name of a parameter."""
    for path, name in NAMES:
        short = path.removeprefix("mercer.")
        if name.kind not in ("class", "function") or short.startswith(MODULES_WITHOUT_FORMULAS):
            continue
        text = re.sub(r"`[^`]*`", "", docstring(name).partition(">>>")[0])
        assert bool(FORMULA.search(text)) or short in WITHOUT_FORMULA, f"{path} has no formula"


# These hold answers, or leave the work to others.
WITHOUT_COST = {
    *("quality.Score", "quality.QualityReport", "graph.NeighborIndex", "graph.Neighbors"),
    *("linalg.Eigenpairs", "linalg.Factor", "linalg.Operator", "linalg.Solution"),
    *("selection.DistanceSummary", "selection.HSIC", "selection.KernelSelection", "selection.LeaveOneOut"),
    *("selection.NeighborsDiagnosis", "selection.ParallelAnalysis", "selection.Reconstruction"),
    *("selection.ScoredKernel", "selection.default_candidates"),
}


def test_what_computes_says_what_it_costs():
    for path, name in NAMES:
        short = path.removeprefix("mercer.")
        if name.kind not in ("class", "function") or short in WITHOUT_COST:
            continue
        estimator = "." not in short and name.kind == "class"
        if estimator or short.startswith(("quality.", "selection.", "linalg.", "graph.")):
            assert re.search(r"\b[Cc]ost", docstring(name)), f"{path} does not say what it costs"


def test_every_public_name_has_an_example_that_doctest_runs():
    missing = {path for path, name in NAMES if name.kind not in ("data", "module") and ">>> " not in docstring(name)}
    assert not missing
