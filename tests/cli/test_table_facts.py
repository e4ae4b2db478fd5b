"""Tables are described column by column, and what is suggested works."""

import json
import shlex

import numpy as np
import pytest

from mercer.cli.table_facts import meant_as
from mercer.tables.table import write_table


def test_a_table_is_described_and_options_suggested(shell):
    write_table(
        "t.csv",
        {
            "key": np.array([f"k{i}" for i in range(40)], object),
            "kind": np.array(["a", "b"] * 20, object),
            "size": np.r_[np.nan, np.arange(39.0)],
            "same": np.full(40, 3.0),
            "huge": np.arange(40) * 1e6 + 0.5,
        },
    )
    about = json.loads(shell("inspect", "t.csv", "--json").stdout)
    assert about["rows"] == 40 and about["columns"]["size"]["missing"] == 1
    assert about["columns"]["kind"] == {"kind": "text", "commonest": {"a": 20, "b": 20}, "missing": 0, "distinct": 2}
    assert about["columns"]["size"]["most"] == 38 and about["columns"]["same"]["distinct"] == 1
    advice = "\n".join(about["suggestions"])
    for option in ("--id key", "--label kind", "--impute", "--drop same", "--scale"):
        assert option in advice
    text = shell("inspect", "t.csv").stdout
    assert "t.csv: 40 rows, 5 columns" in text and "--id key" in text
    words = ["--id", "key", "--label", "kind", "--impute", "median", "--drop", "same", "--scale", "standard"]
    shell("fit", "t.csv", *words, "-o", "c.csv")  # what is suggested works


def test_the_id_that_is_suggested_is_the_one_that_fit_takes(shell):
    rows = [f"{i},{2000 - 3 * i},{30_000 + (i * i) % 977},{i % 7 + 0.25}" for i in range(40)]
    (shell.folder / "t.csv").write_text("\n".join([",customer_id,salary,size", *rows]))
    text = shell("inspect", "t.csv").stdout
    assert "--id customer_id" in text and "e+0" not in text  # nobody reads 3.05e+04 for a salary
    shell("fit", "t.csv", "-o", "c.csv")
    assert next(iter(shell.columns("c.csv"))) == "customer_id"


def test_suggestions_can_be_typed_and_are_not_to_drop_all(shell):
    same = np.full(9, 2.0)
    write_table("t.csv", {"a b": same, "c,d": same, "e": np.arange(9.0), "the kind": np.array(["x", "y", "z"] * 3)})
    advice = json.loads(shell("inspect", "t.csv", "--json").stdout)["suggestions"]
    assert "--drop 'a b,\"c,d\"': they are constant" in advice
    write_table("flat.csv", {"a": same, "b": same})
    assert json.loads(shell("inspect", "flat.csv", "--json").stdout)["suggestions"] == []


@pytest.mark.parametrize("seed", range(8))
def test_advice_works_when_it_is_followed(shell, seed):
    """A table with every kind of trouble, some of it left out by chance; then all options that are suggested."""
    rng = np.random.default_rng(seed)
    n = 60
    columns = {
        "key": np.array([f"k{i}" for i in range(n)], object),
        "other key": np.array([f"o-{i}" for i in range(n)], object),
        "row": np.arange(n),
        "zip": np.array([f"{i % 7:05d}" for i in range(n)], object),
        "kind": np.array(["a", "b", None] * (n // 3), object),
        "note, free": np.array([f"words {rng.integers(50)}" for _ in range(n)], object),
        "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
        "inf": np.where(rng.random(n) < 0.1, np.inf, rng.normal(size=n)),
        "when": np.datetime64("2024-01-01") + np.arange(n) % 9,
        "same": np.full(n, 3.0),
        "empty": np.full(n, np.nan),
        'a "b"': np.full(n, 1.0),
        "huge": rng.normal(size=n) * 1e6,
    }
    kept = {name: values for name, values in columns.items() if rng.random() < 0.7}
    write_table("t.csv", {**kept, "x": rng.normal(size=n), "y": rng.normal(size=n)})
    about = json.loads(shell("inspect", "t.csv", "--json").stdout)
    options = [advice.partition(": ")[0] for advice in about["suggestions"]]
    words = [word for option in options for word in shlex.split(option)]
    shell("fit", "t.csv", *words, "-m", "pca", "-o", "c.csv", "-q")


@pytest.mark.parametrize(
    ("texts", "meant"),
    [
        (["$1.50", "$2,000.00", "$7"], "number"),
        (["1,234", "2,345", "12"], "number"),
        (["5%", "7 %", "0.5%"], "number"),
        (["(1,000)", "20", "-3"], "number"),
        (["1 234,5", "2"], "number"),
        (["03/01/2024", "12/31/24"], "date"),
        (["1.2.2024 10:30", "31.12.2023"], "date"),
        (["00123", "00456"], None),
        (["12", "a"], None),
        (["079 123 45 67", "079 123 45 68"], None),
        ([], None),
    ],
)
def test_numbers_and_dates_that_no_reader_takes_for_such(texts, meant):
    assert meant_as(texts) == meant


def test_a_price_with_its_sign_is_no_id_and_the_advice_says_how_to_write_it(shell):
    rows = [f'"${i},000",{1 + i % 28}/12/2024,{i * i}\n' for i in range(1, 30)]
    (shell.folder / "t.csv").write_text("price,day,x\n" + "".join(rows))
    advice = json.loads(shell("inspect", "t.csv", "--json").stdout)["suggestions"]
    assert "--drop price: '$1,000' is text; to use it, write numbers like 1234.5" in advice
    assert any(line.startswith("--drop day: ") and "write dates like 2024-12-31" in line for line in advice)
    assert not any(line.startswith(("--id", "--label", "--encode")) for line in advice)
    words = [word for line in advice for word in shlex.split(line.partition(": ")[0])]
    shell("fit", "t.csv", *words, "-m", "pca", "-o", "c.csv", "-q")


def test_infinite_values_are_not_missing(shell):
    write_table("t.csv", {"a": np.array([1.0, np.inf, 2, np.nan]), "b": np.arange(4.0) ** 2})
    about = json.loads(shell("inspect", "t.csv", "--json").stdout)
    assert about["columns"]["a"]["missing"] == 1 and about["columns"]["a"]["infinite"] == 1
    assert "1 infinite" in shell("inspect", "t.csv").stdout


def test_copies_of_rows_are_counted(shell):
    write_table("t.csv", {"a": np.array([1.0, 2, 1, 1]), "b": np.array(["x", "y", "x", "z"], object)})
    assert json.loads(shell("inspect", "t.csv", "--json").stdout)["duplicate_rows"] == 1


@pytest.mark.parametrize(
    ("cells", "kind", "fitted"),
    [
        ([f"{i % 7:05d}" for i in range(40)], "text", False),  # zip codes
        ([f"0{i}" for i in range(40)], "text", False),
        ([f"2024-01-{1 + i % 28:02d}" for i in range(40)], "date", False),
        ([f"{i % 7}" for i in range(40)], "whole", True),
        ([f"{i / 7}" for i in range(40)], "number", True),
        (["True", "False"] * 19 + ["", "True"], "yes/no", True),
        (["yes", "no"] * 20, "text", False),
    ],
    ids=["zip", "padded", "date", "whole", "number", "truth", "word"],
)
def test_inspect_and_fit_see_one_type(shell, cells, kind, fitted):
    """What `inspect` calls text is not fitted as numbers."""
    (shell.folder / "t.csv").write_text("code,x\n" + "".join(f"{c},{i * i}.5\n" for i, c in enumerate(cells)))
    about = json.loads(shell("inspect", "t.csv", "--json").stdout)["columns"]["code"]
    assert about["kind"] == kind
    words = ["--columns", "code,x", "--impute", "zero", "-m", "pca", "-o", "c.csv", "-q"]
    shell("fit", "t.csv", *words, status=0 if fitted else 3)


@pytest.mark.parametrize("suffix", ["parquet", "feather", "jsonl", "xlsx", "npz"])
def test_truth_values_are_numbers_in_every_format(shell, suffix):
    """And texts that say true and false are texts where the format has a type for either."""
    rows = {"ok": np.arange(30) % 3 > 0, "word": np.array(["true", "false"] * 15, object), "x": np.arange(30.0) ** 0.5}
    if suffix == "jsonl":
        lines = [dict(zip(rows, row, strict=True)) for row in zip(*(v.tolist() for v in rows.values()), strict=True)]
        (shell.folder / "t.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    elif suffix == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in [list(rows), *zip(*(v.tolist() for v in rows.values()), strict=True)]:
            book.active.append(row)
        book.save("t.xlsx")
    else:
        write_table(f"t.{suffix}", rows)
    about = json.loads(shell("inspect", f"t.{suffix}", "--json").stdout)["columns"]
    assert (about["ok"]["kind"], about["word"]["kind"]) == ("yes/no", "text")
    assert "true (20), false (10)" in shell("inspect", f"t.{suffix}").stdout
    words = ["--columns", "ok,x", "-m", "pca", "-o", "c.csv", "-q"]
    shell("fit", f"t.{suffix}", *words)
    assert "holds text" in shell("fit", f"t.{suffix}", "--columns", "word,x", status=3).stderr
