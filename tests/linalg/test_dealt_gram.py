"""Products that workers compute are those of the whole matrix, and solvers run unchanged on them."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.kernels import RBF, Matern
from mercer.linalg.dealt_gram import DealtGram
from mercer.linalg.eigen import top_eigenpairs
from mercer.linalg.gram import Gram
from mercer.linalg.operators import Centered
from mercer.testing import check_operator

X = np.random.default_rng(0).standard_normal((300, 3))


class Elsewhere:
    """Workers that see only what was pickled, as those of a cluster do."""

    def __init__(self):
        self.jobs = 0

    def share(self, value):
        # A Gram holds modules, which only cloudpickle can pickle.
        dumps = pytest.importorskip("cloudpickle").dumps if isinstance(value, Gram) else pickle.dumps
        return pickle.loads(dumps(value))

    def each(self, function, shared, jobs):
        for job in jobs:
            self.jobs += 1
            yield function(shared, *job)


@pytest.mark.parametrize("runs", [1, 3, 7, None])
@pytest.mark.parametrize(
    ("kernel", "rows"),
    [
        (RBF(gamma=0.3), X),
        (Matern(length_scale=1.5), X),
        (RBF(gamma=0.3) * 0.5 + Matern(length_scale=1.5).on([0, 2]), X),
        (RBF(gamma=0.3), sp.csr_array(np.where(X > 0.5, X, 0))),
    ],
    ids=["rbf", "matern", "sum", "sparse rows"],
)
def test_it_is_an_operator(kernel, rows, runs):
    workers = Elsewhere()
    gram = Gram(kernel, rows)
    check_operator(DealtGram(gram, workers, runs=runs), gram.to_dense())
    assert workers.jobs % ((runs or 1) * ((runs or 1) + 1) // 2) == 0


def test_blocks_of_several_tiles_add_up():
    rows = np.random.default_rng(1).standard_normal((2600, 2))
    gram = Gram(RBF(gamma=0.2), rows)
    V = np.random.default_rng(2).standard_normal((2600, 3))
    for runs in (1, 2):
        # A sum of n terms, each at most max |V|.
        found = DealtGram(gram, Elsewhere(), runs=runs).matmat(V)
        np.testing.assert_allclose(found, gram.matmat(V), atol=2600 * np.finfo(float).eps * np.abs(V).max() * 8)


def test_the_certified_solver_runs_on_workers():
    gram = Gram(RBF(gamma=0.3), X)
    ours = top_eigenpairs(Centered(DealtGram(gram, Elsewhere(), runs=4)), 4, solver="krylov", tol=1e-9)
    K = gram.to_dense()
    H = np.eye(300) - 1 / 300
    values, vectors = np.linalg.eigh(H @ K @ H)
    assert np.all(np.abs(ours.values - values[::-1][:4]) <= ours.residuals + 1e-12 * values[-1])
    overlap = np.abs(vectors[:, ::-1][:, :4].T @ ours.vectors).diagonal()
    np.testing.assert_allclose(overlap, 1, atol=1e-9)
    assert np.all(ours.residuals <= 1e-9 * values[-1])
