"""Pipes: read once, kept, and recognised by their first bytes."""

import gzip
import io
import os
import sys
import threading

import numpy as np
import pytest

from mercer.tables.pipes import content_suffix
from mercer.tables.table import TableError, read_columns, read_table, write_table

COLUMNS = {"a": np.array([1.5, 2.5, 3.5]), "b": np.array([4.0, 6.0, 5.0])}


def piped(content: bytes) -> str:
    """The path of a pipe that holds these bytes, as `<(command)` gives one."""
    out, into = os.pipe()

    def write() -> None:
        with open(into, "wb") as file:
            file.write(content)

    threading.Thread(target=write, daemon=True).start()
    return f"/dev/fd/{out}"


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz", "parquet", "arrow", "npz"])
def test_the_content_of_a_pipe_tells_its_format(tmp_path, suffix):
    write_table(tmp_path / f"t.{suffix}", COLUMNS)
    path = piped((tmp_path / f"t.{suffix}").read_bytes())
    assert read_columns(path)["b"].tolist() == [4, 6, 5]
    assert read_table(path).X.shape == (3, 2)  # the same pipe is not empty the second time


def test_a_workbook_is_read_from_a_pipe(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [list(COLUMNS), *np.column_stack(list(COLUMNS.values())).tolist()]:
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert read_columns(piped((tmp_path / "t.xlsx").read_bytes()))["b"].tolist() == [4, 6, 5]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_named_pipe_is_read_by_content_whatever_its_name(tmp_path, suffix):
    write_table(tmp_path / f"t.{suffix}", COLUMNS)
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    content = (tmp_path / f"t.{suffix}").read_bytes()
    threading.Thread(target=lambda: pipe.write_bytes(content), daemon=True).start()
    assert read_columns(pipe)["b"].tolist() == [4, 6, 5]
    assert read_table(pipe).X.shape == (3, 2)


def test_stdin_may_hold_any_format(tmp_path, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b'{"a": 1}\n{"a": 2}\n')

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read_columns("-")["a"].tolist() == [1, 2]


def test_a_file_without_a_suffix_is_recognised(tmp_path):
    write_table(tmp_path / "t.parquet", COLUMNS)
    (tmp_path / "t").write_bytes((tmp_path / "t.parquet").read_bytes())
    assert read_table(tmp_path / "t").features == ["a", "b"]


def test_messages_name_the_pipe_and_not_its_copy():
    with pytest.raises(TableError, match=r"^the table in /dev/fd/\d+: row 1 has 1 cell "):
        read_table(piped(b"a,b\n1\n"))


def test_a_pickle_is_never_loaded(tmp_path):
    (tmp_path / "t").write_bytes(b"\x80\x04\x95")
    with pytest.raises(TableError, match="pickle"):
        read_table(tmp_path / "t")


@pytest.mark.parametrize("content, suffix", [(b"", ".csv"), (b"PK\x03\x04nothing", ".npz"), (b"{x", ".csv")])
def test_damaged_starts_have_some_reader(tmp_path, content, suffix):
    (tmp_path / "t").write_bytes(content)
    assert content_suffix(tmp_path / "t") == suffix
    (tmp_path / "z").write_bytes(gzip.compress(b'{"a": 1}')[:-6])
    assert content_suffix(tmp_path / "z") in (".jsonl.gz", ".csv.gz")
