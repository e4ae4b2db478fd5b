"""Kernels to compare, from what a user names."""

import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_wine
from sklearn.gaussian_process import kernels as gp
from sklearn.preprocessing import scale

from mercer.kernels import RBF, Laplacian, Linear, Matern, Polynomial
from mercer.selection import (
    default_candidates,
    median_gamma,
    select_kernel,
)

WINE, CULTIVAR = load_wine(return_X_y=True)


WINE = scale(WINE)


def test_candidates_of_every_kind():
    given = [
        "linear",
        Matern(2.5, "median"),
        ("rbf", {"gamma": "median"}),
        ("matern", {"nu": 2.5, "length_scale": 3.0}),
        gp.RBF(2.0),
        lambda A, B: (1 + A @ B.T) ** 2,
    ]
    found = select_kernel(WINE, CULTIVAR, given, criterion="alignment")
    names = set(found.scores)
    assert {"Linear()", "Matern(nu=2.5, length_scale=3)", "RBF(gamma=0.125)"} <= names and len(names) == 6
    assert all("median" not in map(str, e.kernel.get_params().values()) for e in found.ranking)


def test_a_pair_does_not_change_what_it_names():
    kernel = RBF(1.0)
    select_kernel(WINE, CULTIVAR, [(kernel, {"gamma": 2.0})], criterion="alignment")
    assert kernel.gamma == 1.0


def test_default_candidates_are_what_they_say():
    kernels = default_candidates(WINE)
    assert [type(k) for k in kernels] == [Linear, *[Polynomial] * 2, *[RBF] * 5, *[Laplacian] * 3, *[Matern] * 3]
    assert_allclose([k.gamma / median_gamma(WINE) for k in kernels[3:8]], [1 / 16, 1 / 4, 1, 4, 16])


@pytest.mark.parametrize("candidates", ["rbf", RBF(), ("rbf", {"gamma": 1.0}), 3, [("rbf", 1.0)], [3]])
def test_candidates_must_be_a_list_of_kernels(candidates):
    with pytest.raises(TypeError):
        select_kernel(WINE, CULTIVAR, candidates)
