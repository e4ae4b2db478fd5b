"""`mercer transform`: new rows land where the model puts them, prepared as the fitted ones were."""

import numpy as np
import pytest

import mercer
from mercer.tables.table import Choice, read_table, write_table

FLOWERS = ["flowers.csv", "--label", "species", "--id", "name"]


@pytest.mark.parametrize(
    ("method", "exact"), [("pca", 1e-10), ("kpca", 1e-10), ("kda", 1e-10), ("isomap", 1e-6), ("tsne", 1e-5)]
)
@pytest.mark.parametrize("scale", [[], ["--scale", "standard"]])
def test_fitted_rows_are_placed_where_they_were(shell, method, exact, scale):
    extra = ["--max-iter", "60", "--perplexity", "8"] if method == "tsne" else []
    shell("fit", *FLOWERS, "-m", method, *extra, *scale, "-o", "c.csv", "--save", "m.mercer")
    shell("transform", "m.mercer", "flowers.csv", "-o", "t.csv")
    assert list(shell.columns("t.csv")) == list(shell.columns("c.csv"))
    assert shell.columns("t.csv")["name"].tolist() == shell.columns("c.csv")["name"].tolist()
    found, fitted = shell.coordinates("t.csv"), shell.coordinates("c.csv")
    np.testing.assert_allclose(found, fitted, rtol=0, atol=exact * np.abs(fitted).max())


def test_new_rows_are_prepared_as_the_fitted_ones(shell):
    """Scaled by the fitted rows' deviations, columns found by name, the label not needed."""
    shell("fit", *FLOWERS, "-m", "pca", "--scale", "standard", "-o", "c.csv", "--save", "m.mercer")
    table = read_table("flowers.csv", Choice(label="species", id="name"))
    new = table.X[:7] + 0.25
    write_table("new.csv", {name: new[:, i] for i, name in reversed(list(enumerate(table.features)))})
    out = shell("transform", "m.mercer", "new.csv").stdout.splitlines()
    assert out[0] == "pca1,pca2" and len(out) == 8
    mean, deviation = table.X.mean(axis=0), table.X.std(axis=0)
    model = mercer.PCA(2).fit((table.X - mean) / deviation)
    found = np.array([line.split(",") for line in out[1:]], float)
    np.testing.assert_allclose(found, model.transform((new - mean) / deviation), atol=1e-9)


def test_both_views_can_be_placed(shell):
    shell(
        "fit",
        "flowers.csv",
        "--second",
        "other.csv",
        "--id",
        "name",
        "--drop",
        "species",
        "-o",
        "c.csv",
        "--save",
        "m.mercer",
    )
    shell("transform", "m.mercer", "flowers.csv", "--second", "other.csv", "-o", "t.csv")
    np.testing.assert_allclose(shell.coordinates("t.csv"), shell.coordinates("c.csv"), atol=1e-8)
    shell("transform", "m.mercer", "flowers.csv", "-o", "one.csv")
    assert list(shell.columns("one.csv"))[-2:] == ["kcca_x1", "kcca_x2"]


def test_broken_models_are_status_5(shell):
    shell("fit", *FLOWERS, "-m", "pca", "--save", "m.mercer")
    whole = (shell.folder / "m.mercer").read_bytes()
    for damaged in (b"", whole[:100], whole[:-9], b"PK" + whole[2:], whole.replace(b"PCA", b"XCA")):
        (shell.folder / "broken.mercer").write_bytes(damaged)
        shell("transform", "broken.mercer", "flowers.csv", status=5)
        shell("inspect", "broken.mercer", status=5)
    assert "nowhere" in shell("transform", "nowhere.mercer", "flowers.csv", status=3).stderr
    assert "lacks" in shell("transform", "m.mercer", "other.csv", status=3).stderr
