"""`mercer compare`: maps read or fitted, scored side by side."""

import json

import numpy as np
import pytest

import mercer
from mercer.tables.table import write_table

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


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


def test_a_comparison_that_fails_leaves_no_folder(shell):
    words = ["flowers.csv", "--methods", "pca,kpca"]
    shell("compare", *words, "--label", "nothing", "-o", "new/maps", status=3)
    assert not (shell.folder / "new").exists()
    few = shell(
        "compare", *FLOWERS, "--methods", "pca", "--rows", "2", "-o", "new/maps", status=3
    ).stderr  # too few to score any map
    assert "at least 4 rows" in few and not (shell.folder / "new").exists()
    (shell.folder / "file").write_text("")
    assert "Cannot write to file" in shell("compare", *words, "-o", "file/maps", status=1).stderr


def test_compare_as_json(shell):
    found = json.loads(shell("compare", *FLOWERS, "--methods", "pca,kpca", "--json", "-q").stdout)
    assert set(found["maps"]) == {"pca", "kpca"} and found["agreement"][0]["maps"] == ["pca", "kpca"]
    assert 0 <= found["agreement"][0]["neighbor_overlap"] <= 1
