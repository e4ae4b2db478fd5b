"""Ids are told from measures: by what their values are, and by their names."""

import numpy as np
import pytest

from mercer.tables.row_names import names_rows
from mercer.tables.table import Choice, TableError, read_columns, read_table

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("name", "values", "is_id"),
    [
        ("row", np.arange(40), True),
        ("anything", RNG.permutation(40) + 1000.0, True),
        ("customer_id", np.array([5, 900, 17]), True),
        ("PassengerId", np.array([5, 900, 17]), True),
        ("x1", np.arange(5.0), True),
        ("humid", np.array([5, 900, 17]), False),
        ("x1", np.array([0.0, 1, 3]), False),
        ("year", np.arange(5.0), False),
        ("people", RNG.choice(10**6, 200, replace=False), False),
        ("id", np.array([1, 2, 2]), False),
        ("id", np.array([0.5, 1, 2]), False),
        ("id", np.array([np.nan, 1, 2]), False),
        ("code", np.array(["007", "008"], object), True),
        ("code", np.array(["007", None], object), False),
        ("word", np.array(["a", "b"], object), False),
    ],
)
def test_what_names_rows(name, values, is_id):
    assert names_rows(name, values) is is_id


def written(path, ids, header="nr"):
    size = RNG.standard_normal(len(ids))
    path.write_text(f"{header},size,wide\n" + "".join(f"{i},{x},{x * x}\n" for i, x in zip(ids, size, strict=True)))
    return path


@pytest.mark.parametrize("header", ["nr", "", "anything"])
def test_running_numbers_are_ids_and_not_fitted(tmp_path, header):
    found = read_table(written(tmp_path / "t.csv", range(30), header))
    assert found.features == ["size", "wide"] and found.ids.tolist() == list(range(30))
    assert any("Left out as ids" in note for note in found.notes)
    again = read_table(tmp_path / "t.csv", preparation=found.preparation)
    assert again.X.tobytes() == found.X.tobytes() and again.ids.tolist() == found.ids.tolist()


def test_an_id_is_fitted_if_it_is_asked_for(tmp_path):
    path = written(tmp_path / "t.csv", range(30))
    assert read_table(path, Choice(columns=("nr", "size"))).features == ["nr", "size"]


def test_a_column_alone_is_fitted(tmp_path):
    (tmp_path / "t.csv").write_text("nr\n" + "\n".join(map(str, range(30))))
    assert read_table(tmp_path / "t.csv").features == ["nr"]


def test_different_whole_numbers_under_another_name_are_pointed_out(tmp_path):
    path = written(tmp_path / "t.csv", RNG.choice(10**6, 30, replace=False), "people")
    found = read_table(path)
    assert found.features[0] == "people" and found.ids is None
    assert any("All values of 'people' are different whole numbers" in note for note in found.notes)


def test_zero_padded_numbers_are_text_for_every_reader(tmp_path):
    path = written(tmp_path / "t.csv", [f"{i:04d}" for i in range(30)])
    assert read_columns(path)["nr"][7] == "0007"
    found = read_table(path)
    assert found.features == ["size", "wide"] and found.ids[7] == "0007"
    path = written(tmp_path / "zip.csv", [f"{i % 5:04d}" for i in range(30)])
    with pytest.raises(TableError, match=r"1 of 3 columns holds text.*'0000'"):
        read_table(path)


@pytest.mark.parametrize(("dtype", "first", "step"), [("float32", 10**8 + 11, 10), ("float64", 10**18 + 7, 100_003)])
def test_ids_that_no_one_asked_for_are_exact(tmp_path, dtype, first, step):
    ids = [first + step * i for i in range(30)]
    lines = "\n".join(f"{number},{i % 7 + 0.5},{i % 5 + 0.25}" for i, number in enumerate(ids))
    (tmp_path / "t.csv").write_text(f"tweet_id,a,b\n{lines}\n")
    table = read_table(str(tmp_path / "t.csv"), Choice(dtype=dtype))
    assert [int(name) for name in table.ids] == ids
    assert list(table.features) == ["a", "b"]


def test_of_two_ids_the_one_with_a_name_of_its_own_is_taken(tmp_path):
    """pandas writes its index into a column without a name, before the customers' numbers."""
    size = RNG.standard_normal(30)
    lines = [f"{i},{900 - 7 * i},{x}" for i, x in enumerate(size)]
    (tmp_path / "t.csv").write_text("\n".join([",customer_id,size", *lines]))
    found = read_table(tmp_path / "t.csv")
    assert found.features == ["size"] and found.preparation.id == "customer_id" and found.ids[1] == 893
    assert "1 column has no name and is called x1." in found.notes


def test_an_id_that_rows_share_is_pointed_out(table):
    path = table("who,city,x\n" + "".join(f"w{i},c{i % 3},{i}.5\n" for i in range(9)))
    (note,) = read_table(path, Choice(id="city", drop=("who",))).notes
    assert "cannot be matched by the id 'city'" in note
    assert read_table(path, Choice(id="who", drop=("city",))).notes == []
