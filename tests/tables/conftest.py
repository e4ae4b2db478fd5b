"""Tables that several tests read."""

import gzip

import numpy as np
import pytest

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
