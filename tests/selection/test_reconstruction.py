"""Cross-validated reconstruction against folds written out, and what it sees."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from mercer import PCA, KernelPCA
from mercer.kernels import RBF, Linear
from mercer.random_state import generator_from
from mercer.selection import Reconstruction, reconstruction_error

RNG = np.random.default_rng(0)
T = np.linspace(0, np.pi, 90)
ARC = np.column_stack([np.cos(T), np.sin(T)]) + 0.03 * RNG.standard_normal((90, 2))
X = RNG.standard_normal((40, 5)) * [3.0, 2.0, 1.0, 0.5, 0.2] + 4.0


def test_folds_written_out():
    found = reconstruction_error(RBF(0.5), ARC, n_components=1, cv=3, kernel_pca={"alpha": 0.01})
    folds = np.array_split(generator_from(None).permutation(90), 3)
    for fold, error in zip(folds, found.errors[0], strict=True):
        train = np.delete(ARC, fold, axis=0)
        model = KernelPCA(1, kernel=RBF(0.5), fit_inverse_transform=True, alpha=0.01).fit(train)
        back = model.inverse_transform(model.transform(ARC[fold]))
        variance = np.sum((ARC[fold] - train.mean(axis=0)) ** 2)
        assert_allclose(error, np.sum((ARC[fold] - back) ** 2) / variance, rtol=1e-6)


def test_a_linear_kernel_is_pca():
    found = reconstruction_error(Linear(), X, n_components=[1, 3], cv=4, kernel_pca={"alpha": 1e-8})
    folds = np.array_split(generator_from(None).permutation(40), 4)
    for q, errors in zip((1, 3), found.errors, strict=True):
        for fold, error in zip(folds, errors, strict=True):
            train = np.delete(X, fold, axis=0)
            pca = PCA(q).fit(train)
            variance = np.sum((X[fold] - train.mean(axis=0)) ** 2)
            missed = np.sum((X[fold] - pca.inverse_transform(pca.transform(X[fold]))) ** 2)
            assert_allclose(error, missed / variance, rtol=1e-5)


def test_a_curve_comes_back_from_one_curved_component():
    curved = reconstruction_error(RBF("median"), ARC, n_components=1)
    straight = reconstruction_error(Linear(), ARC, n_components=1)
    assert curved.error + 2 * curved.standard_error < straight.error


def test_default_numbers_stay_below_the_columns():
    assert reconstruction_error(Linear(), X).n_components == (1, 2, 4)
    assert reconstruction_error(Linear(), ARC).n_components == (1,)
    wide = RNG.standard_normal((30, 60))
    assert reconstruction_error(Linear(), wide, cv=2).n_components == (1, 2, 4, 8)


def test_the_fewest_components_within_a_standard_error():
    errors = np.array([[0.5, 0.52], [0.21, 0.19], [0.25, 0.15]])
    found = Reconstruction((1, 2, 4), errors)
    assert found.best == 1 and found.error == 0.2  # the third has the same mean, and more components
    assert_allclose(found.standard_error, np.std(errors[1], ddof=1) / np.sqrt(2))
    assert Reconstruction((1, 2), np.array([[0.21, 0.21], [0.15, 0.25]])).best == 0


def test_the_seed_fixes_the_folds():
    runs = [reconstruction_error(RBF(0.5), ARC, random_state=seed).errors for seed in (1, 1, 2)]
    assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_scale_does_not_matter():
    small = reconstruction_error(RBF("median"), ARC, kernel_pca={"alpha": 1e-2})
    large = reconstruction_error(RBF("median"), 1e4 * ARC, kernel_pca={"alpha": 1e-2})
    assert_allclose(large.errors, small.errors, rtol=1e-4)


def test_float32():
    single = reconstruction_error(RBF(0.5), ARC.astype(np.float32), kernel_pca={"alpha": 1e-2})
    double = reconstruction_error(RBF(0.5), ARC, kernel_pca={"alpha": 1e-2})
    assert_allclose(single.errors, double.errors, atol=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cv": 1}, "cv=1"),
        ({"cv": 21}, "2 to 20"),
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": 33}, "from 1 to 32"),
        ({"n_components": []}, "n_components"),
    ],
)
def test_bad_settings(options, words):
    with pytest.raises(ValueError, match=words):
        reconstruction_error("rbf", X, **options)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(TypeError, match="does not take vectors"):
        reconstruction_error("spectrum", ["abc", "abd", "xyz", "xyy"])
    with pytest.raises(TypeError, match="does not take vectors"):
        reconstruction_error("precomputed", X @ X.T)
    with pytest.raises(TypeError, match="dense"):
        reconstruction_error("rbf", sp.csr_array(X))
    with pytest.raises(ValueError, match="NaN"):
        reconstruction_error("rbf", np.full((10, 2), np.nan))
