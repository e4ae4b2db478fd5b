"""Tables as verbs read them: rows are matched by id, or by order."""

import numpy as np

import mercer
from mercer.tables.table import Choice, read_table, write_table


def test_two_tables_are_matched_by_id(shell):
    """other.csv has the rows backwards; the pairs must be those of the same plant."""
    shell("fit", "flowers.csv", "--second", "other.csv", "--id", "name", "--drop", "species", "-o", "c.csv")
    first = read_table("flowers.csv", Choice(id="name", drop=("species",)))
    second = read_table("other.csv", Choice(id="name"))
    cca = mercer.KernelCCA(2, gamma="median", random_state=0).fit(first.X, second.X[::-1])
    found = shell.columns("c.csv")
    assert list(found) == ["name", "kcca_x1", "kcca_x2", "kcca_y1", "kcca_y2"]
    np.testing.assert_allclose(shell.coordinates("c.csv"), np.hstack([cca.x_scores_, cca.y_scores_]), atol=1e-9)
    assert (
        shell.record("c.run.json")["method"] == "kcca" and shell.record("c.run.json")["second"]["path"] == "other.csv"
    )


def test_two_tables_without_ids_need_as_many_rows(shell):
    write_table("short.csv", {"a": np.arange(5.0)})
    said = shell("fit", "flowers.csv", "--drop", "name,species", "--second", "short.csv", status=3).stderr
    assert "has 90 rows" in said and "has 5" in said and "--id" in said
