"""Plain matrices skip scikit-learn's validation: with the same outcome."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.validation import validate_data

from mercer import PCA, TSNE, KernelPCA
from mercer.estimators import base
from mercer.estimators.base import FLOATS

X = np.random.default_rng(0).standard_normal((12, 3))


def outcome(read, X, fitted):
    """What reading gives or raises, and what it leaves on the estimator."""
    model = KernelPCA(2)
    for name, value in fitted.items():
        setattr(model, name, value)
    try:
        read_rows = read(model, X)
    except ValueError as error:
        return str(error), None, None
    left = model.n_features_in_, getattr(model, "feature_names_in_", None)
    return read_rows, np.shares_memory(read_rows, X), left


MATRICES = {
    "plain": X,
    "single": X.astype(np.float32),
    "columns": np.asfortranarray(X),
    "strided": X[::2, ::-1],
    "huge": np.full((4, 2), 1e308),  # finite, though the sum is not
    "whole": np.arange(12).reshape(4, 3),
    "swapped": X.astype(">f8"),
    "masked": np.ma.masked_array(X),
    "gap": np.where(X > 2, np.nan, X) if (X > 2).any() else np.where(X.max() == X, np.nan, X),
    "infinite": np.where(X.max() == X, np.inf, X),
    "both": np.array([[np.inf, -np.inf]]),
    "vector": X[0],
    "cube": X.reshape(2, 6, 3),
    "no rows": X[:0],
    "no columns": X[:, :0],
    "one row": X[:1],
    "complex": X + 1j,
}


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("checks", [{}, {"copy": True}, {"ensure_min_samples": 2}], ids=str)
def test_matrices_are_read_as_scikit_learn_reads_them(name, reset, checks):
    fitted = {} if reset else {"n_features_in_": 3}
    ours = outcome(lambda model, X: model._read(X, reset=reset, **checks)[0], MATRICES[name], fitted)
    theirs = outcome(
        lambda model, X: validate_data(model, X, reset=reset, dtype=FLOATS, accept_sparse="csr", **checks),
        MATRICES[name],
        fitted,
    )
    if isinstance(theirs[0], str):
        assert ours == theirs
        return
    np.testing.assert_array_equal(ours[0], theirs[0])
    assert ours[0].dtype == theirs[0].dtype and ours[0].strides == theirs[0].strides
    assert ours[1:] == theirs[1:]


@pytest.mark.parametrize("name", ["plain", "single", "columns", "strided"])
def test_plain_matrices_take_the_short_way(name, monkeypatch):
    monkeypatch.setattr(base, "validate_data", lambda *args, **kwargs: pytest.fail("the long way"))
    assert KernelPCA(2)._read(MATRICES[name], reset=True)[0] is MATRICES[name]


def test_nan_is_scikit_learns_business_where_it_was_told_not_to_look():
    with sklearn.config_context(assume_finite=True):
        assert KernelPCA(2)._read(MATRICES["gap"], reset=True)[0] is MATRICES["gap"]


def test_names_of_an_earlier_fit_are_forgotten_and_missed():
    frame = pd.DataFrame(X, columns=list("abc"))
    model = KernelPCA(2).fit(frame)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(X)
    assert not hasattr(model.fit(X), "feature_names_in_")


def test_containers_are_refused_with_the_part_to_pass():
    with pytest.raises(TypeError, match=r"LazyFrame.*X\.collect\(\)"):
        PCA(2).fit(pl.LazyFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]}))
    AnnData = type("AnnData", (), {"__module__": "anndata._core.anndata", "shape": (9, 3)})
    for estimator in (PCA(2), KernelPCA(2), TSNE(perplexity=2)):
        with pytest.raises(TypeError, match=r"AnnData.*X_pca"):
            estimator.fit(AnnData())


@pytest.mark.parametrize(("name", "good", "bad"), [("n_components", 1, 1.0), ("fit_inverse_transform", False, 0)])
def test_accepted_parameters_are_remembered_with_their_types(name, good, bad):
    """Values that are equal to accepted ones, but of a type that is refused, are refused each time."""
    assert good == bad
    for _ in range(2):
        KernelPCA(**{name: good}).fit(X)
        with pytest.raises(InvalidParameterError, match=name):
            KernelPCA(**{name: bad}).fit(X)


def test_parameters_that_may_change_are_checked_in_every_fit():
    """An array is accepted once, then spoiled: remembering it would let the bad values pass."""
    widths = np.ones(3)
    model = KernelPCA(1, kernel="rbf", gamma=widths).fit(X)
    widths[1] = np.nan
    with pytest.raises(ValueError):
        model.fit(X)
