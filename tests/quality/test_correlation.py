"""Correlations and their errors, against repeated samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import pearsonr, spearmanr

from mercer.quality.correlation import pearson, spearman

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("measure, peer", [(pearson, pearsonr), (spearman, spearmanr)])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rho", [0.0, 0.6, 0.95])
def test_errors_of_correlations(measure, peer, ties, rho):
    """The standard error is the spread of r over samples, for skewed numbers, with ties or without."""

    def draw(m):
        x = RNG.standard_normal(m)
        y = rho * x + np.sqrt(1 - rho**2) * RNG.standard_normal(m)
        x, y = np.exp(0.4 * x), np.exp(0.5 * y)
        return (np.round(2 * x), np.round(3 * y)) if ties else (x, y)

    found = [(measure(x, y), peer(x, y)[0]) for x, y in (draw(800) for _ in range(150))]
    assert_allclose([one.value for one, _ in found], [true for _, true in found], atol=1e-12)
    spread = np.std([one.value for one, _ in found])
    assert np.median([one.error for one, _ in found]) == pytest.approx(spread, rel=0.3)
