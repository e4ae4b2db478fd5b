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


def test_rows_without_a_partner_are_counted(shell):
    columns = shell.columns("other.csv")
    for rows, told in ((89, "89 rows have the same id in both tables; one other is left out"),
                       (88, "88 rows have the same id in both tables; 2 others are left out")):  # fmt: skip
        write_table("less.csv", {name: values[:rows] for name, values in columns.items()})
        words = ["--second", "less.csv", "--id", "name", "--drop", "species", "-o", "c.csv"]
        assert told in shell("fit", "flowers.csv", *words).stderr


def test_running_numbers_of_two_tables_match_rows_only_under_one_name(shell):
    """One file counts from 0 and the other from 1: matched by number, every pair would be wrong."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 2))
    write_table("a.csv", {"row": np.arange(40), "p": X[:, 0], "q": X[:, 1]})
    write_table("b.csv", {"nr": np.arange(1, 41), "r": Y[:, 0], "s": Y[:, 1]})
    shell("fit", "a.csv", "--second", "b.csv", "-o", "c.csv", "-q")
    cca = mercer.KernelCCA(2, gamma="median", random_state=0).fit(X, Y)
    np.testing.assert_allclose(shell.coordinates("c.csv"), np.hstack([cca.x_scores_, cca.y_scores_]), atol=1e-9)
    shell("fit", "a.csv", "-m", "pca", "-o", "d.csv", "-q")
    write_table("e.csv", {"id": np.arange(1, 41), "x": X[:, 0], "y": X[:, 1]})
    said = shell("evaluate", "a.csv", "e.csv")
    assert "matched by their order" in said.stderr and "40 rows" in said.stdout


def test_two_tables_without_ids_need_as_many_rows(shell):
    write_table("short.csv", {"a": np.arange(5.0)})
    said = shell("fit", "flowers.csv", "--drop", "name,species", "--second", "short.csv", status=3).stderr
    assert "has 90 rows" in said and "has 5" in said and "--id" in said
