"""run.json: it says what was done, replays to the same bytes, and is refused in one line if it is damaged."""

import hashlib
import json
import random

import pytest
from click.testing import CliRunner

import mercer
from mercer.cli.main import main

QUICK = {"sne": ["--max-iter", "60", "--perplexity", "8"], "tsne": ["--max-iter", "60", "--perplexity", "8"]}
FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]
WORDS = [None, True, -1, 3.5, 10**30, "", "x", "\x1b[2J", [], ["x"], {}, {"path": 3}]


def test_the_record_says_what_was_done(shell):
    shell("fit", *FLOWERS, "-m", "kpca", "--gamma", "0.5", "-o", "c.csv", "--save", "m.mercer", "--seed", "7")
    record = shell.record("c.run.json")
    assert record["parameters"]["gamma"] == 0.5 and record["parameters"]["kernel"] == "rbf"
    assert record["seed"] == 7 and record["choice"] == {"label": "species", "id": "name"}
    flowers = (shell.folder / "flowers.csv").read_bytes()
    assert record["input"] == {
        "path": "flowers.csv", "sha256": hashlib.sha256(flowers).hexdigest(), "rows": 90, "columns": 4
    }  # fmt: skip
    for entry in record["outputs"]:
        assert entry["sha256"] == hashlib.sha256((shell.folder / entry["path"]).read_bytes()).hexdigest()
    assert [entry["what"] for entry in record["outputs"]] == ["coordinates", "model"]
    model = mercer.load("m.mercer")
    assert record["fit"]["eigenvalues"] == model.eigenvalues_.tolist()
    assert record["fit"]["residuals"] == model.residuals_.tolist()
    assert record["fit"]["solver"]["name"] == model.solver_.name and record["stopped"] is False
    assert {"python", "mercer", "numpy", "scipy", "scikit-learn", "platform"} <= set(record["versions"])
    assert set(record["seconds"]) == {"read", "fit", "write"}


@pytest.mark.parametrize("method", ["pca", "kpca", "kda", "isomap", "tsne"])
def test_a_record_replays_to_the_same_bytes(shell, method):
    extra = [*QUICK.get(method, []), "--scale", "robust", "--seed", "3"]
    shell("fit", *FLOWERS, "-m", method, *extra, "-o", "c.csv")
    first = (shell.folder / "c.csv").read_bytes()
    shell("fit", "--config", "c.run.json", "-o", "again.csv")
    assert (shell.folder / "again.csv").read_bytes() == first
    assert shell.record("again.run.json")["parameters"] == shell.record("c.run.json")["parameters"]
    (shell.folder / "c.csv").unlink()
    shell("fit", "--config", "c.run.json", "--recorded-outputs")
    assert (shell.folder / "c.csv").read_bytes() == first


@pytest.mark.parametrize("method", ["pca", "kpca", "kda", "isomap", "tsne"])
def test_a_repeated_run_meets_every_hash_of_its_record(shell, method):
    words = [*FLOWERS, "-m", method, *QUICK.get(method, []), "--scale", "standard"]
    for name in ("one", "two"):
        shell("fit", *words, "-o", f"{name}.csv", "--save", f"{name}.mercer", "--report", f"{name}.html", "-q")
    first, second = (shell.record(f"{name}.run.json")["outputs"] for name in ("one", "two"))
    assert [entry["what"] for entry in first] == ["coordinates", "model", "page"]
    assert [entry["sha256"] for entry in first] == [entry["sha256"] for entry in second]


def test_a_record_does_not_say_where_to_write_unless_it_is_asked(shell):
    """A run.json may come from a stranger: it must not overwrite files of whoever repeats the run."""
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "--save", "m.mercer", "-q")
    record = shell.record("c.run.json")
    (shell.folder / "mine.csv").write_text("precious")
    record["outputs"] = [{"what": "coordinates", "path": "mine.csv"}, {"what": "page", "path": "page.html"}]
    (shell.folder / "theirs.run.json").write_text(json.dumps(record))
    assert shell("fit", "--config", "theirs.run.json", "-q").stdout == (shell.folder / "c.csv").read_text()
    assert (shell.folder / "mine.csv").read_text() == "precious" and not (shell.folder / "page.html").exists()
    shell("fit", "--config", "theirs.run.json", "--recorded-outputs", "-q")
    assert (shell.folder / "mine.csv").read_text() == (shell.folder / "c.csv").read_text()


def test_options_given_besides_a_record_win(shell):
    shell("fit", *FLOWERS, "-m", "kpca", "--gamma", "0.5", "--n-components", "3", "-o", "c.csv")
    shell("fit", "--config", "c.run.json", "--gamma", "2", "--scale", "standard", "-o", "d.csv")
    record = shell.record("d.run.json")
    assert record["parameters"]["gamma"] == 2.0 and record["parameters"]["n_components"] == 3
    assert record["choice"] == {"label": "species", "id": "name", "scale": "standard"}
    shell("fit", "--config", "c.run.json", "--method", "pca", "-o", "e.csv")
    assert shell.record("e.run.json")["parameters"]["n_components"] == 2


def test_changed_data_is_a_warning_or_with_strict_an_error(shell):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv")
    text = (shell.folder / "flowers.csv").read_text()
    (shell.folder / "flowers.csv").write_text(text.replace("5.1", "5.2", 1))
    assert "warning: flowers.csv is not the data" in shell("fit", "--config", "c.run.json", "-o", "d.csv").stderr
    assert "sha256" in shell("fit", "--config", "c.run.json", "-o", "e.csv", "--strict", status=3).stderr
    assert not (shell.folder / "e.csv").exists()


def test_a_record_is_found_from_another_folder(shell, monkeypatch):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv")
    (shell.folder / "elsewhere").mkdir()
    monkeypatch.chdir(shell.folder / "elsewhere")
    shell("fit", "--config", "../c.run.json", "-o", "d.csv")
    assert (shell.folder / "elsewhere" / "d.csv").read_bytes() == (shell.folder / "c.csv").read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "mercer run"}',
        '{"format": "mercer run", "version": 99}',
        '{"format": "mercer run", "version": 1}',
        "\0",
    ],
)
def test_a_file_that_is_not_a_record_is_refused_in_one_line(shell, text):
    (shell.folder / "bad.run.json").write_text(text)
    assert "bad.run.json" in shell("fit", "--config", "bad.run.json", status=3).stderr


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "umap"}, "method must be one of"),
        ({"input": {"path": 3, "sha256": ""}}, "input path must be text"),
        ({"outputs": [{"what": "coordinates"}]}, "outputs lacks path"),
        ({"jobs": -1}, "jobs must be None, or must be a whole number"),
        ({"page": {"inert": "no"}}, "page inert must be true or false"),
    ],
)
def test_a_damaged_record_is_refused_with_the_field(shell, change, said):
    shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "-q")
    (shell.folder / "bad.run.json").write_text(json.dumps(shell.record("c.run.json") | change))
    assert said in shell("fit", "--config", "bad.run.json", status=3).stderr


def test_json_is_the_record(shell):
    result = shell("fit", *FLOWERS, "-m", "pca", "-o", "c.csv", "--json", "--quiet")
    assert json.loads(result.stdout) == shell.record("c.run.json") and result.stderr == ""


def altered(document, rng):
    """A copy with one value, somewhere in it, replaced or gone."""
    copy = json.loads(json.dumps(document))
    place = copy
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return copy
        key = rng.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and rng.random() < 0.7:
            place = place[key]
            continue
        if rng.random() < 0.3:
            del place[key]
        else:
            place[key] = rng.choice(WORDS)
        return copy


def test_altered_records_are_refused_in_one_line_or_still_good(shell):
    shell("fit", "flowers.csv", "--label", "species", "--id", "name", "-m", "pca", "-o", "c.csv", "-q")
    record, rng = shell.record("c.run.json"), random.Random(0)

    for _ in range(150):
        (shell.folder / "c.run.json").write_text(json.dumps(altered(record, rng)))
        for words in (["inspect", "c.run.json"], ["fit", "--config", "c.run.json", "-o", "again.csv", "-q"]):
            result = CliRunner().invoke(main, words)
            assert result.exit_code in (0, 1, 2, 3), result.exception
            assert "please report" not in result.stderr and "Traceback" not in result.output
            if result.exit_code:
                assert result.stderr.splitlines()[-1].startswith("mercer: ")
