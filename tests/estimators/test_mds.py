"""MDS: scikit-learn's interface, less stress than its, and what it lacks: new rows, weights, missing pairs, memory."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_digits, load_iris, make_swiss_roll
from sklearn.manifold import MDS as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import MDS, ClassicalMDS, smacof
from mercer.exceptions import DisconnectedGraphError, MemoryLimitError, NotConvergedWarning
from mercer.kernels import RBF

IRIS = load_iris().data
DIGITS = load_digits().data[:300]
RNG = np.random.default_rng(0)
PLANE = RNG.standard_normal((60, 2))  # distances that a map of two dimensions can have

pytestmark = pytest.mark.filterwarnings("ignore::mercer.exceptions.NotConvergedWarning")


@parametrize_with_checks([MDS(), MDS(1, metric_mds=False, init="random"), MDS(metric="manhattan")])
def test_scikit_learn_common_checks(estimator, check):
    check(estimator)
