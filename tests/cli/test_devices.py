"""--device: a fit on a card gives the coordinates of one on the processor, and files that need no card."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from mercer import KernelPCA, load
from mercer.cli import devices
from mercer.cli.errors import Failure
from mercer.cli.main import main
from mercer.cli.methods import METHODS

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3)) @ np.diag([3.0, 2.0, 1.0])


@pytest.fixture
def table(tmp_path):
    kinds = np.where(X[:, 0] > 0, "a", "b")
    lines = ["x,y,z,kind", *(",".join([*map(str, row), kind]) for row, kind in zip(X, kinds, strict=True))]
    (tmp_path / "table.csv").write_text("\n".join(lines))
    return tmp_path / "table.csv"


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def coordinates(path):
    return np.genfromtxt(path, delimiter=",", skip_header=1, usecols=(-2, -1))


@pytest.fixture
def card(monkeypatch):
    """A device that is a tensor's, and not the processor's name."""
    torch = pytest.importorskip("torch")
    name = "cuda" if torch.cuda.is_available() else "cpu:0"
    monkeypatch.setattr(devices, "card", lambda: name)
    return name


@pytest.mark.torch
@pytest.mark.parametrize("method", ["pca", "kpca", "kda", "isomap"])
def test_a_fit_on_a_card_is_that_of_the_processor(table, tmp_path, card, method):
    for device in ("cpu", "auto"):
        out, model = tmp_path / f"{device}.csv", tmp_path / f"{device}.mercer"
        found = run("fit", table, "-m", method, "--label", "kind", "--device", device, "-o", out, "--save", model)
        assert found.exit_code == 0, found.output
    one, other = (coordinates(tmp_path / f"{device}.csv") for device in ("cpu", "auto"))
    if method == "kda":  # two classes, one direction: the column before it is the class
        one, other = one[:, 1:], other[:, 1:]
    np.testing.assert_allclose(abs(one), abs(other), atol=1e-6 * abs(one).max())
    record = json.loads((tmp_path / "auto.run.json").read_text())
    assert record["device"] == card
    assert isinstance(load(tmp_path / "auto.mercer").transform(X[:2]), np.ndarray)


@pytest.mark.torch
def test_the_plan_of_a_fit_on_a_card_names_it(table, card):
    found = run("fit", table, "-m", "kpca", "--drop", "kind", "--device", "cuda", "--dry-run")
    assert found.exit_code == 0 and f"are free on {card}" in found.output


@pytest.fixture
def small_card(card, monkeypatch):
    """A card with room for the table, but not for a fit beside it."""
    monkeypatch.setattr(devices, "free_bytes_on", lambda device: X.nbytes * 3 // 2)
    return card


@pytest.mark.torch
def test_a_table_too_large_for_the_card_streams_through_it(tmp_path, small_card):
    both, table = {}, tmp_path / "table.parquet"
    pq.write_table(pa.table({name: X[:, k] for k, name in enumerate("xyz")}), table)
    for device in ("cpu", "cuda"):
        out = tmp_path / f"{device}.csv"
        told = ["--stream"] if device == "cpu" else []
        found = run("fit", table, "-m", "kpca", "--rank", 20, "--device", device, "-o", out, *told)
        assert found.exit_code == 0, found.output
        both[device] = coordinates(out)
    assert "streamed in 1 part" in found.output and "do not fit on the card" in found.output
    record = json.loads((tmp_path / "cuda.run.json").read_text())
    assert record["device"] == small_card and record["stream"]
    np.testing.assert_allclose(both["cuda"], both["cpu"], atol=1e-8 * abs(both["cpu"]).max())


@pytest.mark.torch
def test_a_fit_that_needs_all_rows_on_a_card_too_small_is_refused_or_goes_to_the_processor(table, tmp_path, small_card):
    found = run("fit", table, "-m", "isomap", "--drop", "kind", "--device", "cuda")
    assert found.exit_code != 0 and f"are free on {small_card}" in found.output and "--device cpu" in found.output
    found = run("fit", table, "-m", "kpca", "--drop", "kind", "--device", "cuda")
    assert found.exit_code != 0 and "--rank" in found.output and "--stream" in found.output
    out = tmp_path / "out.csv"
    found = run("fit", table, "-m", "isomap", "--drop", "kind", "--device", "auto", "-o", out)
    assert found.exit_code == 0 and "so the processor computes" in found.output
    assert json.loads((tmp_path / "out.run.json").read_text())["device"] == "cpu"


def test_without_a_card_cuda_is_refused_and_auto_takes_the_processor(table, tmp_path, monkeypatch):
    monkeypatch.setattr(devices, "card", lambda: None)
    found = run("fit", table, "-m", "pca", "--drop", "kind", "--device", "cuda")
    assert found.exit_code != 0 and "sees no NVIDIA GPU" in found.output and "--device cpu" in found.output
    found = run("fit", table, "-m", "pca", "--drop", "kind", "--device", "auto", "-o", tmp_path / "out.csv")
    assert found.exit_code == 0
    assert json.loads((tmp_path / "out.run.json").read_text())["device"] == "cpu"


def test_what_a_card_has_no_use_for_is_told():
    with pytest.raises(Failure, match="computes on the processor alone"):
        devices.chosen_device("cuda", METHODS["mds"])
    sparse = type("Sparse", (), {"indptr": None})()
    with pytest.raises(Failure, match="sparse"):
        devices.chosen_device("cuda", METHODS["pca"], (sparse,))
    assert devices.chosen_device("auto", METHODS["mds"]) == "cpu"


@pytest.mark.torch
def test_a_fitted_estimator_comes_back_with_arrays():
    torch = pytest.importorskip("torch")
    there = KernelPCA(2, kernel="rbf", gamma=0.1).fit(torch.as_tensor(X))
    here = devices.on_host(there)
    np.testing.assert_allclose(here.transform(X), there.transform(torch.as_tensor(X)).numpy(), atol=1e-10)
    placed = devices.placed((X, np.array(["a"] * 60)), "cpu")
    assert placed[0] is X
