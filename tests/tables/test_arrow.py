"""Typed tables: what each type becomes, and text that repeats."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

from mercer import memory
from mercer.tables.arrow import open_ipc, open_parquet
from mercer.tables.source import Role
from mercer.tables.table import Choice, TableError, read_columns, read_table, write_table

TYPED = ["parquet", "arrow", "feather"]


def test_arrow_streams_dictionaries_nulls_dates_and_lists(tmp_path):
    table = pa.table(
        {
            "a": pa.array([1.5, None, 3.0]),
            "d": pa.array([18000, 18001, None], pa.date32()),
            "k": pa.array(["x", "y", "x"]).dictionary_encode(),
            "f": pa.array([True, False, None]),
            "v": pa.array([[1], [2, 3], None]),
            "m": pa.array(["1.50", "2.25", "3"]).cast(pa.decimal128(5, 2)),
        }
    )
    with ipc.new_stream(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    feather.write_feather(table, tmp_path / "t.feather", compression="lz4")
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    for suffix in TYPED:
        path = tmp_path / f"t.{suffix}"
        with pytest.raises(TableError, match="column 'v' holds lists of numbers"):
            read_table(path)
        with pytest.raises(TableError, match=r"1 of 1 columns holds dates.*keep='d'"):
            read_table(path, Choice(columns=("d",)))
        found = read_table(path, Choice(label="k", encode="drop", impute="zero"))
        assert found.X.tolist() == [[1.5, 1, 1.5], [0, 0, 2.25], [3, 0, 3]]
        assert found.columns["d"].astype(str).tolist() == ["2019-04-14", "2019-04-15", "NaT"]
        assert "v" not in found.columns
        shown = read_columns(path)
        assert shown["f"].tolist() == ["true", "false", None]


def test_the_index_of_pandas_is_no_feature(tmp_path):
    import pandas as pd

    pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"]).to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    assert found.features == ["a"] and found.columns["__index_level_0__"].tolist() == ["p", "q"]


@pytest.mark.parametrize("encoded", [True, False])
def test_a_long_text_in_many_rows_is_read_once(tmp_path, encoded):
    """A few kB on the disk, 600 MB if each row had its own."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0, None] * 300, pa.int32()), ["x" * 2_000_000])
    schema = pa.schema({"t": texts.type if encoded else pa.string(), "a": pa.float64()})
    path = tmp_path / "t.parquet"
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, 600, 100):
            part = pa.table({"t": texts[start : start + 100], "a": np.arange(100.0)})
            writer.write_table(part.cast(schema))
    found = read_columns(path)["t"]
    assert len(found) == 600 and len(found[0]) == 2_000_000 and found[1] is None
    assert len({id(text) for text in found}) == 2


def test_rows_that_are_only_carried_are_held_to_the_memory(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    write_table(path, {"a": np.zeros(100_000, np.int64)})
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000)
    with pytest.raises(TableError, match="800 kB, but only 10 kB are free"):
        read_columns(path)


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_dictionary_that_parts_share_is_counted_once(tmp_path, monkeypatch, kind):
    words = pa.array([f"{i:01000d}" for i in range(1000)])  # 1 MB
    table = pa.table({"t": pa.DictionaryArray.from_arrays(pa.array(np.arange(5000) % 1000, pa.int32()), words)})
    if kind == "arrow":
        with ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
            writer.write_table(table, 100)
    else:
        parquet.write_table(table, tmp_path / "t.parquet")
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**7)  # 50 parts of 1 MB would not fit
    path = tmp_path / f"t.{kind}"
    source = open_ipc(path) if kind == "arrow" else open_parquet(path, batch=100)
    assert source.read({"t": Role.CARRIED}, "float64").carried["t"].tolist() == words.to_pylist() * 5
