"""What the command prints: tables, notes and warnings that no file can turn against the terminal."""

import numpy as np

from mercer.tables.table import write_table


def test_names_and_values_cannot_write_on_the_terminal(shell):
    evil = "\x1b]0;owned\x07\x1b[2J"
    write_table("evil.csv", {evil: np.arange(9.0), "kind": np.array([evil] * 9, object)})
    assert "\x1b" not in shell("inspect", "evil.csv").output
    assert "\x1b" not in shell("fit", "evil.csv", "-o", "c.csv", status=3).output
    shell("fit", "evil.csv", "--label", "kind", "-m", "pca", "--n-components", "1", "-o", "c.csv")
    assert "\x1b" not in shell("inspect", "c.csv").output
    assert "\x1b" not in shell("evaluate", "evil.csv", "c.csv").output


def test_warnings_are_one_line_each(shell):
    write_table("flat.csv", {"a": np.ones(30), "b": np.arange(30.0) / 7})
    lines = shell("fit", "flat.csv", "-m", "pca", "--n-components", "2", "-o", "c.csv", "-q").stderr.splitlines()
    assert all(line.startswith("mercer: ") for line in lines)
