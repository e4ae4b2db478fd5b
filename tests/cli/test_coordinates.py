"""Files of coordinates: which columns they have, in one part or in many."""

import numpy as np

from mercer.cli.coordinates import carried_columns, with_coordinates, write_coordinates
from mercer.tables.table import Choice, read_columns, read_table

VALUES = np.arange(14.0).reshape(7, 2) / 3


def two(count):
    assert count == 2
    return ["a1", "a2"]


def test_a_map_has_ids_labels_and_coordinates_in_this_order(shell):
    choice = {"label": "species", "id": "name"}
    table = read_table("flowers.csv", Choice(**choice))
    columns = with_coordinates(carried_columns(table, choice), ["pca1", "pca2"], table.X[:, :2])
    assert list(columns) == ["name", "species", "pca1", "pca2"]
    np.testing.assert_array_equal(columns["pca2"], table.X[:, 1])


def test_a_coordinate_does_not_replace_a_column_of_the_same_name(shell):
    table = read_table("flowers.csv", Choice(id="name", drop=("species",)))
    columns = with_coordinates(carried_columns(table, {"id": "name"}), ["name"], np.ones((90, 1)))
    assert list(columns) == ["name", "name_"]


def test_parts_write_the_same_bytes_as_the_whole(tmp_path):
    names = np.array(list("abcdefg"), object)
    parts = [({"id": names[i : i + 3]}, VALUES[i : i + 3]) for i in range(0, 7, 3)]
    assert write_coordinates(tmp_path / "parts.csv", parts, two) == ["a1", "a2"]
    write_coordinates(tmp_path / "whole.csv", [({"id": names}, VALUES)], two)
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    found = read_columns(tmp_path / "parts.csv")
    assert list(found) == ["id", "a1", "a2"]
    np.testing.assert_array_equal(found["a2"], VALUES[:, 1])


def test_text_is_harmless_in_a_file_and_as_it_is_on_stdout(tmp_path, capfd):
    part = {"id": np.array(["=1+1"], object)}
    write_coordinates(tmp_path / "c.csv", [(part, VALUES[:1])], two, inert=True)
    assert "'=1+1" in (tmp_path / "c.csv").read_text()
    write_coordinates("-", [(part, VALUES[:1])], two, inert=True)
    assert capfd.readouterr().out.splitlines()[1].startswith("=1+1,")
