"""The record of a preparation: JSON to the last bit, and refused if it is damaged."""

import json

import pytest

from mercer.tables.preparation import Choice, Preparation, Rule
from mercer.tables.source import TableError
from mercer.tables.table import read_table


@pytest.mark.parametrize(
    "change",
    [
        {"rules": []},
        {"rules": [{"name": 3, "categories": None, "fill": None}]},
        {"rules": 5},
        {"centre": [0.0]},
        {"spread": [0.0, 1.0]},
        {"spread": [float("nan"), 1.0]},
        {"scale": "huge"},
        {"dtype": "int8"},
        {"image": [1, 2]},
        {"image": [2, 2, 2]},
        {"image": [2.5, 2, 1]},
        {"image": [2, 2, 1.0]},
        {"image": ["2", "2", "1"]},
        {"impute": "mean"},
        {
            "rules": [
                {"name": "a", "categories": None, "fill": float("inf")},
                {"name": "b", "categories": None, "fill": 0},
            ]
        },
        {"label": 5},
        {"centre": [10**400, 0.0]},
        {"vectors": "ab"},
    ],
)
def test_a_damaged_preparation_is_refused(tmp_path, change):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    good = read_table(tmp_path / "t.csv", Choice(scale="standard")).preparation.to_dict()
    with pytest.raises(TableError, match="not the preparation of a table"):
        Preparation.from_dict({**good, **change})
    with pytest.raises(TableError, match="not the preparation of a table"):
        Preparation.from_dict({})


@pytest.mark.parametrize("given_choice", [{"impute": "guess"}, {"encode": "magic"}, {"scale": "log"}, {"dtype": "int"}])
def test_unknown_words_of_a_choice(given_choice):
    with pytest.raises(TableError, match=r"Unknown .* Choose one of"):
        Choice(**given_choice)


def test_one_name_is_a_name_and_not_letters():
    assert Choice(drop="abc").drop == ("abc",)


def test_a_record_comes_back_from_json_to_the_last_bit():
    given = Preparation(
        (Rule("a", None, 0.1 + 0.2), Rule("b", ("x", "y"), "x")),
        layout=("a", "b", "c"),
        label="c",
        drop=("d",),
        impute="mean",
        encode="onehot",
        scale="standard",
        centre=(1 / 3, 5e-324, -0.0),
        spread=(1e308, 2 / 3, 1.0),
        image=(4, 5, 3),
    )
    found = Preparation.from_dict(json.loads(json.dumps(given.to_dict(), allow_nan=False)))
    assert found == given and found.features == ["a", "b=x", "b=y"] and found.columns == ["a", "b"]


@pytest.mark.parametrize("categories", [[], ["x", "x"], [1]])
def test_categories_are_different_texts(categories):
    good = Preparation((Rule("a", ("x",)),), encode="onehot").to_dict()
    with pytest.raises(TableError, match="categories"):
        Preparation.from_dict({**good, "rules": [{"name": "a", "categories": categories, "fill": None}]})
