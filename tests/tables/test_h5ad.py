"""Annotated matrices: dense and sparse, nothing outside of the file, and damage that HDF5 itself would not survive."""

import h5py
import numpy as np
import pytest
from scipy import sparse

from mercer.tables import source
from mercer.tables.table import Choice, TableError, read_table

RNG = np.random.default_rng(0)


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

    with pytest.raises(TableError, match="link to another place"):
        read_table(h5ad(dense, link=link))
    with pytest.raises(TableError, match="are in another file"):
        read_table(h5ad(dense, external=external))


def injured(path, start, change):
    """Change bytes of a file, counted from the start of its first heap of text."""
    content = bytearray(path.read_bytes())
    place = content.index(b"GCOL\x01") + start
    content[place : place + len(change)] = change
    path.write_bytes(bytes(content))
    return path


@pytest.mark.parametrize(
    ("start", "change"),
    [
        (16, bytes(16)),  # an empty entry of free space: HDF5 reads it again and again
        (24, (2**64 - 1).to_bytes(8, "little")),  # an entry whose end wraps around
        (24, (10**6).to_bytes(8, "little")),  # an entry that ends outside of the heap
        (8, (2**40).to_bytes(8, "little")),  # a heap that ends outside of the file
    ],
)
def test_heaps_that_would_hang_the_library_are_refused(h5ad, start, change):
    assert read_table(h5ad(np.ones((5, 3)))).ids[0] == "c0"
    with pytest.raises(TableError, match="damaged"):
        read_table(injured(h5ad(np.ones((5, 3))), start, change))


def test_a_signature_across_two_pieces_is_seen(h5ad, monkeypatch):
    path = injured(h5ad(np.ones((5, 3))), 16, bytes(16))
    place = path.read_bytes().index(b"GCOL\x01")
    for step in range(1, 5):
        monkeypatch.setattr(source, "CHUNK", place + step)
        with pytest.raises(TableError, match="damaged"):
            read_table(path)


def test_attributes_of_other_types_are_refused(h5ad):
    def sequence(file, name):
        del file["var"].attrs["_index"]
        values = np.empty(1, object)
        values[0] = np.array([1, 2], np.int8)
        file["var"].attrs.create("_index", values, (1,), h5py.vlen_dtype(np.int8))

    with pytest.raises(TableError, match="attribute _index holds neither numbers nor text"):
        read_table(h5ad(np.ones((5, 3)), sequence=sequence))


def test_values_of_other_types_are_left_out_or_refused(h5ad):
    def pairs(file, name):
        obs = file["obs"]
        obs.attrs["column-order"] = ["kind", "n", "pair"]
        obs["pair"] = np.zeros(5, [("a", "i4"), ("b", "f8")])

    found = read_table(h5ad(np.ones((5, 3)), pairs=pairs))
    assert "pair" not in found.columns and any("left out: 'pair'" in note for note in found.notes)

    def complex_values(file, name):
        del file["X"]
        file["X"] = np.zeros((5, 3), complex)

    with pytest.raises(TableError, match="should be a matrix of numbers"):
        read_table(h5ad(np.ones((5, 3)), complex_values=complex_values))
