"""The tables of names in docs/coming_from. Each file of this folder tests the rows of one of them on both libraries."""

from pathlib import Path

PAGES = Path(__file__).parents[2] / "docs" / "coming_from"


def first_cells(page):
    """The first cell of each row of the table in which the other library has the first column."""
    lines = (PAGES / page).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|") and not set(line) <= set("|-: ")]
    return [row.strip().strip("|").split("|")[0].strip() for row in rows[1:]]


def takes(function, *names):
    """Whether a function, or a class when it is built, has parameters of these names."""
    import inspect

    return set(names) <= set(inspect.signature(function).parameters)
