"""Damaged tables: scripts/fuzz_tables.py on a few hundred of them, and on whole ones."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz_tables.py"


@pytest.fixture(scope="module")
def fuzz():
    import sys

    spec = importlib.util.spec_from_file_location("fuzz_tables", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["fuzz_tables"] = module  # the workers look it up by name
    sys.path.insert(0, str(SCRIPT.parent))
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(SCRIPT.parent))


def test_whole_tables_are_read(fuzz, tmp_path):
    """Otherwise the damaged ones prove nothing."""
    for kind, files in fuzz.seeds().items():
        for content in files:
            path = fuzz.Fuzz(tmp_path)._write(kind, content)
            ended = {fuzz.read(str(path), which) for which in (1, len(fuzz.choices()))}
            assert "read" in ended and ended <= {"read", "refused"}, (kind, ended)


def test_damaged_tables_are_refused_in_one_line(fuzz):
    kinds = ["csv", "csv.gz", "parquet", "arrow", "npy", "npz", "images"]
    found = fuzz.run(280, seed=3, only=kinds, say=lambda line: None)
    found_h5 = fuzz.run(16, seed=3, only=["h5ad"], say=lambda line: None)
    assert found.wrong == [] and found_h5.wrong == []
    ended = {how for _, how in found.counts}
    assert ended == {"read", "refused"}
