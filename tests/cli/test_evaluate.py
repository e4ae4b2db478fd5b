"""`mercer evaluate`: the scores are those of the library, whatever the order of the rows."""

import json

import pytest

from mercer.quality import report
from mercer.tables.table import Choice, read_table

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


def test_scores_are_those_of_the_library(shell):
    shell("fit", *FLOWERS, "-m", "kpca", "--scale", "standard", "-o", "c.csv")
    found = json.loads(shell("evaluate", "flowers.csv", "c.csv", "-k", "7", "--json").stdout)
    table = read_table("flowers.csv", Choice(label="species", id="name", scale="standard"))
    scores = report(table.X, shell.coordinates("c.csv"), labels=table.labels, n_neighbors=7, random_state=0).scores
    assert {s["name"]: s["value"] for s in found["scores"]} == pytest.approx({s.name: s.value for s in scores})
    assert found["columns"] == ["kpca1", "kpca2"]


def test_the_table_of_scores_explains_itself(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "-q")
    result = shell("evaluate", "flowers.csv", "c.csv", "--explain")
    lines = result.stdout.splitlines()
    assert lines[0] == "c.csv, pca: 90 rows, 4 columns as 2"
    assert lines[1].split()[:2] == ["score", "value"] and "\x1b" not in result.stdout
    assert any(line.startswith("trustworthiness: neighbours") for line in lines)
