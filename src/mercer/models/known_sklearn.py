"""The lines of scikit-learn's estimators that `Kernelized` may hold: linear ones, and k-means."""

from __future__ import annotations

from typing import Any

from mercer.models.checks import (
    Check,
    a,
    either,
    finite,
    flag,
    floats,
    integers,
    labels,
    number,
    optional,
    several,
    size,
    text,
    whole,
    word,
)
from mercer.models.entry import AXES, READ, Entry
from mercer.models.relations import classifier_fits


def _sk(module: str, name: str, also: Any = None, **state: Check) -> Entry:
    optional_names = {key.replace("_opt", "?") if key.endswith("_opt") else key: check for key, check in state.items()}
    return Entry(f"sklearn.{module}:{name}", None, {**READ, **optional_names}, also)


_coef = either(floats("d"), floats("o", "d"))
_offset = either(finite, floats("o"), floats(1))
_counts = either(whole(), integers("i"), several(whole()), optional(whole()))
_linear: dict[str, Check] = {"coef_": _coef, "intercept_": _offset}
_classes: dict[str, Check] = {"classes_": labels("c")}
_pls: dict[str, Check] = {
    "_predict_1d": flag,
    "_norm_y_weights": flag,
    "_x_mean": floats("d"),
    "_x_std": floats("d"),
    "_y_mean": floats("t"),
    "_y_std": floats("t"),
    "x_weights_": floats("d", "k"),
    "y_weights_": floats("t", "k"),
    "_x_scores": floats("n", "k"),
    "_y_scores": floats("n", "k"),
    "x_loadings_": floats("d", "k"),
    "y_loadings_": floats("t", "k"),
    "x_rotations_": floats("d", "k"),
    "y_rotations_": floats("t", "k"),
    "coef_": floats("t", "d"),
    "intercept_": floats("t"),
    "n_iter_": _counts,
    "_n_features_out": size("k"),
}

SKLEARN = {
    "sklearn.LinearRegression": _sk(
        "linear_model", "LinearRegression", **_linear, rank_=whole(), singular_=floats("s")
    ),
    "sklearn.Ridge": _sk("linear_model", "Ridge", **_linear, n_iter_=_counts, solver_=text),
    "sklearn.RidgeClassifier": _sk(
        "linear_model",
        "RidgeClassifier",
        classifier_fits,
        **_linear,
        n_iter_=_counts,
        solver_=text,
        classes__opt=labels("c"),
        _label_binarizer=a("sklearn.LabelBinarizer", c="c"),
    ),
    "sklearn.LabelBinarizer": Entry(
        "sklearn.preprocessing:LabelBinarizer",
        None,
        {
            "y_type_": word("binary", "multiclass", "multilabel-indicator"),
            "sparse_input_": flag,
            "classes_": labels("c"),
        },
    ),
    "sklearn.Lasso": _sk("linear_model", "Lasso", **_linear, n_iter_=_counts, dual_gap_=_offset),
    "sklearn.ElasticNet": _sk("linear_model", "ElasticNet", **_linear, n_iter_=_counts, dual_gap_=_offset),
    "sklearn.LogisticRegression": _sk(
        "linear_model", "LogisticRegression", classifier_fits, **_linear, **_classes, n_iter_=_counts
    ),
    "sklearn.LinearSVC": _sk("svm", "LinearSVC", classifier_fits, **_linear, **_classes, n_iter_=_counts),
    "sklearn.LinearSVR": _sk("svm", "LinearSVR", **_linear, n_iter_=_counts),
    "sklearn.LinearDiscriminantAnalysis": _sk(
        "discriminant_analysis",
        "LinearDiscriminantAnalysis",
        classifier_fits,
        **_linear,
        **_classes,
        priors_=floats("c"),
        means_=floats("c", "d"),
        xbar__opt=floats("d"),
        scalings__opt=floats("d", "rank"),
        covariance__opt=floats("d", "d"),
        explained_variance_ratio__opt=floats("shares"),
        _max_components=whole(),
        _n_features_out_opt=whole(),
    ),
    "sklearn.KMeans": _sk(
        "cluster",
        "KMeans",
        cluster_centers_=floats("c", "d"),
        labels_=integers("n", below="c"),
        inertia_=finite,
        n_iter_=_counts,
        _n_features_out=size("c"),
        _tol=number,
        _n_init=whole(),
        _algorithm=word("lloyd", "elkan"),
        _n_threads=whole(1, 256),
    ),
    "sklearn.PLSRegression": _sk(
        "cross_decomposition", "PLSRegression", **_pls, x_scores_=floats("n", "k"), y_scores_=floats("n", "k")
    ),
    "sklearn.PLSCanonical": _sk("cross_decomposition", "PLSCanonical", **_pls),
    "sklearn.CCA": _sk("cross_decomposition", "CCA", **_pls),
    "sklearn.PCA": Entry("sklearn.decomposition:PCA", None, AXES),
}
