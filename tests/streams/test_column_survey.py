"""What a pass over the parts of a table finds is what scikit-learn finds in the whole."""

import numpy as np
import pytest

from mercer.streams.column_survey import survey
from mercer.tables.preparation import Preparation
from mercer.tables.source import Raw, Role, TableError

RNG = np.random.default_rng(0)


class InMemory:
    """Columns of numbers and of text, in parts."""

    def __init__(self, matrix, texts, size):
        self.matrix, self.texts = matrix, texts
        self.starts = list(range(0, len(matrix), size))
        self.lengths = [min(size, len(matrix) - start) for start in self.starts]

    def raw(self, i, roles, dtype):
        part = slice(self.starts[i], self.starts[i] + self.lengths[i])
        texts = {name: values[part].copy() for name, values in self.texts.items()}
        numbers = [name for name in roles if name not in texts]
        return Raw(self.matrix[part].astype(dtype), numbers, texts)


def table(n=300):
    matrix = np.column_stack([1e7 + RNG.standard_normal(n), RNG.integers(0, 4, n), np.ones(n)])
    matrix[5, 0] = np.nan
    text = np.array(["u", "v", None], object)[RNG.integers(0, 3, n)]
    return matrix, {"t": text}


ROLES = {"a": Role.FEATURE, "t": Role.FEATURE, "b": Role.FEATURE, "c": Role.FEATURE}


def test_fills_and_scales_are_those_of_the_whole():
    matrix, texts = table()
    start = Preparation((), impute="mean", encode="onehot", scale="standard")
    found = survey(InMemory(matrix, texts, 70), ROLES, start, "t")
    filled = np.where(np.isnan(matrix), np.nanmean(matrix, axis=0), matrix)
    fill = found.rules[1].fill
    counts = {text: int(np.sum(texts["t"] == text)) for text in "uv"}
    assert fill == max("uv", key=lambda text: (counts[text], -ord(text)))
    text = np.where(np.equal(texts["t"], None).astype(bool), fill, texts["t"])
    X = np.column_stack([filled[:, 0], text == "u", text == "v", filled[:, 1:]])
    assert found.features == ["a", "t=u", "t=v", "b", "c"]
    room = 2 * len(X) * np.finfo(np.float64).eps * np.abs(X).max(axis=0)
    assert np.all(np.abs(np.array(found.centre) - X.mean(axis=0)) <= room)
    assert np.allclose(found.spread, np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0), rtol=1e-8)
    assert found.spread[4] == 1.0 and found.centre[4] == 1.0


def test_the_range_holds_the_fills():
    matrix, texts = table()
    start = Preparation((), impute="zero", encode="ordinal", scale="minmax")
    found = survey(InMemory(matrix, texts, 70), ROLES, start, "t")
    assert found.centre == (0.0, 0.0, 0.0, 1.0) and found.spread[1] == 1.0
    assert found.spread[0] == np.nanmax(matrix[:, 0])


def test_what_needs_all_values_at_once_is_refused():
    matrix, texts = table()
    for more, said in (({"impute": "median"}, "median"), ({"scale": "robust", "impute": "mean"}, "robust")):
        with pytest.raises(TableError, match=said):
            survey(InMemory(matrix, texts, 70), ROLES, Preparation((), encode="onehot", **more), "t")
    with pytest.raises(TableError, match="row 6 of 'a'"):
        survey(InMemory(matrix, {}, 70), dict.fromkeys("abc", Role.FEATURE), Preparation((), scale="standard"), "t")
    with pytest.raises(TableError, match="without any value"):
        empty = InMemory(np.full((9, 1), np.nan), {}, 4)
        survey(empty, {"a": Role.FEATURE}, Preparation((), impute="mean"), "t")
