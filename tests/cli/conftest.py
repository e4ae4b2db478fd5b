"""Small tables and a way to run the command in a folder of its own."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_iris

from mercer.cli.main import main
from mercer.tables.table import read_columns, write_table


class Shell:
    """Runs `mercer` in a folder; the result has exit_code, stdout and stderr."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, status: int = 0, stdin: str | None = None):
        result = CliRunner().invoke(main, [str(word) for word in words], input=stdin)
        assert result.exit_code == status, f"{result.stderr}\n{result.exception!r}"
        if status not in (0, 130):
            assert result.stderr.splitlines()[-1].startswith("mercer: ") and "Traceback" not in result.stderr
        return result

    def columns(self, name: str):
        return read_columns(self.folder / name)

    def coordinates(self, name: str) -> np.ndarray:
        numbers = [column for column in self.columns(name).values() if column.dtype.kind == "f"]
        return np.column_stack(numbers)

    def record(self, name: str):
        return json.loads((self.folder / name).read_text())


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """An empty folder with flowers.csv: 90 rows, four measures, a name and a species; and other.csv, two measures."""
    monkeypatch.chdir(tmp_path)
    data = load_iris()
    rows = np.r_[0:30, 50:80, 100:130]
    names = np.array([f"plant{i}" for i in rows], dtype=object)
    measures = {f"m{i}": data.data[rows, i] for i in range(4)}
    kinds = data.target_names[data.target[rows]].astype(object)
    write_table("flowers.csv", {"name": names, "species": kinds, **measures})
    back = rows.argsort()[::-1]
    write_table("other.csv", {"name": names[back], "wide": measures["m2"][back] ** 2, "high": measures["m1"][back]})
    return Shell(tmp_path)
