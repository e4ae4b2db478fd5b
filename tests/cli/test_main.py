"""The command itself: help, version, exit statuses, and that asking for help loads nothing heavy."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from mercer.cli.main import VERBS, ClosedStdout, main

HEAVY = ("numpy", "scipy", "sklearn", "numba", "matplotlib", "rich", "torch", "pyarrow")


def invoke(*args):
    return CliRunner().invoke(main, list(args))


@pytest.mark.parametrize(
    "args", [[], *([verb, "--help"] for verb in VERBS), ["fit", "--method", "tsne", "--help"], ["fit", "--no"]]
)
def test_asking_for_help_loads_nothing_heavy(args):
    code = (
        f"import sys; from mercer.cli.main import main\ntry: main({args!r})\n"
        f"except SystemExit: sys.exit(str([m for m in {HEAVY} if m in sys.modules]))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.stderr.splitlines()[-1] == "[]"


@pytest.mark.parametrize("args", [["--help"], ["-h"], [], *([verb, "--help"] for verb in VERBS)])
def test_help_starts_with_examples_and_fits_a_terminal(args):
    result = invoke(*args)
    assert result.exit_code == 0 and result.stderr == ""
    usage, first, example = [line.strip() for line in result.stdout.splitlines() if line.strip()][:3]
    assert usage.startswith("Usage:") and first == "Examples:" and example.startswith("mercer ")
    assert all(len(line) <= 90 for line in result.stdout.splitlines())


def test_help_names_every_verb_and_every_exit_status():
    said = invoke("--help").stdout
    for verb, sentence in VERBS.items():
        assert f"{verb}" in said and sentence in said
    for status in (0, 1, 2, 3, 4, 5, 130):
        assert f"\n    {status} " in said


def test_version_is_the_package_s():
    import mercer

    assert invoke("--version").stdout == f"mercer {mercer.__version__}\n"


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["--nonsense"],
        ["demo", "nonsense"],
        ["demo", "--output"],
        ["fit"],
        ["fit", "t.csv", "more.csv"],
        ["fit", "t.csv", "--nonsense"],
        ["fit", "t.csv", "--method", "magic"],
        ["fit", "t.csv", "--method", "kpca", "--gamma", "wide"],
        ["fit", "t.csv", "--method", "kda"],
        ["fit", "t.csv", "--method", "kcca"],
        ["fit", "t.csv", "--method", "pca", "--second", "u.csv"],
        ["fit", "t.csv", "--json"],
        ["fit", "t.csv", "--seed", "-1"],
        ["fit", "t.csv", "--save", "-"],
        ["fit", "t.csv", "--report", "-"],
        ["fit", "t.csv", "--report", "map.csv"],
        ["fit", "t.csv", "--method", "kpca", "--gamma", "-1"],
        ["report", "c.csv", "-o", "other.csv"],
        ["compare", "t.csv"],
        ["compare", "t.csv", "a.csv", "--methods", "pca"],
        ["compare", "t.csv", "--methods", "pca,magic"],
        ["evaluate", "t.csv"],
        ["evaluate", "t.csv", "c.csv", "--sample", "some"],
        ["report", "c.csv"],
        ["transform", "m.mercer"],
        ["inspect"],
    ],
)
def test_wrong_usage_is_one_line_and_status_2(args):
    result = invoke(*args)
    assert result.exit_code == 2, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("mercer: ") and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (["reprt"], "Did you mean report?"),
        (["fit", "t.csv", "--method", "ksne"], "Did you mean sne?"),
        (["fit", "t.csv", "--method", "kpca", "--gama", "1"], "Did you mean --gamma"),
        (["fit", "t.csv", "--method", "kpca", "--n_components", "1"], "It is spelt --n-components"),
        (["fit", "t.csv", "--perplexity", "5"], "an option of --method sne or tsne."),
        (["fit", "t.csv", "--method", "pca", "--landmarks", "5"], "an option of --method isomap"),
        (["evaluate", "t.csv", "c.csv", "--neighbours", "5"], "Did you mean --neighbors"),
        (["fit", "t.csv", "--lable", "kind"], "Did you mean --label or --scale?"),
        (["fit", "t.csv", "--method", "tsne", "--metric", "euclidian"], "Did you mean euclidean?"),
        (["evaluate", "t.csv", "c.csv", "--metric", "cosin"], "Did you mean cosine?"),
        (["compare", "t.csv", "--methods", "pca,kpac"], "Did you mean kpca?"),
        (["demo", "swiss_roll"], "Did you mean swissroll?"),
        (["fit", "t.csv", "--drop", "a", "b"], "argument (b). Names in a list have commas and no blanks between them"),
        (["fit", "t.csv", "u.csv"], "extra argument (u.csv). See "),
        (["transform", "new.csv", "m.mercer"], "The model comes before the table: mercer transform m.mercer new.csv"),
        (["fit", "https://example.org/t.csv"], "https://example.org/t.csv is an address, and only files are read"),
        (["inspect", "s3://bucket/t.parquet"], "s3://bucket/t.parquet is an address, and only files are read"),
        (["fit", "t.csv", "--seed", "-1"], "'-1' is not a whole number from 0 to 4294967295"),
    ],
)
def test_what_is_nearly_right_is_met_with_what_is(args, hint):
    assert hint in invoke(*args).stderr


def test_errors_pass_through_outside_standalone_mode():
    with pytest.raises(click.UsageError):
        main.main(["nonsense"], standalone_mode=False)


def test_coordinates_for_a_closed_stdout_are_refused_in_one_line():
    for write in (lambda out: out.write("x"), lambda out: out.buffer):
        with pytest.raises(OSError, match="closed; name a file with -o"):
            write(ClosedStdout())
