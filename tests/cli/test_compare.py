"""`mercer compare`: maps read or fitted, scored side by side."""

import json

import numpy as np
import pytest

import mercer
from mercer.cli.compare import ScoredMap, best_of, print_side_by_side
from mercer.quality import Score
from mercer.tables.table import write_table

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


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


def test_compare_shows_what_there_is_when_it_is_stopped(shell, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(mercer.Isomap, "fit_transform", interrupted)
    result = shell("compare", *FLOWERS, "--methods", "pca,isomap,kpca", "-o", "maps", status=130)
    assert result.stdout.splitlines()[1].split() == ["score", "pca", "best"]
    assert result.stderr.splitlines()[-1] == "mercer: stopped; compared only pca"
    assert sorted(path.name for path in (shell.folder / "maps").iterdir()) == ["pca.csv", "pca.run.json"]
    assert shell("compare", *FLOWERS, "--methods", "isomap", status=130).stdout == ""


@pytest.mark.parametrize(("methods", "count"), [("pca,kpca,kda,isomap", 2), ("pca,kpca,kda", 1)])
def test_every_method_has_the_same_number_of_dimensions(shell, methods, count):
    """Ten classes have nine discriminants; a map of nine dimensions would win every comparison."""
    many = np.array([f"c{i % 10}" for i in range(90)], object)
    write_table("t.csv", {**shell.columns("flowers.csv"), "species": many})
    words = ["t.csv", "--id", "name", "--label", "species", "--methods", methods, "-o", "maps", "-q"]
    shell("compare", *words, "--n-components", str(count))
    for name in methods.split(","):
        assert len(shell.record(f"maps/{name}.run.json")["coordinates"]) == count


@pytest.mark.parametrize("width", [60, 80, 120])
def test_maps_that_do_not_fit_side_by_side_follow_below(capsys, width):
    scores = [Score("trust", 0.5, 0.0123, 90, 1.0, ""), Score("a_long_name_of_a_score", 0.7, 0.001, 90, 1.0, "")]
    maps = [ScoredMap(f"method{i}", np.zeros((3, 2)), [], scores, None) for i in range(7)]
    print_side_by_side(maps, width)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    headings = [line.split() for line in lines if line.startswith("score")]
    assert [name for heading in headings for name in heading[1:-1]] == [m.name for m in maps]
    assert sum(line.count("±") for line in lines) == 14


def test_compare_as_json(shell):
    found = json.loads(shell("compare", *FLOWERS, "--methods", "pca,kpca", "--json", "-q").stdout)
    assert set(found["maps"]) == {"pca", "kpca"} and found["agreement"][0]["maps"] == ["pca", "kpca"]
    assert 0 <= found["agreement"][0]["neighbor_overlap"] <= 1
