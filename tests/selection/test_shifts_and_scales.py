"""Alignment, independence and leave-one-out do not change with the origin or the unit of the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.selection import alignment, hsic, leave_one_out

RNG = np.random.default_rng(3)
X = RNG.standard_normal((80, 3))
Y = X @ RNG.standard_normal((3, 2)) + 0.3 * RNG.standard_normal((80, 2))

MEASURES = {
    "loo": lambda rows, **options: leave_one_out("linear", rows, Y, **options).r2,
    "alignment": lambda rows, **options: alignment("linear", rows, Y, **options),
    "hsic": lambda rows, **options: hsic("linear", rows, "linear", Y, **options).value,
}


@pytest.mark.parametrize("rank", [None, "auto", 20])
@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_a_shift_changes_nothing(measure, rank):
    assert_allclose(measure(X + 1e8, rank=rank), measure(X, rank=None), rtol=1e-5)


@pytest.mark.parametrize("scale", [1e76, 1e140, 1e-76, 1e-100, 1e-140])
@pytest.mark.parametrize("rank", [None, "auto", 20])
@pytest.mark.parametrize("measure", [MEASURES["loo"], MEASURES["alignment"]], ids=["loo", "alignment"])
def test_a_unit_changes_nothing(measure, rank, scale):
    assert_allclose(measure(X * scale, rank=rank), measure(X, rank=rank), rtol=1e-6)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("rank", [None, 20])
def test_the_unit_of_the_target_changes_nothing(rank, scale):
    for measure in (
        lambda y: leave_one_out("linear", X, y, rank=rank).r2,
        lambda y: alignment("linear", X, y, rank=rank),
    ):
        assert_allclose(measure(Y * scale), measure(Y), rtol=1e-9)


@pytest.mark.parametrize("scale", [1e76, 1e140, 1e-76, 1e-100, 1e-140])
@pytest.mark.parametrize("test", ["gamma", "permutation"])
@pytest.mark.parametrize("rank", [None, 20])
def test_a_unit_changes_no_test_of_independence(rank, test, scale):
    weak = X[:, :2] * 0.4 + RNG.standard_normal((80, 2))

    def found(unit):
        return hsic("linear", X * unit, "linear", weak, test=test, n_permutations=50, rank=rank)

    plain, scaled = found(1.0), found(scale)
    assert 0 < plain.p_value < 1
    assert_allclose(scaled.p_value, plain.p_value, rtol=1e-6)
    figures = [(f.value, f.null_mean, f.null_std) for f in (scaled, plain)]
    assert_allclose(np.array(figures[0]) / scale / scale, figures[1], rtol=1e-6)


def test_both_sides_tiny_or_huge():
    plain = hsic("linear", X, "linear", Y)
    assert_allclose(hsic("linear", X * 1e-100, "linear", Y * 1e-100).p_value, plain.p_value, rtol=1e-6)
    with pytest.raises(ValueError, match="criterion overflows"):
        hsic("linear", X * 1e100, "linear", Y * 1e100)
