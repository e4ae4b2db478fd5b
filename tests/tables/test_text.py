"""Tables of text: what is found by looking, what is streamed, and what a person is told when it does not fit."""

import gzip
import io
import sys
import tracemalloc

import numpy as np
import pytest

from mercer import memory
from mercer.tables import text
from mercer.tables.source import Role
from mercer.tables.table import Choice, TableError, read_columns, read_table
from mercer.tables.text import open_text


def test_quotes_newlines_and_delimiters_in_cells(table):
    found = read_columns(table('a,"b ""c"""\n1,"x,y"\n2,"line\nbreak"\n3,"say ""no"""\n'))
    assert list(found) == ["a", 'b "c"']
    assert found['b "c"'].tolist() == ["x,y", "line\nbreak", 'say "no"']
    assert found["a"].tolist() == [1, 2, 3]


def test_a_wide_table(table):
    """More columns than a block has room for a few rows of."""
    X = np.random.default_rng(0).standard_normal((3, 20_000))
    names = ",".join(f"g{j}" for j in range(20_000))
    found = read_table(table(names + "\n" + "\n".join(",".join(map(repr, row)) for row in X.tolist())))
    assert found.X.tobytes() == X.tobytes() and found.features[-1] == "g19999"


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
    with pytest.raises(TableError, match="row 2000: 'late'"):
        read_table(path)
    found = read_table(path, Choice(encode="drop"))
    assert found.X[:, 0].tolist() == list(range(2000))
    assert found.columns["b"][0] == "0.0" and found.columns["b"][1999] == "late"
    raw = open_text(path, block=1000).read({"a": Role.FEATURE, "b": Role.FEATURE}, "float64")  # 30 blocks and more
    assert raw.matrix[:, 0].tolist() == list(range(2000)) and raw.texts["b"][1999] == "late"
    rows[1999], rows[3] = "1999,", "3,true"
    with pytest.raises(TableError, match="row 4: 'true'"):
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


@pytest.mark.parametrize(("cell", "line"), [('3,"4', 51), ('"3,4', 51)])
@pytest.mark.parametrize("read", [read_columns, read_table])
def test_a_quote_that_is_never_closed_is_found_with_its_line(table, cell, line, read):
    rows = ["a,b", *(f"{i},{i * i}" for i in range(200))]
    rows[line - 1] = cell
    with pytest.raises(TableError, match=f"a quote that opens in line {line} is never closed"):
        read(table("\n".join(rows)))


def test_quotes_inside_of_cells_are_letters(table):
    found = read_columns(table('size,n\n5" pipe,1\n6 inch,2\n'))
    assert found["size"].tolist() == ['5" pipe', "6 inch"] and found["n"].tolist() == [1, 2]


def test_arrow_s_threads_never_hold_a_function_of_python_s(table, monkeypatch):
    """One that is freed by a thread while the interpreter ends aborts the process, after a correct error."""
    from pyarrow import csv

    seen, open_csv = [], csv.open_csv

    def watched(file, read, parse, convert):
        seen.append((read.use_threads, parse.invalid_row_handler is not None))
        return open_csv(file, read, parse, convert)

    monkeypatch.setattr(csv, "open_csv", watched)
    with pytest.raises(TableError, match="row 2 has 1 cell"):
        read_columns(table("a,b\n1,2\n3\n"))
    assert set(seen) == {(True, False), (False, True)}


@pytest.mark.parametrize("content", ["a,b\n1,2\n3,4\n", "a,b\n1,x\n3,y\n"], ids=["numbers", "text"])
def test_readers_are_closed_although_an_error_is_still_held(table, monkeypatch, content):
    """A reader that is still open when the interpreter ends can abort the process, whatever was said before."""
    opened, closed = [], []
    real = text.arrow_csv.open_csv

    class Watched:
        def __init__(self, *arguments):
            self.reader = real(*arguments)
            opened.append(self)

        def __enter__(self):
            return self.reader.__enter__()

        def __exit__(self, *error):
            closed.append(self)
            return self.reader.__exit__(*error)

    def no_room(path, size):
        raise TableError("no room")

    monkeypatch.setattr(text.arrow_csv, "open_csv", Watched)
    monkeypatch.setattr(text, "check_text", no_room)
    with pytest.raises(TableError) as held:
        read_table(table(content), Choice(encode="onehot"))
    assert opened and closed == opened and held.value


def test_parts_are_the_whole(tmp_path):
    """Types hold for all parts: the only text of a column, and the only quoted gap, are in the last one."""
    lines = ["a,b,c,flag", *(f"{i}.5,{i},{i},{'yes' if i % 2 else 'no'}" for i in range(300)), '"NA",x,-1,yes']
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    roles = dict.fromkeys(("a", "b", "c", "flag"), Role.FEATURE) | {"b": Role.CATEGORY}
    whole = open_text(tmp_path / "t.csv").read(roles, "float64")
    parts = list(open_text(tmp_path / "t.csv", block=700).parts(roles, "float64", 60))
    assert len(parts) > 3 and [part.first for part in parts] == np.cumsum([0, *(p.rows for p in parts)])[:-1].tolist()
    assert {tuple(part.numbers) for part in parts} == {tuple(whole.numbers)}
    assert np.array_equal(np.vstack([part.matrix for part in parts]), whole.matrix, equal_nan=True)
    assert np.concatenate([part.texts["b"] for part in parts]).tolist() == whole.texts["b"].tolist()
    with pytest.raises(TableError, match="no rows"):
        (tmp_path / "e.csv").write_text("a,b\n")
        list(open_text(tmp_path / "e.csv").parts(dict.fromkeys("ab", Role.FEATURE), "float64", 9))
