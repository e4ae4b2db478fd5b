"""`random_state` means the same in every estimator: None is the seed 0, and a generator moves on."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression

import mercer
from mercer import quality
from mercer.graph import build_index
from mercer.kernels import RBF
from mercer.random_state import generator_from, legacy_generator_from, seed_from

X = np.random.default_rng(0).standard_normal((90, 6))
Y = X[:, :3] ** 2
LABELS = (X[:, 0] + X[:, 1] > 0).astype(int)

# Parameters with which the result depends on the seed, in its last bits at least, and the arguments of fit.
CASES = {
    "PCA": [({"n_components": 3, "svd_solver": "randomized", "iterated_power": 1}, (X,))],
    "KernelPCA": [
        ({"n_components": 3, "kernel": "rbf", "eigen_solver": "rpcholesky"}, (X,)),
        ({"n_components": 3, "kernel": "rbf", "eigen_solver": "randomized"}, (X,)),
    ],
    "KernelDiscriminantAnalysis": [({"kernel": "rbf", "gamma": 0.1}, (X, LABELS))],
    "KernelCCA": [({"n_components": 2, "kernel": "rbf", "rank": 20}, (X, Y))],
    "KernelMap": [
        ({"kernel": "rbf", "rank": 10}, (X,)),
        ({"kernel": "rbf", "rank": 10, "method": "fourier"}, (X,)),
    ],
    "Kernelized": [({"estimator": LogisticRegression(), "kernel": "rbf", "rank": 10}, (X, LABELS))],
    "Isomap": [({"n_neighbors": 8, "landmarks": 20}, (X,))],
    "ClassicalMDS": [({"n_components": 2, "eigen_solver": "krylov"}, (X,))],
    "MDS": [({"max_iter": 30, "init": "random"}, (X,))],
    "SNE": [({"max_iter": 30, "perplexity": 8}, (X,))],
    "TSNE": [({"max_iter": 30, "perplexity": 8, "init": "random"}, (X,)), ({"max_iter": 30, "perplexity": 8}, (X,))],
}
EACH = [(name, params, args) for name, cases in CASES.items() for params, args in cases]


def result(name, params, args, random_state):
    model = getattr(mercer, name)(**params, random_state=random_state).fit(*args)
    return np.asarray(model.predict_proba(X) if name == "Kernelized" else model.transform(X))


def test_every_estimator_with_a_random_state_is_here():
    public = [getattr(mercer, name) for name in mercer.__all__]
    random = {
        cls.__name__ for cls in public if inspect.isclass(cls) and "random_state" in inspect.signature(cls).parameters
    }
    assert random == set(CASES)


@pytest.mark.parametrize(("name", "params", "args"), EACH, ids=[f"{name}-{i}" for i, (name, _, _) in enumerate(EACH)])
def test_none_is_the_seed_0_whatever_numpy_drew_before(name, params, args):
    np.random.seed(1)  # noqa: NPY002, since the global generator is what must not matter
    first = result(name, params, args, None)
    np.random.seed(2)  # noqa: NPY002
    assert_array_equal(result(name, params, args, None), first)
    assert_array_equal(result(name, params, args, 0), first)
    assert_array_equal(result(name, params, args, np.int64(0)), first)
    assert_array_equal(
        result(name, params, args, np.random.RandomState(5)), result(name, params, args, np.random.RandomState(5))
    )


def test_scores_and_approximate_neighbours_follow_the_same_rule():
    def recall(random_state):
        return quality.neighbor_recall(X, X[:, :2], n_neighbors=5, sample=30, random_state=random_state).value

    assert recall(None) == recall(0)
    found = [build_index(X, method="approximate", random_state=seed).cells.centres for seed in (None, 0)]
    assert_array_equal(*found)


def test_generators_move_on_and_seeds_do_not():
    for make in (np.random.default_rng, np.random.RandomState):
        source = make(3)
        assert seed_from(source) != seed_from(source)
    rng = np.random.default_rng(1)
    assert generator_from(rng) is rng
    state = np.random.RandomState(1)
    assert legacy_generator_from(state) is state
    assert seed_from(7) == seed_from(7) == 7 and seed_from(None) is None
    assert_array_equal(generator_from(None).random(4), generator_from(0).random(4))
    assert_array_equal(legacy_generator_from(None).rand(4), np.random.RandomState(0).rand(4))


@pytest.mark.parametrize("bad", [-1, 1.5, "7", [1]])
def test_other_random_states_are_refused(bad):
    with pytest.raises(ValueError, match="random_state"):
        generator_from(bad)


def test_a_kernel_as_the_metric_of_a_map_follows_it_too():
    params = {"max_iter": 20, "perplexity": 8, "metric": RBF(0.1)}
    assert_array_equal(result("TSNE", params, (X,), None), result("TSNE", params, (X,), 0))
