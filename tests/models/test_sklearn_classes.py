"""Estimators of scikit-learn inside a model: saved as data, whatever a release calls its private attributes."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors import safe_open
from sklearn import __version__ as sklearn_version
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier

import mercer
from mercer.exceptions import ModelFileError
from mercer.models.fields import Mismatch, Scope
from mercer.models.sklearn_classes import SKLEARN

RNG = np.random.default_rng(0)
X, NEW = RNG.standard_normal((50, 4)), RNG.standard_normal((9, 4))
CLASSES = np.arange(50) % 3

pytestmark = pytest.mark.filterwarnings("ignore")


def kernelized(inner, y=CLASSES):
    return mercer.Kernelized(inner, gamma=0.3, rank=6).fit(X, y)


@pytest.mark.parametrize(
    ("inner", "renamed"),
    [
        (KMeans(3, n_init=1, random_state=0), {"_tol": "_tolerance", "_n_init": "_runs"}),
        (LinearDiscriminantAnalysis(), {"_n_features_out": "_outputs"}),
        (Ridge(), {"solver_": "chosen_solver_"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_attributes_that_a_release_renames_or_adds_are_saved_all_the_same(inner, renamed, tmp_path):
    """Another release may keep the same data under other names; here the names are changed by hand."""
    model = kernelized(inner)
    for old, new in renamed.items():
        setattr(model.estimator_, new, vars(model.estimator_).pop(old))
    model.estimator_._added = {"table": np.arange(3.0), "words": ("a", None), "flag": True}
    model.save(tmp_path / "m")
    loaded = mercer.load(tmp_path / "m")
    assert set(vars(loaded.estimator_)) == set(vars(model.estimator_))
    assert_array_equal(loaded.predict(NEW), model.predict(NEW))


def test_a_state_that_is_not_data_is_refused_by_name_with_a_way_out(tmp_path):
    model = kernelized(Ridge(), X[:, 0])
    model.estimator_._loss = lambda x: x
    with pytest.raises(ModelFileError, match=r"estimator_\._loss is a function"):
        model.save(tmp_path / "m")
    model.estimator_._loss = object()
    with pytest.raises(ModelFileError, match=r"estimator_\._loss is an object of builtins\.object"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_the_way_out_works(tmp_path):
    """What the refusal advises: keep the features, and fit the linear method to them again."""
    model = kernelized(Ridge(), X[:, 0])
    model.map_.save(tmp_path / "features")
    features = mercer.load(tmp_path / "features")
    again = Ridge().fit(features.transform(X), X[:, 0])
    np.testing.assert_allclose(again.predict(features.transform(NEW)), model.predict(NEW), rtol=1e-10, atol=1e-10)


def test_an_estimator_that_would_answer_otherwise_is_not_saved(tmp_path):
    """A release may keep a part of its state where no attribute shows it: then the restored one would be wrong."""
    model = kernelized(Ridge(), X[:, 0])

    class Hidden(type(model.estimator_)):
        def predict(self, X):
            return super().predict(X) + (0 if getattr(self, "seen", None) is None else self.seen)

    declaration = SKLEARN["sklearn.Ridge"]
    inner = model.estimator_
    params, state = declaration.take_apart(inner)
    declaration.verify(inner, params, state)
    other = Hidden(**params)
    vars(other).update(state)
    other.seen = 1.0
    with pytest.raises(Mismatch, match=r"predict of one restored .* answers differently"):
        declaration.verify(other, params, state)


@pytest.mark.parametrize(
    "inner", [Ridge(), LogisticRegression(), RidgeClassifier(), KMeans(3, n_init=1), LinearDiscriminantAnalysis()]
)
def test_a_file_whose_state_this_release_cannot_use_is_refused_when_it_is_read(inner):
    model = kernelized(inner)
    declaration = SKLEARN[f"sklearn.{type(inner).__name__}"]
    params, state = declaration.take_apart(model.estimator_)
    for name in ("coef_", "cluster_centers_"):
        state.pop(name, None)
    declaration.check(params, state, Scope())
    with pytest.raises(Mismatch, match="this version of scikit-learn cannot use it"):
        declaration.put_together(params, state)


def test_a_file_names_the_release_that_wrote_it(tmp_path):
    kernelized(LogisticRegression()).save(tmp_path / "m")
    mercer.PCA(2).fit(X).save(tmp_path / "plain")
    for name, version in (("m", sklearn_version), ("plain", None)):
        with safe_open(tmp_path / name, framework="np") as file:
            assert json.loads(file.metadata()["mercer"]).get("sklearn") == version


@pytest.mark.parametrize(
    "state",
    [
        {"predict": 5},
        {"__class__": 5},
        {"fit": None},
        {"_get_tags_": 1, "__dict__": {}},
        {"n_jobs": 1},
        {"_threads": 10**6},
        {"_threads": np.int64(10**6)},
        {"_sizes": {"a": (1, [10**6])}},
        {"_n_threads": 1000},
        {"n_features_in_": 4, "coef_": np.zeros((2, 5))},
        {"n_features_in_": 4, "cluster_centers_": np.zeros((2, 5))},
        {"classes_": np.arange(3), "coef_": np.zeros((2, 4)), "intercept_": np.zeros(2)},
        {"coef_": np.full((1, 4), np.nan)},
    ],
    ids=lambda state: next(iter(state)),
)
def test_attributes_that_hide_methods_start_threads_or_disagree_are_refused(state):
    with pytest.raises(Mismatch):
        SKLEARN["sklearn.KMeans"].check({}, state, Scope())


def test_targets_of_one_dimension_and_data_frames_come_back(tmp_path):
    inner = LinearRegression().set_params(positive=True)
    model = mercer.Kernelized(inner, gamma=0.3, rank=6).fit(X, X[:, 0])
    model.save(tmp_path / "m")
    assert_array_equal(mercer.load(tmp_path / "m").predict(NEW), model.predict(NEW))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X.astype(np.float32), columns=list("abcd"))
    model = mercer.Kernelized(PLSRegression(2).set_output(transform="pandas"), gamma=0.3, rank=6).fit(frame, X[:, 0])
    model.save(tmp_path / "m")
    pandas.testing.assert_frame_equal(mercer.load(tmp_path / "m").transform(frame), model.transform(frame))
