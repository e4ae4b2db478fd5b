"""The second of two views: read, bound to its kernel and held to its shape as the first is, under its own name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.validation import _check_feature_names

from mercer.backends import adopt, is_foreign, namespace
from mercer.estimators.base import FLOATS
from mercer.estimators.kernel_base import KernelEstimator
from mercer.kernels.kernel_fields import bound_kernel
from mercer.models.fields import INPUT, SavedEstimator, number, optional, samples


class SecondView(KernelEstimator):
    """What an estimator of two views knows of y: `kernel_`, `gamma_`, `n_features_in_` and `X_fit_` are y's."""

    _saved = SavedEstimator(
        "SecondView",
        {**INPUT, "kernel_": bound_kernel, "gamma_": optional(number), "X_fit_": samples("n", "d")},
        root=False,
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = KernelEstimator._kernel_constraints

    def __init__(self, owner="", *, kernel="rbf", gamma=None, degree=3, coef0=1, kernel_params=None):
        self.owner = owner
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def _read(
        self, X: Any, *, reset: bool, accept_sparse: Any = "csr", **checks: Any
    ) -> tuple[Any, Callable[[Any], Any]]:
        """y as (n, d), one column where it has one dimension, and the function that gives a result its type."""
        Y, restore = adopt(X)
        if is_foreign(Y):
            Y = namespace(Y).reshape(Y, (-1, 1)) if Y.ndim == 1 else Y
            return self._check_foreign(Y, reset=reset, **checks), restore
        _check_feature_names(self, Y, reset=reset)
        checks = {"dtype": FLOATS, "accept_sparse": accept_sparse} | checks
        Y = check_array(_column(Y), input_name="y", estimator=self.owner, **checks)
        if reset:
            self.n_features_in_ = Y.shape[1]
        elif Y.shape[1] != self.n_features_in_:
            raise ValueError(
                f"y has {Y.shape[1]} features, but {self.owner} is expecting {self.n_features_in_} features in its "
                "second view."
            )
        return Y, restore


def _column(Y: Any) -> Any:
    """One number a sample is a view of one column."""
    if sp.issparse(Y) or getattr(Y, "ndim", 1) != 1:
        return Y
    values = np.asarray(Y)
    return values.reshape(-1, 1) if values.ndim == 1 else values
