"""`mercer evaluate`: the scores are those of the library, whatever the order of the rows."""

import json

import numpy as np
import pytest

from mercer.quality import report
from mercer.tables.table import Choice, read_table, write_table

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


def test_scores_are_those_of_the_library(shell):
    shell("fit", *FLOWERS, "-m", "kpca", "--scale", "standard", "-o", "c.csv")
    found = json.loads(shell("evaluate", "flowers.csv", "c.csv", "-k", "7", "--json").stdout)
    table = read_table("flowers.csv", Choice(label="species", id="name", scale="standard"))
    scores = report(table.X, shell.coordinates("c.csv"), labels=table.labels, n_neighbors=7, random_state=0).scores
    assert {s["name"]: s["value"] for s in found["scores"]} == pytest.approx({s.name: s.value for s in scores})
    assert found["columns"] == ["kpca1", "kpca2"]


@pytest.mark.parametrize("name", ["name", "id", "plant"])
def test_rows_are_matched_by_an_id_that_both_files_have(shell, name):
    """Without a word about ids, and with the rows of the map in another order."""
    columns = shell.columns("flowers.csv")
    columns = {name: columns.pop("name"), **columns}
    write_table("table.csv", columns)
    shell("fit", "table.csv", "--id", name, "--label", "species", "-m", "pca", "-o", "c.csv", "-q")
    right = shell("evaluate", "table.csv", "c.csv", "--json").stdout
    order = np.random.default_rng(0).permutation(90)
    write_table("shuffled.csv", {key: values[order] for key, values in shell.columns("c.csv").items()})
    options = ["--drop", "species", "--json"] if name == "id" else ["--label", "species", "--json"]
    found = json.loads(shell("evaluate", "table.csv", "shuffled.csv", *options).stdout)["scores"]
    values = {score["name"]: score["value"] for score in found}
    assert values["trustworthiness"] == pytest.approx(json.loads(right)["scores"][0]["value"])


def test_rows_that_are_matched_by_their_order_say_so(shell):
    shell("fit", "flowers.csv", "--drop", "name", "--label", "species", "-m", "pca", "-o", "c.csv", "-q")
    assert "matched by their order" in shell("evaluate", "flowers.csv", "c.csv").stderr


def test_the_table_of_scores_explains_itself(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "-q")
    result = shell("evaluate", "flowers.csv", "c.csv", "--explain")
    lines = result.stdout.splitlines()
    assert lines[0] == "c.csv, pca: 90 rows, 4 columns as 2"
    assert lines[1].split()[:2] == ["score", "value"] and "\x1b" not in result.stdout
    assert any(line.startswith("trustworthiness: neighbours") for line in lines)


def test_shuffled_rows_that_are_numbered_are_scored_as_what_they_are(shell):
    """Both files number their rows, and neither was written by this command: they were scored by their order."""
    columns = shell.columns("flowers.csv")
    measures = {name: columns[name] for name in ("m0", "m1", "m2", "m3")}
    numbers = np.random.default_rng(1).permutation(90) * 3 + 1000
    write_table("table.csv", {"id": numbers, **measures})
    order = np.random.default_rng(0).permutation(90)
    write_table("map.csv", {"id": numbers[order], "x": measures["m0"][order], "y": measures["m2"][order]})
    write_table("same.csv", {"id": numbers, "x": measures["m0"], "y": measures["m2"]})
    shuffled, same = (
        json.loads(shell("evaluate", "table.csv", name, "--json").stdout)["scores"] for name in ("map.csv", "same.csv")
    )
    assert shuffled == same and same[0]["value"] > 0.9
