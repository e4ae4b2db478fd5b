"""A table that is read in parts has the numbers, ids and labels that `read_table` gives."""

import pickle

import numpy as np
import pytest

from mercer.streams.table_rows import can_stream, open_table_rows, table_shape
from mercer.tables.table import Choice, TableError, read_table, write_table

RNG = np.random.default_rng(0)
N = 500


def columns(gaps=False):
    kinds = np.array(["x", "y", "z"], object)[RNG.integers(0, 3, N)]
    made = {
        "name": np.array([f"r{i}" for i in range(N)], object),
        "a": 1e6 + RNG.standard_normal(N),
        "b": RNG.integers(0, 9, N).astype(float),
        "kind": kinds,
        "same": np.full(N, 3.0),
        "class": RNG.integers(0, 3, N),
    }
    if gaps:
        made["a"][[3, 480]] = np.nan
        made["kind"][[0, 100]] = None
    return made


@pytest.fixture
def table(tmp_path):
    def write(name="t.parquet", **more):
        write_table(tmp_path / name, columns() | more)
        return tmp_path / name

    return write


def source_of(path):
    return open_table_rows(path, Choice(id="name", label="class", encode="onehot"))


def whole(source):
    return np.concatenate([source.chunk(i) for i in range(len(source.lengths))])


@pytest.mark.parametrize(
    "options",
    [
        {"drop": ("kind",)},
        {"columns": ("b", "a"), "dtype": "float32"},
        {"encode": "onehot", "scale": "standard"},
        {"encode": "ordinal", "scale": "minmax", "impute": "mean"},
        {"encode": "onehot", "scale": "standard", "impute": "zero", "dtype": "float32"},
        {"encode": "drop", "scale": "standard"},
    ],
    ids=str,
)
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_parts_are_prepared_as_the_whole_is(tmp_path, suffix, options):
    path = tmp_path / f"t.{suffix}"
    write_table(path, columns(gaps="impute" in options))
    choice = Choice(id="name", label="class", keep=(), **options)
    expected, source = read_table(path, choice), open_table_rows(path, choice, chunk_rows=120)
    assert (
        len(source.lengths) > 3
        and source.preparation.features == expected.features
        and source.digest == expected.digest
    )
    X = whole(source)
    # A mean of n numbers about v is wrong by n ε |v| at most in either order, and is divided by the deviation.
    centre, spread = (np.array(part or (0.0,)) for part in (expected.preparation.centre, expected.preparation.spread))
    room = 2 * N * np.finfo(np.float64).eps * (1 + np.abs(centre / np.maximum(spread, 1e-9)).max())
    room += 4 * np.finfo(X.dtype).eps * np.abs(expected.X).max()
    assert X.dtype == expected.X.dtype and np.abs(X - expected.X).max() <= room
    assert source.preparation.columns == expected.preparation.columns
    beside = [source.beside(i) for i in range(len(source.lengths))]
    assert np.concatenate([part["name"] for part in beside]).tolist() == expected.ids.tolist()
    assert np.array_equal(source.all_labels(), expected.labels)
    again = open_table_rows(path, Choice(keep=()), preparation=expected.preparation, chunk_rows=77)
    assert np.array_equal(whole(again), read_table(path, Choice(keep=()), preparation=expected.preparation).X)


def test_one_part_is_prepared_to_the_same_bits(table):
    choice = Choice(id="name", encode="onehot", scale="robust", impute="median")
    path = table()
    assert open_table_rows(path, choice).preparation == read_table(path, choice).preparation


def test_matrices_and_lists_are_read_in_parts(tmp_path):
    X = RNG.standard_normal((N, 3))
    np.save(tmp_path / "x.npy", X)
    source = open_table_rows(tmp_path / "x.npy", Choice(scale="standard"), chunk_rows=99)
    assert np.abs(whole(source) - read_table(tmp_path / "x.npy", scale="standard").X).max() < 1e-12
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"v": pa.array(X.tolist()), "n": np.arange(N)}), tmp_path / "v.parquet")
    source = open_table_rows(tmp_path / "v.parquet", Choice(vector=("v",), id="n"), chunk_rows=99)
    assert np.array_equal(whole(source), X) and source.beside(1)["n"][0] == source.lengths[0]


def test_a_source_pickles_and_any_part_can_be_asked_for(table):
    source = open_table_rows(table(), Choice(id="name", encode="onehot"), chunk_rows=99)
    other = pickle.loads(pickle.dumps(source))
    for i in (4, 0, 2):
        assert np.array_equal(other.chunk(i), source.chunk(i))


def test_likely_ids_are_left_out(table):
    path = table(customer_id=np.arange(N) * 7)
    choice = Choice(drop=("kind", "name"))
    source, expected = open_table_rows(path, choice, chunk_rows=99), read_table(path, choice)
    assert source.preparation.features == expected.features and source.id == expected.preparation.id
    assert any("Left out as ids" in note for note in source.notes)


def test_of_two_likely_ids_the_same_one_is_taken(tmp_path):
    made = {
        "x1": np.arange(N) + 5,
        **columns(),
        "customer_id": np.arange(N) * 7,
    }  # "x1" is only a place
    del made["name"]
    write_table(tmp_path / "t.parquet", made)
    choice = Choice(encode="onehot")
    source = open_table_rows(tmp_path / "t.parquet", choice, chunk_rows=99)
    assert source.id == read_table(tmp_path / "t.parquet", choice).preparation.id == "customer_id"


def test_whole_numbers_beside_x_have_one_type_in_all_parts(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    labels = pa.array([None if i == 450 else i % 5 for i in range(N)], pa.int64())
    made = pa.table({"x": RNG.standard_normal(N), "y": RNG.standard_normal(N), "l": labels})
    parquet.write_table(made, tmp_path / "t.parquet")
    source = open_table_rows(tmp_path / "t.parquet", Choice(label="l"), chunk_rows=99)
    assert {source.beside(i)["l"].dtype for i in range(len(source.lengths))} == {np.dtype(np.float64)}
    expected = read_table(tmp_path / "t.parquet", label="l").labels
    assert np.array_equal(source.all_labels(), expected, equal_nan=True)


def test_what_parts_cannot_tell_is_refused(table, tmp_path):
    path = table()
    for options, message in (
        ({"impute": "median"}, "median"),
        ({"impute": "drop"}, "leaves out rows"),
        ({"scale": "robust"}, "robust"),
        ({"rows": (1, 50)}, "rows"),
    ):
        with pytest.raises(TableError, match=message):
            open_table_rows(path, Choice(encode="onehot", **options), chunk_rows=99)
    with pytest.raises(TableError, match="hold text"):
        open_table_rows(path, Choice(), chunk_rows=99)
    write_table(tmp_path / "t.csv", {"a": np.arange(30.0)})
    with pytest.raises(TableError, match="save it as one of these"):
        open_table_rows(tmp_path / "t.csv", Choice())
    assert table_shape(path) == (N, 6) and source_of(path).n_features == 6
    assert can_stream("a.parquet") and not can_stream("a.csv") and not can_stream("-")


@pytest.mark.parametrize("options", [{}, {"scale": "standard"}], ids=["read", "surveyed"])
def test_gaps_and_infinities_name_the_row_of_the_file(tmp_path, options):
    for value, word in ((np.nan, "missing"), (np.inf, "infinite")):
        given = RNG.standard_normal(N)
        given[321] = value
        write_table(tmp_path / "t.npy", {"a": given, "b": RNG.standard_normal(N)})
        with pytest.raises(TableError, match=rf"{word}.* row 322\b"):
            whole(open_table_rows(tmp_path / "t.npy", Choice(**options), chunk_rows=99))
