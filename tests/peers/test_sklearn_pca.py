"""scikit-learn's test_pca.py on Mercer's PCA, and its common checks of every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks
from swapped import collected, load_swapped

from mercer.estimators.pca import PCA
from mercer.spectral.intrinsic_dimension import infer_dimension, log_evidence

EXCEPTIONS: dict[str, str] = {}

_module = load_swapped(
    "sklearn.decomposition.tests.test_pca",
    {"PCA": PCA, "_assess_dimension": log_evidence, "_infer_dimension": infer_dimension},
)
globals().update(collected(_module, EXCEPTIONS))


def test_the_tests_run_on_mercer():
    assert _module.PCA is PCA


@parametrize_with_checks(
    [
        PCA(),
        PCA(n_components=1, whiten=True),
        PCA(svd_solver="full"),
        PCA(svd_solver="covariance_eigh"),
        PCA(n_components=1, svd_solver="arpack", random_state=0),
        PCA(n_components=1, svd_solver="randomized", random_state=0),
    ]
)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.DegenerateDataWarning")
def test_common_checks(estimator, check):
    check(estimator)
