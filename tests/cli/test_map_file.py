"""Files of coordinates: those of other programs are understood, and rows are matched by id."""

import json

import numpy as np
import pytest

from mercer.tables.table import Choice, read_table, write_table

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


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


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": np.array(["x"] * 90, object)}, "no columns of numbers"),
        ({"a": np.arange(90.0), "b": np.r_[np.nan, np.arange(89.0)]}, "row 1"),
        ({"a": np.arange(90.0), "b": np.r_[np.nan, np.arange(89.0)]}, "name these with --coords"),
        ({"a": np.arange(4.0)}, "has 90 rows"),
    ],
)
def test_files_without_coordinates(shell, columns, said):
    write_table("bad.csv", columns)
    assert said in shell("evaluate", "flowers.csv", "bad.csv", "--drop", "name,species", status=3).stderr


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


def test_rows_that_only_one_file_has_are_counted(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "-q")
    for name, rows in (("less.csv", slice(0, 80)), ("other_less.csv", slice(30, 90))):
        write_table(name, {key: values[rows] for key, values in shell.columns("c.csv").items()})
    said = shell("evaluate", *FLOWERS, "less.csv")
    assert "80 rows have the same id in flowers.csv and less.csv; 10 others are left out" in said.stderr
    for words in (["compare", *FLOWERS], ["report", "--id", "name", "-o", "m.html"]):
        said = shell(words[0], *words[1:], "less.csv", "other_less.csv")
        assert "50 rows have the same id in all maps; 40 others are left out" in said.stderr
    assert "left out" not in shell("evaluate", *FLOWERS, "c.csv").stderr


def test_maps_of_different_rows_are_refused(shell):
    write_table("a.csv", {"x": np.arange(4.0)})
    write_table("b.csv", {"x": np.arange(5.0)})
    assert "a.csv has 4 rows and b.csv has 5" in shell("report", "a.csv", "b.csv", "-o", "m.html", status=3).stderr
    assert not (shell.folder / "m.html").exists()


def test_a_measured_column_is_not_taken_for_an_id(shell):
    rng = np.random.default_rng(0)
    rows = {"income": rng.permutation(30) * 37 + 1000, "a": rng.random(30), "b": rng.random(30)}
    write_table("t.csv", rows)
    write_table("m.csv", {"income": rows["income"], "u1": rows["a"], "u2": rows["b"]})
    said = shell("evaluate", "t.csv", "m.csv", "--coords", "u1,u2").stdout
    assert "30 rows, 3 columns as 2" in said
