"""--dry-run: the method, the memory and the work are told; nothing is written; what does not fit is refused."""

import json

import numpy as np
import pytest

import mercer
from mercer.cli.dry_run import page_bytes, process_bytes
from mercer.cli.methods import METHODS
from mercer.tables.table import write_table

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_every_method_has_a_plan_and_writes_nothing(shell, method):
    before = sorted(path.name for path in shell.folder.iterdir())
    extra = ["--second", "other.csv"] if method == "kcca" else []
    extra += ["--max-iter", "30", "--perplexity", "8"] if method in ("sne", "tsne") else []
    plan = json.loads(shell("fit", *FLOWERS, "-m", method, *extra, "-o", "c.csv", "--dry-run", "--json").stdout)
    assert plan["method"] == ("kpca" if method == "auto" else method)
    assert plan["needed_bytes"] > 0 and plan["solver"] and plan["why"]
    assert any(size in plan["work"] for size in ("90", "4,005")) and "{" not in plan["work"]
    assert plan["needed_bytes"] <= plan["peak_bytes"]
    assert plan["outputs"] == ["c.csv", "c.run.json"]
    assert sorted(path.name for path in shell.folder.iterdir()) == before


@pytest.mark.parametrize(("words", "way"), [([], "all pairs"), (["--repulsion", "grid"], "a grid")])
def test_the_plan_of_a_map_says_how_points_repel(shell, words, way):
    words = [*FLOWERS, "-m", "tsne", "--max-iter", "30", "--perplexity", "8", *words]
    assert f"repulsion by {way}" in shell("fit", *words, "--dry-run").stdout


def test_the_plan_in_words(shell):
    said = shell("fit", *FLOWERS, "--dry-run", "-o", "c.csv").stdout
    assert [line.split()[0] for line in said.splitlines()] == ["table", "method", "solver", "memory", "work", "writes"]
    assert "kernel PCA: up to 20,000 rows," in said and "one matrix of 4,005 pairs of rows" in said


def test_the_process_takes_what_reading_took_or_what_the_fit_adds(tmp_path):
    status = tmp_path / "status"
    status.write_text("Name:\tpython\nVmHWM:\t  900 kB\nVmRSS:\t  700 kB\n")
    assert process_bytes(100 * 1024, status) == 900 * 1024
    assert process_bytes(500 * 1024, status) == 1200 * 1024
    assert process_bytes(1, tmp_path / "none") is None


def test_a_page_takes_memory_after_the_fit(shell, monkeypatch):
    monkeypatch.setattr("mercer.cli.dry_run.process_bytes", lambda planned: planned)
    plans = [
        json.loads(shell("fit", *FLOWERS, "--dry-run", "--json", *words).stdout)
        for words in (["-o", "c.csv"], ["--report", "map.html"])
    ]
    assert plans[0]["peak_bytes"] == plans[1]["peak_bytes"]  # of the fit alone
    assert page_bytes(90, 3) > 150e6 > plans[0]["peak_bytes"] == plans[0]["process_bytes"]
    assert plans[1]["process_bytes"] == page_bytes(90, 4)
    assert page_bytes(2000, 3) > page_bytes(2001, 3)  # scores look at all pairs up to 2,000 rows


def test_memory_is_what_the_estimator_plans(shell):
    rng = np.random.default_rng(0)
    write_table("wide.npy", {f"x{i}": rng.normal(size=3000) for i in range(4)})
    plan = json.loads(shell("fit", "wide.npy", "-m", "kpca", "--dry-run", "--json").stdout)
    model = mercer.KernelPCA(2, kernel="rbf", gamma="median", random_state=0)
    assert plan["needed_bytes"] == pytest.approx(model.plan(np.zeros((3000, 4))).needed_bytes, rel=0.5)
    assert plan["solver"].startswith("krylov")


@pytest.mark.parametrize("method", ["kpca", "kda", "isomap"])
def test_what_does_not_fit_is_refused_as_the_fit_would(shell, method):
    words = [*FLOWERS, "-m", method, "--memory-limit", "10kB"]
    planned = shell("fit", *words, "--dry-run", status=4).stderr
    assert planned == shell("fit", *words, "-o", "c.csv", status=4).stderr
