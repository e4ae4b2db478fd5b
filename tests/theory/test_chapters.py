"""The chapters of docs/learn: every cell runs, in order, and the assertions in it hold."""

import re
from pathlib import Path

import matplotlib
import pytest

LEARN = Path(__file__).parents[2] / "docs" / "learn"
CHAPTERS = sorted(path.name for path in LEARN.glob("*.md") if "file_format: mystnb" in path.read_text(encoding="utf-8"))


def cells(text):
    return re.findall(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapter(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    code = cells((LEARN / name).read_text(encoding="utf-8"))
    assert sum(cell.count("assert ") for cell in code) >= 5, "a chapter proves what it states on numbers"
    names = {"__name__": "chapter"}
    for i, cell in enumerate(code, start=1):
        exec(compile(cell, f"{name}, cell {i}", "exec"), names)
    plt.close("all")


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_states_proves_runs_draws_and_asks(name):
    text = (LEARN / name).read_text(encoding="utf-8")
    statements, proofs = text.count("**Theorem"), text.count("*Proof.*")
    assert statements >= 1
    assert proofs == statements
    assert "plt.show()" in text
    exercises = re.findall(r"^\*\*(\d+)\.\*\*", text, re.MULTILINE)
    solutions = re.findall(r"^### Solution (\d+)$", text, re.MULTILINE)
    assert exercises == solutions != []


def test_every_named_equation_is_on_the_list():
    """docs/learn/equations.md links to each labelled equation of the chapters, and each label is used once."""
    labels = [
        label
        for name in CHAPTERS
        for label in re.findall(r"^\$\$ \(([\w-]+)\)$", (LEARN / name).read_text(encoding="utf-8"), re.MULTILINE)
    ]
    listed = re.findall(r"\{eq\}`([\w-]+)`", (LEARN / "equations.md").read_text(encoding="utf-8"))
    assert sorted(labels) == sorted(listed)
    assert len(labels) >= 20
