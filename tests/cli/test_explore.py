"""`mercer explore`: what it reads and refuses. The server itself is tested in tests/live."""

import pytest

from mercer import KernelPCA
from mercer.live import launch


@pytest.fixture
def served(monkeypatch):
    """The servers that would have been run."""
    pytest.importorskip("uvicorn")
    found = []

    def serve(server, **_):
        server.stop()
        found.append(server)
        return server

    monkeypatch.setattr(launch, "serve", serve)
    return found


def test_a_table_is_read_with_its_label(shell, served):
    result = shell("explore", "flowers.csv", "--label", "species", "--id", "name", "--no-browser")
    table = served[0].table
    assert table.rows == 90 and table.label == "species" and table.features == ["m0", "m1", "m2", "m3"]
    assert table.title == "flowers.csv" and set(table.columns) == {"species", "m0", "m1", "m2", "m3"}
    assert result.stdout == f"{served[0].address}\n" and "90 rows" in result.stderr


def test_digits_are_built_in(shell, served):
    shell("explore", "digits", "--no-browser")
    assert served[0].table.rows == 1797 and served[0].table.image_shape == (8, 8)


def test_a_model_opens_with_its_rows_and_settings(shell, served):
    shell("fit", "flowers.csv", "--id", "name", "--drop", "species", "--method", "kpca",
          "--save", "k.mercer", "-o", "c.csv", "--gamma", "0.3")  # fmt: skip
    shell("explore", "k.mercer", "--no-browser")
    first = served[0].controls.first()
    assert served[0].table.rows == 90 and first["gamma"] == pytest.approx(0.3) and first["kernel"] == "rbf"
    shell("explore", "flowers.csv", "--model", "k.mercer", "--no-browser")
    assert served[1].table.rows == 90 and served[1].controls.first() == first


def test_a_model_without_rows_asks_for_the_table(shell, served):
    shell("fit", "flowers.csv", "--drop", "species,name", "--method", "pca", "--save", "p.mercer", "-o", "c.csv")
    assert "explore TABLE --model" in shell("explore", "p.mercer", status=3).stderr
    assert not served


def test_other_hosts_need_a_token(shell, served):
    assert "--token" in shell("explore", "flowers.csv", "--drop", "species,name", "--host", "0.0.0.0", status=3).stderr
    arguments = ("--host", "0.0.0.0", "--token", "a long enough token", "--name", "maps.example", "--no-browser")
    assert "other machines" in shell("explore", "flowers.csv", "--drop", "species,name", *arguments).stderr
    assert served[0].is_open


def test_a_model_of_python_opens_too(shell, served):
    import numpy as np

    KernelPCA(2, kernel="poly", degree=2).fit(np.random.default_rng(0).normal(size=(20, 3))).save("m.mercer")
    shell("explore", "m.mercer", "--no-browser")
    assert served[0].controls.first()["degree"] == 2
