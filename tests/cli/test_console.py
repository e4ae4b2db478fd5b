"""What the command prints: tables, notes and warnings that no file can turn against the terminal."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.cli.console import ProgressLine, spoken
from mercer.tables.table import write_table


def test_names_and_values_cannot_write_on_the_terminal(shell):
    evil = "\x1b]0;owned\x07\x1b[2J"
    write_table("evil.csv", {evil: np.arange(9.0), "kind": np.array([evil] * 9, object)})
    assert "\x1b" not in shell("inspect", "evil.csv").output
    assert "\x1b" not in shell("fit", "evil.csv", "-o", "c.csv", status=3).output
    shell("fit", "evil.csv", "--label", "kind", "-m", "pca", "--n-components", "1", "-o", "c.csv")
    assert "\x1b" not in shell("inspect", "c.csv").output
    assert "\x1b" not in shell("evaluate", "evil.csv", "c.csv").output


def test_times_are_told_as_people_read_them():
    told = [spoken(s) for s in (0.00001, 0.083, 9.87, 59.7, 150, 7200, 5025)]
    assert told == ["0.001 s", "0.083 s", "9.9 s", "1 min", "2 min 30 s", "2 h", "1 h 24 min"]


def in_terminal(code, columns=80):
    """What a program leaves on a terminal of this width, without colours."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    paths = [str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH")]  # absolute: tests change the folder
    environment |= {"TERM": "xterm", "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    seen = b""
    with suppress(OSError):  # how Linux says that no one writes to a terminal any more
        while block := os.read(ours, 1 << 16):
            seen += block
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", seen.decode())


def test_a_warning_never_shares_a_line_with_progress():
    """What a terminal shows in the end: every warning stands in a line of its own."""
    code = """
import time, warnings
from mercer.cli.console import Console, one_line_warnings
with one_line_warnings():
    with Console().working("fitting something") as update:
        time.sleep(0.3)
        warnings.warn("first trouble", UserWarning)
        time.sleep(0.3)
        warnings.warn("second trouble", UserWarning)
"""
    lines = [re.split(r"\r", line.rstrip("\r"))[-1] for line in in_terminal(code).split("\n")]
    for word in ("first", "second"):
        (line,) = [line for line in lines if f"{word} trouble" in line]
        assert line.strip() == f"mercer: warning: {word} trouble"


def test_warnings_are_one_line_each(shell):
    write_table("flat.csv", {"a": np.ones(30), "b": np.arange(30.0) / 7})
    lines = shell("fit", "flat.csv", "-m", "pca", "--n-components", "2", "-o", "c.csv", "-q").stderr.splitlines()
    assert all(line.startswith("mercer: ") for line in lines)


def test_time_left_is_the_rest_at_the_speed_so_far():
    line = ProgressLine("Isomap", None)
    line.phase("shortest paths", 0, 100, "")
    line.phase("shortest paths", 20, 100, "")
    assert round(line.left(line.started + 10), 6) == 40  # 20 in 10 seconds, 80 to go; the clock has digits of its own
    assert line.text(line.started + 10) == "Isomap: shortest paths 20%, 40 s left"
    line.phase("pass 1 over all pairs", 0, 8, "residual 1e-03")
    assert line.left(line.started + 10) is None  # a new phase has no speed yet
    steps = ProgressLine("t-SNE", 1000)
    assert steps.text(0.0) == "t-SNE"  # drawn before the first step
    steps.step(600, "KL 1.5")  # a resumed map begins here
    steps.step(700, "KL 1.4")
    assert round(steps.left(steps.started + 5), 6) == 15


@pytest.mark.parametrize("columns", [34, 40, 80])
def test_a_narrow_terminal_shows_every_cell_of_a_table_with_its_name(columns):
    """What a terminal of this width shows holds all names and numbers, and no line is wider than the terminal."""
    rows = [["kpca – isomap", "0.1214", "0.7667"], ["pca – kpca", "0.1206", "0.7789"]]
    code = f"""
from mercer.cli.console import print_table
print_table(["maps", "Procrustes disparity", "shared neighbours"], {rows!r})
"""
    shown = in_terminal(code, columns)
    lines = [line.strip() for line in shown.splitlines() if line.strip()]
    assert max(map(len, lines)) <= columns
    if columns == 80:
        assert [line.split() for line in lines[2:]] == [" ".join(row).split() for row in rows]
        return
    blocks = [row[0] for row in rows]
    assert [line for line in lines if line in blocks] == blocks
    assert [line.split()[-1] for line in lines if line.startswith("Procrustes disparity")] == ["0.1214", "0.1206"]
    assert [line.split()[-1] for line in lines if line.startswith("shared neighbours")] == ["0.7667", "0.7789"]


def test_a_phase_that_a_computation_names_reaches_the_terminal():
    """The line is drawn once more when work ends, so nothing here depends on the clock."""
    code = """
from mercer.cli.console import Console
from mercer.progress import counter, phase
with Console().working("Isomap of 90 rows"), phase("shortest paths"):
    counter(4)()
"""
    assert "Isomap of 90 rows: shortest paths 25%" in in_terminal(code)


def test_messages_and_summaries_break_between_words():
    """On a terminal; a file or a pipe gets each of them in one line, for scripts that read it."""
    code = """
from mercer.cli.console import Console, tell
Console().field("solver", "lanczos: 2 of 300 pairs: a matrix in memory is quickly multiplied with single vectors")
Console().note("a note that is longer than this terminal is wide")
tell("mercer:", "a/path/that/is/longer/than/the/terminal/and/can/be/copied.csv: no")
"""
    assert [line.rstrip() for line in in_terminal(code, 40).splitlines()] == [
        "solver      lanczos: 2 of 300 pairs: a",
        "            matrix in memory is quickly",
        "            multiplied with single",
        "            vectors",
        "mercer: note: a note that is longer than",
        "  this terminal is wide",
        "mercer:",
        "  a/path/that/is/longer/than/the/terminal/and/can/be/copied.csv:",
        "  no",
    ]
    piped = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(piped.stderr.splitlines()) == 3


def test_numbers_stand_under_one_another_with_a_star_or_without():
    """A blank holds the place of the star."""
    code = """
from mercer.cli.console import print_table
print_table(["score", "pca", "kpca"], [["a", "0.2500 ", "0.7500*"], ["b", "0.5000*", "0.1250 "]])
"""
    shown = [line.rstrip() for line in in_terminal(code).splitlines()[2:]]
    assert shown == ["a      0.2500   0.7500*", "b      0.5000*  0.1250"]


@pytest.mark.parametrize(
    ("words", "phases"),
    [
        ("fit big.npy -m kpca -o c.npy", {"width of the kernel", "pass 1 over all pairs"}),
        ("fit big.csv -m kda --label kind --gamma 0.1 --reg 0.1 -o c.npz", {"all pairs", "Cholesky factor"}),
        ("fit big.npy -m kcca --second big.npy --gamma 0.1 --reg 0.1 -o c.npy", {"Cholesky factor", "canonical pairs"}),
        ("fit big.npy -m isomap -o c.npy", {"neighbours", "shortest paths"}),
        ("compare big.npy --methods pca,isomap -k 5", {"shortest paths", "trustworthiness", "continuity"}),
    ],
    ids=["kpca", "kda", "kcca", "isomap", "compare"],
)
def test_methods_and_scores_name_their_phases_in_a_terminal(tmp_path, monkeypatch, words, phases):
    """What the line of progress is told, phase by phase. How often it is drawn is up to the clock."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((2100, 4))
    np.save("big.npy", X)
    kinds = np.where(X[:, 0] > 0, "a", "b").astype(object)
    write_table("big.csv", {f"x{i}": X[:, i] for i in range(4)} | {"kind": kinds})
    code = f"""
import sys
from mercer.cli import console
from mercer.cli.main import main
real = console.ProgressLine.phase
def watched(line, name, done, total, note):
    seen[name] = max(seen.get(name, 0), done / max(1, total))
    real(line, name, done, total, note)
console.ProgressLine.phase, seen = watched, {{}}
try:
    main({words.split()!r}, prog_name="mercer")
except SystemExit as end:
    assert not end.code, end.code
open("phases.json", "w").write(__import__("json").dumps(seen))
"""
    in_terminal(code)
    seen = json.loads((tmp_path / "phases.json").read_text())
    assert phases <= set(seen) and max(seen.values()) == 1


def test_five_maps_in_80_columns_have_their_names_above_their_numbers(shell):
    """Names are whole, each table names its own maps, and no line is wider than the terminal."""
    flowers = ["flowers.csv", "--label", "species", "--id", "name"]
    shell("fit", *flowers, "-m", "pca", "-o", "c.csv", "-q")
    names = [f"my-map-{letter}.csv" for letter in "abcde"]
    for name in names:
        (shell.folder / name).write_bytes((shell.folder / "c.csv").read_bytes())
    words = ["compare", *flowers, *names, "-q"]
    shown = in_terminal(f"from mercer.cli.main import main; main({words!r}, prog_name='mercer')")
    lines = [line.rstrip() for line in shown.split("\n")]
    assert max(map(len, lines)) <= 80
    headings = [line.split() for line in lines if line.startswith("score ")]
    assert [name for words in headings for name in words if name not in ("score", "best")] == names
    rows = [line for line in lines if line.startswith("trustworthiness ")]
    assert [len(re.findall(r"\b0\.\d{4}", row)) for row in rows] == [len(words) - 2 for words in headings]
