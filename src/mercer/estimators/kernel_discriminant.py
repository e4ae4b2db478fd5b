"""Kernel discriminant analysis: directions that separate classes, and a classifier that knows what it does not know."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from mercer.amounts import amount
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
    MOST_RANK,
    SPECTRUM_UP_TO,
    START_SAMPLE,
    TILE,
    DiscriminantSettings,
    SampledPenalty,
    block_width,
    choose_width,
    find_discriminants,
    start_rank,
)
from mercer.spectral.scatter import Classes
from mercer.spectral.streamed_discriminants import discriminants_of_sums
from mercer.spectral.tuning import SAMPLE
from mercer.streams.class_codes import class_codes, with_target
from mercer.streams.local_driver import is_row_source
from mercer.streams.row_maps import ClassIndicators
from mercer.streams.row_sample import rows_at
from mercer.streams.row_source import RowSource
from mercer.streams.streamed_features import streamed_features
from mercer.streams.streamed_scores import share_of_hits

_DIRECT_UP_TO = 6000  # samples up to which one Cholesky factor and its inverse take no longer than the passes
# Some fifty passes read the kept tiles, ten times as many as a kernel PCA takes, so twice its memory is well spent.
_KEPT_MOST = 2 * KEPT_MOST
# The default tolerance. On 50,000 images, with two widths and two penalties, the share of new images in the wrong class
# changed by 0.03 % at most below it, and eigenvalues are right to its square.
_TOL = 1e-2


class KernelDiscriminantAnalysis(ClassifierMixin, KernelEstimator):
    """Directions in feature space that separate classes, and the classifier that they make.

        w maximises wᵀS_B w / wᵀ(S_W + λnI)w,   λ = reg · tr(S_T)/n

    S_B and S_W are the scatter between and within the classes in the feature space of the kernel. Two classes have one
    direction, N⁻¹(m₁ − m₂). C classes have C − 1.

    Parameters
    ----------
    n_components : int or None
        The number of columns of `transform`, at most C − 1, the default. Predictions use all directions.
    kernel : str, Kernel or callable
        A name ("linear", "poly", "rbf", …), a `mercer.kernels.Kernel`, a kernel of `sklearn.gaussian_process`, or a
        function of two rows or of two matrices.
    gamma : float, "loo", "scale", "median" or None
        For kernels given by name that have one; None is 1/d. "scale" is 1/(d Var X), "median" 1/(the median of ‖x −
        y‖²). "loo" looks for the least leave-one-out error on up to 1500 samples. It starts at the median and goes in
        steps of √2, and gives each width the penalty that suits it best.
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
        The shares of the classes among the rows that you will predict. None takes the shares in y, with its weights.
        The scatter is weighted to match.
    class_weight : dict, "balanced" or None
        How much the samples of each class count. "balanced" makes all classes count alike. If you give `priors`, they
        decide instead.
    normalize : {"within", "rkhs"}
        The length of the directions: wᵀ(S_W/n + λI)w = 1, so that a class has about unit spread, or ‖w‖² = aᵀKa = 1.
    rank : int, "auto" or None
        None uses all of K: a Cholesky factor up to 6000 samples, and conjugate gradients over streamed tiles beyond. A
        number m works on a factor F Fᵀ ≈ K with m columns; "auto" chooses m.
    tol : float
        The largest relative residual of the linear system beyond 6000 samples; 0 is 1e-2. The scores of the fitted
        samples are wrong by no more than this share of their targets, however small the penalty is.
    max_iter : int
        The largest number of passes over K beyond 6000 samples.
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
    temperature_ : float ≥ 1, by which log odds are divided to calibrate the probabilities of left-out samples
    loo_error_ : float, an estimate of the share of samples that would be misclassified if left out of the fit
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
    The scores of fitted samples lie closer to their class than those of new samples. So the rule that predicts is
    calibrated on leave-one-out scores (on a factor, of 2000 samples), which the linear system gives in closed form. Its
    probabilities are therefore not overconfident. The closed form keeps the targets of the classes, which a refit would
    move by O(1/n). `loo_error_` judges each fifth of the samples by a rule fitted to the others. `loo_error_se_` is the
    standard error of such a share. In comparisons with refits the counts of errors differed by two at most.

    Beyond 2048 samples reg="loo" is chosen on a sample of 1500. Beyond 6000 samples, or if K does not fit in memory,
    K is not factored. Leverages are then estimated by a factor of lower rank and random vectors, and `loo_error_` was
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
        n_components: int | None = None,
        *,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: Any = "loo",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        reg: float | str = "loo",
        priors: Any = None,
        class_weight: Any = None,
        normalize: Any = "within",
        rank: int | str | None = None,
        tol: float = 0,
        max_iter: int = 500,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: int | float | str | None = None,
        verbose: bool = False,
    ) -> None:
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelDiscriminantAnalysis:
        """Find the directions that separate the classes y, (n,), of the samples X.

        sample_weight : (n,), how much each sample counts; None means that all count alike. A sample of weight zero is
            ignored, and leaving a sample out leaves out its whole weight.

        X may also be a source of rows (`mercer.streams`) if rank is not None. y is then an array, a source of one
        column, or the name of a column of X, and there is no sample_weight. Widths, reg="loo" and `loo_error_` come
        from the sample that landmarks are chosen from.
        """
        if is_row_source(X):
            return self._fit_source(X, y, sample_weight)
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

    def _source_plan(self, source: RowSource, y: Any = None) -> Plan:
        source, y = with_target(source, y)
        classes = len(np.unique(y)) if y is not None and not is_row_source(y) else 2
        return self._source_draft(source, self.rank, classes)

    def _fit_source(self, source: RowSource, y: Any, sample_weight: Any = None) -> KernelDiscriminantAnalysis:
        started = time.perf_counter()
        self._forget("reg_path_", "gamma_path_")
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if sample_weight is not None:
            raise ValueError(
                "Rows of a source have no weights of their own. Take class_weight or priors, or read the rows into an "
                "array."
            )
        source, y = with_target(source, y)
        labels = class_codes(source, y)
        weights = self._class_shares(labels.classes, labels.counts)
        plan = self._source_draft(source, self.rank, len(labels.classes))
        plan.refuse()
        self._say(str(plan))
        rank: Any = self.rank  # not None, which the draft refuses
        places, sample = self._bind_source(source, rank)
        codes = rows_at(labels, places)[:, 0].astype(np.int64)
        settings = self._settings(sample, plan)
        if isinstance(self.gamma, str) and self.gamma == "loo" and has_gamma(self.kernel, self.kernel_):
            settings = replace(settings, sampled=self._choose_width(sample, Classes(codes, self.priors_), settings))
        features = streamed_features(
            self.kernel_.centered_form(sample),
            source,
            (places, sample),
            rank=rank,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            beside=((ClassIndicators(len(labels.classes)), labels),),
            weights=weights,
        )
        self.X_fit_ = features.features.expansion.anchors
        classes = Classes(codes, self.priors_, counts=labels.counts)
        found = discriminants_of_sums(features, sample, classes, settings)
        self._keep(found, classes)
        seconds = time.perf_counter() - started
        self.report_ = Report("factor", found.reason, found.passes, plan.needed_bytes, settings.tol, True, seconds)
        self._say(str(self.report_))
        return self

    def _class_shares(self, classes: np.ndarray, counts: np.ndarray) -> tuple[float, ...] | None:
        """Set the classes and their shares. What a row of each class counts, or None if all rows count alike."""
        self.classes_, n, C = classes, int(counts.sum()), len(classes)
        self._refuse_few(n, C)
        own = n / (C * counts)  # "balanced"
        if self.class_weight != "balanced":
            own = np.array([(self.class_weight or {}).get(label, 1.0) for label in classes], np.float64)
        if not np.all(own > 0):
            raise ValueError(
                "A class has the weight zero, but rows of a source cannot be skipped. Leave the rows of this class out."
            )
        shares = own * counts / (own @ counts)
        self.priors_ = shares if self.priors is None else _checked_priors(self.priors, C)
        if self.priors is None and self.class_weight is None:
            return None
        return tuple((self.priors_ * n / counts).tolist())

    def _settings(self, X: Any, plan: Plan) -> DiscriminantSettings:
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
            most_rank=self._most_rank(plan),
        )

    def _most_rank(self, plan: Plan) -> int:
        """Columns of the factor that preconditions: those of the plan, and as many more as its limit leaves room for.

        reg="loo" may choose a penalty that is smaller than the plan takes it to be, and that wants more columns. One
        more takes up to 8 n bytes in the factor, and 64 m in the four m × m matrices beside it.
        """
        room = max(0, plan.limit - plan.peak_bytes)
        return start_rank(plan.rows, self.reg) + room // (8 * plan.rows + 64 * MOST_RANK)

    def _choose_width(self, X: Any, classes: Classes, settings: DiscriminantSettings) -> SampledPenalty:
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

    def _draft(self, X: Any, y: Any = None) -> Plan:
        work, n = self._workload(X, copied=True), X.shape[0]
        classes = 2 if y is None else len(np.unique(to_numpy(y)))
        if self.rank is not None:
            columns = most_columns(n, self.rank)
            reason = f"a factor of at most {columns} columns, as rank={self.rank!r} asks"
            footprint = factor_discriminants(work, columns, SAMPLE, SPECTRUM_UP_TO, START_SAMPLE)
            return self._plan_of(X, "factor", reason, footprint)
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

    def _classes(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Classes]:
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
        self._refuse_few(len(y), C)
        shares = np.bincount(codes, weights)
        self.priors_ = shares / shares.sum() if self.priors is None else _checked_priors(self.priors, C)
        return X, Classes(codes, self.priors_, weights)

    def _refuse_few(self, n: int, C: int) -> None:
        """ValueError for too few classes or samples."""
        if C < 2:
            raise ValueError(f"The number of classes has to be greater than one; got {C} class")
        if n == C:
            raise ValueError(
                f"The number of samples ({n}) must be more than the number of classes ({C}): with one member "
                "each, nothing is known of the spread within classes."
            )
        if self.n_components is not None and self.n_components > C - 1:
            raise ValueError(
                f"n_components={self.n_components}: {C} classes have {amount(C - 1, 'direction')} at most."
            )

    def _weights(self, X: Any, y: Any, sample_weight: Any) -> np.ndarray | None:
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

    def _keep(self, found: Any, classes: Classes) -> None:
        k = len(found.found.shares)
        if not k:
            raise ValueError(
                "The classes have the same mean in feature space: no direction separates them. Try another kernel."
            )
        if k < (self.n_components or len(self.classes_) - 1):
            warn(
                f"These {len(self.classes_)} classes differ in {amount(k, 'direction')} only, so there are no more "
                "components.",
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
        alone = classes.alone[found.sample]
        self.loo_error_ = left_out_error(found.left_out, codes, weights, found.found, self.priors_, own_share, alone)
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

    def transform(self, X: Any) -> Any:
        """The coordinates of rows along the directions, (m, k). For a source of rows they are a source too."""
        check_is_fitted(self)
        if is_row_source(X):
            return self._mapped(X, self._n_out, lambda rows: self._coordinates(self._in_fit_dtype(rows)))
        X, restore = self._new_samples(X)
        return restore(self._coordinates(X))

    def _coordinates(self, X: Any) -> Any:
        z = self._directions.columns(slice(0, self._n_out))(X)
        return z * beside(self._scale[: self._n_out], z)

    def _judged(self, X: Any, verdict: Callable[[np.ndarray], np.ndarray], names: list[str], dtype: Any = None) -> Any:
        """What `verdict` makes of the decisions on rows; for a source of rows a source with columns of these names.

        dtype : of names of classes, which are a NumPy array whatever X is; numbers have the type of X
        """
        if is_row_source(X):
            kind = np.float64 if dtype is None else dtype
            return self._mapped(
                X,
                len(names),
                lambda rows: verdict(self._decisions(self._in_fit_dtype(rows))),
                names,
                kind,
                vector=len(names) == 1,
            )
        X, restore = self._new_samples(X)
        found = verdict(self._decisions(X))
        return restore(beside(found, X)) if is_foreign(X) and dtype is None else found

    def _decisions(self, X: Any) -> np.ndarray:
        return self._rule.decide(to_numpy(self._directions(X)).astype(np.float64))

    def _class_names(self) -> list[str]:
        return [str(name) for name in self.classes_]

    def decision_function(self, X: Any) -> Any:
        """The log joint density of row and class, up to a constant, (m, C); for two classes the difference, (m,)."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self._judged(X, lambda delta: delta[:, 1] - delta[:, 0], ["decision"])
        return self._judged(X, lambda delta: delta, self._class_names())

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row, (m,). For a source of rows it is a source of one column."""
        check_is_fitted(self)
        return self._judged(X, lambda delta: self.classes_[delta.argmax(axis=1)], ["class"], self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class, (m, C)."""
        check_is_fitted(self)
        return self._judged(X, lambda delta: softmax(delta, axis=1), self._class_names())

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of `predict_proba`, without its underflow."""
        check_is_fitted(self)
        return self._judged(X, lambda delta: log_softmax(delta, axis=1), self._class_names())

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted. X and y may be as in `fit`."""
        if not is_row_source(X):
            return super().score(X, to_numpy(y), sample_weight)
        rows, y = with_target(X, y)
        return share_of_hits(self.predict(rows), y)

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
