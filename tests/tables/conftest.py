"""Tables that several tests read, and a watch over the files that readers open."""

import builtins
import gzip
import zipfile
from contextlib import suppress

import h5py
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from mercer.tables.table import Choice, read_table, write_table


@pytest.fixture
def table(tmp_path):
    def write(text, name="t.csv"):
        path = tmp_path / name
        content = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.fixture
def path(tmp_path):
    """A table with numbers, text, missing values of both, a constant and a label."""
    rng, n = np.random.default_rng(0), 40
    number = rng.standard_normal(n) * 5 + 100
    number[[3, 17]] = np.nan
    colour = np.array(["red", "green", "blue", "green"] * (n // 4), object)
    colour[5] = None
    columns = {
        "number": number,
        "colour": colour,
        "constant": np.full(n, 7.0),
        "big": rng.standard_normal(n) * 1e6,
        "label": np.array(["a", "b"] * (n // 2), object),
    }
    write_table(tmp_path / "t.csv", columns)
    return tmp_path / "t.csv"


@pytest.fixture
def fitted(path):
    choice = Choice(label="label", impute="mean", encode="onehot", scale="standard", drop=("big",))
    return read_table(path, choice)


class Handles:
    """The files, archives and readers that were opened. References keep them alive, so none closes by itself."""

    def __init__(self):
        self.opened = []

    def watch(self, patch, owner, name, is_open=lambda each: not each.closed):
        """Record what a function returns from now on."""
        real = getattr(owner, name)

        def opening(*args, **options):
            found = real(*args, **options)
            self.opened.append((name, found, is_open))
            return found

        patch.setattr(owner, name, opening)

    def watch_class(self, patch, owner, name, is_open=lambda each: not each.closed):
        """Record the objects of a class. It stays a class, since others subclass it or ask for it."""
        handles, real = self, getattr(owner, name)

        class Watched(real):
            def __init__(self, *args, **options):
                super().__init__(*args, **options)
                handles.opened.append((name, self, is_open))

        patch.setattr(owner, name, Watched)

    def still_open(self):
        found = [name for name, each, is_open in self.opened if is_open(each)]
        self.opened.clear()
        return found


class WatchedReader:
    """Arrow's reader of csv, which does not tell whether it is closed."""

    def __init__(self, *arguments):
        self.reader, self.closed = _open_csv(*arguments), False

    def __iter__(self):
        return iter(self.reader)

    def __enter__(self):
        return self.reader.__enter__()

    def __exit__(self, *error):
        self.closed = True
        return self.reader.__exit__(*error)


_open_csv = csv.open_csv


@pytest.fixture
def handles(monkeypatch):
    """Whatever a reader of tables opens, whichever library it asks."""
    found = Handles()
    found.watch(monkeypatch, builtins, "open")
    found.watch(monkeypatch, h5py, "File", bool)
    found.watch_class(monkeypatch, gzip, "GzipFile")
    found.watch_class(monkeypatch, zipfile, "ZipFile", lambda each: each.fp is not None and not each.fp.closed)
    found.watch_class(monkeypatch, parquet, "ParquetFile")
    for name in ("OSFile", "CompressedInputStream"):
        found.watch(monkeypatch, pa, name)
    monkeypatch.setattr(csv, "open_csv", WatchedReader)
    found.watch(monkeypatch, csv, "open_csv")
    with suppress(ImportError):
        from openpyxl.reader import excel

        monkeypatch.setattr(excel, "ZipFile", zipfile.ZipFile)
    return found
