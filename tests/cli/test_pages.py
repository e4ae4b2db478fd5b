"""What is in a page: what was asked for, as the table has it, and nothing else of the table or the machine."""

import base64
import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from mercer.cli.pages import as_fitted, class_labels, columns_shown, run_shown
from mercer.tables.table import Choice, read_table, write_table
from mercer.web.page import AsFitted

FIT = ["fit", "people.csv", "--id", "who", "--label", "kind", "-m", "pca", "--report", "map.html"]


@pytest.fixture
def people(shell):
    rng = np.random.default_rng(0)
    price = np.round(rng.normal(5, 2, 30), 3)
    price[4] = np.nan
    write_table(
        "people.csv",
        {
            "who": np.array([f"w{i}" for i in range(30)], object),
            "kind": np.array(["a", "b"] * 15, object),
            "price": price,
            "size": rng.normal(size=30),
            "weight": rng.normal(size=30),
            "salary": rng.integers(70_000, 71_000, 30) + 0.5,
            "ssn": np.array([f"SSN-{i:04d}" for i in range(30)], object),
        },
    )
    return shell


def described(name="map.html"):
    """The description and the unpacked data of a page."""
    text = Path(name).read_text(encoding="utf-8")
    about = json.loads(re.search(r'id="about">(.*?)</script>', text, re.S)[1])
    return about, gzip.decompress(base64.b64decode(re.search(r'id="data">(.*?)</script>', text, re.S)[1]))


def shown(name="map.html"):
    return [column["name"] for column in described(name)[0]["columns"]]


@pytest.mark.parametrize(
    ("words", "columns"),
    [
        (["--drop", "salary,ssn", "--impute", "mean"], ["kind", "price", "size", "weight"]),
        (["--columns", "size,weight"], ["kind", "size", "weight"]),
        (["--columns", "size,weight", "--keep", "price"], ["kind", "price", "size", "weight"]),
        (["--columns", "size,weight", "--page-columns", "price,size"], ["kind", "price", "size"]),
        (["--columns", "size,weight", "--page-columns", "none"], ["kind"]),
        (["--drop", "salary", "--encode", "drop", "--impute", "mean"], ["kind", "price", "size", "weight"]),
    ],
)
def test_what_is_left_out_stays_out(people, words, columns):
    said = people(*FIT, *words).stderr
    about, block = described()
    assert shown() == columns
    if "ssn" not in words:
        assert b"SSN-" not in block and "ssn" not in json.dumps(about["columns"])
    assert re.search(r"page +map\.html \(\d.* kB, 30 rows with: ids, kind", said)


def test_one_more_column_is_not_more_columns(people):
    """Eight names are told, the ids among them; of eight or nine columns beside them one or two are left out."""
    who = people.columns("people.csv")["who"]
    for count, told in ((8, "c6, 1 more column)"), (9, "c6, 2 more columns)")):
        write_table("wide.csv", {"who": who, **{f"c{k}": (np.arange(30.0) + k) ** 0.5 for k in range(count)}})
        assert told in people("fit", "wide.csv", "--id", "who", "-m", "pca", "--report", "map.html").stderr


def test_a_column_that_was_dropped_cannot_be_shown(people):
    said = people(*FIT, "--drop", "salary,ssn", "--impute", "mean", "--page-columns", "salary", status=3).stderr
    assert "--page-columns: 'salary' cannot be shown" in said


def test_a_column_that_does_not_exist_is_named_with_its_option(people):
    said = people(*FIT, "--columns", "size,weight", "--page-columns", "salry", status=3).stderr
    assert "--page-columns: the table has no column 'salry'. Did you mean 'salary'?" in said


def test_other_pages_leave_out_the_same(people):
    words = ["--id", "who", "--label", "kind", "--columns", "size,weight"]
    people("compare", "people.csv", *words, "--methods", "pca,kpca", "-o", "maps", "--report", "both.html", "-q")
    assert shown("both.html") == ["kind", "size", "weight"]
    people("report", "maps/pca.csv", "--data", "people.csv", "-o", "map.html", "-q")
    assert shown() == ["kind", "size", "weight"]
    people("report", "maps/pca.csv", "--data", "people.csv", "--keep", "salary", "-o", "map.html", "-q")
    assert shown() == ["kind", "salary", "size", "weight"]
    columns = people.columns("maps/pca.csv")
    write_table("theirs.csv", {**columns, "cluster": np.array(["u", "v"] * 15, object)})
    words = ["--coords", "pca1,pca2", "--id", "who", "--label", "kind", "--drop", "ssn", "--impute", "mean"]
    people("report", "theirs.csv", "--data", "people.csv", *words, "--page-columns", "cluster,price", "-o", "map.html")
    assert sorted(shown()) == ["cluster", "kind", "price"]


def test_a_page_tells_nothing_of_the_machine_unless_asked(people):
    words = ["fit", str(people.folder / "people.csv"), *FIT[2:], "--columns", "size,weight"]
    people(*words)
    text = Path("map.html").read_text()
    assert str(people.folder) not in text and '"command"' not in text and '"platform"' not in text
    people(*words, "--page-record")
    assert str(people.folder) in Path("map.html").read_text()


def test_values_are_the_table_s_own_and_filled_ones_are_marked(people):
    people(*FIT, "--drop", "salary,ssn", "--impute", "mean", "--scale", "standard")
    about, block = described()
    price = next(column for column in about["columns"] if column["name"] == "price")
    assert price["type"] == "f8"
    planes = np.frombuffer(block[price["at"] : price["at"] + 8 * 30], np.uint8).reshape(8, 30)
    values = np.ascontiguousarray(planes.T).view("<f8").ravel()
    np.testing.assert_array_equal(values, people.columns("people.csv")["price"])
    known = values[~np.isnan(values)]
    filled = np.where(np.isnan(values), known.mean(), values)
    assert price["fitted"] == pytest.approx(
        {"fill": known.mean(), "centre": filled.mean(), "spread": filled.std()}, rel=1e-12
    )


def test_fitted_values_of_text_have_a_fill_and_no_scale(shell):
    write_table("t.csv", {"a": np.array([1.0, 2, 4]), "b": np.array(["x", None, "x"], object)})
    table = read_table("t.csv", Choice(encode="onehot", impute="mean", scale="minmax"), originals=100)
    assert as_fitted(table) == {"a": AsFitted(7 / 3, 1.0, 3.0), "b": AsFitted("x")}
    assert columns_shown(table, None)["b"].tolist() == ["x", None, "x"]


def test_snapshots_of_a_map_reach_the_slider(shell):
    fit = ["fit", "flowers.csv", "--id", "name", "--label", "species", "-m", "tsne", "--max-iter", "60", "-q"]
    shell(*fit, "--snapshots", "20", "--report", "map.html")
    assert [each["steps"] for each in described()[0]["maps"][0]["snapshots"]] == [20, 40, 60]
    shell(*fit, "--snapshots", "20", "--n-components", "1", "--report", "map.html")
    assert described()[0]["maps"][0]["snapshots"] == []


def test_a_page_of_files_has_the_nearest_rows_and_the_name_of_the_ids(shell):
    shell("fit", "flowers.csv", "--id", "name", "--label", "species", "-m", "pca", "-o", "c.csv", "-q")
    shell("report", "c.csv", "--data", "flowers.csv", "-o", "map.html", "-q")
    about, _ = described()
    assert about["neighbors"]["k"] == 10 and about["ids"]["name"] == "name"
    assert about["maps"][0]["scores"][0]["name"] == "neighbours kept"
    shell("report", "c.csv", "-o", "map.html", "-q")  # without the table
    assert described()[0]["ids"]["name"] == "name"


def test_labels_on_a_scale_are_not_classes(shell):
    write_table("t.csv", {"a": np.arange(3.0), "b": np.array([0.5, 1, 2]), "c": np.array([1, np.nan, 2])})
    assert class_labels(read_table("t.csv", Choice(label="b", drop=("c",)))) is None
    assert class_labels(read_table("t.csv", Choice(label="c"))) is not None


def test_a_run_is_told_without_what_differs_from_run_to_run():
    record = {"method": "pca", "seconds": {"fit": 1}, "fit": {"solver": {"name": "svd", "seconds": 2, "bytes": 3}}}
    assert run_shown(record) == {"method": "pca", "fit": {"solver": {"name": "svd"}}, "versions": {}}
    assert run_shown(record, whole=True) == record


def test_a_repeated_run_writes_the_page_again_and_shows_no_more(people):
    people("fit", "people.csv", "--id", "who", "--label", "kind", "--columns", "size,weight", "--page-columns", "none",
           "--report", "map.html", "-q")  # fmt: skip
    first = Path("map.html").read_bytes()
    people("fit", "--config", "map.run.json", "--recorded-outputs", "-q")
    assert shown() == ["kind"]
    assert Path("map.html").read_bytes() == first


def test_a_report_without_its_label_is_not_coloured_by_it(people):
    people("fit", "people.csv", "--id", "who", "--label", "kind", "--columns", "size,weight", "-o", "c.csv", "-q")
    people("report", "c.csv", "--drop", "kind", "-o", "map.html", "-q")
    assert shown() == []
