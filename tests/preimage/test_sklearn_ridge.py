"""scikit-learn's regression from scores to rows, under its name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import KernelPCA as Theirs

from mercer import KernelPCA

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)) @ np.diag([3.0, 1.0, 0.5]) + 5.0
NEW = RNG.standard_normal((9, 3)) + 5.0


def model(k=4, **parameters):
    return KernelPCA(k, **({"kernel": "rbf", "gamma": 0.1, "fit_inverse_transform": True} | parameters))


@pytest.mark.parametrize(
    ("kernel", "rows"),
    [("rbf", X), ("poly", X), ("linear", X), ("cosine", X), ("rbf", X.astype(np.float32))],
    ids=["rbf", "poly", "linear", "cosine", "float32"],
)
def test_the_old_regression_under_its_name(kernel, rows):
    rows, new = rows - 5, NEW - 5  # far from the origin a cubic kernel leaves nothing of the penalty but rounding
    ours = KernelPCA(3, kernel=kernel, fit_inverse_transform=True, inverse_method="sklearn", alpha=0.1).fit(rows)
    theirs = Theirs(3, kernel=kernel, fit_inverse_transform=True, alpha=0.1).fit(rows)
    there = theirs.inverse_transform(theirs.transform(new))
    scale = 1e-7 if rows.dtype == np.float64 else 2e-2
    assert_allclose(ours.inverse_transform(ours.transform(new)), there, atol=scale * np.abs(there).max())


def test_ours_is_nearer_than_the_old_one_on_its_own_ground():
    ours, theirs = (
        KernelPCA(4, kernel="rbf", fit_inverse_transform=True),
        Theirs(4, kernel="rbf", fit_inverse_transform=True),
    )
    errors = [((m.fit(X).inverse_transform(m.transform(X)) - X) ** 2).sum(axis=1).mean() for m in (ours, theirs)]
    assert errors[0] < 0.5 * errors[1]


def test_the_old_regression_has_no_leave_one_out():
    with pytest.raises(ValueError, match="needs a number as alpha"):
        model(inverse_method="sklearn", alpha="loo").fit(X)
