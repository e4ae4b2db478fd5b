"""Every format gives the same table, and refuses what it is not."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mercer.tables.table import Choice, TableError, read_columns, read_table, write_table

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
