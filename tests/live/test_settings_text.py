"""Settings as text: running it gives the map."""

import dataclasses
import shlex

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.distance import pdist

from mercer.cli.main import main
from mercer.live.controls import Controls
from mercer.live.descent_runs import DescentWish
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import MapFrame, MapStages
from mercer.live.settings_text import as_command, as_python


@pytest.mark.parametrize("method", ["kpca", "pca", "isomap"])
def test_the_python_gives_the_map(table, method):
    settings = Controls(table).checked({"method": method} | ({"n_neighbors": 100} if method == "isomap" else {}))
    found = []
    MapStages(table).run(settings, found.append, lambda *_: None)
    names = {"X": table.X}
    exec(as_python(settings, table), names)
    signs = np.sign((found[-1].coordinates * names["Z"]).sum(axis=0))
    assert np.allclose(found[-1].coordinates * signs, names["Z"], atol=1e-5 * np.abs(names["Z"]).max())


def shown_by(stages, settings, **more):
    """The settings, complete, and the map that the page ends with."""
    settings = Controls(stages.table).checked(settings)
    found = []
    stages.run(settings, found.append, lambda: None, **more)
    return settings, found[-1].coordinates


def run(text, **given):
    names = dict(given)
    exec(text, names)
    return names


def same_shape(Z, shown, rtol=1e-3):
    """Whether two maps have the same distances: a map may be turned before it is shown, which is in float32."""
    return np.allclose(pdist(Z), pdist(shown), atol=rtol * pdist(shown).max())


def test_the_python_repeats_a_descent_with_all_that_was_done_to_it(table):
    stages = MapStages(table)
    first = {"method": "tsne", "perplexity": 15.0}
    held = np.arange(table.rows) < 9
    shown_by(stages, first, descent=DescentWish(40))
    shown_by(stages, first | {"perplexity": 25.0}, descent=DescentWish(20))
    shown_by(stages, first | {"perplexity": 25.0}, descent=DescentWish(20, exaggeration=4.0))
    wish = DescentWish(20, held=held, moved=held, by=(3.0, -2.0))
    settings, shown = shown_by(stages, first | {"perplexity": 25.0}, descent=wish)
    text = as_python(settings, table, stages.runs)
    assert text.count("fit_transform") == 4 and "exaggeration=4.0" in text and "fixed=[0, 1, 2" in text
    # The shift is that of float32 coordinates; forty steps of a smooth descent enlarge its rounding to some 1e-5.
    assert same_shape(run(text, X=table.X, np=np)["Z"], shown)
    assert as_command(settings, table, stages.runs)[0] == ""


def test_a_descent_with_a_long_history_is_told_from_its_beginning(table):
    stages = MapStages(table)
    for _ in range(14):
        settings, _ = shown_by(stages, {"method": "sne", "perplexity": 15.0}, descent=DescentWish(2))
    text = as_python(settings, table, stages.runs)
    assert text.count("fit_transform") == 1 and "More was done" in text
    assert "Model" in as_command(settings, table, stages.runs)[1]


def test_a_map_that_was_computed_elsewhere_has_no_code(table):
    settings, shown = shown_by(MapStages(table), {"method": "tsne"}, descent=DescentWish(20))
    stages = MapStages(table)
    stages.begin_at(MapFrame(shown, ["a", "b"], "settled", []), settings)
    assert "More was done" in as_python(settings, table, stages.runs)
    shown_by(stages, settings, descent=DescentWish(5))
    assert "More was done" in as_python(settings, table, stages.runs) and len(stages.runs) == 1


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DisconnectedGraphWarning")
def test_the_python_cuts_the_edges(table):
    stages = MapStages(table)
    settings, _ = shown_by(stages, {"method": "isomap", "n_neighbors": 20})
    frames = []
    stages.run(settings, frames.append, lambda: None)
    i, j = (int(ends[5]) for ends in frames[-1].estimator.graph_.nonzero())
    settings, shown = shown_by(stages, settings | {"cut": f"{i}-{j}"})
    names = run(as_python(settings, table), X=table.X)
    assert same_shape(names["Z"], shown) and names["estimator"].graph_[i, j] == 0


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("method", ["kpca", "pca", "isomap", "tsne"])
@pytest.mark.parametrize("added", ["placed", "joined"])
def test_the_python_adds_the_rows(table, method, added):
    growing = LiveTable.of(table.X[:200], more=table.X[200:])
    stages = MapStages(growing)
    settings, shown = shown_by(stages, {"method": method, "added": added}, descent=DescentWish(30))
    names = run(as_python(settings, growing, stages.runs), X=growing.X, X_more=growing.more)
    Z = np.vstack([names["Z"], names["Z_more"]]) if added == "placed" else names["Z"]
    assert same_shape(Z, shown)


@pytest.fixture
def file(table, tmp_path):
    """The table as a file, and as `mercer explore` reads it: scaled, with a label."""
    path = tmp_path / "my table.csv"
    lines = [
        ",".join([*map(repr, row), kind]) for row, kind in zip(table.X.tolist(), table.columns["label"], strict=True)
    ]
    path.write_text("\n".join(["a,b,c,d,e,kind", *lines]))
    X = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
    words = (path.name, "--label", "kind", "--scale", "standard")
    return dataclasses.replace(LiveTable.of(X), words=words), path


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "kpca", "kernel": "poly", "gamma": 0.01, "degree": 2, "n_components": 3},
        {"method": "kpca", "kernel": "matern"},
        {"method": "pca"},
        {"method": "isomap", "n_neighbors": 7, "landmarks": 100},
        {"method": "isomap", "n_neighbors": 40, "cut": "0-3 3-6"},
        {"method": "tsne", "perplexity": 12.0, "dof": 0.7, "exaggeration": 2.0},
        {"method": "sne", "perplexity": 12.0},
    ],
)
def test_the_command_gives_the_map(file, settings, monkeypatch):
    table, path = file
    stages = MapStages(table)
    settings, shown = shown_by(stages, settings, descent=DescentWish(60))
    command, note = as_command(settings, table, stages.runs)
    words = shlex.split(command)
    assert words[:3] == ["mercer", "fit", "my table.csv"] and note == ""
    monkeypatch.chdir(path.parent)
    result = CliRunner().invoke(main, [*words[1:], "--quiet"])
    assert result.exit_code == 0, result.stderr
    Z = np.genfromtxt("coords.csv", delimiter=",", skip_header=1)[:, -shown.shape[1] :]
    assert same_shape(Z, shown)


def test_names_of_tables_are_quoted(table):
    hostile = dataclasses.replace(table, words=("a; rm -rf ~ '.csv",))
    command, _ = as_command({"method": "pca", "n_components": 2}, hostile)
    assert shlex.split(command)[:3] == ["mercer", "fit", "a; rm -rf ~ '.csv"]


def test_rows_of_no_file_are_told_how_to_become_one(table):
    command, note = as_command({"method": "pca", "n_components": 2}, table)
    assert "X.npy" in command and "numpy.save" in note
