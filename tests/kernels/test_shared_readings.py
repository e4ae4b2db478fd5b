"""Matrices from shared readings are those of the kernels, and a reading is computed once."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import RBF, Chi2, Laplacian, Linear, Matern, Polynomial, RationalQuadratic
from mercer.kernels.products import LinearAbout
from mercer.kernels.shared_readings import SharedReadings, by_reading

X = np.abs(np.random.default_rng(0).standard_normal((40, 5)))
KERNELS = [
    RBF(0.3),
    Laplacian(0.1),
    RBF(2.0),
    Linear(),
    Matern(1.5, 0.7),
    Polynomial(2, 0.2),
    LinearAbout(X.mean(axis=0)),
    RationalQuadratic(),
    Chi2(0.5),
    RBF(0.1) + Laplacian(0.2),
    RBF(1e9),  # so sharp that it takes its distances coordinate by coordinate
]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_matrices_are_those_of_the_kernels(make):
    rows = SharedReadings(make(X), np.float64)
    for place in [*by_reading(KERNELS), *range(len(KERNELS))]:
        kernel = KERNELS[place]
        if make is sp.csr_array and isinstance(kernel, LinearAbout):
            continue  # a shift would make sparse rows dense
        np.testing.assert_allclose(rows.matrix(kernel), kernel(make(X)), rtol=1e-11, atol=1e-14)


def test_a_reading_is_computed_once_for_kernels_in_order(monkeypatch):
    asked = []
    reading = Laplacian.reading

    def counted(self, A, B):
        asked.append(self.reads)
        return reading(self, A, B)

    monkeypatch.setattr("mercer.kernels.vector.VectorKernel.reading", counted)
    rows = SharedReadings(X, np.float64)
    for place in by_reading(KERNELS):
        rows.matrix(KERNELS[place])
    assert sorted(asked) == ["chi2", "euclidean", "manhattan", "sqeuclidean", "sqeuclidean"]  # one of them direct
