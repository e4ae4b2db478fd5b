"""Files that were made to be trouble: altered records, names that are escape sequences. One line, no surprise."""

import json
import random

import numpy as np

from mercer.tables.table import write_table

WORDS = [None, True, -1, 3.5, 10**30, "", "x", "\x1b[2J", [], ["x"], {}, {"path": 3}]


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
    from click.testing import CliRunner

    from mercer.cli.main import main

    for _ in range(150):
        (shell.folder / "c.run.json").write_text(json.dumps(altered(record, rng)))
        for words in (["inspect", "c.run.json"], ["fit", "--config", "c.run.json", "-o", "again.csv", "-q"]):
            result = CliRunner().invoke(main, words)
            assert result.exit_code in (0, 1, 2, 3), result.exception
            assert "please report" not in result.stderr and "Traceback" not in result.output
            if result.exit_code:
                assert result.stderr.splitlines()[-1].startswith("mercer: ")


def test_names_and_values_cannot_write_on_the_terminal(shell):
    evil = "\x1b]0;owned\x07\x1b[2J"
    write_table("evil.csv", {evil: np.arange(9.0), "kind": np.array([evil] * 9, object)})
    assert "\x1b" not in shell("inspect", "evil.csv").output
    assert "\x1b" not in shell("fit", "evil.csv", "-o", "c.csv", status=3).output
    shell("fit", "evil.csv", "--label", "kind", "-m", "pca", "--n-components", "1", "-o", "c.csv")
    assert "\x1b" not in shell("inspect", "c.csv").output
    assert "\x1b" not in shell("evaluate", "evil.csv", "c.csv").output
