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


def test_placed_rows_are_scored_as_their_model_prepared_them(shell):
    """Ten rows scaled by their own deviations would be others than those the model placed."""
    shell("fit", *FLOWERS, "-m", "pca", "--scale", "standard", "--save", "m.mercer", "-q")
    columns = {name: values[::9] for name, values in shell.columns("flowers.csv").items()}
    write_table("new.csv", columns)
    assert "t.run.json" in shell("transform", "m.mercer", "new.csv", "-o", "t.csv").stderr
    by_itself = shell("evaluate", "new.csv", "t.csv", "--json", "-k", "3")
    assert by_itself.stdout == shell("evaluate", "new.csv", "t.csv", "--model", "m.mercer", "--json", "-k", "3").stdout
    anew = shell("evaluate", "new.csv", "t.csv", "--scale", "standard", "--json", "-k", "3").stdout
    assert by_itself.stdout != anew
    (shell.folder / "m.mercer").unlink()
    gone = shell("evaluate", "new.csv", "t.csv", "--json", "-k", "3")
    assert gone.stdout == anew and "warning: m.mercer" in gone.stderr


def test_rows_are_matched_by_id_whatever_their_order(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv")
    plain = shell("evaluate", "flowers.csv", "c.csv").stdout
    lines = (shell.folder / "c.csv").read_text().splitlines()
    (shell.folder / "c.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    assert shell("evaluate", "flowers.csv", "c.csv").stdout == plain


def test_coordinates_of_others_are_understood(shell):
    table = read_table("flowers.csv", Choice(drop=("name", "species")))
    write_table("theirs.csv", {"rank": np.arange(90), "x": table.X[:, 0], "y": table.X[:, 1], "z": table.X[:, 2]})
    said = shell(
        "evaluate", "flowers.csv", "theirs.csv", "--drop", "name", "--label", "species", "--coords", "x,y", "--json"
    )
    assert json.loads(said.stdout)["columns"] == ["x", "y"]
    said = shell("evaluate", "flowers.csv", "theirs.csv", "--drop", "name", "--label", "species", "--json")
    assert json.loads(said.stdout)["columns"] == ["x", "y", "z"]
    names = [score["name"] for score in json.loads(said.stdout)["scores"]]
    assert "class_purity" in names


def test_the_table_of_scores_explains_itself(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "-q")
    result = shell("evaluate", "flowers.csv", "c.csv", "--explain")
    lines = result.stdout.splitlines()
    assert lines[0] == "c.csv, pca: 90 rows, 4 columns as 2"
    assert lines[1].split()[:2] == ["score", "value"] and "\x1b" not in result.stdout
    assert any(line.startswith("trustworthiness: neighbours") for line in lines)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": np.array(["x"] * 90, object)}, "no columns of numbers"),
        ({"a": np.arange(90.0), "b": np.r_[np.nan, np.arange(89.0)]}, "row 1"),
        ({"a": np.arange(4.0)}, "has 90 rows"),
    ],
)
def test_coordinates_that_are_none(shell, columns, said):
    write_table("bad.csv", columns)
    assert said in shell("evaluate", "flowers.csv", "bad.csv", "--drop", "name,species", status=3).stderr
