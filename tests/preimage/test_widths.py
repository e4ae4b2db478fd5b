"""The width on scores: the best of those tried, by refits without each row."""

import numpy as np
import pytest
from bordered_ridge import by_definition

from mercer.kernels import RBF
from mercer.preimage.widths import _FACTORS, width_of

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3)) @ np.diag([3.0, 1.0, 0.5]) + 5.0
NEW = RNG.standard_normal((9, 3)) + 5.0


def test_the_width_chosen_is_the_best_of_those_tried():
    Z = RNG.standard_normal((30, 2))
    Y = np.column_stack([np.sin(3 * Z[:, 0]), Z[:, 1]])
    middle, found = width_of("median", Z, Y, 0.01), width_of("loo", Z, Y, 0.01)

    def refits(gamma):
        left = [np.delete(np.arange(30), i) for i in range(30)]
        return sum(((Y[i] - by_definition(Z[r], Y[r], Z[[i]], gamma, 0.01)) ** 2).sum() for i, r in enumerate(left))

    assert middle == pytest.approx(RBF("median").bind(Z).gamma)
    assert found == pytest.approx(min(_FACTORS * middle, key=refits))
