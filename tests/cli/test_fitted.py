"""A fitted table: which columns its files have, and what the model file remembers."""

import numpy as np

from mercer.cli.console import Console
from mercer.cli.fitted import fit_table, map_columns, shown_parameters
from mercer.cli.methods import HIDDEN, METHODS
from mercer.cli.request import FitRequest
from mercer.tables.table import Choice, Preparation, read_table

CHOICE = {"label": "species", "id": "name"}


def fitted(name="pca"):
    table = read_table("flowers.csv", Choice(**CHOICE))
    return fit_table(METHODS[name], "as requested", table, None, {}, Console(quiet=True))


def test_a_map_has_ids_labels_and_coordinates_in_this_order(shell):
    fit = fitted()
    columns = map_columns(fit.table, fit.names, fit.coordinates, CHOICE)
    assert list(columns) == ["name", "species", "pca1", "pca2"]
    np.testing.assert_array_equal(columns["pca2"], fit.coordinates[:, 1])


def test_a_coordinate_does_not_replace_a_column_of_the_same_name(shell):
    table = read_table("flowers.csv", Choice(id="name", drop=("species",)))
    columns = map_columns(table, ["name"], np.ones((90, 1)), {"id": "name"})
    assert list(columns) == ["name", "name_"]


def test_the_notes_of_a_model_restore_the_preparation(shell):
    fit = fitted()
    notes = fit.notes(FitRequest("flowers.csv", "pca", choice=CHOICE))
    assert Preparation.from_dict(notes["preparation"]) == fit.table.preparation
    assert notes["coordinates"] == ["pca1", "pca2"] and notes["method"] == "pca"


def test_shown_parameters_are_the_options(shell):
    assert not set(shown_parameters(fitted().estimator)) & HIDDEN
