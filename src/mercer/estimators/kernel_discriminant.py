"""Kernel discriminant analysis: directions that separate classes, and a classifier that knows what it does not know."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from mercer.backends import beside, is_foreign, to_numpy
from mercer.estimators.kernel_base import (
    KERNEL_CONSTRAINTS,
    KernelEstimator,
    has_gamma,
    unbound_kernel,
    with_gamma,
)
from mercer.exceptions import DegenerateDataWarning, warn
from mercer.features import most_columns, rows_of
from mercer.fit_report import Report
from mercer.footprints import (
    factor_discriminants,
    kept_tiles,
    stored_discriminants,
    streamed_discriminants,
    whole_discriminants,
)
from mercer.kernels.discrete import Precomputed
from mercer.kernels.kernel_fields import bound_kernel
from mercer.linalg.eigen import SMALL
from mercer.models.fields import (
    INPUT,
    SavedEstimator,
    class_labels,
    floats,
    if_set,
    instance_of,
    number,
    optional,
    samples,
    size,
    tuple_of,
    under,
    whole,
)
from mercer.planning import KEPT_MOST, Plan
from mercer.spectral.class_rule import fit_rule, left_out_error
from mercer.spectral.discriminant import (
    TILE,
    DiscriminantSettings,
    SampledPenalty,
    block_width,
    choose_width,
    find_discriminants,
    start_rank,
)
from mercer.spectral.scatter import Classes
from mercer.spectral.tuning import SAMPLE

_DIRECT_UP_TO = 6000  # samples up to which one Cholesky factor and its inverse take no longer than the passes
# Some fifty passes read the kept tiles, ten times as many as a kernel PCA takes, so twice its memory is well spent.
_KEPT_MOST = 2 * KEPT_MOST
# The default tolerance. On 50,000 images, with two widths and two penalties, the share of new images in the wrong class
# changed by 0.03 % at most below it, and eigenvalues are right to its square.
_TOL = 1e-2


class KernelDiscriminantAnalysis(ClassifierMixin, KernelEstimator):
    """Directions in feature space along which classes lie apart and each close together, and the classifier they make.

    w maximises wᵀS_B w / wᵀ(S_W + λnI)w, S_B and S_W the scatter between and within classes in the feature space of
    the kernel, λ = reg · tr(S_T)/n. Two classes have one direction, N⁻¹(m₁ − m₂); C classes have C − 1.

    Parameters
    ----------
    n_components : int or None
        Columns of `transform`, at most C − 1, which None is. Predictions use all directions.
    kernel : str, Kernel or callable
        A name ("linear", "poly", "rbf", …), a `mercer.kernels.Kernel`, a kernel of `sklearn.gaussian_process`, or a
        function of two rows or of two matrices.
    gamma : float, "loo", "scale", "median" or None
        For kernels given by name that have one; None is 1/d. "scale" is 1/(d Var X), "median" 1/(the median of
        ‖x − y‖²). "loo" looks for the least leave-one-out error on up to 1500 samples, from the median in steps of √2,
        each width with the penalty that suits it best.
    degree : float
        The exponent, for kernels given by name that have one.
    coef0 : float
        The constant term, for kernels given by name that have one.
    kernel_params : dict or None
        Further arguments for a kernel that is a function.
    reg : float or "loo"
        The penalty relative to the total variance in feature space; "loo" takes the one with the least leave-one-out
        error.
    priors : array of C shares or None
        The shares of the classes where predictions will be made; None takes those of y, with its weights. Scatter is
        weighted to match.
    class_weight : dict, "balanced" or None
        What the samples of each class count; "balanced" makes all classes count alike. Given `priors` outweigh it.
    normalize : {"within", "rkhs"}
        The length of the directions: wᵀ(S_W/n + λI)w = 1, so that a class has about unit spread, or ‖w‖² = aᵀKa = 1.
    rank : int, "auto" or None
        None uses all of K: one Cholesky factor up to 6000 samples, conjugate gradients over streamed tiles beyond.
        A number m works on a factor F Fᵀ ≈ K with m columns; "auto" chooses m.
    tol : float
        The largest relative residual of the linear system beyond 6000 samples; 0 is 1e-2. The scores of the fitted
        samples are wrong by no more than this share of their targets, however small the penalty is.
    max_iter : int
        The largest number of passes over K then.
    random_state : int, RandomState or None
        None is the seed 0: the same data gives the same bits.
    n_jobs : int or None
        Threads; None is all cores.
    memory_limit : int, str or None
        Bytes that a fit may add to the process, or text such as "4GB". A fit that needs more is refused before it
        starts. None: half of the free memory, of which at most 2 GB hold tiles that are kept between passes.
    verbose : bool
        Report the progress of a fit on stderr.

    Attributes
    ----------
    classes_, priors_ : (C,)
    eigenvalues_ : (k,), J = wᵀS_B w / wᵀ(S_W + λnI)w of each direction, descending
    explained_variance_ratio_ : (k,), their shares
    means_ : (C, k), where a new member of each class is expected, in the coordinates of `transform`
    spread_ : (k,), the variance of new members about it along each direction, in units of normalize="within"
    temperature_ : float ≥ 1, by which log odds are divided so that the left-out samples get honest probabilities
    loo_error_ : float, the share of samples that would be misclassified had they not been fitted: an estimate
    loo_error_se_ : float, its standard error
    reg_, penalty_ : reg as used, and λ
    reg_path_ : (values, leave-one-out errors) of the penalties that reg="loo" tried
    gamma_path_ : (values, leave-one-out errors) of the widths that gamma="loo" tried
    residuals_ : (C,), of the linear system, relative
    report_ : Report, what ran and why; `solver_` is another name for it
    n_iter_ : passes over K
    kernel_, gamma_, X_fit_, n_features_in_, feature_names_in_

    Notes
    -----
    Scores of samples that were fitted lie closer to their class than those of new ones, so the rule that predicts is
    calibrated on leave-one-out scores (on a factor, of 2000 samples), which the linear system gives in closed form: its
    probabilities are not overconfident. The closed form keeps the targets of the classes, which a refit would move by
    O(1/n). `loo_error_` judges each fifth of the samples by a rule fitted to the others. `loo_error_se_` is the
    standard error of such a share; where the errors of refits were counted they were within two of it.

    Beyond 2048 samples reg="loo" is chosen on a sample of 1500. Beyond 6000 samples, or where K does not fit in memory,
    K is not factored: leverages are then estimated by a factor of lower rank and random vectors, and `loo_error_` was
    seen to be up to a quarter too low.

    Cost: exact n²/2 entries of k and n³ flops, 9 n³ for reg="loo" (n ≤ 2048), or 10 to 70 passes over K; of rank m,
    m n entries and 2 m² n flops, m³/3 more (for reg="loo" about seven times). gamma="loo": about six
    eigendecompositions of the sample's kernel matrix.

    References
    ----------
    Mika, Rätsch, Weston, Schölkopf & Müller 1999; Baudat & Anouar 2000; Cawley & Talbot 2003 (leave-one-out).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(400, factor=0.3, noise=0.1, random_state=0)
    >>> kda = KernelDiscriminantAnalysis().fit(X[:300], y[:300])
    >>> kda.transform(X[300:]).shape, kda.score(X[300:], y[300:])
    ((100, 1), 1.0)
    """

    _saved = SavedEstimator(
        "KernelDiscriminantAnalysis",
        {
            **INPUT,
            "kernel_": bound_kernel,
            "gamma_": optional(number),
            "X_fit_": samples("n", "d"),
            "classes_": class_labels("c"),
            "priors_": floats("c"),
            "_scale": floats("all"),
            "_n_out": size("k", 1),
            "_directions": instance_of("KernelExpansion", n="m", d="d", k="all"),
            "eigenvalues_": floats("k"),
            "explained_variance_ratio_": floats("k"),
            "reg_": number,
            "penalty_": number,
            "loo_error_": number,
            "loo_error_se_": if_set(number),  # older files do not have it
            "temperature_": number,
            "residuals_": floats("r", infinite=True),
            "n_iter_": whole(),
            "reg_path_": if_set(tuple_of(floats("p"), floats("p", infinite=True))),
            "gamma_path_": if_set(tuple_of(floats("g"), floats("g"))),
            "_rule": instance_of("Rule", c="c", k="all"),
            "means_": floats("c", "k"),
            "spread_": floats("k"),
            "report_": under("solver_", instance_of("SolverReport")),
        },
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "gamma": [*KERNEL_CONSTRAINTS["gamma"], StrOptions({"loo"})],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "verbose": ["boolean"],
        "reg": [Interval(Real, 0, None, closed="neither"), StrOptions({"loo"})],
        "priors": ["array-like", None],
        "normalize": [StrOptions({"within", "rkhs"})],
        "rank": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_components=None,
        *,
        kernel="rbf",
        gamma="loo",
        degree=3,
        coef0=1,
        kernel_params=None,
        reg="loo",
        priors=None,
        class_weight=None,
        normalize="within",
        rank=None,
        tol=0,
        max_iter=500,
        random_state=None,
        n_jobs=None,
        memory_limit=None,
        verbose=False,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.reg = reg
        self.priors = priors
        self.class_weight = class_weight
        self.normalize = normalize
        self.rank = rank
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    # --- fitting ---------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Find the directions that separate the classes y, (n,), of the samples X.

        sample_weight : (n,), what each sample counts; None: all alike. A sample that counts nothing is left aside, and
        one that is left out in turn is left out with all its weight.
        """
        started = time.perf_counter()
        self._forget("reg_path_", "gamma_path_")
        X, _ = self._samples(X, reset=True, copy=True)
        X, classes = self._classes(X, y, sample_weight)
        plan = self._checked(self._draft(X, classes.codes), X, classes.codes)
        self._bind(X)
        self._say(str(plan))
        settings = self._settings(X, plan)
        if isinstance(self.gamma, str) and self.gamma == "loo" and has_gamma(self.kernel, self.kernel_):
            settings = replace(settings, sampled=self._choose_width(X, classes, settings))
        found = find_discriminants(self.kernel_.centered_form(X), X, classes, settings)
        self._keep(found, classes)
        seconds = time.perf_counter() - started
        converged = bool(found.residuals.max() <= 2 * settings.tol)
        used = plan.needed_bytes + plan.keep_bytes
        self.report_ = Report(plan.method, found.reason, found.passes, used, settings.tol, converged, seconds)
        self._say(str(self.report_))
        return self

    def _settings(self, X, plan: Plan) -> DiscriminantSettings:
        return DiscriminantSettings(
            self.reg,
            self.rank,
            float(self.tol) or _TOL,
            self.max_iter,
            plan.keep_bytes,
            plan.limit,
            self.random_state,
            self.n_jobs,
            self._say,
            direct=plan.method == "cholesky" and X.shape[0] > SMALL,
        )

    def _choose_width(self, X, classes: Classes, settings: DiscriminantSettings) -> SampledPenalty:
        """Set the kernel whose width has the least leave-one-out error; the penalty that goes with it."""
        bound: Any = self.kernel_
        start = float(bound.gamma)
        factor, (tried, errors), sampled = choose_width(
            lambda factor: with_gamma(bound, start * factor).centered_form(X), X, classes, settings
        )
        gamma: Any = start * factor
        self.gamma_, self.kernel_ = gamma, with_gamma(bound, gamma)
        self.gamma_path_ = start * tried, errors
        return sampled

    def _draft(self, X, y=None) -> Plan:
        work, n = self._workload(X, copied=True), X.shape[0]
        classes = 2 if y is None else len(np.unique(to_numpy(y)))
        if self.rank is not None:
            columns = most_columns(n, self.rank)
            reason = f"a factor of at most {columns} columns, as rank={self.rank!r} asks"
            return self._plan_of(X, "factor", reason, factor_discriminants(work, columns, SAMPLE))
        if n <= SMALL:
            name = "eigenvalues" if self.reg == "loo" else "cholesky"
            return self._plan_of(X, name, "the kernel matrix is small", stored_discriminants(work, classes))
        reason = f"one factor of {n:,} rows costs less than passes"
        whole = self._plan_of(X, "cholesky", reason, whole_discriminants(work, classes))
        if n <= _DIRECT_UP_TO and not is_foreign(X) and whole.fits:
            return whole
        footprint = streamed_discriminants(work, block_width(classes), start_rank(n, self.reg))
        plan = self._plan_of(X, "conjugate gradients", f"the matrix of {n:,} rows is streamed in tiles", footprint)
        plan, kept = replace(plan, tile=TILE), kept_tiles(n, TILE, 4)
        found = self._keeping(X, kept, plan, _KEPT_MOST)
        coded = found.keep_bytes < kept and not is_foreign(X)  # as 16-bit codes tiles take half of that
        return self._keeping(X, kept_tiles(n, TILE, 2), plan, _KEPT_MOST) if coded else found

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        return [{"rank": rank} for rank in ("auto", 500, 100) if rank != self.rank]

    def _classes(self, X, y, sample_weight) -> tuple[Any, Classes]:
        """The samples that count, and their classes."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_classification_targets(y)
        y = column_or_1d(to_numpy(y), warn=True)
        if len(y) != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} samples and y has {len(y)}: inconsistent numbers of samples.")
        weights = self._weights(X, y, sample_weight)
        if weights is not None and not weights.all():
            counting = np.flatnonzero(weights)
            X, y, weights = rows_of(X, counting), y[counting], weights[counting]
        self.classes_, codes = np.unique(y, return_inverse=True)
        C = len(self.classes_)
        if C < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {C} class")
        if len(y) == C:
            raise ValueError(
                f"The number of samples ({len(y)}) must be more than the number of classes ({C}): with one member "
                "each, nothing is known of the spread within classes."
            )
        if self.n_components is not None and self.n_components > C - 1:
            raise ValueError(f"n_components={self.n_components}: {C} classes have {C - 1} directions at most.")
        shares = np.bincount(codes, weights)
        self.priors_ = shares / shares.sum() if self.priors is None else _checked_priors(self.priors, C)
        return X, Classes(codes, self.priors_, weights)

    def _weights(self, X, y, sample_weight) -> np.ndarray | None:
        """What each sample counts, (n,), as its own weight and that of its class say; None if all count alike."""
        if sample_weight is None and self.class_weight is None:
            return None
        given = None if sample_weight is None else to_numpy(sample_weight)
        weights = _check_sample_weight(given, np.empty(len(y)), dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, y)
        if isinstance(unbound_kernel(self), Precomputed) and not weights.all():
            raise ValueError(
                "With a precomputed kernel every sample needs a weight above zero. Leave out its row and its column."
            )
        return weights

    def _keep(self, found, classes: Classes) -> None:
        k = len(found.found.shares)
        if not k:
            raise ValueError(
                "The classes have the same mean in feature space: no direction separates them. Try another kernel."
            )
        if k < (self.n_components or len(self.classes_) - 1):
            warn(
                f"Only {k} directions separate these {len(self.classes_)} classes; {k} are given.",
                DegenerateDataWarning,
            )
        self._scale = np.ones(k) if self.normalize == "within" else 1 / np.where(found.lengths > 0, found.lengths, 1.0)
        self._n_out = min(k, self.n_components or k)
        self._directions = found.expansion
        shares = found.found.shares
        within = np.maximum(1 - shares, np.finfo(np.float64).eps)
        self.eigenvalues_ = (shares / within)[: self._n_out]
        self.explained_variance_ratio_ = self.eigenvalues_ / (shares / within).sum()
        self.reg_, self.penalty_, self.residuals_ = found.reg, found.penalty, found.residuals
        self.n_iter_ = max(1, found.passes)
        if found.path is not None:
            self.reg_path_ = found.path
        codes, weights = classes.codes[found.sample], classes.weights[found.sample]
        rule = fit_rule(found.left_out, codes, weights, found.found, self.priors_)
        self._rule = rule.calibrated(found.left_out, codes, weights)
        own_share = weights / (classes.n * self.priors_[codes]) if self.priors is None else None
        self.loo_error_ = left_out_error(found.left_out, codes, weights, found.found, self.priors_, own_share)
        # One more error and one more success keep the standard error of a perfect score from being zero.
        likely = (self.loo_error_ * len(codes) + 1) / (len(codes) + 2)
        self.loo_error_se_ = float(np.sqrt(likely * (1 - likely) * np.sum(weights**2))) / float(np.sum(weights))
        self.means_ = (self._rule.means * self._scale)[:, : self._n_out]
        self.spread_, self.temperature_ = rule.spread[: self._n_out], self._rule.temperature

    @property
    def solver_(self) -> Report:
        """Another name for `report_`."""
        return self.report_

    # --- using the directions --------------------------------------------------------------------------

    def transform(self, X):
        """The coordinates of rows along the directions, (m, k)."""
        check_is_fitted(self)
        X, restore = self._new_samples(X)
        z = self._directions.columns(slice(0, self._n_out))(X)
        return restore(z * beside(self._scale[: self._n_out], z))

    def _decisions(self, X) -> np.ndarray:
        check_is_fitted(self)
        z = to_numpy(self._directions(self._new_samples(X)[0])).astype(np.float64)
        return self._rule.decide(z)

    def decision_function(self, X):
        """Log density of row and class together, up to a constant, (m, C); for two classes their difference, (m,)."""
        delta = self._decisions(X)
        return delta[:, 1] - delta[:, 0] if len(self.classes_) == 2 else delta

    def predict(self, X):
        """The likeliest class of each row, (m,)."""
        best = self._decisions(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X):
        """The probability of each class, (m, C)."""
        return softmax(self._decisions(X), axis=1)

    def predict_log_proba(self, X):
        """The logarithm of `predict_proba`, without its underflow."""
        delta = self._decisions(X)
        top = delta.max(axis=1, keepdims=True)
        return delta - top - np.log(np.exp(delta - top).sum(axis=1, keepdims=True))

    # --- scikit-learn ----------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self._n_out


def _checked_priors(priors: Any, C: int) -> np.ndarray:
    priors = np.asarray(priors, dtype=np.float64)
    if priors.shape != (C,) or not np.all(np.isfinite(priors)) or np.any(priors <= 0):
        raise ValueError(f"priors must be {C} positive numbers, one per class, got {priors.tolist()}.")
    if not np.isclose(priors.sum(), 1.0):
        warn("The priors do not sum to 1. Renormalizing", UserWarning)
    return priors / priors.sum()
