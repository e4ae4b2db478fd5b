"""The command as a process: what goes to stdout and stderr, pipes, colours, and Ctrl-C."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import mercer
from mercer.tables.table import write_table

# Ctrl-C reaches a test's child even where the tests themselves run in the background, with SIGINT ignored.
CODE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from mercer.cli.main import main
main(prog_name="mercer")
"""
HOME = os.path.dirname(os.path.dirname(mercer.__file__))  # absolute: the processes run in other folders
SOURCES = os.pathsep.join(filter(None, [HOME, os.environ.get("PYTHONPATH")]))
PLAIN = os.environ | {"NO_COLOR": "1", "COLUMNS": "80", "PYTHONPATH": SOURCES}


def start(*words, **settings):
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", CODE, *map(str, words)]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, **{"env": PLAIN} | settings)


def run(*words, **settings):
    process = start(*words, **settings)
    out, err = process.communicate(timeout=120)
    return process.returncode, out.decode(), err.decode()


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    write_table(tmp_path / "t.csv", {"a": rng.normal(size=400), "b": rng.normal(size=400), "c": rng.normal(size=400)})
    return tmp_path


def test_data_goes_to_stdout_and_words_to_stderr(folder):
    status, out, err = run("fit", folder / "t.csv", "-m", "pca")
    assert status == 0 and out.startswith("pca1,pca2\n") and out.count("\n") == 401
    assert "explained" in err and "\x1b" not in err and "⠋" not in err
    status, out, err = run("inspect", folder / "t.csv", "--json")
    assert json.loads(out)["rows"] == 400 and err == ""


def test_errors_are_one_line_on_stderr(folder):
    for words, expected in (
        (["fit", folder / "none.csv"], 3),
        (["fit", folder / "t.csv", "--nope"], 2),
        (["inspect", folder / "t.mercer"], 3),
    ):
        status, out, err = run(*words)
        assert (status, out, err.count("\n")) == (expected, "", 1) and err.startswith("mercer: ")


@pytest.mark.parametrize("words", [["fit", "t.csv", "-m", "pca", "-q"], ["inspect", "t.csv"]])
def test_a_reader_that_leaves_is_no_error(folder, words):
    """As in `mercer fit t.csv | head -1`: the pipe is closed before much is written."""
    process = start(*words, cwd=folder)
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(timeout=60) == 0


def test_a_terminal_without_unicode_is_served(folder):
    status, out, err = run("inspect", folder / "t.csv", env=PLAIN | {"PYTHONIOENCODING": "ascii"})
    assert status == 0 and "number" in out and err == ""


def in_terminal(words, cwd, **environment):
    """stdout and stderr both a terminal; what appears there."""
    import pty

    ours, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    environment = clean | {"TERM": "xterm", "COLUMNS": "80", "PYTHONPATH": SOURCES} | environment
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *words], cwd=cwd, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            block = os.read(ours, 1 << 16)
        except OSError:
            break
        if not block:
            break
        seen += block
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return seen.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_a_terminal_sees_progress_and_colour_unless_it_wants_none(folder):
    assert not re.search(r"\x1b\[[\d;]*[39]\d", in_terminal(["inspect", "t.csv"], folder, NO_COLOR="1"))
    words = ["fit", "t.csv", "-m", "tsne", "--max-iter", "100", "-o", "c.csv"]
    assert "t-SNE of 400 rows" in in_terminal(words, folder)
    seen = in_terminal(["evaluate", "t.csv", "c.csv"], folder)
    assert "\x1b[1m" in seen
    seen = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", seen)
    assert re.search(r"Shepard correlation +0\.\d{4} +exact +1 +[\d,]+ pairs", seen)  # in one line of 80 columns


STOPPING = """
import os
from mercer.embedding.loss import Loss
steps, forces = [], Loss.forces
def watched(self, Y):
    steps.append(1)
    if len(steps) == 40:
        os.kill(os.getpid(), signal.SIGINT)
    return forces(self, Y)
Loss.forces = watched
"""


def test_ctrl_c_keeps_the_map_so_far(folder):
    """The signal is sent by the process itself, after forty steps: nobody outside can see when the descent begins."""
    words = ["fit", "t.csv", "-m", "tsne", "-o", "c.csv", "--save", "m.mercer"]
    code = CODE.replace("from mercer.cli", STOPPING + "from mercer.cli", 1)
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=folder, capture_output=True, env=PLAIN, timeout=200)
    assert done.returncode == 130 and done.stdout == b""
    record = json.loads((folder / "c.run.json").read_text())
    assert record["stopped"] is True and record["fit"]["report"]["ended"] == "interrupted"
    assert record["fit"]["report"]["steps"] in (39, 40)
    assert b"Interrupted after" in done.stderr and b"Traceback" not in done.stderr
    status, out, _ = run("transform", "m.mercer", "t.csv", cwd=folder)
    assert status == 0 and out.count("\n") == 401


def test_a_map_goes_on_after_ctrl_c_to_the_bytes_of_one_that_was_not_stopped(folder):
    words = ["fit", "t.csv", "-m", "tsne", "--max-iter", "90", "-q"]
    code = CODE.replace("from mercer.cli", STOPPING + "from mercer.cli", 1)
    stopped = [sys.executable, "-c", code, *words, "-o", "c.csv", "--save", "m.mercer"]
    assert subprocess.run(stopped, cwd=folder, capture_output=True, env=PLAIN, timeout=200).returncode == 130
    assert run("fit", "--resume", "m.mercer", "-o", "more.csv", "-q", cwd=folder)[0] == 0
    assert run(*words, "-o", "whole.csv", cwd=folder)[0] == 0
    assert (folder / "more.csv").read_bytes() == (folder / "whole.csv").read_bytes()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("words", ["--help", "inspect t.csv", "fit t.csv -m pca -q"])
def test_a_full_disk_behind_stdout_is_one_line(folder, words):
    code = f"from mercer.cli.main import main; main({words.split()!r}, prog_name='mercer')"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, stdout=full, stderr=subprocess.PIPE, env=PLAIN)
    assert (done.returncode, done.stderr.decode()) == (5, "mercer: stdout: No space left on device\n")


@pytest.mark.skipif(sys.platform == "win32", reason="closing streams in a shell")
@pytest.mark.parametrize(
    ("words", "said"), [("fit - <&-", "stdin is empty"), ("inspect t.csv >&-", "stdout: it is closed")]
)
def test_closed_streams_are_one_line(folder, words, said):
    command = f'"{sys.executable}" -c "from mercer.cli.main import main; main()" {words}'
    done = subprocess.run(["bash", "-c", command], cwd=folder, stderr=subprocess.PIPE, env=PLAIN, timeout=120)
    assert done.returncode in (1, 3) and said in done.stderr.decode() and done.stderr.count(b"\n") == 1


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak of a process is read from /proc")
def test_a_dry_run_tells_the_peak_of_the_fit_that_follows(tmp_path):
    """Memory depends neither on the load nor on the clock."""
    rng = np.random.default_rng(0)
    write_table(tmp_path / "t.csv", {f"c{j}": rng.normal(size=2000) for j in range(5)})
    words = ["fit", tmp_path / "t.csv", "-m", "kpca"]
    planned = json.loads(run(*words, "--dry-run", "--json")[1])["process_bytes"]
    code = CODE.replace(
        'main(prog_name="mercer")', "import atexit; atexit.register(lambda: print(peak())); main()"
    ).replace(
        "import signal",
        """
import signal
def peak():
    return next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
""",
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words), "-o", str(tmp_path / "c.npy"), "-q"],
        capture_output=True, text=True, env=PLAIN, timeout=120,
    )  # fmt: skip
    taken = 1024 * int(done.stdout.split()[1])
    assert done.returncode == 0 and planned / 1.3 < taken < 1.3 * planned
