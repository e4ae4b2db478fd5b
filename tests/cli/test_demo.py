"""`mercer demo`: tables that say what the estimator says, pictures that are there, and failure before work."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from sklearn.datasets import make_circles

from mercer import KernelPCA
from mercer.cli.demo import _best_cut
from mercer.cli.main import main

PICTURES = {
    "circles": ["circles.png", "circles-eigenfunctions.png"],
    "digits": ["digits.png", "digits-scree.png"],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Both demos, run once."""
    folder = tmp_path_factory.mktemp("demo") / "made" / "on the way"
    return folder, CliRunner().invoke(main, ["demo", "--output", str(folder)])


def test_all_runs_both_and_says_where_the_pictures_are(runs):
    folder, result = runs
    assert result.exit_code == 0 and result.stderr == ""
    for name in PICTURES["circles"] + PICTURES["digits"]:
        assert f"wrote {folder / name}" in result.stdout.splitlines()
        assert (folder / name).stat().st_size < 200_000
        assert Image.open(folder / name).size[0] > 1000
    assert len(list(folder.iterdir())) == 4


def test_the_table_is_the_estimator_s(runs):
    X, _ = make_circles(600, factor=1 / 3, noise=0.03, random_state=0)
    kpca = KernelPCA(6, kernel="rbf", gamma=0.3).fit(3 * X)
    rows = re.findall(r"^ +(\d+) +([\d.]+) +([\d.]+)% +([\d.]+)% +(\S+) +(\S+) *$", runs[1].stdout, re.M)[:6]
    table = np.array(rows, dtype=float)
    np.testing.assert_array_equal(table[:, 0], np.arange(1, 7))
    np.testing.assert_allclose(table[:, 1], kpca.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(table[:, 2], 100 * kpca.explained_variance_ratio_, atol=0.005 + 1e-9)
    np.testing.assert_allclose(table[:, 3], 100 * kpca.explained_variance_ratio_.cumsum(), atol=0.005 + 1e-9)
    assert (table[:, 4:] < 1e-8 * table[0, 1]).all()
    assert f"solver  {kpca.solver_.name}: " in runs[1].stdout


def test_kernel_pca_sorts_the_rings_and_pca_does_not(runs):
    line = re.search(r"sorts (\d+)% of the points for PCA, (\d+)% for kernel", " ".join(runs[1].stdout.split()))
    assert int(line[1]) < 80 and int(line[2]) == 100


def test_the_best_cut_is_the_best_of_all_thresholds():
    rng = np.random.default_rng(0)
    scores, members = rng.standard_normal(30), rng.random(30) < 0.4
    shares = [np.mean((scores > t) == members) for t in [-9, *scores]]
    assert _best_cut(scores, members) == pytest.approx(max([*shares, *(1 - s for s in shares)]))


def test_no_line_is_wider_than_80_columns(runs):
    folder, result = runs
    assert max(len(line) for line in result.stdout.splitlines() if str(folder) not in line) <= 80


def test_quiet_writes_pictures_and_nothing_else(tmp_path):
    result = CliRunner().invoke(main, ["demo", "circles", "-q", "-o", str(tmp_path)])
    assert (result.exit_code, result.output) == (0, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(PICTURES["circles"])


@pytest.mark.parametrize("place", ["taken", "taken/below"])
def test_a_folder_that_cannot_be_is_one_line_before_any_work(tmp_path, monkeypatch, place):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setattr("mercer.cli.demo.DEMOS", {})
    result = CliRunner().invoke(main, ["demo", "--output", str(tmp_path / place)])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"mercer: cannot write to {tmp_path / place}: ")
    assert result.stderr.count("\n") == 1 and result.stdout == ""


def test_the_command_through_a_pipe_without_utf8(tmp_path):
    """The installed command, its output no terminal and its encoding poor: no colour, no progress, no crash."""
    command = [os.path.join(os.path.dirname(sys.executable), "mercer"), "demo", "circles", "-o", str(tmp_path)]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, env=environment, timeout=120)
    assert done.returncode == 0 and done.stderr == b""
    assert b"\x1b" not in done.stdout and b"eigenvalue" in done.stdout
    assert (tmp_path / "circles.png").exists()


def test_no_color_is_respected_even_on_a_terminal(tmp_path):
    environment = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    result = CliRunner().invoke(main, ["demo", "circles", "-o", str(tmp_path)], env=environment, color=True)
    assert result.exit_code == 0
    assert not re.search(r"\x1b\[[\d;]*3\d", result.stdout)
