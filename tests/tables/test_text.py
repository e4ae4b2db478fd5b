"""Tables of text: what is found by looking, what is streamed, and what a person is told when it does not fit."""

import gzip
import io
import sys
import tracemalloc

import numpy as np
import pytest

from mercer import memory
from mercer.tables.dialect import sniff
from mercer.tables.source import Role
from mercer.tables.table import Choice, TableError, read_columns, read_table
from mercer.tables.text import open_text


@pytest.fixture
def table(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        content = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_the_delimiter_is_found(table, delimiter, name):
    text = "a,b,long name\n1,2,3\n4,5,6\n".replace(",", delimiter)
    found = read_table(table(text, name))
    assert found.X.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.features == ["a", "b", "long name"]


def test_a_delimiter_inside_text_is_not_taken_for_one():
    assert sniff(["name;remark\n", "a;one, two, three\n", "b;four\n"]) == ";"
    assert sniff(['"a,b";c\n', "1;2\n"]) == ";"
    assert sniff(["alone\n", "1\n"]) == ","


def test_quotes_newlines_and_delimiters_in_cells(table):
    found = read_columns(table('a,"b ""c"""\n1,"x,y"\n2,"line\nbreak"\n3,"say ""no"""\n'))
    assert list(found) == ["a", 'b "c"']
    assert found['b "c"'].tolist() == ["x,y", "line\nbreak", 'say "no"']
    assert found["a"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(table, encoding):
    found = read_table(table("größe,art\n1.5,süß\n2.5,sauer\n".encode(encoding)), Choice(label="art"))
    assert found.features == ["größe"]
    assert found.labels.tolist() == ["süß", "sauer"]
    assert any("Latin-1" in note for note in found.notes) == (encoding == "latin-1")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings(table, ending):
    assert read_table(table(f"a,b{ending}1,2{ending}3,4")).X.tolist() == [[1, 2], [3, 4]]


def test_mixed_line_endings(table):
    assert read_table(table("a,b\r1,2\r3,4\n5,6\r\n7,8")).X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert read_table(table("a\r1\r2\r3\n4\n5\n6\n")).X.ravel().tolist() == [1, 2, 3, 4, 5, 6]  # as many of either


def test_a_wide_table(table):
    """More columns than a block has room for a few rows of."""
    X = np.random.default_rng(0).standard_normal((3, 20_000))
    names = ",".join(f"g{j}" for j in range(20_000))
    found = read_table(table(names + "\n" + "\n".join(",".join(map(repr, row)) for row in X.tolist())))
    assert found.X.tobytes() == X.tobytes() and found.features[-1] == "g19999"


def test_a_first_row_of_numbers_is_data(table):
    found = read_table(table("1,2.5,NA\n3,4,5\n"), Choice(impute="zero"))
    assert found.X.tolist() == [[1, 2.5, 0], [3, 4, 5]]
    assert found.features == ["x1", "x2", "x3"]
    assert "x1 … x3" in found.notes[0]
    assert read_table(table("1,2,3\n4,5,6\n"), Choice(label="x3")).labels.tolist() == [3, 6]


def test_names_that_are_numbers_are_names_in_quotes_or_beside_an_index(table):
    assert read_table(table('"1","2"\n3,4\n')).features == ["1", "2"]
    assert read_table(table(",0,1\na,3,4\n"), Choice(id="x1")).features == ["0", "1"]


def test_empty_and_repeated_names(table):
    found = read_table(table("a,,a,a_2,a\n1,2,3,4,5\n6,7,8,9,10\n"))
    assert found.features == ["a", "x2", "a_3", "a_2", "a_4"]
    assert found.X[0].tolist() == [1, 2, 3, 4, 5]
    assert len(found.notes) >= 2


def test_a_decimal_comma(table):
    found = read_table(table("a;b\n1,5;2\n-2,25;3\n"))
    assert found.X.tolist() == [[1.5, 2], [-2.25, 3]]
    assert any("comma" in note for note in found.notes)
    assert read_table(table("a;b\n1.5;2\n")).X.tolist() == [[1.5, 2]]


def test_a_decimal_comma_without_a_header_and_in_what_is_carried(table):
    """Commas divide these rows alike as well, but not into numbers."""
    assert read_table(table("1,5;2,5\n3,5;4,5\n")).X.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    path = table("a;b;c\n1,5;2;x\n-3,5;4;y\n")
    assert read_columns(path)["a"].tolist() == [1.5, -3.5]
    assert read_table(path, Choice(label="a", id="c")).labels.tolist() == [1.5, -3.5]
    with pytest.raises(TableError, match=r"row 201 of 'a' is '1.5'"):  # beyond the rows that are looked at
        read_table(table("a;b\n" + "1,5;2\n" * 200 + "1.5;2\n"))


def test_comments_before_the_table(table):
    found = read_table(table('# made, "by hand\n\n#on Monday\na,b\n1,2\n3,4\n'))
    assert found.features == ["a", "b"] and found.X.tolist() == [[1, 2], [3, 4]]
    assert any("2 lines" in note for note in found.notes)
    with pytest.raises(TableError, match="row 2 has 3 cells instead of 2"):
        read_table(table("# one\n\n# two\na,b\n1,2\n3,4,5\n"))
    assert read_table(table("#on this day, of rain\na,b\n1,2\n")).features == ["a", "b"]
    with pytest.raises(TableError, match="no rows, only blank lines and comments"):
        read_table(table("# a,b\n"))


@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
def test_what_numpy_writes_as_text(tmp_path, delimiter):
    X = np.random.default_rng(0).standard_normal((4, 3))
    np.savetxt(tmp_path / "t.txt", X, header=delimiter.join("abc"), delimiter=delimiter)
    found = read_table(tmp_path / "t.txt")
    assert found.X.tobytes() == X.tobytes() and found.features == ["a", "b", "c"] and found.preparation.named
    np.savetxt(tmp_path / "t.txt", X, delimiter=delimiter)
    assert read_table(tmp_path / "t.txt").X.tobytes() == X.tobytes()


@pytest.mark.parametrize("name", ["remark; note", "a|b", "first name"])
def test_one_column_whose_name_has_a_delimiter_in_it(table, name):
    assert read_columns(table(f"{name}\n1\n2\n3\n"))[name].tolist() == [1, 2, 3]


@pytest.mark.parametrize("spelling", ["", "NA", "NaN", "nan", "null", "None", "?", "-", '""', '"NA"'])
def test_missing_values_however_they_are_spelt(table, spelling):
    path = table(f"a,b\n1,2\n{spelling},4\n5,6\n")
    with pytest.raises(TableError, match=r"1 value is missing in 1 of 2 columns: 'a' \(the first in row 2 of 'a'\)"):
        read_table(path)
    assert read_table(path, Choice(impute="mean")).X[:, 0].tolist() == [1, 3, 5]


def test_truth_values_are_numbers(table):
    assert read_table(table("a,b\ntrue,1\nFalse,0\n")).X.tolist() == [[1, 1], [0, 0]]


def test_text_that_starts_far_down_is_seen(table):
    """The type of a column is that of all its values: the first rows alone would say number."""
    rows = [f"{i},{i / 7}" for i in range(2000)]
    rows[1999] = "1999,late"
    path = table("a,b\n" + "\n".join(rows))
    with pytest.raises(TableError, match="row 2000 of 'b' is 'late'"):
        read_table(path)
    found = read_table(path, Choice(encode="drop"))
    assert found.X[:, 0].tolist() == list(range(2000))
    assert found.columns["b"][0] == "0.0" and found.columns["b"][1999] == "late"
    raw = open_text(path, block=1000).read({"a": Role.FEATURE, "b": Role.FEATURE}, "float64")  # 30 blocks and more
    assert raw.matrix[:, 0].tolist() == list(range(2000)) and raw.texts["b"][1999] == "late"
    rows[1999], rows[3] = "1999,", "3,true"
    with pytest.raises(TableError, match="row 4 of 'b' is 'true'"):
        read_table(table("a,b\n" + "\n".join(rows)))


def test_numbers_are_those_that_python_reads(table):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.standard_normal(500) * 10.0 ** rng.integers(-300, 300, 500), [5e-324, 1e308, -0.0]])
    found = read_table(table("a\n" + "\n".join(map(repr, values.tolist())))).X[:, 0]
    assert found.tobytes() == values.tobytes()


def test_rows_longer_than_a_block(table):
    text = "name,b\n" + "".join(f'"{"x" * size}",{size}\n' for size in (1, 30, 5000, 20))
    source = open_text(table(text), block=100)
    raw = source.read(dict.fromkeys(source.names, Role.FEATURE), "float64")
    assert raw.matrix[:, 0].tolist() == [1, 30, 5000, 20]
    assert len(raw.texts["name"][2]) == 5000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n\n\n", "is empty"),
        ("a,b\n", "a header but no rows"),
        ("a,b\n1,2\n3,4,5\n", r"row 2 has 3 cells instead of 2: '3,4,5'"),
        ("a,b,c\n1,2,3\n4,5,6\n7,8\n", r"row 3 has 2 cells instead of 3"),
        ('"a,b\n1,2\n3,4\n', "never closed"),
        (b"a,b\n\0\0,1\n", "not a table of text"),
        ("a,b\n1,inf\n", "column 'b' is infinite, or too large for its type, in row 1"),
        ("a,b\n1,2\n1e999,2\n", "column 'a' is infinite"),
        ("a,b\n,2\n,3\n", "2 values are missing"),
    ],
)
def test_what_is_wrong_and_where(table, text, words):
    with pytest.raises(TableError, match=words) as caught:
        read_table(table(text))
    assert "\n" not in str(caught.value)


def test_a_truncated_or_false_gzip_is_refused(table, tmp_path):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    for content in (whole[:-20], whole[:40], b"\x1f\x8b" + b"junk" * 10):
        path = tmp_path / "t.csv.gz"
        path.write_bytes(content)
        with pytest.raises(TableError, match=r"t\.csv\.gz cannot be read"):
            read_table(path)


def test_a_bomb_is_refused_before_it_fills_the_memory(table, monkeypatch):
    """One letter over and over: no line is so long. More lines than there is room for, and more numbers."""
    path = table(b"a" * 80_000_000, "t.csv.gz")
    tracemalloc.start()
    with pytest.raises(TableError, match="line longer than"):
        open_text(path, longest_line=10_000_000)
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**7)
    with pytest.raises(TableError, match=r"more than \d+ lines, too many for the memory"):
        read_table(table(b"1\n" * 2_500_000, "t.csv.gz"))
    with pytest.raises(TableError, match=r"need 12 MB, but only 10 MB are free"):
        read_table(table("a,b,c\n" + "1,2,3\n" * 500_000))


def test_text_is_held_to_the_memory_too(table, monkeypatch):
    path = table("a,b\n" + f"1,{'x' * 10_000}\n" * 3000, "t.csv.gz")  # 30 MB of text in 40 kB
    monkeypatch.setattr(memory, "available_bytes", lambda: 10**7)
    with pytest.raises(TableError, match=r"its text needs more than .*, but only 10 MB are free"):
        read_columns(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    import os

    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(TableError, match=r"not a regular file.*Pipe it in and use -"):
        read_table(tmp_path / "t.csv")


def test_large_numbers_are_read_without_a_warning(table, recwarn):
    assert read_table(table("a,b\n1e308,1\n1.5e308,2\n"), Choice(impute="mean")).X[1, 0] == 1.5e308
    assert not recwarn.list


def test_stdin(table, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"a,b\n1,2\n3,x\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    found = read_table("-", Choice(label="b"))
    assert found.X.tolist() == [[1], [3]]
    assert found.labels.tolist() == ["2", "x"]
    Stdin.buffer = io.BytesIO(b"a,b\n1\n")
    with pytest.raises(TableError, match="the table on stdin: row 1 has 1 cell "):
        read_table("-")


def test_ids_and_labels_stay_what_they_are(table):
    text = "i,zip,l,x\n9007199254740993,00123,1.5,1\n9007199254740995,90210,,2\n"
    found = read_table(table(text), Choice(label="l", id="i", drop=("zip",)))
    assert found.ids.dtype == np.int64 and found.ids.tolist() == [9007199254740993, 9007199254740995]
    assert found.labels[0] == 1.5 and np.isnan(found.labels[1])
    assert found.columns["zip"].tolist() == ["00123", "90210"]
    assert found.features == ["x"]


def test_missing_labels_of_text_are_kept(table):
    found = read_table(table("l,x\nred,1\n,2\nblue,3\n"), Choice(label="l"))
    assert found.labels.tolist() == ["red", None, "blue"]


@pytest.mark.parametrize("part", ["label", "id", "drop", "columns"])
def test_unknown_names_come_with_the_closest(table, part):
    path = table("target,height,width\n1,2,3\n")
    given = "heigth" if part in ("label", "id") else ("heigth",)
    with pytest.raises(TableError, match=f"{part}: the table has no column 'heigth'. Did you mean 'height'"):
        read_table(path, Choice(**{part: given}))


def test_columns_are_taken_in_the_order_that_is_asked_for(table):
    found = read_table(table("a,b,c\n1,2,3\n4,5,6\n"), Choice(columns=("c", "a")))
    assert found.features == ["c", "a"] and found.X.tolist() == [[3, 1], [6, 4]]
    assert found.columns["b"].tolist() == [2, 5]
    with pytest.raises(TableError, match="named in both columns and drop"):
        read_table(table("a,b\n1,2\n"), Choice(columns=("a",), drop=("a",)))
    with pytest.raises(TableError, match="no column is left"):
        read_table(table("a,b\n1,2\n"), Choice(drop=("a", "b")))


def test_the_digest_is_that_of_the_bytes(table):
    import hashlib

    path = table("a,b\n1,2\n", "t.csv.gz")
    assert read_table(path).digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_peak_memory_is_that_of_the_numbers(tmp_path):
    """n · d numbers, the blocks that are in work, and nothing else: a second copy would be seen."""
    import subprocess

    path = tmp_path / "large.csv"
    block = ",".join(f"{value!r}" for value in np.random.default_rng(0).standard_normal(40).tolist()) + "\n"
    path.write_text(",".join(f"c{j}" for j in range(40)) + "\n" + block * 100_000)
    code = (
        "import resource, sys; import mercer.tables.table as t, mercer.tables.text, pyarrow.csv, scipy.sparse;"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024; before = peak();"
        "X = t.read_table(sys.argv[1]).X; print((peak() - before) / X.nbytes)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 2.5  # 32 MB of numbers; the blocks in work take tens of megabytes whatever the file
