"""Methods as objects: what they need, how they are fitted and described, and which one auto takes."""

import numpy as np
import pytest

from mercer.cli.errors import Failure
from mercer.cli.methods import METHODS, as_classes, choose_method
from mercer.tables.table import Choice, read_table

QUICK = {"sne": {"max_iter": 60, "perplexity": 8.0}, "tsne": {"max_iter": 60, "perplexity": 8.0}}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_is_fitted_named_described_and_scored(shell, name):
    method = METHODS[name]
    table = read_table("flowers.csv", Choice(label="species", id="name"))
    second = read_table("flowers.csv", Choice(columns=("m0", "m1"))) if method.takes_second else None
    estimator = method.build(QUICK.get(name, {}), seed=0, jobs=1, shape=table.X.shape)
    coordinates = method.fit(estimator, method.arguments(table, second), lambda *_: None)
    names = method.column_names(coordinates.shape[1])
    assert len(coordinates) == 90 and len(set(names)) == coordinates.shape[1]
    assert all(column.startswith(name) for column in names)
    covered = [column for _, part in method.views(len(names)) for column in names[part]]
    assert covered == names
    lines = method.summarize(estimator)
    assert lines and all(label and value for label, value in lines)
    assert method.score(table, coordinates)["trustworthiness"].value > 0.5


def test_the_scores_of_two_tables_are_those_of_the_first_table_s_map(shell):
    from mercer.quality import trustworthiness

    method = METHODS["kcca"]
    table = read_table("flowers.csv", Choice(label="species", id="name"))
    second = read_table("flowers.csv", Choice(columns=("m0", "m1")))
    estimator = method.build({}, seed=0, jobs=1)
    coordinates = method.fit(estimator, method.arguments(table, second), lambda *_: None)
    found = method.score(table, coordinates, neighbors=7)["trustworthiness"]
    assert found.value == trustworthiness(table.X, estimator.x_scores_, n_neighbors=7).value


@pytest.mark.parametrize(
    ("name", "has", "said"),
    [
        ("kda", {"label": False, "second": False}, "--label"),
        ("kda", {"label": True, "second": False}, None),
        ("kcca", {"label": True, "second": False}, "--second"),
        ("kcca", {"label": False, "second": True}, None),
        ("tsne", {"label": False, "second": False}, None),
    ],
)
def test_methods_know_what_they_need(name, has, said):
    missing = METHODS[name].missing(**has)
    assert missing is None if said is None else said in missing


def test_a_parameter_switches_off_the_one_it_replaces():
    isomap = METHODS["isomap"]
    assert isomap.consistent({"radius": 2.0}, {"radius": 2.0}) == {"radius": 2.0, "n_neighbors": None}
    assert isomap.consistent({"radius": None}, {"radius": None}) == {"radius": None}
    both = {"radius": 2.0, "n_neighbors": 5}
    assert isomap.consistent(both, both) == both


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array(["a", "b"], object), ["a", "b"]),
        (np.array([1.0, 2.0]), [1, 2]),
        (np.array([True, False]), [1, 0]),
    ],
)
def test_labels_become_classes(labels, classes):
    assert as_classes(labels).tolist() == classes


@pytest.mark.parametrize("labels", [np.array([0.5, 1.0]), np.array([np.nan, 1.0]), np.array(["a", None], object)])
def test_fractions_and_gaps_are_not_classes(labels):
    with pytest.raises(Failure, match="label"):
        as_classes(labels)


def test_what_auto_chooses_is_a_rule():
    assert choose_method(5, second=False)[0].name == "pca"
    assert choose_method(1000, second=False)[0].name == "kpca"
    assert choose_method(10**6, second=False)[0].name == "pca"
    assert choose_method(1000, second=True)[0].name == "kcca"
