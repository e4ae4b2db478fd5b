"""A table is written whole or not at all, the same bytes every time, and stdout may close."""

import gc
import gzip
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

from mercer.tables import writing
from mercer.tables.table import TableError, read_columns, write_table
from mercer.tables.writing import table_writer

COLUMNS = {"a": np.array([1.5, np.nan]), "b": np.array(["x", None], object)}


def test_text_that_needs_quotes_has_them_and_no_other(tmp_path):
    texts = ["plain", "a,b", 'say "x"', "line\nbreak", " space", "NA", "", None]
    write_table(tmp_path / "t.csv", {"t": np.array(texts, object), "n": np.arange(8)})
    expected = 't,n\nplain,0\n"a,b",1\n"say ""x""",2\n"line\nbreak",3\n" space",4\n"NA",5\n"",6\n,7\n'
    assert (tmp_path / "t.csv").read_text() == expected
    assert read_columns(tmp_path / "t.csv")["t"].tolist() == texts


def test_one_column_with_missing_values(tmp_path):
    write_table(tmp_path / "t.csv", {"a": np.array([1.5, np.nan, 2.5])})
    assert read_columns(tmp_path / "t.csv")["a"].tolist()[::2] == [1.5, 2.5]
    assert len(read_columns(tmp_path / "t.csv")["a"]) == 3


def test_missing_numbers_in_quotes_are_missing(tmp_path):
    (tmp_path / "t.csv").write_text('"a","b","c"\n"1","","x"\n"2","2.5",""\n')
    found = read_columns(tmp_path / "t.csv")
    assert found["a"].tolist() == [1, 2] and np.isnan(found["b"][0]) and found["b"][1] == 2.5
    assert found["c"].tolist() == ["x", ""]


def test_many_rows_are_written_in_blocks(tmp_path):
    values = np.random.default_rng(0).standard_normal(150_000)
    write_table(tmp_path / "t.csv", {"a": values, "i": np.arange(150_000)})
    found = read_columns(tmp_path / "t.csv")
    assert found["a"].tobytes() == values.tobytes() and (found["i"] == np.arange(150_000)).all()


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "arrow", "npz"])
def test_the_same_table_is_the_same_bytes(tmp_path, suffix):
    for name in ("one", "two"):
        write_table(tmp_path / f"{name}.{suffix}", COLUMNS)
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "parquet", "arrow", "npz", "npy"])
def test_parts_give_the_bytes_of_the_whole(tmp_path, suffix):
    rng = np.random.default_rng(0)
    n = 140_000  # more than two runs of rows of a text file
    whole = {"x": rng.standard_normal(n), "i": np.arange(n)}
    whole["x"][5] = np.nan
    if suffix != "npy":
        whole["t"] = np.where(whole["x"] > 0, "=a,b", None)
    write_table(tmp_path / f"whole.{suffix}", whole, inert=True)
    cuts = [0, 0, 1, 70_000, 70_000, 139_999, n]
    with table_writer(tmp_path / f"parts.{suffix}", inert=True) as table:
        for start, stop in pairwise(cuts):
            table.add({name: values[start:stop] for name, values in whole.items()})
    assert (tmp_path / f"parts.{suffix}").read_bytes() == (tmp_path / f"whole.{suffix}").read_bytes()


def test_npy_has_the_bytes_that_numpy_writes(tmp_path):
    columns = {"a": np.arange(5.0), "b": np.arange(5)}
    write_table(tmp_path / "ours.npy", columns)
    np.save(tmp_path / "theirs.npy", np.column_stack(list(columns.values())))
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "theirs.npy").read_bytes()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "npy"])
def test_a_table_that_fails_in_a_later_part_leaves_the_old_file(tmp_path, suffix, capfd):
    path = tmp_path / f"t.{suffix}"
    path.write_text("old\n")
    for bad, error in ((lambda: {"b": np.arange(2.0)}, TableError), (lambda: {"a": 1 / 0}, ZeroDivisionError)):
        with pytest.raises(error), table_writer(path) as table:
            table.add({"a": np.arange(2.0)})
            table.add(bad())
    with pytest.raises(TableError, match="at least one part"), table_writer(path):
        pass
    gc.collect()
    assert path.read_text() == "old\n" and list(tmp_path.iterdir()) == [path] and capfd.readouterr().err == ""


def test_gzip_is_gzip(tmp_path):
    write_table(tmp_path / "t.tsv.gz", COLUMNS)
    assert gzip.decompress((tmp_path / "t.tsv.gz").read_bytes()) == b"a\tb\n1.5\tx\n\t\n"


def test_npy_holds_numbers_alone(tmp_path):
    write_table(tmp_path / "t.npy", {"a": np.arange(3), "b": np.arange(3) / 2})
    assert np.load(tmp_path / "t.npy").tolist() == [[0, 0], [1, 0.5], [2, 1]]
    with pytest.raises(TableError, match=r"holds only numbers, but 'b' holds text"):
        write_table(tmp_path / "u.npy", COLUMNS)
    assert not (tmp_path / "u.npy").exists()


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_file_is_whole_or_not_there(tmp_path, monkeypatch, interruption):
    path = tmp_path / "t.csv"
    path.write_text("old\n")

    def break_off(self, columns):
        self.file.write(b"half a ta")
        raise interruption

    monkeypatch.setattr(writing.CsvFile, "write", break_off)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write_table(path, COLUMNS)
    assert path.read_text() == "old\n" and list(tmp_path.iterdir()) == [path]


def test_permissions_and_links_are_kept(tmp_path):
    path, link = tmp_path / "t.csv", tmp_path / "link.csv"
    write_table(path, COLUMNS)
    path.chmod(0o640)
    link.symlink_to(path)
    write_table(link, {"a": np.arange(2)})
    assert link.is_symlink() and path.read_text() == "a\n0\n1\n" and path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", ["# a", "a;b", "a|b", "x y", "5", "a"])
def test_a_name_that_could_be_taken_for_something_else(tmp_path, name):
    for columns in ({name: np.arange(3)}, {name: np.arange(3), "b": np.arange(3)}):
        write_table(tmp_path / "t.csv", columns)
        assert list(read_columns(tmp_path / "t.csv")) == list(columns)


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(OSError, match="cannot be written: No such file"):
        write_table(tmp_path / "none" / "t.csv", COLUMNS)


@pytest.mark.parametrize(
    "columns",
    [{}, {"a": np.arange(2), "b": np.arange(3)}, {"a": np.ones((2, 2))}, {1: np.arange(2), "1": np.arange(2)}],
)
def test_columns_that_make_no_table(tmp_path, columns):
    with pytest.raises(TableError):
        write_table(tmp_path / "t.csv", columns)
    assert not list(tmp_path.iterdir())


WRITE = """
import numpy as np
from mercer.tables.table import write_table
write_table('-', {'a': np.arange(%d), 'b': np.arange(%d) / 4})
"""


def test_stdout():
    done = subprocess.run([sys.executable, "-c", WRITE % (3, 3)], capture_output=True, check=True)
    assert done.stdout == b"a,b\n0,0\n1,0.25\n2,0.5\n" and done.stderr == b""


def test_a_closed_pipe_is_not_a_failure():
    command = [sys.executable, "-c", WRITE % (10**6, 10**6)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"a,b\n"
        running.stdout.close()
        assert running.stderr.read() == b""
        assert running.wait() == 0


@pytest.mark.parametrize("suffix", ["csv", "tsv", "csv.gz"])
def test_text_that_a_spreadsheet_would_run_is_made_inert_and_comes_back(tmp_path, suffix):
    texts = ["=1+1", "@x", "+49 30", "-", "\t=x", "'=x", "''-y", "x=1", "'x", None, "a,=b", '=HYPERLINK("x")']
    given = {"=name": np.array(texts, object), "n": -np.arange(12.0)}
    path = tmp_path / f"t.{suffix}"
    write_table(path, given, inert=True)
    whole = path.read_bytes()
    lines = (gzip.decompress(whole) if suffix.endswith("gz") else whole).decode().splitlines()
    assert not any(line.lstrip('"')[:1] in "=+@" for line in lines if line)
    assert lines[2].endswith("-1") or lines[2].endswith("-1.0")  # numbers stay numbers
    found = read_columns(path)
    assert found["=name"].tolist() == texts and found["n"].tolist() == (-np.arange(12.0)).tolist()
    write_table(tmp_path / "plain.csv", given)
    assert (tmp_path / "plain.csv").read_text().startswith("=name")
