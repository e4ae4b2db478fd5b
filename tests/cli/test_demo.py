"""`mercer demo`: tables that say what the estimator says, pictures that are there, and failure before work."""

import re
from io import BytesIO

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from sklearn.datasets import load_digits, make_circles

from mercer import KernelPCA
from mercer.cli.console import Console
from mercer.cli.demos.circles import best_cut
from mercer.cli.demos.digits import images_of
from mercer.cli.demos.faces import find_faces
from mercer.cli.demos.stage import MissingData, Stage
from mercer.cli.main import main

FILES = {
    "circles": ["circles.png", "circles-eigenfunctions.png"],
    "digits": ["digits.png", "digits-scree.png", "digits.html"],
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Both short demos, run once, with fewer digits and steps."""
    folder = tmp_path_factory.mktemp("demo") / "made" / "on the way"
    with pytest.MonkeyPatch.context() as smaller:
        smaller.setattr("mercer.cli.demos.digits.ROWS", 400)
        smaller.setattr("mercer.cli.demos.digits.STEPS", 300)
        return folder, CliRunner().invoke(main, ["demo", "--output", str(folder)])


def test_without_a_name_circles_and_digits_are_shown(runs):
    folder, result = runs
    assert result.exit_code == 0
    for name in FILES["circles"] + FILES["digits"]:
        assert str(folder / name) in result.stderr
        if name.endswith("png"):
            assert (folder / name).stat().st_size < 200_000
            assert Image.open(folder / name).size[0] > 1000
    assert len(list(folder.iterdir())) == 5


def test_the_table_is_the_estimator_s(runs):
    X, _ = make_circles(600, factor=1 / 3, noise=0.03, random_state=0)
    kpca = KernelPCA(6, kernel="rbf", gamma=0.3).fit(3 * X)
    rows = re.findall(r"^ *(\d+) +([\d.]+) +([\d.]+)% +([\d.]+)% +(\S+) +(\S+) *$", runs[1].stdout, re.M)[:6]
    table = np.array(rows, dtype=float)
    np.testing.assert_array_equal(table[:, 0], np.arange(1, 7))
    np.testing.assert_allclose(table[:, 1], kpca.eigenvalues_, rtol=1e-5)
    np.testing.assert_allclose(table[:, 2], 100 * kpca.explained_variance_ratio_, atol=0.005 + 1e-9)
    np.testing.assert_allclose(table[:, 3], 100 * kpca.explained_variance_ratio_.cumsum(), atol=0.005 + 1e-9)
    assert (table[:, 4:] < 1e-8 * table[0, 1]).all()
    assert f"solver  {kpca.solver_.name}: " in runs[1].stdout


def test_kernel_pca_sorts_the_rings_and_pca_does_not(runs):
    line = re.search(r"(\d+)% of the points for PCA, (\d+)% for kernel", runs[1].stdout)
    assert int(line[1]) < 80 and int(line[2]) == 100


def test_the_digits_end_with_the_quality_of_two_maps_and_a_page(runs):
    folder, result = runs
    last = result.stdout[result.stdout.index("How faithful") :]
    trust = next(line for line in last.splitlines() if line.startswith("trustworthiness")).replace("*", "").split()
    assert 0.7 < float(trust[1]) < float(trust[2]) <= 1  # t-SNE keeps neighbours better than two components
    assert "Procrustes" in last
    page = (folder / "digits.html").read_text()
    assert "kernel PCA" in page and "t-SNE" in page
    assert result.stderr.splitlines()[-1].split(None, 1) == ["page", str(folder / "digits.html")]


def test_pictures_of_digits_are_png_files_of_their_pixels():
    X = load_digits().data[:3]
    for row, image in zip(X, images_of(X), strict=True):
        path = Image.open(BytesIO(image))
        pixels = np.asarray(path)[::4, ::4]
        np.testing.assert_array_equal(pixels, (255 - 255 * row.reshape(8, 8) / 16).astype(np.uint8))


def test_the_best_cut_is_the_best_of_all_thresholds():
    rng = np.random.default_rng(0)
    scores, members = rng.standard_normal(30), rng.random(30) < 0.4
    shares = [np.mean((scores > t) == members) for t in [-9, *scores]]
    assert best_cut(scores, members) == pytest.approx(max([*shares, *(1 - s for s in shares)]))


def test_no_line_is_wider_than_80_columns(runs):
    assert max(len(line) for line in runs[1].stdout.splitlines()) <= 80


def test_long_sentences_of_a_demo_are_wrapped(tmp_path, capsys):
    stage = Stage(tmp_path, Console())
    stage.say("  short, and set in")
    stage.say()
    stage.say("word " * 30)
    first, empty, *wrapped = capsys.readouterr().out.splitlines()
    assert (first, empty) == ("  short, and set in", "")
    assert len(wrapped) == 2 and max(map(len, wrapped)) <= 80 and wrapped[1].startswith("  word")


def test_quiet_writes_pictures_and_nothing_else(tmp_path):
    result = CliRunner().invoke(main, ["demo", "circles", "-q", "-o", str(tmp_path)])
    assert (result.exit_code, result.output) == (0, "")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(FILES["circles"])


def test_the_roll_is_unrolled(tmp_path):
    result = CliRunner().invoke(main, ["demo", "swissroll", "-o", str(tmp_path)])
    assert result.exit_code == 0 and re.search(r"Isomap, 10 neighbours +r = (0\.99\d|1\.000)", result.stdout)
    assert (tmp_path / "swiss_roll.png").exists()


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


@pytest.mark.parametrize("place", ["taken", "taken/below"])
def test_a_folder_that_cannot_be_is_one_line_before_any_work(tmp_path, place):
    (tmp_path / "taken").write_text("a file")
    result = CliRunner().invoke(main, ["demo", "--output", str(tmp_path / place)])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"mercer: Cannot write to {tmp_path / place}: ")
    assert result.stderr.count("\n") == 1 and result.stdout == ""
