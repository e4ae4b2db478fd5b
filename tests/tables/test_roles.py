"""Which column is used for what: by options, and for new rows by name or place."""

import numpy as np
import pytest

from mercer.tables.table import Choice, TableError, read_columns, read_table, write_table

RNG = np.random.default_rng(0)


def test_columns_are_taken_in_the_order_that_is_asked_for(table):
    found = read_table(table("a,b,c\n1,2,3\n4,5,6\n"), Choice(columns=("c", "a")))
    assert found.features == ["c", "a"] and found.X.tolist() == [[3, 1], [6, 4]]
    assert found.columns["b"].tolist() == [2, 5]
    with pytest.raises(TableError, match="named in both columns and drop"):
        read_table(table("a,b\n1,2\n"), Choice(columns=("a",), drop=("a",)))
    with pytest.raises(TableError, match="no column is left"):
        read_table(table("a,b\n1,2\n"), Choice(drop=("a", "b")))


def test_new_rows_that_lack_columns(fitted, tmp_path):
    write_table(tmp_path / "new.csv", {"colour": np.array(["red"], object), "width": np.ones(1)})
    with pytest.raises(
        TableError, match=r"lacks 2 of the 3 columns.*'number', 'constant'. Its columns are 'colour', 'width'"
    ):
        read_table(tmp_path / "new.csv", preparation=fitted.preparation)


def test_new_rows_in_another_order_with_more_columns_and_without_labels(fitted, tmp_path, path):

    given_columns = read_columns(path)
    few = {name: given_columns[name][:8] for name in ("constant", "colour", "number")} | {"more": np.arange(8)}
    write_table(tmp_path / "new.parquet", few)
    found = read_table(tmp_path / "new.parquet", preparation=fitted.preparation)
    assert found.X.tobytes() == fitted.X[:8].tobytes()
    assert found.labels is None and found.columns["more"].tolist() == list(range(8))


def test_tables_without_names_match_by_place(tmp_path):
    X = RNG.standard_normal((10, 3))
    np.save(tmp_path / "t.npy", X)
    fitted = read_table(tmp_path / "t.npy", Choice(scale="standard"))
    write_table(tmp_path / "named.csv", {"p": X[:, 0], "q": X[:, 1], "r": X[:, 2]})
    (tmp_path / "bare.csv").write_text("\n".join(",".join(map(repr, row)) for row in X.tolist()))
    for name in ("named.csv", "bare.csv"):
        assert read_table(tmp_path / name, preparation=fitted.preparation).X.tobytes() == fitted.X.tobytes()
    np.save(tmp_path / "wide.npy", np.ones((2, 4)))
    with pytest.raises(TableError, match="has 4 columns, but the model was fitted to 3"):
        read_table(tmp_path / "wide.npy", preparation=fitted.preparation)


def test_labels_of_bare_tables_stand_where_they_stood(tmp_path):
    (tmp_path / "t.csv").write_text("1,5,2\n3,6,4\n")
    fitted = read_table(tmp_path / "t.csv", Choice(label="x2"))
    assert read_table(tmp_path / "t.csv", preparation=fitted.preparation).X.tolist() == [[1, 2], [3, 4]]
    (tmp_path / "new.csv").write_text("1,2\n3,4\n")
    assert read_table(tmp_path / "new.csv", preparation=fitted.preparation).X.tolist() == [[1, 2], [3, 4]]


def test_a_kept_column_is_carried_and_not_fitted(table):
    path = table("a,b,c\n1,2.5,3.5\n4,5.5,6.5\n")
    kept = read_table(path, Choice(keep=("c",)))
    assert kept.features == ["a", "b"] and kept.columns["c"].tolist() == [3.5, 6.5]
    both = read_table(path, Choice(keep=("c",), columns=("a", "c")))
    assert both.features == ["a", "c"]
    shown = read_table(path, Choice(keep=(), show=("c",)))
    assert shown.features == ["a", "b", "c"]
    with pytest.raises(TableError, match="no column is left"):
        read_table(path, Choice(keep=("a", "b", "c")))
