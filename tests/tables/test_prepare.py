"""X is made of the columns by rules, and new rows by the same rules: to the same bits, after a trip through JSON."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

from mercer.tables import prepare
from mercer.tables.preparation import Rule
from mercer.tables.source import Raw
from mercer.tables.table import Choice, Preparation, TableError, read_table, write_table

RNG = np.random.default_rng(0)


def through_json(preparation):
    return Preparation.from_dict(json.loads(json.dumps(preparation.to_dict(), allow_nan=False)))


@pytest.mark.parametrize("impute", ["mean", "median", "zero", "drop"])
@pytest.mark.parametrize("encode", ["onehot", "ordinal", "drop"])
@pytest.mark.parametrize("scale", [None, "standard", "robust", "minmax"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_same_rows_are_made_the_same_again(path, impute, encode, scale, dtype):
    found = read_table(path, Choice(label="label", impute=impute, encode=encode, scale=scale, dtype=dtype))
    kept = through_json(found.preparation)
    assert kept == found.preparation
    again = read_table(path, preparation=kept)
    assert again.X.dtype == np.dtype(dtype) and again.X.tobytes() == found.X.tobytes()
    assert again.features == found.features and again.labels.tolist() == found.labels.tolist()
    assert np.isfinite(again.X).all() and again.X.shape[1] == len(again.features)
    dropped = {"drop": 2 if encode == "drop" else 3}.get(impute, 0)
    assert len(found.X) == 40 - dropped == len(found.labels) == len(found.columns["colour"])


@pytest.mark.parametrize(
    ("scale", "peer"), [("standard", StandardScaler()), ("robust", RobustScaler()), ("minmax", MinMaxScaler())]
)
def test_scales_are_those_of_scikit_learn(tmp_path, scale, peer):
    X = RNG.standard_normal((50, 4)) * [1, 100, 1e-6, 1] + [0, 1e5, 1, 0]
    X[:, 3] = 2.5
    np.save(tmp_path / "t.npy", X)
    found = read_table(tmp_path / "t.npy", Choice(scale=scale))
    np.testing.assert_allclose(found.X, peer.fit_transform(X), rtol=1e-9, atol=1e-9)
    assert (found.X[:, 3] == 0).all() and found.preparation.spread[3] == 1


@given(
    hnp.arrays(np.float64, (7, 2), elements=st.floats(-1e308, 1e308)), st.sampled_from(["standard", "minmax", "robust"])
)
def test_no_scale_makes_numbers_that_are_none(X, scale):
    found = prepare.fit_scale(X, Preparation((Rule("a"), Rule("b")), scale=scale), [])
    centre, spread = np.array(found.centre), np.array(found.spread)
    assert np.isfinite(centre).all() and np.isfinite(spread).all() and (spread > 0).all()


def test_imputed_values_are_what_they_say(path):
    given_numbers = columns_of(path)
    for impute, value in (("mean", np.nanmean(given_numbers)), ("median", np.nanmedian(given_numbers)), ("zero", 0)):
        found = read_table(path, Choice(label="label", impute=impute, encode="onehot"))
        np.testing.assert_allclose(found.X[[3, 17], 0], value)
        assert found.X[5, found.features.index("colour=green")] == 1  # the most frequent text


def columns_of(path):
    from mercer.tables.table import read_columns

    return read_columns(path)["number"]


def test_a_long_name_is_told_once(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("weeks since the last visit,b\n'1',2\n'3',4\n")
    with pytest.raises(TableError, match="an `id`, or `drop` them") as refused:
        read_table(path)
    assert str(refused.value).count("weeks since") == 1


def test_text_and_missing_values_that_nothing_was_said_about(path):
    with pytest.raises(TableError, match=r"2 of 5 columns hold text: 'colour', 'label' \(row 1: 'red'\)"):
        read_table(path)
    with pytest.raises(TableError, match=r"encode=.onehot.*drop='colour'"):
        read_table(path, Choice(label="label"))
    with pytest.raises(
        TableError, match=r"3 values are missing in 2 of 4 columns: 'number', 'colour' \(the first in row 4"
    ):
        read_table(path, Choice(label="label", encode="onehot"))
    with pytest.raises(TableError, match=r"impute=.mean.*drop='number'"):
        read_table(path, Choice(label="label", encode="drop"))


def test_of_many_columns_two_are_named(tmp_path):
    write_table(tmp_path / "t.csv", {f"t{i}": np.array(["x", "y"], object) for i in range(9)})
    with pytest.raises(TableError, match="'t0', 't1' and 7 more"):
        read_table(tmp_path / "t.csv")


def test_too_many_categories(tmp_path):
    path = tmp_path / "t.csv"
    write_table(path, {"a": np.arange(1500) / 7, "name": np.array([f"n{i}" for i in range(1500)], object)})
    with pytest.raises(TableError, match="1500 different texts"):
        read_table(path, Choice(encode="onehot"))
    assert read_table(path, Choice(encode="ordinal")).X.shape == (1500, 2)


def test_columns_without_any_value(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,\n2,\n")
    with pytest.raises(TableError, match="1 column without any value: 'b'"):
        read_table(tmp_path / "t.csv", Choice(impute="mean"))
    with pytest.raises(TableError, match="every row has a missing value"):
        read_table(tmp_path / "t.csv", Choice(impute="drop"))


def test_new_rows_with_text_where_numbers_were(fitted, tmp_path):
    (tmp_path / "new.csv").write_text("number,colour,constant\n1,red,7\nmany,red,7\n")
    with pytest.raises(
        TableError, match=r"held numbers in the fitted table, but text here: 'number' \(row 2 .* 'many'"
    ):
        read_table(tmp_path / "new.csv", preparation=fitted.preparation)
    (tmp_path / "new.csv").write_text("number,colour,constant\n1,red,7\ninf,red,7\n")
    with pytest.raises(TableError, match="infinite"):
        read_table(tmp_path / "new.csv", preparation=fitted.preparation)


def test_unseen_categories_are_zeros_and_said(fitted, tmp_path):
    (tmp_path / "new.csv").write_text("number,colour,constant\n1,pink,7\n2,red,7\n")
    found = read_table(tmp_path / "new.csv", preparation=fitted.preparation)
    places = [found.features.index(f"colour={name}") for name in ("blue", "green", "red")]
    raw = found.X * fitted.preparation.spread + fitted.preparation.centre
    np.testing.assert_allclose(raw[:, places], [[0, 0, 0], [0, 0, 1]], atol=1e-12)
    assert any("unseen" in note and "'pink'" in note for note in found.notes)


def test_categories_that_look_like_numbers_in_new_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,code\n1,10\n2,x\n3,20\n")
    fitted = read_table(tmp_path / "t.csv", Choice(encode="onehot"))
    (tmp_path / "new.csv").write_text("a,code\n1,20\n2,10\n")
    write_table(tmp_path / "new.parquet", {"a": np.array([1.0, 2.0]), "code": np.array([20.0, 10.0])})
    for name in ("new.csv", "new.parquet"):
        found = read_table(tmp_path / name, preparation=fitted.preparation)
        assert found.features == ["a", "code=10", "code=20", "code=x"]
        assert found.X.tolist() == [[1, 0, 1, 0], [2, 1, 0, 0]]


def test_missing_values_of_new_rows(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "new.csv").write_text("a,b\n1,\n3,4\n")
    plain, filled = (read_table(tmp_path / "t.csv", Choice(impute=impute)) for impute in (None, "mean"))
    with pytest.raises(
        TableError, match=r"1 value is missing.*leave out these rows, or fit again with impute="
    ) as caught:
        read_table(tmp_path / "new.csv", preparation=plain.preparation)
    assert "--drop" not in str(caught.value)  # a column that was fitted cannot be left out
    assert read_table(tmp_path / "new.csv", preparation=filled.preparation).X.tolist() == [[1, 3], [3, 4]]


def test_new_rows_are_told_nothing_that_concerns_a_fit(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n5,7\n")
    (tmp_path / "new.csv").write_text("a,b\n1,2\n1,2\n1,30000\n")
    fitted = read_table(tmp_path / "t.csv")
    assert read_table(tmp_path / "new.csv", preparation=fitted.preparation).notes == []
    with pytest.raises(TableError, match="label: the model was fitted to column 'a'"):
        read_table(tmp_path / "new.csv", Choice(label="a"), preparation=fitted.preparation)


def test_new_rows_too_large_to_be_scaled(tmp_path):
    (tmp_path / "t.csv").write_text("a\n0\n1e-9\n2e-9\n")
    fitted = read_table(tmp_path / "t.csv", Choice(scale="minmax"))
    (tmp_path / "new.csv").write_text("a\n1e305\n")
    with pytest.raises(TableError, match="too large to be scaled"):
        read_table(tmp_path / "new.csv", preparation=fitted.preparation)


def test_columns_whose_sums_overflow_are_filled_and_scaled():
    """scikit-learn's own statistics are infinite here."""
    X = RNG.uniform(0.5, 1, (50, 2)) * [1e308, 1]
    X[3] = np.nan
    mean = np.nanmean(X[:, 0] / 2**600) * 2**600
    for scale in ("standard", "robust", "minmax"):
        start = Preparation((), impute="mean", scale=scale)
        made, _, found = prepare.fit(Raw(X.copy(), ["a", "b"]), ["a", "b"], start, "t", [])
        np.testing.assert_allclose(found.rules[0].fill, mean)
        assert np.isfinite(made).all()
        if scale == "standard":
            np.testing.assert_allclose(made.std(axis=0), 1)
