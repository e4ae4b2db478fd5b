"""A fitted table: which columns its files have, and what the model file remembers."""

from mercer.cli.console import Console
from mercer.cli.fitted import fit_table, shown_parameters
from mercer.cli.methods import HIDDEN, METHODS
from mercer.cli.request import FitRequest
from mercer.tables.table import Choice, Preparation, read_table

CHOICE = {"label": "species", "id": "name"}


def fitted(name="pca"):
    table = read_table("flowers.csv", Choice(**CHOICE))
    request = FitRequest("flowers.csv", name, choice=CHOICE)
    return fit_table(request, METHODS[name], "as requested", table, None, Console(quiet=True))


def test_the_notes_of_a_model_restore_the_preparation(shell):
    fit = fitted()
    notes = fit.notes()
    assert Preparation.from_dict(notes["preparation"]) == fit.table.preparation
    assert notes["coordinates"] == ["pca1", "pca2"] and notes["method"] == "pca"


def test_shown_parameters_are_the_options(shell):
    assert not set(shown_parameters(fitted().estimator)) & HIDDEN
