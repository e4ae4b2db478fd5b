"""Every format gives the same table; what a format alone can do; what is refused."""

import hashlib
import os
import warnings
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from pyarrow import feather, ipc, parquet
from scipy import sparse

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
    from mercer.tables.csv_dialect import MISSING, is_number

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
    if suffix == "npz" and any("/" in name or "\\" in name or name == "file" for name in columns):
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


def test_npy_is_mapped_and_not_copied(tmp_path):
    X = RNG.standard_normal((50, 4))
    for order in "CF":
        np.save(tmp_path / "t.npy", np.asarray(X, order=order))
        found = read_table(tmp_path / "t.npy")
        assert isinstance(found.X, np.memmap) and (found.X == X).all()
        assert found.features == ["x1", "x2", "x3", "x4"]
    assert not isinstance(read_table(tmp_path / "t.npy", Choice(dtype="float32")).X, np.memmap)
    scaled = read_table(tmp_path / "t.npy", Choice(scale="standard")).X
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    assert (np.load(tmp_path / "t.npy") == X).all()


def test_a_map_can_be_fitted(tmp_path):
    from mercer import PCA

    X = RNG.standard_normal((60, 5))
    np.save(tmp_path / "t.npy", X)
    np.testing.assert_allclose(
        PCA(2).fit(read_table(tmp_path / "t.npy").X).explained_variance_, PCA(2).fit(X).explained_variance_
    )


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool", "float16", ">f8", "float32"])
def test_npy_of_other_numbers(tmp_path, dtype):
    X = RNG.integers(0, 2, (6, 3)).astype(dtype)
    np.save(tmp_path / "t.npy", X)
    found = read_table(tmp_path / "t.npy").X
    assert found.dtype == np.dtype("float64") and (found == X).all()


def test_npy_of_one_column_of_fields_and_of_images(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.arange(5.0))
    assert read_table(path).X.tolist() == [[0], [1], [2], [3], [4]]
    np.save(path, np.array([(1, "a", 0.5), (2, "b", 1.5)], [("n", "i4"), ("kind", "U2"), ("x", "f8")]))
    found = read_table(path, Choice(label="kind"))
    assert found.features == ["n", "x"] and found.X.tolist() == [[1, 0.5], [2, 1.5]]
    assert found.labels.tolist() == ["a", "b"]
    np.save(path, RNG.integers(0, 255, (3, 5, 4), np.uint8))
    found = read_table(path)
    assert found.X.shape == (3, 20) and len(found.images) == 3 and found.images[0].startswith(b"\x89PNG")


def test_objects_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "trapped"),)

    np.save(tmp_path / "t.npy", np.array([Trap(), None], object), allow_pickle=True)
    np.savez(tmp_path / "t.npz", X=np.array([[Trap()]], object), allow_pickle=True)
    for suffix in ("npy", "npz"):
        with pytest.raises(TableError, match="Python objects"):
            read_table(tmp_path / f"t.{suffix}")
    assert not (tmp_path / "trapped").exists()


def test_npz_with_labels_ids_and_names(tmp_path):
    X = RNG.standard_normal((4, 2))
    np.savez(tmp_path / "t.npz", X=X, y=["a", "b", "a", "c"], ids=[5, 6, 7, 8], features=["p", "q"], mass=X[:, 0])
    found = read_table(tmp_path / "t.npz")
    assert (found.X == X).all() and found.features == ["p", "q"]
    assert found.labels.tolist() == ["a", "b", "a", "c"] and found.ids.tolist() == [5, 6, 7, 8]
    assert (found.columns["mass"] == X[:, 0]).all()
    np.savez(tmp_path / "t.npz", X)
    assert (read_table(tmp_path / "t.npz", Choice(scale="standard")).X.std(axis=0) > 0.99).all()
    np.savez(tmp_path / "t.npz", a=X, b=X)
    with pytest.raises(TableError, match="save the matrix as X"):
        read_table(tmp_path / "t.npz")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_npz(tmp_path, kind):
    S = sparse.random_array((20, 6), density=0.3, format=kind, rng=0)
    sparse.save_npz(tmp_path / "s.npz", S)
    found = read_table(tmp_path / "s.npz")
    assert isinstance(found.X, sparse.csr_array) and (found.X.toarray() == S.toarray()).all()
    scaled = read_table(tmp_path / "s.npz", Choice(scale="standard"))
    np.testing.assert_allclose(scaled.X.toarray(), S.toarray() / S.toarray().std(axis=0))
    assert any("not centred" in note for note in scaled.notes)
    with pytest.raises(TableError, match="would fill a sparse table"):
        read_table(tmp_path / "s.npz", Choice(scale="minmax"))
    few = read_table(tmp_path / "s.npz", Choice(columns=("x3", "x1"), label="x2"))
    assert (few.X.toarray() == S.toarray()[:, [2, 0]]).all() and (few.labels == S.toarray()[:, 1]).all()


@pytest.mark.parametrize("impute", ["mean", "median", "zero", "drop"])
def test_missing_values_of_a_sparse_table(tmp_path, impute):
    dense = RNG.integers(0, 3, (15, 4)).astype(float)
    dense[2, 1] = dense[7, 3] = np.nan
    sparse.save_npz(tmp_path / "s.npz", sparse.csr_array(dense))
    np.save(tmp_path / "s.npy", dense)
    with pytest.raises(TableError, match="2 values are missing in 2 of 4 columns: 'x2', 'x4'"):
        read_table(tmp_path / "s.npz")
    found, expected = (read_table(tmp_path / f"s.{suffix}", Choice(impute=impute)).X for suffix in ("npz", "npy"))
    np.testing.assert_allclose(found.toarray(), expected)


def test_sparse_parts_that_do_not_fit_are_refused(tmp_path):
    good = {"data": np.ones(3), "indices": np.array([0, 1, 1]), "indptr": np.array([0, 1, 3]), "shape": (2, 2)}
    for change in (
        {"indices": np.array([0, 5, 1])},
        {"indices": np.array([0, -1, 1])},
        {"indptr": np.array([0, 3, 1])},
        {"indptr": np.array([0, 1, 9])},
        {"shape": (2**50, 2**50)},
        {"shape": (2, 1)},
        {"data": np.ones(2)},
    ):
        np.savez(tmp_path / "s.npz", **{**good, **change}, format=np.array("csr"))
        with pytest.raises(TableError):
            read_table(tmp_path / "s.npz")


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
        with pytest.raises(TableError, match="3 of 6 columns hold text"):
            read_table(path)
        with pytest.raises(TableError, match=r"1 of 1 columns hold dates.*'2019-04-14'"):
            read_table(path, Choice(columns=("d",)))
        found = read_table(path, Choice(label="k", encode="drop", impute="zero"))
        assert found.X.tolist() == [[1.5, 1, 1.5], [0, 0, 2.25], [3, 0, 3]]
        assert found.columns["d"].tolist() == ["2019-04-14", "2019-04-15", None]
        assert found.columns["v"].tolist() == ["[1]", "[2, 3]", None]
        shown = read_columns(path)
        assert shown["f"].tolist() == ["true", "false", None]


def test_the_index_of_pandas_is_no_feature(tmp_path):
    import pandas as pd

    pd.DataFrame({"a": [1.0, 2.0]}, index=["p", "q"]).to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet")
    assert found.features == ["a"] and found.columns["__index_level_0__"].tolist() == ["p", "q"]


@pytest.fixture
def h5ad(tmp_path):
    def write(X, **extra):
        path = tmp_path / "t.h5ad"
        with h5py.File(path, "w") as file:
            if isinstance(X, np.ndarray):
                file.create_dataset("X", data=X, chunks=True, compression="gzip")
            else:
                part = file.create_group("X")
                part.attrs["encoding-type"], part.attrs["shape"] = f"{X.format}_matrix", X.shape
                part["data"], part["indices"], part["indptr"] = X.data, X.indices, X.indptr
            obs, var = file.create_group("obs"), file.create_group("var")
            obs.attrs["_index"], obs.attrs["column-order"] = "cell", ["kind", "n", "flag"]
            obs["cell"], obs["n"] = [f"c{i}" for i in range(5)], np.arange(5)
            kind = obs.create_group("kind")
            kind.attrs["encoding-type"] = "categorical"
            kind["codes"], kind["categories"] = np.array([0, 1, -1, 1, 0], np.int8), ["T", "B"]
            flag = obs.create_group("flag")
            flag.attrs["encoding-type"] = "nullable-boolean"
            flag["values"], flag["mask"] = np.array([1, 0, 1, 0, 1], bool), np.array([0, 0, 1, 0, 0], bool)
            var.attrs["_index"] = "gene"
            var["gene"] = ["g1", "g2", "g3"]
            for name, make in extra.items():
                make(file, name)
        return path

    return write


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_h5ad(h5ad, kind):
    dense = RNG.integers(0, 3, (5, 3)).astype(np.float32)
    X = dense if kind == "dense" else sparse.csr_array(dense).asformat(kind)
    found = read_table(h5ad(X), Choice(label="kind", dtype="float32"))
    assert ((found.X if kind == "dense" else found.X.toarray()) == dense).all() and found.X.dtype == np.float32
    assert found.features == ["g1", "g2", "g3"] and found.ids.tolist() == ["c0", "c1", "c2", "c3", "c4"]
    assert found.labels.tolist() == ["T", "B", None, "B", "T"]
    assert found.columns["n"].tolist() == [0, 1, 2, 3, 4]
    assert np.isnan(found.columns["flag"][2]) and found.columns["flag"][0] == 1
    with_n = read_table(h5ad(X), Choice(columns=("g2", "n"))).X
    assert ((with_n if kind == "dense" else with_n.toarray()) == np.column_stack([dense[:, 1], np.arange(5)])).all()


def test_h5ad_follows_nothing_out_of_the_file(h5ad, tmp_path):
    (tmp_path / "secret").write_bytes(b"12345678" * 20)
    dense = np.ones((5, 3))

    def link(file, name):
        del file["var"]
        file["var"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/")

    def external(file, name):
        del file["X"]
        file.create_dataset("X", (5, 3), "f8", external=[(str(tmp_path / "secret"), 0, 120)])

    with pytest.raises(TableError, match="link to somewhere else"):
        read_table(h5ad(dense, link=link))
    with pytest.raises(TableError, match="lie in another file"):
        read_table(h5ad(dense, external=external))


def test_h5ad_that_never_ends_or_breaks_the_library(h5ad, monkeypatch):
    from mercer.tables import h5ad_parts

    path = h5ad(np.ones((5, 3)))
    monkeypatch.setattr(h5ad_parts, "_SECONDS", 0.0)
    with pytest.raises(TableError, match="does not come to an end"):
        read_table(path)
    monkeypatch.setattr(h5ad_parts, "_SECONDS", 60.0)
    monkeypatch.setattr(h5ad_parts.sys, "executable", "/bin/false")
    with pytest.raises(TableError, match="breaks down"):
        read_table(path)


def test_a_folder_of_images(tmp_path):
    pixels = RNG.integers(0, 255, (3, 6, 5), np.uint8)
    for i, folder in enumerate(["cat", "cat", "dog"]):
        (tmp_path / folder).mkdir(exist_ok=True)
        Image.fromarray(pixels[i]).save(tmp_path / folder / f"{i}.png")
    (tmp_path / "readme.txt").write_text("no image")
    found = read_table(tmp_path)
    assert np.array_equal(found.X, pixels.reshape(3, -1) / np.float32(255))
    assert found.ids.tolist() == ["cat/0.png", "cat/1.png", "dog/2.png"]
    assert found.labels.tolist() == ["cat", "cat", "dog"]
    assert found.features[:2] == ["y0x0", "y0x1"] and len(found.images) == 3
    Image.fromarray(RNG.integers(0, 255, (12, 10, 3), np.uint8)).save(tmp_path / "dog" / "large.png")
    mixed = read_table(tmp_path)
    assert mixed.X.shape == (4, 6 * 5 * 3) and mixed.preparation.image == (5, 6, 3)
    assert "1 of 4 images were made 5 × 6 pixels" in mixed.notes[0]
    again = read_table(tmp_path, preparation=found.preparation)  # grey, for the fitted ones were
    assert again.X.shape == (4, 30) and (again.X[:2] == found.X[:2]).all()
    assert read_table(tmp_path).digest != found.digest


def test_images_of_other_modes(tmp_path):
    deep = np.array([[0, 65535], [32768, 257]], np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_allclose(read_table(tmp_path).X, [[0, 1, 128 / 255, 1 / 255]], atol=1 / 255)
    (tmp_path / "deep.png").unlink()
    clear = np.zeros((2, 2, 4), np.uint8)
    clear[0, 0] = 0, 0, 0, 255
    Image.fromarray(clear).save(tmp_path / "clear.png")
    assert read_table(tmp_path).X.tolist() == [[0, 0, 0] + [1] * 9]  # what is transparent is white


def test_images_that_cannot_be_read(tmp_path):
    with pytest.raises(TableError, match="folder without images"):
        read_table(tmp_path)
    (tmp_path / "a.png").write_bytes(b"no image")
    with pytest.raises(TableError, match=r"a\.png cannot be read as an image"):
        read_table(tmp_path)
    Image.new("1", (8000, 8000)).save(tmp_path / "a.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TableError, match="8000 × 8000 pixels"):
            read_table(tmp_path)


@pytest.mark.parametrize("name", ["t.xlsx", "t.json", "t.pickle", "t", "t.gz", "t.parquet.gz"])
def test_other_files_are_refused_with_the_known_ones(tmp_path, name):
    (tmp_path / name).write_bytes(b"a,b\n1,2\n")
    with pytest.raises(TableError, match=r"\.csv, \.tsv .*\.h5ad, a folder of images"):
        read_table(tmp_path / name)
    with pytest.raises(TableError, match="known are"):
        write_table(tmp_path / name, {"a": np.arange(2)})


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(TableError, match="no such file"):
        read_table(tmp_path / "none.csv")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "npy", "npz", "h5ad", "csv.gz"])
def test_files_of_another_format_or_cut(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    for content in (b"", b"hello world, this is no such file"):
        path.write_bytes(content)
        with pytest.raises(TableError, match=r"t\.") as caught:
            read_table(path)
        assert "\n" not in str(caught.value)


def test_an_archive_that_unpacks_to_more_than_there_is(tmp_path, monkeypatch):
    from mercer.tables import numpy_reader

    np.savez_compressed(tmp_path / "t.npz", X=np.zeros((1000, 100)))
    monkeypatch.setattr(numpy_reader, "available_bytes", lambda: 100_000)
    with pytest.raises(TableError, match=r"unpacks to 800 kB, and 100 kB are free"):
        read_table(tmp_path / "t.npz")


def test_hidden_images_are_left_out(tmp_path):
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "a.png")
    (tmp_path / "._a.png").write_bytes(b"what another system keeps beside it")
    assert read_table(tmp_path).X.shape == (1, 16)


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
    from mercer.tables import table_source

    path = tmp_path / "t.parquet"
    write_table(path, {"a": np.zeros(100_000, np.int64)})
    monkeypatch.setattr(table_source, "available_bytes", lambda: 10_000)
    with pytest.raises(TableError, match="800 kB, and 10 kB are free"):
        read_columns(path)


def test_nothing_of_the_folder_is_run_when_a_h5ad_is_tried(tmp_path, monkeypatch):
    from mercer.tables import h5ad_parts

    (tmp_path / "h5py.py").write_text("open('ran', 'w')")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TableError):
        h5ad_parts.try_elsewhere(Path("h5py.py"))
    assert not (tmp_path / "ran").exists()


def test_features_of_one_name_and_of_that_of_another_array(tmp_path):
    X = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "t.npz", X=X, y=np.array(["u", "v"]), features=np.array(["a", "a", "y"]))
    found = read_table(tmp_path / "t.npz")
    assert found.X.tolist() == X.tolist() and found.features == ["a", "a_2", "y"]
    assert found.labels.tolist() == ["u", "v"] and any("told apart" in note for note in found.notes)


@pytest.mark.parametrize("kind", ["arrow", "parquet"])
def test_a_dictionary_that_parts_share_is_counted_once(tmp_path, monkeypatch, kind):
    from mercer.tables import arrow_reader, table_source

    words = pa.array([f"{i:01000d}" for i in range(1000)])  # 1 MB
    table = pa.table({"t": pa.DictionaryArray.from_arrays(pa.array(np.arange(5000) % 1000, pa.int32()), words)})
    if kind == "arrow":
        with ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
            writer.write_table(table, 100)
    else:
        parquet.write_table(table, tmp_path / "t.parquet")
        monkeypatch.setattr(arrow_reader, "_ROWS", 100)
    monkeypatch.setattr(table_source, "available_bytes", lambda: 10**7)  # 50 parts of 1 MB would not fit
    assert read_columns(tmp_path / f"t.{kind}")["t"].tolist() == words.to_pylist() * 5
