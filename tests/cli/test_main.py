"""The command itself: help, version, exit statuses, and that asking for help loads nothing heavy."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from mercer.cli.main import main

HEAVY = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "rich", "torch")


def invoke(*args):
    return CliRunner().invoke(main, list(args))


def test_importing_the_command_loads_nothing_heavy():
    code = f"import sys, mercer.cli.main; sys.exit(str([m for m in {HEAVY} if m in sys.modules]))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stderr.strip() == "[]"


@pytest.mark.parametrize("args", [["--help"], ["-h"], [], ["demo", "--help"]])
def test_help_starts_with_examples(args):
    result = invoke(*args)
    assert result.exit_code == 0
    usage, first, example = [line.strip() for line in result.stdout.splitlines() if line.strip()][:3]
    assert usage.startswith("Usage:") and first == "Examples:" and example.startswith("mercer demo")


def test_help_names_every_verb_in_a_sentence():
    assert "demo  Kernel PCA on two rings and on handwritten digits." in invoke("--help").stdout


def test_version_is_the_package_s():
    import mercer

    assert invoke("--version").stdout == f"mercer {mercer.__version__}\n"


@pytest.mark.parametrize(
    "args", [["nonsense"], ["--nonsense"], ["demo", "nonsense"], ["demo", "--output"], ["demo", "circles", "more"]]
)
def test_wrong_usage_is_one_line_and_status_2(args):
    result = invoke(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("mercer: ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize("error", [ValueError("a\nb"), MemoryError(), KeyboardInterrupt(), OSError(28, "full")])
def test_any_failure_of_a_verb_is_one_line_and_status_1(monkeypatch, error):
    def broken(*args, **options):
        raise error

    monkeypatch.setattr("mercer.cli.demo.run", broken)
    result = invoke("demo", "circles")
    assert result.exit_code == 1
    lines = [line for line in result.stderr.split("\n") if line]
    assert len(lines) == 1 and lines[0].startswith("mercer: ")


def test_errors_pass_through_outside_standalone_mode():
    import click

    with pytest.raises(click.UsageError):
        main.main(["nonsense"], standalone_mode=False)
