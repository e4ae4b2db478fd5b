"""Files that were written once, and must be read as long as their format is."""

import hashlib
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer

HERE = Path(__file__).parent / "golden"
sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import make_golden_models  # noqa: E402

NAMES = sorted(path.stem for path in HERE.glob("*.mercer"))

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_file_answers_as_it_did(name):
    model, kept = mercer.load(HERE / f"{name}.mercer"), dict(np.load(HERE / f"{name}.npz"))
    rows = make_golden_models.unflat(kept)
    methods = [key.removeprefix("answer_") for key in kept if key.startswith("answer_")]
    for method in methods:
        got, wanted = make_golden_models.ask(model, rows, method), kept[f"answer_{method}"]
        assert got.dtype == wanted.dtype
        if wanted.dtype.kind != "f":
            assert got.tolist() == wanted.tolist()
        else:  # BLAS differs between machines; a descent and a search amplify that
            loose = method == "optimize" or name in ("tsne", "tsne_csr", "sne", "kpca_fixed_point")
            exact = 1e-3 if loose else 1e-5 if wanted.dtype == np.float32 else 1e-10
            np.testing.assert_allclose(got, wanted, rtol=exact, atol=exact * max(1.0, float(np.abs(wanted).max())))


def test_every_case_has_a_file_and_every_file_a_case():
    assert set(NAMES) == set(make_golden_models.cases())


def test_golden_files_are_not_made_anew_in_silence():
    lines = dict(line.split("  ")[::-1] for line in (HERE / "SHA256SUMS").read_text().splitlines())
    files = {path.name: path for path in HERE.iterdir() if path.name != "SHA256SUMS"}
    assert set(lines) == set(files)
    for name, path in files.items():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == lines[name], name


def test_the_formats_of_golden_files_are_those_of_this_version():
    assert sum(path.stat().st_size for path in HERE.iterdir()) < 250_000
