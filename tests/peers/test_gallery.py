"""scripts/sklearn_gallery.py: which examples it takes, how it swaps classes, and what it says of the outcome."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "sklearn_gallery.py"
SHARED = {"decomposition": ["PCA"], "manifold": ["TSNE"]}


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("sklearn_gallery", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize(
    "source, names",
    [
        ("from sklearn.decomposition import NMF, PCA", ["PCA"]),
        ("from sklearn import manifold\nmanifold.TSNE(2)", ["TSNE"]),
        ("from sklearn.decomposition import NMF", []),
        ("# manifold.TSNE is not used here", []),
    ],
)
def test_an_example_is_known_by_the_classes_it_uses(gallery, source, names):
    assert gallery.uses(source, SHARED) == names


def test_numbers_are_compared_and_times_are_not(gallery):
    assert gallery.compared("score 0.950\ntook 3 s", "score 0.951\ntook 9 s") == "1 numbers alike"
    assert gallery.compared("a 1.0 b 2.0", "a 1.0 b 2.5") == "1 of 2 numbers differ"
    assert gallery.compared("a 1.0", "a") == "0 numbers instead of 1"
    assert gallery.compared("no number", "none either") == ""


def test_both_forms_of_import_are_swapped(gallery, tmp_path):
    path = tmp_path / "plot_swapped.py"
    path.write_text(
        "from sklearn import manifold\nfrom sklearn.decomposition import PCA\n"
        "print(PCA.__module__.split('.')[0], manifold.TSNE.__module__.split('.')[0])\n"
    )
    assert gallery.run_apart(path, True, 60).printed.split() == ["mercer", "mercer"]


def test_an_example_that_needs_the_network_is_skipped(gallery, tmp_path):
    path = tmp_path / "plot_network.py"
    path.write_text("import urllib.request\nurllib.request.urlopen('http://example.org')\n")
    outcome = gallery.run_apart(path, False, 60)
    assert (outcome.status, outcome.last_line) == (gallery.SKIPPED, "it needs the network")


def test_a_missing_package_is_a_reason_and_a_bug_is_not(gallery):
    assert gallery.why_not_here(ModuleNotFoundError("no", name="seaborn")) == "it needs seaborn"
    assert gallery.why_not_here(ModuleNotFoundError("no", name="mercer.gone")) == ""
    assert gallery.why_not_here(ValueError("wrong")) == ""
