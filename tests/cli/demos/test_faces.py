"""Eigenfaces: shown if the pictures are here, and asked for if they are not."""

import numpy as np
import pytest
from click.testing import CliRunner

from mercer.cli.demos.faces import find_faces
from mercer.cli.demos.stage import MissingData
from mercer.cli.main import main


def test_faces_that_are_not_here_are_asked_for(tmp_path, monkeypatch):
    with pytest.raises(MissingData, match=r"fetch_data\.py faces"):
        find_faces(tmp_path)

    def gone(folder=None):
        raise MissingData("Run: python scripts/fetch_data.py faces")

    monkeypatch.setattr("mercer.cli.demos.faces.find_faces", gone)
    result = CliRunner().invoke(main, ["demo", "faces", "-o", str(tmp_path)])
    assert result.exit_code == 3 and result.stderr == "mercer: Run: python scripts/fetch_data.py faces\n"


def test_faces_that_are_here_are_shown(tmp_path, monkeypatch):
    """Pictures made of a few smooth modes stand for faces, and noise for the other patches."""
    rng = np.random.default_rng(0)
    rows, columns = np.meshgrid(np.linspace(-1, 1, 25), np.linspace(-1, 1, 25))
    modes = np.stack([np.exp(-4 * rows**2), np.exp(-4 * columns**2), rows * columns]).reshape(3, -1)
    smooth = (1 + 0.3 * rng.standard_normal((100, 3))) @ modes
    patches = np.vstack([smooth, rng.standard_normal((100, 625))])
    people = rng.integers(0, 256, (40, 1, 28, 23)).repeat(10, axis=1).repeat(4, axis=2).repeat(4, axis=3)
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "lfw_subset.npy", patches.reshape(200, 25, 25))
    np.save(tmp_path / "data" / "orl_faces.npy", people)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["demo", "faces", "-o", "out"])
    assert result.exit_code == 0, result.stderr
    assert "kernel PCA: area under the curve of new patches 1.000" in result.stdout
    assert "100.0% of new portraits" in result.stdout and (tmp_path / "out" / "eigenfaces.png").exists()
