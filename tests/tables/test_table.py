"""Every format gives the same table, and refuses what it is not."""

import hashlib
import inspect
import io
import json
import os
import sys

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from mercer import memory
from mercer.tables.source import Role
from mercer.tables.table import Choice, TableError, read_columns, read_table, write_table
from mercer.tables.text import open_text

TYPED = ["parquet", "arrow", "feather"]
FORMATS = ["csv", "tsv", "csv.gz", "tsv.gz", "npz", *TYPED]
RNG = np.random.default_rng(0)
COLUMNS = {
    "height": RNG.standard_normal(30) * 10.0 ** RNG.integers(-9, 9, 30),
    "count": RNG.integers(-5, 5, 30),
    "größe, [m]": RNG.standard_normal(30),
    "kind": np.array(["red", "blue", 'a "b", c'] * 10, object),
    "number": np.arange(30) + 2**60,
}


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_same_table_by_every_format(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    write_table(path, COLUMNS)
    found = read_table(path, Choice(label="kind", id="number"))
    expected = np.column_stack([COLUMNS[name] for name in ("height", "count", "größe, [m]")])
    assert found.X.tobytes() == np.ascontiguousarray(expected).tobytes()
    assert found.features == ["height", "count", "größe, [m]"]
    assert found.labels.tolist() == COLUMNS["kind"].tolist()
    assert found.ids.dtype == np.int64 and (found.ids == COLUMNS["number"]).all()
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    again = read_table(path, Choice(label="kind", id="number", dtype="float32"))
    assert again.X.dtype == np.float32 and np.array_equal(again.X, found.X.astype(np.float32))
    made = read_table(path, Choice(drop=("number",), encode="onehot", scale="standard"))
    assert made.features == ["height", "count", "größe, [m]", 'kind=a "b", c', "kind=blue", "kind=red"]
    np.testing.assert_allclose(made.X.mean(axis=0), 0, atol=1e-12)


TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=8)
PLAIN = TEXT.filter(lambda text: text == text.strip() and "\r" not in text)  # a lone \r ends lines in some files


def _looks_like_numbers(values):
    from mercer.tables.dialect import MISSING, is_number

    return all(value is None or is_number(value) or value in MISSING for value in values)


@st.composite
def tables(draw):
    """A column of floats, one of whole numbers and one of text, with names of any letters."""
    n = draw(st.integers(1, 6))
    names = draw(st.lists(PLAIN.filter(lambda name: name.strip()), min_size=3, max_size=3, unique=True))
    floats = draw(hnp.arrays(np.float64, n, elements=st.floats(allow_nan=True, allow_infinity=False, width=64)))
    whole = draw(hnp.arrays(np.int64, n, elements=st.integers(-(2**63), 2**63 - 1)))
    texts = draw(st.lists(st.none() | TEXT.filter(bool), min_size=n, max_size=n))
    return dict(zip(names, [floats, whole, np.array(texts, object)], strict=True))


def _same(found, given):
    if given.dtype.kind == "f":
        return np.array_equal(np.asarray(found, np.float64), given, equal_nan=True)
    return found.tolist() == given.tolist()


@given(columns=tables(), suffix=st.sampled_from(["csv", "tsv.gz", *TYPED, "npz"]))
def test_what_is_written_comes_back(tmp_path_factory, columns, suffix):
    floats, _, texts = columns.values()
    if suffix not in TYPED and _looks_like_numbers(texts):
        texts[0] = "no number"  # files without types cannot tell the text 1 from the number
    if suffix == "npz" and any("/" in name or "\\" in name for name in columns):
        return
    path = tmp_path_factory.mktemp("tables") / f"t.{suffix}"
    write_table(path, columns)
    found = read_columns(path)
    assert list(found) == list(columns)
    for name, given_values in columns.items():
        if given_values is floats and np.isnan(floats).all():
            assert len(found[name]) == len(floats)
        else:
            assert _same(found[name], given_values), (name, found[name], given_values)


def test_signed_zeros_and_short_digits(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, {"a": np.array([0.1, -0.0, 1.0, 1e22, 5e-324]), "b": np.array([0.1, 1 / 3, 2, 3, 4], np.float32)})
    assert path.read_text() == "a,b\n0.1,0.1\n-0,0.33333334\n1,2\n1e+22,3\n5e-324,4\n"
    assert read_table(path).X[:, 0].tobytes() == np.array([0.1, -0.0, 1.0, 1e22, 5e-324]).tobytes()


@pytest.mark.parametrize("name", ["t.xls", "t.json", "t.pickle", "t.gz", "t.parquet.gz"])
def test_other_files_are_refused_with_the_known_ones(tmp_path, name):
    (tmp_path / name).write_bytes(b"a,b\n1,2\n")
    with pytest.raises(TableError, match=r"\.csv, \.tsv.*\.h5ad.*a folder of images"):
        read_table(tmp_path / name)
    with pytest.raises(TableError, match=r"Known: \.csv"):
        write_table(tmp_path / name, {"a": np.arange(2)})


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(TableError, match="the file does not exist"):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "npy", "npz", "h5ad", "csv.gz"])
def test_files_of_another_format_or_cut(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    for content in (b"", b"hello world, this is no such file"):
        path.write_bytes(content)
        with pytest.raises(TableError, match=r"t\.") as caught:
            read_table(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", FORMATS)
def test_some_rows_are_those_rows_of_all(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    write_table(path, COLUMNS)
    whole = read_table(path, Choice(label="kind", id="number"))
    for rows, part in (
        ((1, 7), slice(0, 7)),
        ((5, 12), slice(4, 12)),
        ((28, None), slice(27, None)),
        ((3, 99), slice(2, 99)),
    ):
        found = read_table(path, Choice(label="kind", id="number", rows=rows))
        assert np.array_equal(found.X, whole.X[part]) and np.array_equal(found.ids, whole.ids[part])
        assert found.labels.tolist() == whole.labels[part].tolist() and found.digest == whole.digest
        assert read_columns(path, Choice(rows=rows))["kind"].tolist() == whole.labels[part].tolist()
    with pytest.raises(TableError, match="has only 30 rows, so row 31 does not exist"):
        read_table(path, Choice(rows=(31, 40)))


def test_rows_that_are_not_read_cannot_spoil_the_others(table):
    path = table("a,b\n1,2\n3,4\nx,y\n")
    assert read_table(path, Choice(rows=(1, 2))).X.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TableError, match="row 3: 'x'"):  # rows have the numbers that they have in the file
        read_table(path, Choice(rows=(2, 3)))


@pytest.mark.parametrize("rows", [(0, 5), (5, 4), (1,), "1:2", (1.5, 2)])
def test_rows_that_cannot_be(table, rows):
    with pytest.raises(TableError, match=r"^rows: "):
        read_table(table("a\n1\n2\n"), Choice(rows=rows))


# --- what is opened is closed ----------------------------------------------------------------------------------------

# A reader of Arrow's that is open when the interpreter ends can abort the process (status 134) after a correct error.

OPENED = ["csv", "csv.gz", "stdin", "parquet", "arrow", "feather", "jsonl", "xlsx", "npy", "npz", "h5ad", "images"]
FEW = {name: values[:12] for name, values in COLUMNS.items() if name != "größe, [m]"}


def whole_file(folder, kind):
    """The path of a table of a kind, in a file or a folder of its own."""
    path = folder / f"t.{kind.replace('stdin', 'csv')}"
    if kind == "jsonl":
        rows = zip(*(values.tolist() for values in FEW.values()), strict=True)
        path.write_text("".join(f"{json.dumps(dict(zip(FEW, row, strict=True)))}\n" for row in rows))
    elif kind == "xlsx":
        book = pytest.importorskip("openpyxl").Workbook()
        for row in [list(FEW), *zip(*(values.tolist() for values in FEW.values()), strict=True)]:
            book.active.append(row)
        book.save(path)
    elif kind == "npy":
        np.save(path, np.column_stack([FEW["height"], FEW["count"]]))
    elif kind == "h5ad":
        with h5py.File(path, "w") as file:
            file.create_dataset("X", data=RNG.standard_normal((12, 3)), chunks=(3, 3), compression="gzip")
            for part, length in (("obs", 12), ("var", 3)):
                file.create_group(part).attrs["_index"] = "name"
                file[part]["name"] = [f"{part}{i}" for i in range(length)]
    elif kind == "images":
        path.mkdir()
        for i in range(3):
            Image.fromarray(RNG.integers(0, 255, (6, 5), np.uint8)).save(path / f"{i}.png")
    else:
        write_table(path, FEW)
    return path


def read_again(path, kind, patch, choice):
    """Read a table with encoded text, as `fit` does, and then as it is, as `report` does."""

    class Stdin:
        buffer = None

    if kind == "stdin":
        with io.open_code(str(path)) as file:  # no one watches this name
            Stdin.buffer = io.BytesIO(file.read())
        patch.setattr(sys, "stdin", Stdin)
    given = "-" if kind == "stdin" else path
    read_table(given, choice)
    read_columns(given)


def refused(read, *arguments):
    """The error of a reader, held with all of its frames; None if there is none."""
    try:
        read(*arguments)
    except (TableError, OSError, KeyboardInterrupt) as error:
        return error
    return None


@pytest.mark.parametrize("kind", OPENED)
def test_whatever_a_reader_opens_is_closed(tmp_path, monkeypatch, handles, kind):
    """Of whole files; of files cut or damaged anywhere; and where there is no room. The error is still held."""
    path = whole_file(tmp_path, kind)
    named = next(path.iterdir()) if kind == "images" else path
    choice, content = Choice(encode="onehot"), named.read_bytes()
    damaged = [content]
    for at in np.linspace(0.02, 0.99, 25):
        place = int(at * len(content))
        damaged += [content[:place], content[:place] + b'"\xff\0,;' * 3 + content[place + 15 :]]
    handles.still_open()
    errors = []
    for each in damaged:
        named.write_bytes(each)
        handles.still_open()
        errors.append(refused(read_again, path, kind, monkeypatch, choice))
        assert handles.still_open() == []
    # A broken image is left out; every other kind of file is refused when it is damaged.
    assert errors[0] is None and (kind == "images" or sum(error is not None for error in errors) >= 5)
    named.write_bytes(content)
    for name, read in (("label", Choice(label="none")), ("drop", Choice(drop=("height", "count", "kind", "number")))):
        handles.still_open()
        errors.append(refused(read_again, path, kind, monkeypatch, read))
        assert handles.still_open() == [], name
    for free in (0, 100, 1000):
        monkeypatch.setattr(memory, "available_bytes", lambda free=free: free)
        handles.still_open()
        errors.append(refused(read_again, path, kind, monkeypatch, choice))
        assert handles.still_open() == []


def interrupted(call, run, *arguments):
    """Ctrl-C at one of the calls that `mercer.tables` makes of its own functions: the error, or None at the end."""
    seen, own = 0, os.path.join("mercer", "tables") + os.sep

    def watch(frame, event, _):
        nonlocal seen
        # A generator that is called may also be one that is thrown away, from which nothing can be raised.
        if event == "call" and own in frame.f_code.co_filename and not frame.f_code.co_flags & inspect.CO_GENERATOR:
            seen += 1
            if seen == call:
                sys.setprofile(None)
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        return refused(run, *arguments), seen
    finally:
        sys.setprofile(before)


@pytest.mark.parametrize("kind", OPENED)
def test_whatever_a_reader_opens_is_closed_wherever_ctrl_c_comes(tmp_path, monkeypatch, handles, kind):
    path = whole_file(tmp_path, kind)
    reading = (read_again, path, kind, monkeypatch, Choice(encode="onehot"))
    error, calls = interrupted(0, *reading)
    assert error is None and calls > 10
    handles.still_open()
    for call in sorted({*range(1, min(calls, 40)), *np.linspace(1, calls, 80).astype(int).tolist()}):
        error, _ = interrupted(call, *reading)
        assert isinstance(error, KeyboardInterrupt)
        assert handles.still_open() == [], call


@pytest.mark.parametrize(
    "last",
    ["3", "3,4,5", '3,"4', "3,é", "3,inf", "3,x", "3,"],
    ids=["short", "wide", "unclosed", "encoding", "infinite", "text", "missing"],
)
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_readers_of_text_are_closed_after_an_error_far_down(table, handles, name, last):
    path = table("a,b\n" + "1,2\n" * 3000 + f"{last}\n", name)
    handles.still_open()
    error = refused(read_table, path, Choice(encoding="ascii") if last == "3,é" else Choice())
    assert isinstance(error, TableError) and handles.still_open() == []


def test_parts_of_a_text_are_closed_when_the_rest_is_not_wanted(table, handles):
    """As `transform` reads a csv; a row that is wrong, and a consumer that fails, keep the reader's frames alive."""
    source = open_text(table("a,b\n" + "1,2\n" * 3000), block=700)
    roles = dict.fromkeys("ab", Role.FEATURE)
    handles.still_open()
    parts = source.parts(roles, "float64", 50)
    next(parts)
    parts.close()
    assert handles.still_open() == []
    bad = open_text(table("a,b\n" + "1,2\n" * 3000 + "3\n"), block=700)
    handles.still_open()
    error = refused(list, bad.parts(roles, "float64", 50))
    assert isinstance(error, TableError) and handles.still_open() == []
