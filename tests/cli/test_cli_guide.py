"""The tour of the guide runs as it is printed, and prints what it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from mercer.cli.main import main

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "cli.md").read_text()
VARIES = ("time", "memory", "residual", "page")  # from machine to machine


def sessions():
    """(command, lines) of every `$ command` of the guide, in order."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", GUIDE, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def run(command):
    """What a command prints, stderr first; in this process unless it needs a shell."""
    words = shlex.split(command)
    if words[0] == "mercer" and not {"|", "&&"} & set(words):
        result = CliRunner().invoke(main, words[1:], prog_name="mercer")
        return result.stderr.splitlines() + result.stdout.splitlines()
    as_process = "from mercer.cli.main import main; main(prog_name='mercer')"
    script = f'mercer() {{ "{sys.executable}" -c "{as_process}" "$@"; }}; {command}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def same(found, printed):
    """Words alike, numbers to a percent."""
    a, b = re.split(r"[\s,]+", found.strip()), re.split(r"[\s,]+", printed.strip())
    return len(a) == len(b) and all(x == y or _near(x, y) for x, y in zip(a, b, strict=True))


def _near(x, y):
    try:
        return float(x.strip("*%")) == pytest.approx(float(y.strip("*%")), rel=0.02, abs=1e-6)
    except ValueError:
        return False


def test_the_tour(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(re.search(r"```python\n(.*?)```", GUIDE, re.DOTALL)[1], {})
    for command, printed in sessions():
        found = [line for line in run(command) if line.split()[:1] not in ([word] for word in VARIES)]
        printed = [line for line in printed if line.split()[:1] not in ([word] for word in VARIES)]
        assert len(found) == len(printed), command
        for one, other in zip(found, printed, strict=True):
            assert same(one, other), f"$ {command}\nprints   {one}\nguide    {other}"


def test_the_guide_has_every_verb_method_and_exit_status():
    from mercer.cli.main import VERBS
    from mercer.cli.methods import METHODS

    for name in (*(f"`mercer {verb}`" for verb in VERBS), *(f"`{method}`" for method in METHODS)):
        assert name in GUIDE
    help_text = CliRunner().invoke(main, ["--help"]).stdout
    for status in re.findall(r"^    (\d+) +\w", help_text[help_text.index("Exit status") :], re.M):
        assert f"| {status} |" in GUIDE
