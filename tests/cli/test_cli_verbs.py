"""transform, evaluate, compare, report and inspect: what they print is what the library says."""

import json

import numpy as np
import pytest

import mercer
from mercer.cli.comparing import best_of
from mercer.quality import Score, report
from mercer.tables.table import Choice, read_table, write_table

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


# --- transform -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "exact"), [("pca", 1e-10), ("kpca", 1e-10), ("kda", 1e-10), ("isomap", 1e-6), ("tsne", 1e-5)]
)
@pytest.mark.parametrize("scale", [[], ["--scale", "standard"]])
def test_fitted_rows_are_placed_where_they_were(shell, method, exact, scale):
    extra = ["--max-iter", "60", "--perplexity", "8"] if method == "tsne" else []
    shell("fit", *FLOWERS, "-m", method, *extra, *scale, "-o", "c.csv", "--save", "m.mercer")
    shell("transform", "m.mercer", "flowers.csv", "-o", "t.csv")
    assert list(shell.columns("t.csv")) == list(shell.columns("c.csv"))
    assert shell.columns("t.csv")["name"].tolist() == shell.columns("c.csv")["name"].tolist()
    found, fitted = shell.coordinates("t.csv"), shell.coordinates("c.csv")
    np.testing.assert_allclose(found, fitted, rtol=0, atol=exact * np.abs(fitted).max())


def test_new_rows_are_prepared_as_the_fitted_ones(shell):
    """Scaled by the fitted rows' deviations, columns found by name, the label not needed."""
    shell("fit", *FLOWERS, "-m", "pca", "--scale", "standard", "-o", "c.csv", "--save", "m.mercer")
    table = read_table("flowers.csv", Choice(label="species", id="name"))
    new = table.X[:7] + 0.25
    write_table("new.csv", {name: new[:, i] for i, name in reversed(list(enumerate(table.features)))})
    out = shell("transform", "m.mercer", "new.csv").stdout.splitlines()
    assert out[0] == "pca1,pca2" and len(out) == 8
    mean, deviation = table.X.mean(axis=0), table.X.std(axis=0)
    model = mercer.PCA(2).fit((table.X - mean) / deviation)
    found = np.array([line.split(",") for line in out[1:]], float)
    np.testing.assert_allclose(found, model.transform((new - mean) / deviation), atol=1e-9)


def test_both_views_can_be_placed(shell):
    shell(
        "fit",
        "flowers.csv",
        "--second",
        "other.csv",
        "--id",
        "name",
        "--drop",
        "species",
        "-o",
        "c.csv",
        "--save",
        "m.mercer",
    )
    shell("transform", "m.mercer", "flowers.csv", "--second", "other.csv", "-o", "t.csv")
    np.testing.assert_allclose(shell.coordinates("t.csv"), shell.coordinates("c.csv"), atol=1e-8)
    shell("transform", "m.mercer", "flowers.csv", "-o", "one.csv")
    assert list(shell.columns("one.csv"))[-2:] == ["kcca_x1", "kcca_x2"]


def test_broken_models_are_status_5(shell):
    shell("fit", *FLOWERS, "-m", "pca", "--save", "m.mercer")
    whole = (shell.folder / "m.mercer").read_bytes()
    for damaged in (b"", whole[:100], whole[:-9], b"PK" + whole[2:], whole.replace(b"PCA", b"XCA")):
        (shell.folder / "broken.mercer").write_bytes(damaged)
        shell("transform", "broken.mercer", "flowers.csv", status=5)
        shell("inspect", "broken.mercer", status=5)
    assert "nowhere" in shell("transform", "nowhere.mercer", "flowers.csv", status=3).stderr
    assert "lacks" in shell("transform", "m.mercer", "other.csv", status=3).stderr


# --- evaluate ------------------------------------------------------------------------------------------------


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


# --- compare -------------------------------------------------------------------------------------------------


def test_the_best_is_nearest_to_the_ideal_and_ties_are_shared():
    def scores(ideal, *values):
        return [Score("s", value, 0.0, 10, ideal, "") for value in values]

    assert best_of(scores(1.0, 0.9, 0.95, 0.95)) == [1, 2]
    assert best_of(scores(0.0, 0.9, 0.1)) == [1]
    assert best_of(scores(1.0, 0.5, 0.5)) == []


def test_methods_are_fitted_written_and_compared(shell):
    result = shell("compare", *FLOWERS, "--methods", "pca,kpca,kda", "-o", "maps", "--report", "maps.html")
    assert sorted(path.name for path in (shell.folder / "maps").iterdir()) == [
        *("kda.csv", "kda.run.json", "kpca.csv", "kpca.run.json", "pca.csv", "pca.run.json"),
    ]
    again = shell("compare", *FLOWERS, "maps/pca.csv", "maps/kpca.csv", "maps/kda.csv")
    assert again.stdout == result.stdout
    heading = result.stdout.splitlines()[1].split()
    assert heading == ["score", "pca", "kpca", "kda", "best"]
    purity = next(line for line in result.stdout.splitlines() if line.startswith("class purity  "))
    assert purity.split()[4].endswith("*")  # discriminants keep classes best
    assert "kda" in (shell.folder / "maps.html").read_text()
    shell("fit", "--config", "maps/kpca.run.json", "-o", "again.csv")
    assert (shell.folder / "again.csv").read_bytes() == (shell.folder / "maps" / "kpca.csv").read_bytes()


def test_compare_never_writes_onto_its_table(shell):
    (shell.folder / "flowers.csv").rename("pca.csv")
    before = (shell.folder / "pca.csv").read_bytes()
    said = shell("compare", "pca.csv", "--label", "species", "--id", "name", "-m", "kpca,pca", "-o", ".", status=2)
    assert "pca.csv is an input" in said.stderr and (shell.folder / "pca.csv").read_bytes() == before
    assert not (shell.folder / "kpca.csv").exists()


def test_compare_shows_what_there_is_when_it_is_stopped(shell, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(mercer.Isomap, "fit_transform", interrupted)
    result = shell("compare", *FLOWERS, "--methods", "pca,isomap,kpca", "-o", "maps", status=130)
    assert result.stdout.splitlines()[1].split() == ["score", "pca", "best"]
    assert result.stderr.splitlines()[-1] == "mercer: stopped; compared are pca"
    assert sorted(path.name for path in (shell.folder / "maps").iterdir()) == ["pca.csv", "pca.run.json"]
    assert shell("compare", *FLOWERS, "--methods", "isomap", status=130).stdout == ""


def test_compare_as_json(shell):
    found = json.loads(shell("compare", *FLOWERS, "--methods", "pca,kpca", "--json", "-q").stdout)
    assert set(found["maps"]) == {"pca", "kpca"} and found["agreement"][0]["maps"] == ["pca", "kpca"]
    assert 0 <= found["agreement"][0]["neighbor_overlap"] <= 1


# --- report --------------------------------------------------------------------------------------------------


def test_a_page_of_several_maps(shell):
    shell("compare", *FLOWERS, "--methods", "pca,kpca", "-o", "maps", "-q")
    said = json.loads(
        shell("report", "maps/pca.csv", "maps/kpca.csv", "--data", "flowers.csv", "-o", "map.html", "--json").stdout
    )
    assert said["maps"] == ["pca", "kpca"] and said["rows"] == 90
    assert said["columns"][0] == "species" and {"m0", "m3"} <= set(said["columns"])
    assert said["bytes"] == (shell.folder / "map.html").stat().st_size
    assert "trustworthiness" in (shell.folder / "map.html").read_text()


def test_a_page_without_the_table(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "-q")
    assert json.loads(shell("report", "c.csv", "-o", "map.html", "--json").stdout)["columns"] == ["species"]
    assert "is an input" in shell("report", "c.csv", "-o", "c.csv", status=2).stderr


def test_maps_of_different_rows_are_refused(shell):
    write_table("a.csv", {"x": np.arange(4.0)})
    write_table("b.csv", {"x": np.arange(5.0)})
    assert "a.csv has 4 rows and b.csv has 5" in shell("report", "a.csv", "b.csv", "-o", "m.html", status=3).stderr
    assert not (shell.folder / "m.html").exists()


# --- inspect -------------------------------------------------------------------------------------------------


def test_a_table_is_described_and_options_suggested(shell):
    write_table(
        "t.csv",
        {
            "key": np.array([f"k{i}" for i in range(40)], object),
            "kind": np.array(["a", "b"] * 20, object),
            "size": np.r_[np.nan, np.arange(39.0)],
            "same": np.full(40, 3.0),
            "huge": np.arange(40) * 1e6 + 0.5,
        },
    )
    about = json.loads(shell("inspect", "t.csv", "--json").stdout)
    assert about["rows"] == 40 and about["columns"]["size"]["missing"] == 1
    assert about["columns"]["kind"] == {"kind": "text", "commonest": {"a": 20, "b": 20}, "missing": 0, "distinct": 2}
    assert about["columns"]["size"]["most"] == 38 and about["columns"]["same"]["distinct"] == 1
    advice = "\n".join(about["suggestions"])
    for option in ("--id key", "--label kind", "--impute", "--drop same", "--scale"):
        assert option in advice
    text = shell("inspect", "t.csv").stdout
    assert "t.csv: 40 rows, 5 columns" in text and "--id key" in text
    words = ["--id", "key", "--label", "kind", "--impute", "median", "--drop", "same", "--scale", "standard"]
    shell("fit", "t.csv", *words, "-o", "c.csv")  # what is suggested works


def test_suggestions_can_be_typed_and_are_not_to_drop_all(shell):
    same = np.full(9, 2.0)
    write_table("t.csv", {"a b": same, "c,d": same, "e": np.arange(9.0), "the kind": np.array(["x", "y", "z"] * 3)})
    advice = json.loads(shell("inspect", "t.csv", "--json").stdout)["suggestions"]
    assert "--drop 'a b,\"c,d\"': they are constant" in advice
    write_table("flat.csv", {"a": same, "b": same})
    assert json.loads(shell("inspect", "flat.csv", "--json").stdout)["suggestions"] == []


def test_copies_of_rows_are_counted(shell):
    write_table("t.csv", {"a": np.array([1.0, 2, 1, 1]), "b": np.array(["x", "y", "x", "z"], object)})
    assert json.loads(shell("inspect", "t.csv", "--json").stdout)["duplicate_rows"] == 1


def test_a_model_its_coordinates_and_its_record(shell):
    shell("fit", *FLOWERS, "-m", "kpca", "-o", "c.csv", "--save", "m.mercer")
    model = mercer.load("m.mercer")
    about = json.loads(shell("inspect", "m.mercer", "--json").stdout)
    assert about["class"] == "KernelPCA" and about["parameters"]["kernel"] == "rbf"
    assert about["fit"]["eigenvalues"] == model.eigenvalues_.tolist()
    assert about["notes"]["input"]["path"] == "flowers.csv"
    for name in ("m.mercer", "c.csv", "c.run.json"):
        said = shell("inspect", name).stdout
        assert f"{model.eigenvalues_[0]:.6g}" in said and "flowers.csv" in said
    assert json.loads(shell("inspect", "c.run.json", "--json").stdout) == shell.record("c.run.json")
    assert "there is no such file" in shell("inspect", "nowhere.csv", status=3).stderr
