"""`mercer fit`: every method writes what its estimator computes, records it, and can do it again to the byte."""

import numpy as np
import pytest

import mercer
from mercer.tables.table import Choice, read_table, write_table

QUICK = {"sne": ["--max-iter", "60", "--perplexity", "8"], "tsne": ["--max-iter", "60", "--perplexity", "8"]}
FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


def expected(method):
    """The same by the library, with the command's defaults."""
    table = read_table("flowers.csv", Choice(label="species", id="name"))
    model = {
        "pca": lambda: mercer.PCA(2, random_state=0),
        "kpca": lambda: mercer.KernelPCA(2, kernel="rbf", gamma="median", random_state=0),
        "kda": lambda: mercer.KernelDiscriminantAnalysis(random_state=0),
        "isomap": lambda: mercer.Isomap(random_state=0),
        "mds": lambda: mercer.MDS(random_state=0),
        "sne": lambda: mercer.SNE(max_iter=60, perplexity=8.0, random_state=0),
        "tsne": lambda: mercer.TSNE(max_iter=60, perplexity=8.0, random_state=0),
    }[method]()
    if method == "kda":
        return model.fit(table.X, table.labels.astype(str)).transform(table.X)
    return model.fit_transform(table.X)


@pytest.mark.parametrize("method", ["pca", "kpca", "kda", "isomap", "mds", "sne", "tsne"])
def test_coordinates_are_the_estimator_s_with_ids_and_labels(shell, method):
    shell("fit", *FLOWERS, "--method", method, *QUICK.get(method, []), "-o", "c.csv")
    columns = shell.columns("c.csv")
    assert list(columns) == ["name", "species", f"{method}1", f"{method}2"]
    assert columns["name"][0] == "plant0" and set(columns["species"]) == {"setosa", "versicolor", "virginica"}
    exact = 1e-6 if method in QUICK else 1e-12  # maps are float32
    np.testing.assert_allclose(shell.coordinates("c.csv"), expected(method), rtol=exact, atol=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "feather", "npz"])
def test_output_is_by_suffix(shell, suffix):
    shell("fit", *FLOWERS, "-m", "pca", "-o", f"c.{suffix}", "-q")
    np.testing.assert_array_equal(shell.coordinates(f"c.{suffix}"), expected("pca"))
    assert (shell.folder / "c.run.json").exists()


def test_without_a_file_the_coordinates_go_to_stdout_and_nothing_else(shell):
    before = {path.name for path in shell.folder.iterdir()}
    result = shell("fit", *FLOWERS, "-m", "pca")
    lines = result.stdout.splitlines()
    assert lines[0] == "name,species,pca1,pca2" and len(lines) == 91
    assert "method" in result.stderr
    assert {path.name for path in shell.folder.iterdir()} == before
    assert shell("fit", *FLOWERS, "-m", "pca", "-o", "-", "-q").stderr == ""


def test_stdin_is_a_table(shell):
    text = (shell.folder / "flowers.csv").read_text()
    by_pipe = shell("fit", "-", *FLOWERS[1:], "-m", "pca", "-q", stdin=text).stdout
    assert by_pipe == shell("fit", *FLOWERS, "-m", "pca", "-q").stdout


def test_options_reach_the_estimator(shell):
    shell("fit", *FLOWERS, "-m", "kpca", "--kernel", "poly", "--degree", "2", "--gamma", "none", "--n-components", "3",
          "--scale", "standard", "--dtype", "float32", "-o", "c.parquet", "--save", "m.mercer")  # fmt: skip
    model = mercer.load("m.mercer")
    assert (model.kernel, model.degree, model.gamma, model.n_components) == ("poly", 2.0, None, 3)
    assert shell.columns("c.parquet")["kpca3"].dtype == np.float32 or model.X_fit_.dtype == np.float32
    assert abs(model.X_fit_.mean()) < 1e-5


def test_a_radius_stands_for_neighbours(shell):
    shell("fit", *FLOWERS, "-m", "isomap", "--radius", "2.5", "-o", "c.csv", "--save", "m.mercer")
    model = mercer.load("m.mercer")
    assert model.radius == 2.5 and model.n_neighbors is None


# --- what is refused, and that nothing is left behind ----------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["nowhere.csv", "-o", "c.csv"], 3, "nowhere.csv"),
        (["flowers.csv", "-o", "c.csv"], 3, "--encode"),
        ([*FLOWERS, "-o", "flowers.csv"], 2, "is an input"),
        ([*FLOWERS, "-o", "c.csv", "--save", "c.csv"], 2, "twice"),
        ([*FLOWERS, "-o", "nowhere/c.csv"], 1, "there is no folder nowhere"),
        ([*FLOWERS, "-m", "pca", "--save", "m.csv"], 2, "Name it m.mercer"),
        ([*FLOWERS, "-o", "c.docx"], 2, ".docx"),
        ([*FLOWERS, "-o", "."], 1, "folder"),
        ([*FLOWERS, "-m", "kpca", "--kernel", "rfb", "-o", "c.csv"], 2, "rbf"),
        ([*FLOWERS, "-m", "kpca", "--gamma", "-1", "-o", "c.csv"], 2, "gamma"),
        ([*FLOWERS, "-m", "tsne", "--perplexity", "500", "-o", "c.csv"], 3, "perplexity"),
        ([*FLOWERS, "-m", "kpca", "--memory-limit", "1kB", "-o", "c.csv"], 4, "--memory-limit"),
        (["flowers.csv", "--label", "kind", "-o", "c.csv"], 3, "kind"),
        ([*FLOWERS, "-m", "tsne", "-o", "c.npy"], 2, "c.npy: a .npy file holds only numbers"),
        ([*FLOWERS, "-m", "pca", "--n-components", "9", "-o", "c.csv"], 3, "--n-components 9"),
        ([*FLOWERS, "-m", "isomap", "--n-neighbors", "90", "-o", "c.csv"], 3, "--n-neighbors 90"),
        (["flowers.csv", "-m", "kda", "--label", "m0", "--drop", "name,species", "-o", "c.csv"], 3, "label"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_writes_nothing(shell, words, status, said):
    before = {path.name: path.read_bytes() for path in shell.folder.iterdir()}
    result = shell("fit", *words, status=status)
    assert said.lower() in result.stderr.splitlines()[-1].lower()
    assert {path.name: path.read_bytes() for path in shell.folder.iterdir()} == before


def test_a_stopped_map_is_kept_and_says_so(shell, monkeypatch):
    """Ctrl-C comes to the descent as KeyboardInterrupt: here after 40 steps."""
    from mercer.embedding.loss import Loss

    steps, forces = [], Loss.forces

    def interrupted(self, Y):
        steps.append(1)
        if len(steps) > 40:
            raise KeyboardInterrupt
        return forces(self, Y)

    monkeypatch.setattr(Loss, "forces", interrupted)
    result = shell("fit", *FLOWERS, "-m", "tsne", "--perplexity", "8", "-o", "c.csv", "--save", "m.mercer", status=130)
    assert "Interrupted after 40 steps" in result.stderr
    record = shell.record("c.run.json")
    assert record["stopped"] is True and record["fit"]["report"]["steps"] == 40
    assert shell.coordinates("c.csv").shape == (90, 2)


@pytest.mark.parametrize("where", ["mercer.cli.table_input.read_table", "mercer.KernelPCA.fit_transform"])
def test_ctrl_c_before_there_is_a_map_leaves_nothing(shell, monkeypatch, where):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    before = sorted(path.name for path in shell.folder.iterdir())
    monkeypatch.setattr(where, interrupted)
    result = shell("fit", *FLOWERS, "-m", "kpca", "-o", "c.csv", "--save", "m.mercer", status=130)
    assert (result.stdout, result.stderr) == ("", "mercer: stopped\n")
    assert sorted(path.name for path in shell.folder.iterdir()) == before


def test_ctrl_c_while_a_map_is_scored_keeps_the_map(shell, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.cli.pages.quality_report", interrupted)
    said = shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "--report", "map.html", status=130).stderr
    assert "warning: Stopped while scoring the map" in said
    np.testing.assert_array_equal(shell.coordinates("c.csv"), expected("pca"))
    assert shell.record("c.run.json")["stopped"] is True and "pca1" in (shell.folder / "map.html").read_text()


def test_one_row_is_too_few_and_three_have_a_page_without_scores(shell):
    write_table("one.csv", {"a": np.ones(1), "b": np.ones(1)})
    assert "has a single row" in shell("fit", "one.csv", status=3).stderr
    write_table("three.csv", {"a": np.array([1.0, 2, 4]), "b": np.array([2.0, 3, 9])})
    assert "no scores" in shell("fit", "three.csv", "-o", "c.csv", "--report", "map.html").stderr
    assert shell.coordinates("c.csv").shape == (3, 2)


def test_a_single_column_has_one_principal_component_unless_more_are_asked_for(shell):
    write_table("column.csv", {"a": np.arange(20.0)})
    shell("fit", "column.csv", "-m", "pca", "-o", "c.csv")
    assert list(shell.columns("c.csv")) == ["pca1"] and shell.record("c.run.json")["parameters"]["n_components"] == 1
    shell("fit", "column.csv", "-m", "pca", "--n-components", "2", "-o", "c.csv", status=3)


def test_a_page_has_the_map_and_its_quality(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "--report", "map.html")
    page = (shell.folder / "map.html").read_text()
    assert page.startswith("<!doctype html>") and "trustworthiness" in page and "pca1" in page
    names = [score["name"] for score in shell.record("c.run.json")["quality"]]
    assert "trustworthiness" in names and "class_purity" in names


def test_a_resumed_map_is_that_of_one_longer_fit(shell, monkeypatch):
    """To the bytes, and without taking the first steps again."""
    from mercer.embedding.loss import Loss

    steps, forces = [], Loss.forces
    monkeypatch.setattr(Loss, "forces", lambda self, Y: steps.append(1) or forces(self, Y))
    given = ("flowers.csv", "--id", "name", "--label", "species", "--method", "tsne", "--perplexity", "10")
    shell("fit", *given, "--max-iter", "300", "--save", "part.mercer", "-o", "part.csv")
    shell("fit", *given, "--max-iter", "400", "-o", "whole.csv")
    steps.clear()
    result = shell("fit", "--resume", "part.mercer", "--max-iter", "400", "-o", "more.csv", "--save", "part.mercer")
    assert 100 <= len(steps) < 200
    assert (shell.folder / "more.csv").read_bytes() == (shell.folder / "whole.csv").read_bytes()
    assert "resumed after 300 steps" in result.stderr and shell.record("more.run.json")["parameters"]["max_iter"] == 400
    again = shell("fit", "--resume", "part.mercer", "-o", "none.csv", status=3)
    assert "has taken 400 steps" in again.stderr and "--max-iter 900" in again.stderr


def test_only_a_map_of_the_same_table_can_be_resumed(shell):
    shell("fit", "flowers.csv", "--id", "name", "--label", "species", "-m", "pca", "--save", "pca.mercer")
    assert "PCA, which has no steps" in shell("fit", "--resume", "pca.mercer", "-o", "c.csv", status=3).stderr
    shell("fit", "flowers.csv", "--columns", "m0,m1,m2", "-m", "tsne", "--max-iter", "260", "--save", "t.mercer")
    assert "--resume goes on as" in shell("fit", "--resume", "t.mercer", "--perplexity", "5", status=2).stderr
    fewer = shell("fit", "--resume", "t.mercer", "--rows", "80", "--max-iter", "300", "-o", "c.csv", status=3).stderr
    assert "a map of 90 rows, not of 80" in fewer
    shell("fit", "flowers.csv", "--columns", "m0,m1,m2", "-m", "mds", "--save", "mds.mercer")
    assert "go on with (sne, tsne have)" in shell("fit", "--resume", "mds.mercer", "-o", "c.csv", status=3).stderr
    text = (shell.folder / "flowers.csv").read_text()
    (shell.folder / "flowers.csv").write_text(text.replace("plant3", "plant4", 1))
    assert "its sha256 differs" in shell("fit", "--resume", "t.mercer", "-o", "c.csv", status=3).stderr


def test_a_kept_column_is_on_the_page_and_not_in_the_fit(shell):
    kept = ("flowers.csv", "--id", "name", "--label", "species", "--keep", "m3", "-o", "c.csv", "--report", "p.html")
    assert "m3" in shell("fit", *kept).stderr
    assert shell.record("c.run.json")["input"]["columns"] == 3
    shown = (
        "flowers.csv",
        "--id",
        "name",
        "--label",
        "species",
        "--page-columns",
        "m3",
        "-o",
        "c.csv",
        "--report",
        "p.html",
    )
    shell("fit", *shown)
    assert shell.record("c.run.json")["input"]["columns"] == 4


def test_how_a_file_is_read_can_be_given_and_is_repeated(shell):
    rows = (shell.folder / "flowers.csv").read_text().splitlines()[1:]
    (shell.folder / "bare.txt").write_text("\n".join(row.replace(",", "|") for row in rows), "utf-16")
    reading = ("--delimiter", "|", "--encoding", "utf-16", "--no-header", "--rows", "11:60")
    shell("fit", "bare.txt", *reading, "--id", "x1", "--label", "x2", "-m", "pca", "-o", "a.csv", "--save", "m.mercer")
    assert shell.record("a.run.json")["input"]["rows"] == 50
    shell("fit", "--config", "a.run.json", "-o", "b.csv")
    assert (shell.folder / "a.csv").read_bytes() == (shell.folder / "b.csv").read_bytes()
    assert "50 rows" in shell("evaluate", "bare.txt", "a.csv").stdout
    placed = shell("transform", "m.mercer", "bare.txt", *reading).stdout.splitlines()
    assert len(placed) == 51 and placed[1].startswith("plant10,")
    assert "50 rows, 6 columns" in shell("inspect", "bare.txt", *reading).stdout
    assert "names no rows" in shell("fit", "bare.txt", "--rows", "9:3", status=2).stderr


def test_vectors_and_dates_reach_the_page(shell):
    import pyarrow as pa
    from pyarrow import parquet

    rows = np.random.default_rng(0).standard_normal((30, 6))
    days = np.datetime64("2024-01-01") + np.arange(30)
    table = {"word": [f"w{i}" for i in range(30)], "day": days, "v": pa.array(rows.tolist())}
    parquet.write_table(pa.table(table), "words.parquet")
    told = shell("inspect", "words.parquet").stdout
    assert "lists of 6 numbers" in told and "--vector v" in told and "2024-01-01 … 2024-01-30" in told
    given = ("words.parquet", "--vector", "v", "--id", "word", "--keep", "day", "-m", "pca", "-o", "c.csv")
    result = shell("fit", *given, "--save", "m.mercer", "--report", "p.html")
    assert "30 rows, 6 columns" in result.stderr and "rows with: ids, day" in result.stderr
    assert '"kind": "date"' in (page := (shell.folder / "p.html").read_text()) or '"kind":"date"' in page
    shell("transform", "m.mercer", "words.parquet", "-o", "d.csv")
    np.testing.assert_allclose(shell.coordinates("d.csv"), shell.coordinates("c.csv"), atol=1e-12)


def test_text_that_a_spreadsheet_would_run_is_inert_in_a_csv_unless_that_is_switched_off(shell):
    """Ids and labels are the table's, so they may be formulas. Numbers stay numbers, and reading gives the original."""
    columns = shell.columns("flowers.csv")
    evil = np.array(["=1+1", "+a", "-b", "@c", "\t=d"] * 18, object)
    names = np.array([f"{text}{i}" for i, text in enumerate(evil)], object)
    write_table("evil.csv", {**columns, "name": names, "species": evil})
    words = ["evil.csv", "--id", "name", "--label", "species", "-m", "pca", "-q"]
    shell("fit", *words, "-o", "c.csv", "--save", "m.mercer")
    shell("transform", "m.mercer", "evil.csv", "-o", "t.csv", "-q")
    assert min(shell.coordinates("c.csv")[:, 0]) < 0  # so that some numbers begin with a minus
    for name in ("c.csv", "t.csv"):
        rows = [line.split(",") for line in (shell.folder / name).read_text().splitlines()[1:]]
        assert all(cell.lstrip('"')[0] == "'" for row in rows for cell in row[:2])
        assert all(np.isfinite([float(cell) for cell in row[2:]]).all() for row in rows)
        assert shell.columns(name)["name"].tolist() == names.tolist()
        assert shell.columns(name)["species"].tolist() == evil.tolist()
    shell("fit", *words, "-o", "plain.csv", "--no-spreadsheet-safe")
    assert (shell.folder / "plain.csv").read_text().splitlines()[1].startswith("=1+10,=1+1,")
