import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

from mercer import open_rows
from mercer.streams.arrow_rows import chunks_of_units


def table(X, names="abcde"):
    return pa.table({name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(names)})


def write(path, found, rows):
    if path.suffix == ".parquet":
        parquet.write_table(found, path, row_group_size=rows)
    else:
        feather.write_feather(found, path, chunksize=rows)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
@pytest.mark.parametrize("group", [7, 100, 1000])
@pytest.mark.parametrize("rows", [30, 100, 5000])
def test_row_groups_are_joined_and_cut(tmp_path, whole, X, suffix, group, rows):
    write(tmp_path / f"X{suffix}", table(X), group)
    source = open_rows(tmp_path / f"X{suffix}", chunk_rows=rows)
    assert source.feature_names == list("abcde") and source.dtype == np.float32
    assert max(source.lengths) <= rows
    np.testing.assert_array_equal(whole(source), X)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_chunks_come_in_any_order_and_from_other_processes(tmp_path, X, suffix):
    write(tmp_path / f"X{suffix}", table(X), 300)
    source = open_rows(tmp_path / f"X{suffix}", chunk_rows=70)
    starts = np.cumsum([0, *source.lengths])
    source.chunk(1)  # leaves a row group half read
    again = pickle.loads(pickle.dumps(source))
    order = np.random.default_rng(1).permutation(len(source.lengths)).tolist()
    for i in order:
        for one in (source, again):
            np.testing.assert_array_equal(one.chunk(i), X[starts[i] : starts[i + 1]])
    with ThreadPoolExecutor(3) as pool:
        for i, found in zip(order, pool.map(source.chunk, order), strict=True):
            np.testing.assert_array_equal(found, X[starts[i] : starts[i + 1]])


def test_a_folder_and_a_pattern_are_read_by_name_and_small_files_are_joined(tmp_path, whole, X):
    for k in range(10):
        write(tmp_path / f"part-{k}.parquet", table(X[100 * k : 100 * (k + 1)]), 100)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part-0.parquet.crc").touch()
    for rows in (tmp_path, str(tmp_path / "part-*.parquet"), sorted(tmp_path.glob("part*"))):
        source = open_rows(rows, chunk_rows=250)
        assert source.lengths == [200] * 5
        np.testing.assert_array_equal(whole(source), X)


def test_a_pass_holds_one_row_group_whatever_the_number_of_rows(tmp_path):
    """Arrow's own peak stays below what a row group takes, although the file holds twenty of them."""
    n, d = 200_000, 10
    X = np.random.default_rng(0).standard_normal((n, d))
    write(tmp_path / "X.parquet", table(X, [f"x{j}" for j in range(d)]), n // 20)
    source = open_rows(tmp_path / "X.parquet", chunk_rows=n // 20)
    pool, default = pa.proxy_memory_pool(pa.default_memory_pool()), pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        for i in range(len(source.lengths)):
            source.chunk(i)
    finally:
        pa.set_memory_pool(default)
    group = n // 20 * d * 8
    # Decoded values, the pages they come from, and one buffer of at least 8 kB per column: less than three row groups.
    assert 0 < pool.max_memory() < 3 * group < n * d * 8 / 5


def test_columns_are_chosen_by_name_and_may_come_in_another_order(tmp_path, whole, X):
    write(tmp_path / "1.parquet", table(X), 1000)
    write(tmp_path / "2.parquet", table(X).select(list("edcba")), 1000)
    np.testing.assert_array_equal(whole(open_rows(tmp_path)), np.vstack([X, X]))
    source = open_rows(tmp_path, columns=["d", "a"])
    assert source.feature_names == ["d", "a"]
    np.testing.assert_array_equal(whole(source), np.vstack([X, X])[:, [3, 0]])
    with pytest.raises(ValueError, match="no column 'q'"):
        open_rows(tmp_path, columns=["q"])


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.bool_(), pa.decimal128(30, 2), pa.float64()])
def test_other_numbers_become_float64(tmp_path, whole, kind):
    parquet.write_table(pa.table({"a": pa.array([0, 1, 1]).cast(kind, safe=False)}), tmp_path / "X.parquet")
    source = open_rows(tmp_path / "X.parquet")
    assert source.dtype == np.float64
    np.testing.assert_array_equal(whole(source), [[0], [1], [1]])


def test_half_precision_becomes_float32(tmp_path, whole):
    feather.write_feather(pa.table({"a": np.array([0.5, 2], np.float16)}), tmp_path / "X.feather")
    assert open_rows(tmp_path / "X.feather").dtype == np.float32


def test_text_is_refused_by_name_before_anything_is_read(tmp_path, X):
    write(tmp_path / "X.parquet", table(X).append_column("who", pa.array(["w"] * 1000)), 1000)
    with pytest.raises(ValueError, match=r"X\.parquet: 'who' of type string .*columns=\['a', 'b'"):
        open_rows(tmp_path / "X.parquet")
    assert open_rows(tmp_path / "X.parquet", columns=["a"]).n_features == 1


def test_other_columns_in_one_of_several_files_are_named(tmp_path, X):
    write(tmp_path / "1.parquet", table(X), 1000)
    write(tmp_path / "2.parquet", table(X, "abcdf"), 1000)
    with pytest.raises(ValueError, match=r"2\.parquet lacks 'e' and also has 'f', unlike .*1\.parquet"):
        open_rows(tmp_path)
    assert open_rows(tmp_path, columns=["a", "b"]).n_features == 2


def test_a_null_is_named_by_file_chunk_and_column(tmp_path, X):
    found = table(X).set_column(1, "b", pa.array([None if row == 777 else 1.0 for row in range(1000)]))
    write(tmp_path / "X.parquet", found, 100)
    source = open_rows(tmp_path / "X.parquet", chunk_rows=100)
    source.chunk(6)
    with pytest.raises(ValueError, match=r"Chunk 7 \(.*X\.parquet, row group 7\): row 77, which is row 777 .*'b'"):
        source.chunk(7)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_file_cut_short_is_refused(tmp_path, X, suffix):
    path = tmp_path / f"X{suffix}"
    write(path, table(X), 100)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=rf"X\{suffix} cannot be read"):
        open_rows(path)


def test_a_file_that_changes_after_it_was_opened_is_refused(tmp_path, X):
    path = tmp_path / "X.parquet"
    write(path, table(X), 100)
    source = open_rows(path, chunk_rows=100)
    write(path, table(X[:50]), 100)
    with pytest.raises(ValueError, match=r"X\.parquet cannot be read as parquet \(row group 0, for chunk 0\)"):
        source.chunk(0)
    with pytest.raises(ValueError, match="row group 9, for chunk 9"):
        source.chunk(9)


def test_streams_and_old_feather_say_what_to_do(tmp_path, X):
    with ipc.new_stream(str(tmp_path / "X.arrow"), table(X).schema) as writer:
        writer.write_table(table(X))
    with pytest.raises(ValueError, match="is a stream"):
        open_rows(tmp_path / "X.arrow")
    (tmp_path / "Y.feather").write_bytes(b"FEA1 and the rest")
    with pytest.raises(ValueError, match="version 1"):
        open_rows(tmp_path / "Y.feather")


def test_files_without_rows_are_empty_sources(tmp_path, whole, X):
    write(tmp_path / "1.parquet", table(X[:0]), 100)
    assert open_rows(tmp_path / "1.parquet").lengths == [0]
    assert whole(open_rows(tmp_path / "1.parquet")).shape == (0, 5)
    write(tmp_path / "2.parquet", table(X), 100)
    np.testing.assert_array_equal(whole(open_rows(tmp_path)), X)


@given(st.lists(st.integers(0, 40), max_size=20), st.integers(1, 25))
def test_pieces_hold_every_row_once_in_order_in_chunks_that_are_short_enough(lengths, rows):
    made = chunks_of_units(lengths, rows)
    seen = [(piece.unit, row) for pieces in made for piece in pieces for row in range(piece.start, piece.stop)]
    assert seen == [(unit, row) for unit, length in enumerate(lengths) for row in range(length)]
    sizes = [sum(piece.stop - piece.start for piece in pieces) for pieces in made]
    assert max(sizes) <= rows
    for pieces in made:  # no chunk holds a part of one unit and a part of another
        assert len(pieces) == 1 or all(piece.stop - piece.start == lengths[piece.unit] for piece in pieces)


def joined_parts(folder, X, suffix):
    for k in range(10):
        write(folder / f"part-{k}{suffix}", table(X[100 * k : 100 * (k + 1)]), 50)
    return open_rows(folder, chunk_rows=400)


@pytest.mark.parametrize(("suffix", "unit"), [(".parquet", "row group"), (".arrow", "record batch")])
def test_of_several_files_in_a_chunk_the_one_with_the_gap_is_named(tmp_path, X, suffix, unit):
    rows = X.copy()
    rows[777, 3] = np.nan
    source = joined_parts(tmp_path, rows, suffix)
    assert source.lengths == [400, 400, 200]
    with pytest.raises(
        ValueError, match=rf"Chunk 1 \(\S*part-7\{suffix}, {unit} 1\): row 377, which is row 777 of all"
    ):
        source.chunk(1)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_file_that_has_changed_since_it_was_opened_is_refused(tmp_path, X, suffix):
    """Its first rows could be read as if nothing had happened."""
    source = joined_parts(tmp_path, X, suffix)
    write(tmp_path / f"part-3{suffix}", table(X[:300]), 50)
    with pytest.raises(ValueError, match=rf"part-3\{suffix}.* bytes when it was opened"):
        source.chunk(0)
    assert len(source.chunk(1)) == 400


def test_text_alone_has_no_column_to_choose(tmp_path):
    parquet.write_table(pa.table({"who": ["a", "b"]}), tmp_path / "X.parquet")
    with pytest.raises(ValueError, match=r"'who' of type string hold no numbers\. Encode them first\.$"):
        open_rows(tmp_path / "X.parquet")
