"""Missing and infinite values are found with their places; notes say what a fit should know."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from mercer.tables import prepare, screening
from mercer.tables.source import Raw
from mercer.tables.table import Choice, Preparation, read_table

RNG = np.random.default_rng(0)


def test_what_is_noticed(tmp_path):
    rows = np.column_stack([RNG.standard_normal(50), RNG.standard_normal(50) * 1e4, np.ones(50)])
    rows[25:] = rows[:25]
    np.save(tmp_path / "t.npy", rows)
    notes = " ".join(read_table(tmp_path / "t.npy").notes)
    assert "1 of 3 columns is constant: 'x3'" in notes
    assert 'scale="standard"' in notes and "Column 'x2' spans" in notes
    assert "25 of 50 rows (50%) repeat an earlier row" in notes
    assert "scale=" not in " ".join(read_table(tmp_path / "t.npy", Choice(scale="standard")).notes)


@given(hnp.arrays(np.float64, (12, 3), elements=st.sampled_from([0.0, 1.0, 2.0, 0.5])))
def test_copies_are_counted(X):
    assert screening.copies(X) == len(X) - len(np.unique(X, axis=0))


@given(hnp.arrays(np.float64, (9, 3), elements=st.floats(-1e3, 1e3) | st.just(np.nan)))
def test_statistics_of_what_is_there(X):
    gone = np.isnan(X)
    for raw in (Raw(X.copy(), list("abc")), Raw(sparse.csr_array(X), list("abc"))):
        found = screening.screen(raw)
        assert found.missing == {
            name: (gone[:, j].sum(), gone[:, j].argmax()) for j, name in enumerate("abc") if gone[:, j].any()
        }
        assert found.incomplete.tolist() == gone.any(axis=1).tolist() and found.infinite is None
    some = [name for j, name in enumerate("abc") if not gone[:, j].all()]
    if some:
        raw = Raw(X[:, ["abc".index(name) for name in some]].copy(), some)
        rules = prepare.fit(raw, some, Preparation((), impute="mean"), "t", [])[2].rules
        expected = [np.nanmean(X[:, "abc".index(name)]) for name in some]
        np.testing.assert_allclose([rule.fill for rule in rules], expected, atol=1e-9)


def test_the_first_infinite_value_is_named():
    X = np.ones((2000, 300))
    X[1500, 7], X[1501, 3], X[3, 5] = np.inf, -np.inf, np.nan
    for matrix in (X, sparse.csr_array(X)):
        found = screening.screen(Raw(matrix, [f"x{j}" for j in range(300)]))
        assert found.infinite == ("x7", 1500) and found.missing == {"x5": (1, 3)}
