"""Examples and the code in the documents run as they are printed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMALL = {
    "circles.py": ["--output", "out"],
    "digits.py": ["--rows", "300", "--output", "out"],
    "discriminants.py": ["--rows", "300", "--output", "out"],
    "million_rows.py": ["--rows", "3000", "--rank", "60"],
    "custom_kernel.py": [],
    "two_views.py": ["--rows", "300", "--output", "out"],
    "choose_kernel.py": ["--rows", "90", "--output", "out"],
    "kernelize.py": ["--output", "out"],
    "novelty.py": ["--output", "out"],
    "eigenfaces.py": ["--quick", "--output", "out"],
    "denoise_digits.py": ["--rows", "400", "--quick", "--output", "out"],
    "crowding.py": ["--rows", "400", "--steps", "400", "--output", "out"],
    "swiss_roll.py": ["--rows", "800", "--output", "out"],
    "isomap_pitfalls.py": ["--output", "out"],
    "page.py": ["--rows", "400", "--output", "out"],
    "quality.py": ["--rows", "400", "--quick", "--output", "out"],
    "which_width.py": [],
    "how_many_components.py": [],
    "what_a_direction_means.py": [],
    "single_cells.py": [],
    "strings.py": [],
    "perplexity.py": [],
    "new_rows.py": [],
    "disconnected.py": [],
    "own_distance.py": [],
    "memory.py": [],
    "sparse_rows.py": [],
    "dask_rows.py": [],
    "gpu.py": [],
}
NEEDS = {"gpu.py": "torch"}
PICTURES = dict.fromkeys(  # where it is not two
    ["kernelize.py", "novelty.py", "eigenfaces.py", "swiss_roll.py", "isomap_pitfalls.py", "crowding.py"], 1
) | {"page.py": 0, "quality.py": 3}
FACES = [ROOT / "data" / "lfw_subset.npy", ROOT / "data" / "orl_faces.npy"]
SAYS = {
    "circles.py": ["PCA: the rings overlap", "kernel PCA: the rings stand apart"],
    "discriminants.py": ["kernel discriminants:", "leaving one out had promised"],
    "digits.py": ["right from 10 components", "converged"],
    "million_rows.py": ["wrong by at most", "scores (3000, 6)"],
    "denoise_digits.py": ["Gaussian noise", "speckle", "at its best: ridge, fixed point, local MDS"],
    "custom_kernel.py": ["lifted points: True", "rings apart: True"],
    "two_views.py": ["correlation", "with the kernel", "of new digits"],
    "choose_kernel.py": [
        "reconstruction: share of new rows",
        "chemistry and cultivar depend",
        "what moves component 1 most",
    ],
    "kernelize.py": ["1.00 with a kernel", "0.99 with a kernel"],
    "novelty.py": ["false alarms on new rows", "kernel PCA, 30 components: area under the curve 1.000"],
    "crowding.py": ["SNE: KL", "t-SNE: KL", "neighbours' distances apart"],
    "swiss_roll.py": ["Isomap, 10 neighbours  r = 1.000", "two coordinates leave 0."],
    "isomap_pitfalls.py": [
        "1 edge looks like a shortcut",
        "of all distance runs over this edge",
        "6 neighbours: residual variance 0.00",
    ],
    "quality.py": ["PCA", "trustworthiness", "class purity of data", "KL divergence"],
    "page.py": ["400 points, 2 maps"],
    "which_width.py": ["64 × median: the tenth eigenvalue is  9", "best of these: "],
    "how_many_components.py": ["90 % of the variance: 8 components", "above those of shuffled columns: 3 components"],
    "what_a_direction_means.py": ["component 3: the pixel in row"],
    "single_cells.py": ["600 cells, 400 genes, sparse: True", "neighbours of the same type: "],
    "strings.py": ["100% of the sequences are nearest"],
    "perplexity.py": ["perplexity   3", "perplexity  30", "perplexity 250"],
    "new_rows.py": ["the same place alone or together: True", "of the new digits lie next to the same digit"],
    "disconnected.py": ["join: 2 parts", "largest: 2 parts", "told by 1 warning"],
    "own_distance.py": ["MDS: distances are off by", "how far the shapes differ: Procrustes disparity 0.000"],
    "memory.py": ["Nothing was allocated", "100,000 rows: the matrix alone   80.00 GB"],
    "sparse_rows.py": ["0.7% of the entries stored", "PCA: 100% of the documents"],
    "dask_rows.py": ["dask (40000, 3)", "the same variances: True"],
    "gpu.py": ["on the device of the rows: True", "within the bounds: True"],
    "eigenfaces.py": ["in even light, kernel PCA: area", "kernel PCA: 9"],
}
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (ROOT / "docs").rglob("*.md")
    if not path.is_relative_to(ROOT / "docs" / "gallery")  # made from the examples
)
# Every page with Python in it, and the README and CONTRIBUTING.
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *(name for name in PAGES if "```python" in (ROOT / name).read_text())]


def test_every_example_is_run_here():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == set(SMALL)


def output_of(script, arguments, folder):
    command = [sys.executable, str(script), *arguments]
    # The tests already use every core, and BLAS threads that wait for a busy core can take a hundred times as long.
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.torch) if NEEDS.get(name) == "torch" else name for name in SMALL]
)
def test_example(name, tmp_path):
    if name == "eigenfaces.py" and not all(path.exists() for path in FACES):
        pytest.skip("the faces are not in data/: python scripts/fetch_data.py faces")
    if name in NEEDS and not _installed(NEEDS[name]):
        pytest.skip(f"{NEEDS[name]} is not installed")
    said = output_of(ROOT / "examples" / name, SMALL[name], tmp_path)
    for words in SAYS[name]:
        assert words in said
    if "out" in SMALL[name]:
        assert len(list((tmp_path / "out").glob("*.png"))) == PICTURES.get(name, 2)


def test_the_faces_are_asked_for_where_they_are_not(tmp_path):
    (tmp_path / "examples").mkdir()
    script = Path(shutil.copy(ROOT / "examples" / "eigenfaces.py", tmp_path / "examples"))
    assert "python scripts/fetch_data.py faces" in output_of(script, [], tmp_path)
    assert not list(tmp_path.glob("*.png"))


def python_blocks(text):
    """The Python blocks of a document that are to be run; `<!-- not run -->` or `<!-- needs torch -->` may precede.

    What is needed is a module, or "faces": the files that scripts/fetch_data.py fetches.
    """
    return re.findall(r"(?:<!-- (not run|needs \w+) -->\n+)?```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_code_in_documents_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if (ROOT / "data").exists():
        (tmp_path / "data").symlink_to(ROOT / "data")
    blocks = python_blocks((ROOT / name).read_text())
    assert blocks
    names = {"__name__": "document"}
    for mark, code in blocks:
        if mark == "not run" or (mark.startswith("needs") and not _installed(mark.split()[1])):
            continue
        exec(compile(code, name, "exec"), names)


def _installed(module):
    from importlib.util import find_spec

    return all(path.exists() for path in FACES) if module == "faces" else find_spec(module) is not None
