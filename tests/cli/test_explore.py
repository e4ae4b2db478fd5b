"""`mercer explore`: what it reads and refuses. The server itself is tested in tests/live."""

import http.client
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest

from mercer import KernelPCA
from mercer.live import launch
from mercer.live.answers import Answers, Shown
from mercer.live.controls import Controls
from mercer.live.map_stages import MapStages
from mercer.live.settings_text import as_command, as_python
from mercer.tables.table import write_table


@pytest.fixture
def served(monkeypatch):
    """The servers that would have been run."""
    pytest.importorskip("uvicorn")
    found = []

    def serve(server, **_):
        server.stop()
        found.append(server)
        return server

    monkeypatch.setattr(launch, "serve", serve)
    return found


def test_a_table_is_read_with_its_label(shell, served):
    result = shell("explore", "flowers.csv", "--label", "species", "--id", "name", "--no-browser")
    table = served[0].table
    assert table.rows == 90 and table.label == "species" and table.features == ["m0", "m1", "m2", "m3"]
    assert table.title == "flowers.csv" and set(table.columns) == {"species", "m0", "m1", "m2", "m3"}
    assert result.stdout == f"{served[0].address}\n" and "90 rows" in result.stderr


def test_digits_are_built_in(shell, served):
    shell("explore", "digits", "--no-browser")
    assert served[0].table.rows == 1797 and served[0].table.image_shape == (8, 8)


def test_a_model_opens_with_its_rows_and_settings(shell, served):
    shell("fit", "flowers.csv", "--id", "name", "--drop", "species", "--method", "kpca",
          "--save", "k.mercer", "-o", "c.csv", "--gamma", "0.3")  # fmt: skip
    shell("explore", "k.mercer", "--no-browser")
    first = served[0].controls.first()
    assert served[0].table.rows == 90 and first["gamma"] == pytest.approx(0.3) and first["kernel"] == "rbf"
    shell("explore", "flowers.csv", "--model", "k.mercer", "--no-browser")
    assert served[1].table.rows == 90 and served[1].controls.first() == first


def test_rows_of_a_second_table_can_be_added(shell, served):
    columns = shell.columns("flowers.csv")
    write_table("first.csv", {name: values[:70] for name, values in columns.items()})
    write_table("new.csv", {name: values[70:] for name, values in columns.items() if name != "species"})
    shell("explore", "first.csv", "--label", "species", "--id", "name", "--scale", "standard", "--add", "new.csv",
          "--no-browser")  # fmt: skip
    table = served[0].table
    assert table.rows == 90 and table.X.shape == (70, 4) and table.more.shape == (20, 4)
    measures = np.column_stack([columns[f"m{k}"] for k in range(4)])
    scaled = (measures - measures[:70].mean(axis=0)) / measures[:70].std(axis=0)
    assert np.allclose(table.more, scaled[70:])  # prepared as the first rows are
    assert table.ids.tolist() == columns["name"].tolist()
    assert table.columns["rows"].tolist() == ["first"] * 70 + ["added"] * 20
    assert [value is None for value in table.columns["species"]] == [False] * 70 + [True] * 20


def test_what_the_page_gives_as_text_reads_the_tables_in_the_same_way(shell, served):
    columns = shell.columns("flowers.csv")
    write_table("first.csv", {name: values[:70] for name, values in columns.items()})
    write_table("new.csv", {name: values[70:] for name, values in columns.items()})
    shell("explore", "first.csv", "--label", "species", "--drop", "name,m3", "--scale", "robust", "--add", "new.csv",
          "--no-browser")  # fmt: skip
    table = served[0].table
    settings = Controls(table).checked({"method": "pca", "added": "placed"})
    found = []
    MapStages(table).run(settings, found.append, lambda: None)
    names = {}
    exec(as_python(settings, table), names)
    assert np.array_equal(names["X"], table.X) and np.array_equal(names["X_more"], table.more)
    command, _ = as_command(settings, table)
    fit, place = (shlex.split(part) for part in command.split("&&"))
    shell(*fit[1:])
    shell(*place[1:])
    Z = np.vstack([shell.coordinates("coords.csv"), shell.coordinates("added.csv")])
    shown = found[-1].coordinates
    for map_ in (Z, np.vstack([names["Z"], names["Z_more"]])):
        assert np.allclose(map_ * np.sign((map_ * shown).sum(axis=0)), shown, atol=1e-5 * np.abs(shown).max())


@pytest.mark.parametrize("opened", ["table", "table and model", "model"])
def test_a_model_that_the_page_gives_prepares_new_rows_as_the_page_did(shell, served, opened):
    options = ("--label", "species", "--id", "name", "--scale", "standard", "--drop", "m3")
    if opened != "table":
        shell("fit", "flowers.csv", *options, "--method", "kpca", "--save", "k.mercer", "-o", "c.csv")
    words = {
        "table": ("flowers.csv", *options),
        "table and model": ("flowers.csv", "--model", "k.mercer"),
        "model": ("k.mercer",),
    }
    shell("explore", *words[opened], "--no-browser")
    table, found = served[0].table, []
    settings = Controls(table).checked({"method": "kpca", "kernel": "laplacian"})
    MapStages(table).run(settings, found.append, lambda: None)
    _, buffers = Answers().model(Shown(table, table.first, settings, found[-1]))
    Path("page.mercer").write_bytes(buffers["file"].tobytes())
    shell("transform", "page.mercer", "flowers.csv", "-o", "again.csv")
    Z, shown = shell.coordinates("again.csv"), found[-1].coordinates
    assert np.allclose(Z * np.sign((Z * shown).sum(axis=0)), shown, atol=1e-5 * np.abs(shown).max())


def test_kept_columns_of_added_rows_are_shown(shell, served):
    columns = shell.columns("flowers.csv")
    write_table("first.csv", {name: values[:70] for name, values in columns.items()})
    write_table("new.csv", {name: values[70:] for name, values in columns.items()})
    shell("explore", "first.csv", "--drop", "name,species", "--keep", "m3", "--add", "new.csv", "--no-browser")
    assert np.allclose(served[0].table.columns["m3"].astype(float), columns["m3"])


def test_only_tables_of_files_take_rows(shell, served):
    assert "--add needs a table" in shell("explore", "digits", "--add", "flowers.csv", status=2).stderr
    assert not served


def test_a_model_without_rows_asks_for_the_table(shell, served):
    shell("fit", "flowers.csv", "--drop", "species,name", "--method", "pca", "--save", "p.mercer", "-o", "c.csv")
    assert "explore TABLE --model" in shell("explore", "p.mercer", status=3).stderr
    assert not served


def test_other_hosts_need_a_token(shell, served):
    assert "--token" in shell("explore", "flowers.csv", "--drop", "species,name", "--host", "0.0.0.0", status=3).stderr
    arguments = ("--host", "0.0.0.0", "--token", "a long enough token", "--name", "maps.example", "--no-browser")
    assert "other machines" in shell("explore", "flowers.csv", "--drop", "species,name", *arguments).stderr
    assert served[0].is_open


def test_the_command_serves_until_it_is_interrupted():
    pytest.importorskip("uvicorn")
    # Tests that run in the background ignore SIGINT, and so would their children.
    interruptible = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = interruptible + "from mercer.cli.main import main; main()"
    run = [sys.executable, "-c", command, "explore", "digits", "--no-browser"]
    process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = urlsplit(process.stdout.readline().strip())
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=120)
        connection.request("GET", f"/?{address.query}")
        assert connection.getresponse().status == 303
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0 and "Traceback" not in said
    finally:
        process.kill()
        process.communicate()


def test_a_model_of_python_opens_too(shell, served):
    import numpy as np

    KernelPCA(2, kernel="poly", degree=2).fit(np.random.default_rng(0).normal(size=(20, 3))).save("m.mercer")
    shell("explore", "m.mercer", "--no-browser")
    assert served[0].controls.first()["degree"] == 2
