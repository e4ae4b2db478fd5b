"""The benchmark of a large csv judges what it should: numbers that differ, and memory."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import tables, targets
from benchmarks.cases import MERCER

from mercer.tables.table import read_table


def test_the_judge_sees_a_number_that_differs(tmp_path):
    path = tables.write(tmp_path / "t.csv", 300, 4)
    X = np.array(read_table(path).X)
    np.save(tmp_path / "first.npy", X)
    np.save(tmp_path / "last.npy", X[-1:])
    assert tables.verdict(tmp_path, 300, 4) == {"residual": 0.0}
    X[7, 2] = np.nextafter(X[7, 2], 9)
    np.save(tmp_path / "first.npy", X)
    assert tables.verdict(tmp_path, 300, 4)["residual"] > 0


def test_every_reader_gives_the_same_array(tmp_path):
    path = str(tables.write(tmp_path / "t.csv", 50, 3))
    expected = read_table(path).X
    for name, start in tables.READERS.items():
        # Not every reader rounds to the nearest double: some ignore digits after the seventeenth place.
        np.testing.assert_allclose(start()(path), expected, rtol=1e-13, atol=1e-16, err_msg=name)


@pytest.mark.parametrize(("multiple", "residual", "good"), [(1.9, 0.0, True), (2.6, 0.0, False), (1.9, 1e-16, False)])
def test_the_target(multiple, residual, good):
    row = {"library": MERCER, "multiple": multiple, "residual": residual, "peak_bytes": 8e8, "seconds": 9.0}
    case = {"group": "tables", "rows": [row]}
    lines = [line for line in targets.scoreboard({"csv-1gb": case}) if line[0] == "tables"]
    assert lines == [("tables", lines[0][1], f"{multiple:.2f}×, 0.80 GB, 9 s", "yes" if good else "no")]
