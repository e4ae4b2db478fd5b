"""`mercer compare`: maps read or fitted, scored side by side."""

import json
import re

import numpy as np
import pytest

import mercer
from mercer.cli.coordinates import write_coordinates
from mercer.tables.table import write_table
from mercer.web.page import write_page

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


@pytest.mark.parametrize("full", ["pca", "kpca", "page"])
@pytest.mark.parametrize("folder", ["new/maps", "maps"])
def test_a_disk_that_fills_leaves_no_map_of_the_run(shell, monkeypatch, full, folder):
    """The disk is full at the first map, at a later one, or at the page. What an earlier run wrote stays as it was."""
    shell("compare", *FLOWERS, "--methods", "pca,isomap", "-o", "maps", "--report", "maps.html", "-q")
    before = {path: path.read_bytes() for path in shell.folder.rglob("*") if path.is_file()}
    calls = []

    def filling(write, name):
        def writing(*args, **options):
            calls.append(name)
            if name == full or (name == "table" and ["pca", "kpca"][calls.count("table") - 1] == full):
                raise OSError(28, "No space left on device")
            return write(*args, **options)

        return writing

    monkeypatch.setattr("mercer.cli.fitted.write_coordinates", filling(write_coordinates, "table"))
    monkeypatch.setattr("mercer.web.page.write_page", filling(write_page, "page"))
    words = ["--methods", "pca,kpca", "-o", folder, "--report", "maps.html"]
    result = shell("compare", *FLOWERS, *words, "--scale", "standard", status=5)
    name = "maps.html" if full == "page" else f"{folder}/{full}.csv"
    assert result.stderr.splitlines()[-1] == f"mercer: {name}: cannot be written: No space left on device"
    assert "wrote" not in result.stderr and result.stdout == ""
    assert {path: path.read_bytes() for path in shell.folder.rglob("*") if path.is_file()} == before
    assert not (shell.folder / "new").exists()


def test_a_map_whose_scores_are_interrupted_is_kept_and_named(shell, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.cli.pages.quality_report", interrupted)
    said = shell("compare", *FLOWERS, "--methods", "pca,kpca", "-o", "maps", status=130).stderr
    assert re.search(r"wrote +maps/pca.csv\nmercer: stopped$", said.strip())
    assert sorted(path.name for path in (shell.folder / "maps").iterdir()) == ["pca.csv", "pca.run.json"]


def test_compare_as_json(shell):
    found = json.loads(shell("compare", *FLOWERS, "--methods", "pca,kpca", "--json", "-q").stdout)
    assert set(found["maps"]) == {"pca", "kpca"} and found["agreement"][0]["maps"] == ["pca", "kpca"]
    assert 0 <= found["agreement"][0]["neighbor_overlap"] <= 1
