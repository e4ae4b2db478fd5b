"""The best scale of a map is found among several valleys."""

import numpy as np
import pytest

from mercer.quality.scale import best_scale


def test_the_search_finds_the_deeper_of_two_valleys():
    def loss(s):
        t = np.log2(s)
        return min((t + 6) ** 2 + 1, (t - 5.2) ** 2)

    assert np.log2(best_scale(loss, loss, 1.0)) == pytest.approx(5.2, abs=0.02)
