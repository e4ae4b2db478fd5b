"""Kernel canonical correlation analysis: what two views of the same samples have in common."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import _check_feature_names, check_consistent_length, check_is_fitted

from mercer.amounts import amount
from mercer.backends import adopt, backend_of, beside, column_signs, cpu, is_foreign, namespace, placement
from mercer.estimators.base import FLOATS, stand_in
from mercer.estimators.kernel_base import (
    KERNEL_CONSTRAINTS,
    KernelEstimator,
    has_gamma,
    refuse_without_gamma,
    unbound_kernel,
    with_gamma,
)
from mercer.exceptions import DegenerateDataWarning, ForcedCorrelationWarning, warn
from mercer.expansion import KernelExpansion
from mercer.features import (
    SINGLE,
    Features,
    answer_dtype,
    kernel_features,
    most_columns,
    refuse_indefinite,
    whole_matrix,
    workload_of,
)
from mercer.fit_report import Report
from mercer.footprints import canonical, whole_canonical
from mercer.kernels import KERNEL_NAMES, Kernel
from mercer.kernels.kernel_fields import bound_kernel
from mercer.linalg.crossproducts import times
from mercer.linalg.eigen import SMALL
from mercer.models.fields import (
    INPUT,
    SavedEstimator,
    floats,
    if_set,
    instance_of,
    number,
    optional,
    samples,
    size,
    tuple_of,
    whole,
)
from mercer.numeric_input import refuse_not_numeric
from mercer.planning import Plan
from mercer.random_state import generator_from
from mercer.spectral.canonical import View, canonical_pairs, pairs_of_products
from mercer.spectral.held_out import REGS, column_correlations, held_out_correlations
from mercer.spectral.tuning import best_width
from mercer.spectral.whole_canonical import LEAST_REG, Smoother, whole_pairs
from mercer.streams.class_codes import with_target
from mercer.streams.local_driver import is_row_source, row_count
from mercer.streams.mapped_rows import MappedRows
from mercer.streams.opening import beside as side_by_side
from mercer.streams.row_sample import rows_at
from mercer.streams.row_source import RowSource
from mercer.streams.streamed_features import KernelView, StreamedFeatures, features_of_views
from mercer.streams.streamed_scores import streamed_correlations

_FACTORED_UP_TO = (
    512  # samples up to which decomposing factors takes no longer than a search for the top of their spectrum
)
_BEFORE_CHOICE = 1e-3  # the penalty that a plan assumes while reg="cv" has not been chosen
_LOW_RANK = 10  # a matrix of rank below n/10 is cheaper to factor than to treat whole; looking costs n³/100 flops


class KernelCCA(KernelEstimator):
    """Functions of two views of the same samples that correlate as much as they can.

    Let H = I − 11ᵀ/n. Let K₁ ≈ F₁F₁ᵀ be the kernel matrix of the first view X, and K₂ ≈ F₂F₂ᵀ that of the second view
    y, both F centred, and λᵥ = reg · tr(HKᵥH)/n. The pairs of directions solve

        max  w₁ᵀ(F₁ᵀF₂/n)w₂    with  wᵥᵀ(FᵥᵀFᵥ/n + λᵥI)wᵥ = 1,   each pair uncorrelated with those before it

    The scores of a sample are ⟨wᵥ, φ(x)⟩ minus their mean over the training samples.

    Parameters
    ----------
    n_components : int
        How many pairs of functions.
    kernel : str, Kernel or callable
        The kernel of X: a name ("linear", "poly", "rbf", …), a `mercer.kernels.Kernel`, a kernel of
        `sklearn.gaussian_process`, or a function of two rows or of two matrices.
    gamma : float, "cv", "scale", "median" or None
        For kernels given by name; None is 1/d. "scale" is 1/(d Var X), "median" 1/(the median of ‖x − y‖²). "cv" looks
        for the largest correlation on held-out samples, in three folds of up to 900 samples. It starts at the median
        and goes in steps of √2, and gives each width the penalty that suits it best.
    degree : float
        The exponent, for kernels given by name that have one.
    coef0 : float
        The constant term, for kernels given by name that have one.
    kernel_params : dict or None
        Further arguments for a kernel that is a function.
    kernel_y : str, Kernel, callable or None
        The kernel of y; None takes that of X.
    gamma_y : float, "cv", "scale", "median" or None
        None applies the rule of `gamma` to y. If that is None too, it is one over y's own number of columns. If both
        are "cv", one factor on the medians of both views is chosen. A kernel of y without a gamma takes no part in the
        choice unless gamma_y asks for it.
    degree_y, coef0_y : float or None
        The same for y; None takes that of X.
    kernel_params_y : dict or None
        None takes those of X.
    reg : float, pair of floats or "cv"
        The penalty on large functions, relative to the variance of the view: one number for both views, or one for
        each. "cv" takes the power of ten from 1e-6 to 1 with the largest correlation on held-out samples. Without a
        penalty, noise can be matched: if the features of both views together have more dimensions than there are
        samples, some correlations are one, whatever the data (`ForcedCorrelationWarning`).
    rank : int, "auto" or None
        None is exact, and takes n² entries of each kernel. A number is the number of columns of a randomly pivoted
        Cholesky factor, which takes n · rank entries. "auto" takes as many columns as hold all but a thousandth of the
        variance, 2000 at most.
    random_state : int, RandomState or None
        The seed of the pivots and of the start of a search. None is the seed 0: the same data gives the same bits.
    n_jobs : int or None
        Threads; None is all cores.
    memory_limit : int, str or None
        Bytes, or text such as "4GB"; None is half of what is free. A fit that needs more is refused before it starts.
    verbose : bool
        Report the progress of a fit on stderr.

    Attributes
    ----------
    correlations_ : (k,), w₁ᵀ(F₁ᵀF₂/n)w₂, descending; the penalty lowers them
    training_correlations_ : (k,), plain correlations of the training scores. Both are too optimistic: use `score` on
        new samples
    residuals_ : (k, 2), ‖Tv − ρu‖ and ‖Tᵀu − ρv‖ of the singular triplets that the pairs come from
    x_scores_, y_scores_ : (n, k), the training scores; the largest of each column of x_scores_ is positive. A fit to
        streamed rows keeps none, and takes the signs from its sample
    reg_, penalty_ : reg as used for each view, and (λ₁, λ₂)
    reg_path_ : (values, held-out correlations) if reg="cv" chose
    gamma_path_ : (values for X, or for y if its width alone was chosen, held-out correlations) if "cv" chose
    rank_ : (m₁, m₂), columns of the two factors
    factor_error_ : (float, float), tr(K − FFᵀ)/tr K of each view
    kernel_, kernel_y_ : with all their numbers; gamma_, gamma_y_ their gammas
    expansion_, expansion_y_ : the maps of new samples
    X_fit_, Y_fit_ : the samples that new ones are compared with
    n_features_in_, n_features_y_in_, feature_names_in_

    Notes
    -----
    Cost with a rank m: n · m entries of each kernel, about 6 n m² flops, and n · m numbers per view. New samples are
    compared with m landmarks. Cost with rank=None: n² entries, n³/3 flops and n² numbers per view, and a search of some
    ten steps of 64 n² flops per view. New samples are compared with all n. If both kernel matrices have a rank below
    n/10, their factors are used instead. Up to 512 samples, and for reg below 1e-4, for which a penalised matrix would
    be too ill-conditioned, whole factors of n columns are decomposed.

    Components beyond the rank of either view have scores and correlation zero, with a `DegenerateDataWarning`.

    References
    ----------
    Bach & Jordan, Kernel independent component analysis (2002); Hardoon, Szedmak & Shawe-Taylor, Canonical correlation
    analysis: an overview with application to learning methods (2004); Fukumizu, Bach & Gretton, Statistical
    consistency of kernel canonical correlation analysis (2007).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> t = rng.uniform(-3, 3, 400)  # what the two views share: one as a circle, one as a wave
    >>> X = np.c_[np.cos(t), np.sin(t)] + 0.1 * rng.standard_normal((400, 2))
    >>> Y = np.c_[np.sin(2 * t), rng.standard_normal(400)]
    >>> cca = KernelCCA(1, gamma="median").fit(X[:300], Y[:300])
    >>> bool(cca.score(X[300:], Y[300:]) > 0.8)
    True
    """

    _saved = SavedEstimator(
        "KernelCCA",
        {
            **INPUT,
            "kernel_": bound_kernel,
            "kernel_y_": bound_kernel,
            "gamma_": optional(number),
            "gamma_y_": optional(number),
            "n_features_y_in_": size("dy"),
            "X_fit_": samples("m", "d"),
            "Y_fit_": samples("my", "dy"),
            "expansion_": instance_of("KernelExpansion", n="m", d="d", k="k"),
            "expansion_y_": instance_of("KernelExpansion", n="my", d="dy", k="k"),
            "_view_y": instance_of("SecondView", n="my", d="dy"),
            "x_scores_": if_set(floats("n", "k")),  # a fit to streamed rows keeps none
            "y_scores_": if_set(floats("n", "k")),
            "correlations_": floats("k"),
            "training_correlations_": floats("k"),
            "residuals_": floats("k", 2, infinite=True),
            "penalty_": tuple_of(number, number),
            "reg_": if_set(tuple_of(number, number)),  # older files do not have it
            "reg_path_": if_set(tuple_of(floats("p"), floats("p"))),
            "gamma_path_": if_set(tuple_of(floats("g"), floats("g"))),
            "rank_": tuple_of(whole(), whole()),
            "factor_error_": tuple_of(number, number),
            "report_": if_set(instance_of("SolverReport")),
        },
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernel_y": [StrOptions(set(KERNEL_NAMES)), callable, None],
        "gamma": [*KERNEL_CONSTRAINTS["gamma"], StrOptions({"cv"})],
        "gamma_y": [*KERNEL_CONSTRAINTS["gamma"], StrOptions({"cv"})],
        "degree_y": [*KERNEL_CONSTRAINTS["degree"], None],
        "coef0_y": [*KERNEL_CONSTRAINTS["coef0"], None],
        "kernel_params_y": [dict, None],
        "reg": [Interval(Real, 0, None, closed="left"), "array-like", StrOptions({"cv"})],
        "rank": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        kernel_y: str | Callable[..., Any] | None = None,
        gamma_y: Any = None,
        degree_y: float | None = None,
        coef0_y: float | None = None,
        kernel_params_y: dict[str, Any] | None = None,
        reg: float | str | tuple[float, float] = 1e-3,
        rank: int | str | None = None,
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
        self.kernel_y = kernel_y
        self.gamma_y = gamma_y
        self.degree_y = degree_y
        self.coef0_y = coef0_y
        self.kernel_params_y = kernel_params_y
        self.reg = reg
        self.rank = rank
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    # --- fitting ---------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> KernelCCA:
        """Find the pairs of X and y, (n, d) each, y also (n,); dense or CSR, strings, or kernel matrices.

        X may also be a source of rows (`mercer.streams`) if rank is not None. y is then a source, an array, or the name
        of a column of X. There are no `x_scores_` and `y_scores_`; what "cv" chooses comes from a sample.
        """
        if is_row_source(X):
            return self._fit_source(X, y)
        self._fit(X, y)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any) -> Any:
        """Find the pairs and return the scores of X alone, (n, k), as a step of a pipeline must.

        `y_scores_` holds the scores of y, and `fit(X, y).transform(X, y)` gives both. The scores of a source of rows
        are a source too.
        """
        if is_row_source(X):
            return self._fit_source(X, y).transform(X)
        restore = self._fit(X, y)
        return restore(self.x_scores_)

    def _fit(self, X: Any, y: Any) -> Any:
        started = time.perf_counter()
        if y is None:
            raise ValueError(
                "KernelCCA requires y to be passed, but the target y is None: it is the second view of the samples."
            )
        self._forget("reg_path_", "gamma_path_")
        regs = self._regs()
        X, restore = self._samples(X, reset=True, ensure_min_samples=2)
        other = self._second_view()
        Y, _ = other.read(y)
        check_consistent_length(X, Y)
        _refuse_too_few(X)
        _refuse_apart(X, Y)
        plan = self._checked(self._draft(X, Y), X, Y)
        self._say(str(plan))
        self._bind(X)
        other.bind(Y)
        self._view_y = other
        regs = self._tuned((X, Y), regs)
        if plan.method == "whole matrices" and min(regs) < LEAST_REG:  # known only now that reg="cv" is chosen
            plan = self._checked(self._draft(X, Y, regs), X, Y)
        kernels = self.kernel_.centered_form(X), other.kernel_.centered_form(Y)
        if plan.method == "whole matrices":
            with cpu.one_thread() if X.shape[0] <= SMALL else nullcontext():
                found = self._from_whole(kernels, (X, Y), regs, plan.limit)
        else:
            found = self._from_factors(kernels, (X, Y), regs, plan.limit)
        self._warn(found, X.shape[0], regs)
        self._keep(found)
        seconds = time.perf_counter() - started
        self.report_ = Report(plan.method, found.reason, found.steps, plan.needed_bytes, seconds=seconds)
        self._say(str(self.report_))
        return restore

    def _source_plan(self, source: RowSource, y: Any = None) -> Plan:
        if y is None:
            raise ValueError("KernelCCA plans for two views of the samples: call plan(X, y).")
        source, y = with_target(source, y)
        second = side_by_side(source, y)
        most = 0 if self.rank is None else most_columns(row_count(source), self.rank)
        return self._source_draft(source, self.rank, most + second.n_features)

    def _fit_source(self, source: RowSource, y: Any) -> KernelCCA:
        started = time.perf_counter()
        if y is None:
            raise ValueError(
                "KernelCCA requires y to be passed, but the target y is None: it is the second view of the samples."
            )
        self._forget("reg_path_", "gamma_path_", "x_scores_", "y_scores_")
        regs, other = self._regs(), self._second_view()
        source, y = with_target(source, y)
        second = side_by_side(source, y)
        plan = self._source_plan(source, second)
        plan.refuse()
        self._say(str(plan))
        rank: Any = self.rank  # not None, which the draft refuses
        places, X = self._bind_source(source, rank)
        Y = other.bind_source(second, places)
        self._view_y = other
        regs = self._tuned((X, Y), regs)
        kernels = self.kernel_.centered_form(X), other.kernel_.centered_form(Y)
        views = [
            KernelView(kernel, part, (places, rows))
            for kernel, part, rows in zip(kernels, (source, second), (X, Y), strict=True)
        ]
        features = features_of_views(views, rank=rank, random_state=self.random_state, n_jobs=self.n_jobs)
        found, training = self._on_sums(features, (X, Y), regs)
        self._warn(found, row_count(source), regs)
        self._keep(found, training)
        seconds = time.perf_counter() - started
        self.report_ = Report("factors", found.reason, found.steps, plan.needed_bytes, seconds=seconds)
        self._say(str(self.report_))
        return self

    def _on_sums(self, features: list[StreamedFeatures], samples: Any, regs: Any) -> tuple[FoundPairs, np.ndarray]:
        """The pairs from the sums over streamed rows, with the scores of the sample, and their correlations."""
        sums, blocks = features[0].statistics, [part.columns for part in features]
        whole, n = sums.centred_products(), sums.n
        order = ((0, 0), (0, 1), (1, 1))
        products = {(i, j): whole[blocks[i], blocks[j]].copy() for i, j in order}
        sides = [
            View(np.empty((0, part.features.columns), part.features.expansion.coefs.dtype), reg, part.error, part.trace)
            for part, reg in zip(features, regs, strict=True)
        ]
        means = [sums.mean[block] for block in blocks]
        pairs = pairs_of_products(means, products, sides[0], sides[1], n, int(self.n_components))
        maps = [part.expansion(w, mean @ w) for part, w, mean in zip(features, pairs.weights, pairs.means, strict=True)]
        found = FoundPairs(
            pairs.correlations,
            pairs.residuals,
            [expansion(rows) for expansion, rows in zip(maps, samples, strict=True)],
            maps,
            regs,
            pairs.penalties,
            pairs.variances,
            pairs.ranks,
            (features[0].features.columns, features[1].features.columns),
            (_share(features[0]), _share(features[1])),
            f"factors of {features[0].features.columns} and {features[1].features.columns} columns over all {n:,} rows",
        )
        turned = [
            np.einsum("ak,ab,bk->k", pairs.weights[i], whole[blocks[i], blocks[j]], pairs.weights[j], optimize=True)
            for i, j in order
        ]
        sizes = np.sqrt(np.maximum(turned[0] * turned[2], 0.0))
        alive = sizes > 0
        return found, np.clip(np.where(alive, turned[1] / np.where(alive, sizes, 1.0), 0.0), -1.0, 1.0)

    def _tuned(self, views: Any, regs: tuple[float, float]) -> tuple[float, float]:
        """Set the widths that are to be chosen, and return the penalties, by the correlation of held-out samples."""
        sides = [side for side in (self, self._view_y) if isinstance(side.gamma, str) and side.gamma == "cv"]
        if self.gamma_y is None and self._view_y in sides and not has_gamma(self._view_y.kernel, self._view_y.kernel_):
            sides.remove(self._view_y)  # nobody asked for a width of y, and its kernel has none
        chosen_reg = isinstance(self.reg, str)
        if not sides and not chosen_reg:
            return regs
        starts = [refuse_without_gamma(side.kernel, side.kernel_, "cv") for side in sides]
        grid = REGS if chosen_reg else np.array([regs])
        paths: dict[float, np.ndarray] = {}

        def set_widths(factor: float) -> None:
            for side, start in zip(sides, starts, strict=True):
                gamma: Any = start * factor
                side.gamma_, side.kernel_ = gamma, with_gamma(side.kernel_, gamma)

        def judge(factor: float) -> tuple[float, float]:
            set_widths(factor)
            kernels = self.kernel_.centered_form(views[0]), self._view_y.kernel_.centered_form(views[1])
            rng = generator_from(self.random_state)  # the same folds for all
            paths[factor] = held_out_correlations(kernels, views, int(self.n_components), grid, rng)
            self._say(f"gamma × {factor:.3g}: held-out correlation {paths[factor].max():.4f}")
            return 1 - float(paths[factor].max()), 0.0

        factor = 1.0
        if sides:
            factor, (tried, errors) = best_width(judge)
            self.gamma_path_ = starts[0] * tried, 1 - errors
        else:
            judge(1.0)
        set_widths(factor)
        if not chosen_reg:
            return regs
        self.reg_path_ = grid, paths[factor]
        best = float(grid[int(paths[factor].argmax())])
        return best, best

    def _from_factors(self, kernels: Any, views: Any, regs: Any, limit: int) -> FoundPairs:
        """From a factor of each kernel matrix: the landmarks of the two factors are all that new samples need."""
        return self._on_features(
            [self._features(*view, self.rank, limit) for view in zip(kernels, views, strict=True)], regs
        )

    def _on_features(self, features: list[Features], regs: Any) -> FoundPairs:
        columns = [part.F.shape[1] for part in features]
        self._say(f"factors of {columns[0]} and {columns[1]} columns")
        sides = [View(part.F, reg, part.factor.error, part.trace) for part, reg in zip(features, regs, strict=True)]
        pairs = canonical_pairs(sides[0], sides[1], int(self.n_components), n_jobs=self.n_jobs)
        weighted = list(zip(features, pairs.weights, pairs.means, strict=True))
        return FoundPairs(
            pairs.correlations,
            pairs.residuals,
            [times(part.F, w, mean, self.n_jobs) for part, w, mean in weighted],
            [part.expansion(w, mean @ w) for part, w, mean in weighted],
            regs,
            pairs.penalties,
            pairs.variances,
            pairs.ranks,
            (columns[0], columns[1]),
            (float(features[0].error), float(features[1].error)),
            f"factors of {columns[0]} and {columns[1]} columns",
        )

    def _from_whole(self, kernels: Any, views: Any, regs: Any, limit: int) -> FoundPairs:
        """From all of both kernel matrices, or from their factors if both turn out to have a low rank."""
        n = views[0].shape[0]
        features = self._low_rank_features(kernels, views, n // _LOW_RANK, limit)
        if features is not None:
            return self._on_features(features, regs)
        rng = generator_from(self.random_state)
        sides: list[Smoother] = []
        for kernel, X, reg in zip(kernels, views, regs, strict=True):
            self._say(f"the kernel matrix of view {len(sides) + 1} of 2")
            sides.append(Smoother(whole_matrix(kernel, X, self.n_jobs), reg, rng))
            refuse_indefinite(sides[-1].negative, kernel, answer_dtype(X))
        pairs = whole_pairs(sides[0], sides[1], int(self.n_components), rng, report=self._say_step)
        scores = [_in_precision_of(X, part) for part, X in zip(pairs.scores, views, strict=True)]
        maps = [
            KernelExpansion(kernel, X, _in_precision_of(X, coefs), _in_precision_of(X, offset), self.n_jobs)
            for kernel, X, coefs, offset in zip(kernels, views, pairs.coefs, pairs.offsets, strict=True)
        ]
        ranks = tuple(n - 1 if side.variance else 0 for side in sides)
        return FoundPairs(
            pairs.correlations,
            pairs.residuals,
            scores,
            maps,
            regs,
            (sides[0].penalty, sides[1].penalty),
            (sides[0].variance, sides[1].variance),
            (ranks[0], ranks[1]),
            (n, n),
            (0.0, 0.0),
            f"two Cholesky factors and {pairs.steps} steps of block Lanczos",
            pairs.steps,
        )

    def _low_rank_features(self, kernels: Any, views: Any, columns: int, limit: int) -> list[Features] | None:
        """Factors of both kernel matrices that hold all of them in fewer than `columns` columns; else None."""
        features: list[Features] = []
        for kernel, X in zip(kernels, views, strict=True):
            features.append(self._features(kernel, X, columns, limit))
            if features[-1].F.shape[1] == columns:  # the factor was cut off before it held everything
                return None
        return features

    def _regs(self) -> tuple[float, float]:
        if isinstance(self.reg, str):
            return _BEFORE_CHOICE, _BEFORE_CHOICE
        given: Any = self.reg
        pair: tuple[Any, ...] = (given, given) if isinstance(given, Real) else tuple(given)
        if len(pair) != 2 or not all(isinstance(r, Real) and 0 <= float(r) < np.inf for r in pair):
            raise ValueError(f"reg={self.reg!r} must be a finite number ≥ 0, or two of them, one for each view.")
        return float(pair[0]), float(pair[1])

    def _second_view(self) -> SecondView:
        own = {"kernel": self.kernel_y, "gamma": self.gamma_y, "degree": self.degree_y, "coef0": self.coef0_y}
        own["kernel_params"] = self.kernel_params_y
        return SecondView("KernelCCA", **{name: getattr(self, name) if v is None else v for name, v in own.items()})

    def _features(self, kernel: Kernel, X: Any, rank: int | str | None, limit: int) -> Features:
        return kernel_features(
            kernel,
            X,
            rank=rank,
            memory_limit=limit,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _draft(self, X: Any, y: Any = None, regs: tuple[float, float] | None = None) -> Plan:
        if y is None:
            raise ValueError("KernelCCA plans for two views of the samples: call plan(X, y).")
        y = stand_in(y)
        other, rank = self._second_view(), None if self.rank is None else most_columns(X.shape[0], self.rank)
        works = self._workload(X), workload_of(y, self.n_jobs, unbound_kernel(other))
        k, regs = int(self.n_components), regs or self._regs()
        if rank is not None:
            reason = f"at most {rank} columns for each view, as rank={self.rank!r} asks"
            return self._plan_of(X, "factors", reason, canonical(works, rank, k))
        can = hasattr(backend_of(X if X.ndim == 2 else np.empty(0)), "cholesky")
        if not can or X.shape[0] <= _FACTORED_UP_TO or k > X.shape[0] // 8 or min(regs) < LEAST_REG:
            reason = "rank=None factors all of each kernel matrix"
            return self._plan_of(X, "factors", reason, canonical(works, None, k))
        reason = "rank=None, and the penalty keeps both matrices well conditioned"
        return self._plan_of(X, "whole matrices", reason, whole_canonical(works, k))

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        return [{"rank": rank} for rank in ("auto", 500, 100) if rank != self.rank]

    def _warn(self, pairs: FoundPairs, n: int, regs: tuple[float, float]) -> None:
        found = len(pairs.correlations)
        for name, variance in zip("Xy", pairs.variances, strict=True):
            if variance == 0.0:
                _warn_degenerate(
                    f"{name} has no variation in feature space: nothing correlates with it, and all scores are zero. "
                    "The data is constant, or gamma makes all samples alike."
                )
        if all(pairs.variances) and found < self.n_components:
            _warn_degenerate(
                f"The two views have only {amount(found, 'pair')} of directions with a correlation above zero, not the "
                f"{self.n_components} asked for: the other components are zero. Lower n_components."
            )
        forced = _forced_correlations(pairs.ranks, n, regs)
        if forced and found:
            match = "one pair matches" if forced == 1 else f"{forced} pairs match"
            warn(
                f"With reg=0 the views span {pairs.ranks[0]} and {pairs.ranks[1]} of {n - 1} dimensions, so {match} "
                "whatever the data says. Set reg > 0, and compare by score on new samples.",
                ForcedCorrelationWarning,
            )

    def _keep(self, found: FoundPairs, training: np.ndarray | None = None) -> None:
        """Set what a fit sets. `training` are the correlations over streamed rows, whose scores are not kept."""
        k, count = int(self.n_components), len(found.correlations)
        signs = np.zeros((count, k))  # missing components are zero
        np.fill_diagonal(signs, column_signs(found.scores[0]))
        if training is None:
            self.x_scores_, self.y_scores_ = (scores @ beside(signs, scores) for scores in found.scores)
            training = column_correlations(self.x_scores_, self.y_scores_)
        else:
            training = np.pad(training, (0, k - count))
        self.expansion_, self.expansion_y_ = (_turned(expansion, signs) for expansion in found.maps)
        # Only the anchors are needed from here on: for factors these are the landmarks.
        view = self._view_y
        self.X_fit_, self.Y_fit_ = self.expansion_.anchors, self.expansion_y_.anchors
        view.X_fit_ = self.Y_fit_
        self.kernel_y_, self.gamma_y_, self.n_features_y_in_ = view.kernel_, view.gamma_, view.n_features_in_
        self.correlations_ = self._like(np.pad(found.correlations, (0, k - count)))
        self.training_correlations_ = self._like(training)
        self.residuals_ = self._like(np.pad(found.residuals, ((0, k - count), (0, 0))))
        self.penalty_, self.rank_, self.factor_error_ = found.penalties, found.columns, found.errors
        self.reg_ = found.regs

    def _like(self, values: np.ndarray) -> Any:
        """NumPy values as an array of the data's kind, device and precision."""
        scores = getattr(self, "x_scores_", None)
        return np.asarray(values, self.X_fit_.dtype) if scores is None else beside(values, scores)

    # --- using the pairs -------------------------------------------------------------------------------

    def transform(self, X: Any, y: Any = None) -> Any:
        """The scores of new samples X, (m, k), or of both views if y is given. Scores of a source are a source."""
        check_is_fitted(self)
        if is_row_source(X):
            scores = self._placed_by(X, self.expansion_, self._n_features_out)
            return scores if y is None else (scores, self.transform_y(side_by_side(X, y)))
        samples, restore = self._new_samples(X)
        scores = restore(self.expansion_(samples))
        return scores if y is None else (scores, self.transform_y(y))

    def transform_y(self, y: Any) -> Any:
        """The scores of new samples of the second view alone, (m, k)."""
        check_is_fitted(self)
        if is_row_source(y):
            names = [str(name) for name in self.get_feature_names_out()]
            return self._view_y.mapped(y, self.expansion_y_, names)
        samples, restore = self._view_y.read_new(y)
        scores = restore(self.expansion_y_(samples))
        return _wrap_data_with_container("transform", scores, y, self)

    def correlations(self, X: Any, y: Any) -> np.ndarray:
        """The correlation of each pair of scores over the samples of X and y, (k,); zero if a score is constant."""
        check_is_fitted(self)
        if is_row_source(X):
            X, y = with_target(X, y)
            return streamed_correlations(*self.transform(X, y))
        first, second = self._new_samples(X)[0], self._view_y.read_new(y)[0]
        check_consistent_length(first, second)
        _refuse_too_few(first)
        return column_correlations(self.expansion_(first), self.expansion_y_(second))

    def score(self, X: Any, y: Any) -> float:
        """The mean of `correlations(X, y)`: on held-out samples, what the two views really share.

        On the training samples it grows as `reg` falls, whatever the data. On new samples it tells signal from noise,
        so a grid search can compare penalties, kernels and widths by it. It needs at least two samples.
        """
        return float(self.correlations(X, y).mean())

    # --- scikit-learn ----------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.correlations_.shape[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _in_precision_of(X: Any, values: Any) -> Any:
    """Values in the precision of answers on X."""
    xp = namespace(values)
    return xp.astype(values, xp.float32 if answer_dtype(X) == SINGLE else xp.float64)


@dataclass(frozen=True)
class FoundPairs:
    """Pairs of functions of two views, however they were found; every pair of fields is (first view, second view)."""

    correlations: np.ndarray  # (k,)
    residuals: np.ndarray  # (k, 2)
    scores: list[Any]  # (n, k) each
    maps: list[KernelExpansion]
    regs: tuple[float, float]
    penalties: tuple[float, float]
    variances: tuple[float, float]
    ranks: tuple[int, int]  # the dimensions that each view spans once centred, at most
    columns: tuple[int, int]  # of the factors
    errors: tuple[float, float]  # tr(K − FFᵀ)/tr K
    reason: str
    steps: int = 0


def _share(features: StreamedFeatures) -> float:
    """tr(K − FFᵀ)/tr K over all rows."""
    return features.error / features.trace if features.trace > 0 else 0.0


def _turned(expansion: KernelExpansion, turn: np.ndarray) -> KernelExpansion:
    coefs, offset = (part @ beside(turn, part) for part in (expansion.coefs, expansion.offset))
    return KernelExpansion(expansion.kernel, expansion.anchors, coefs, offset, expansion.n_jobs)


def _forced_correlations(ranks: tuple[int, int], n: int, regs: tuple[float, float]) -> int:
    """How many correlations of one follow from counting dimensions.

    Spaces of r₁ and r₂ dimensions among the n − 1 of centred vectors meet in r₁ + r₂ − (n − 1) at least. If only one
    view is free of a penalty, it matches the other's functions if it spans everything.
    """
    if max(regs) == 0.0:
        return max(0, ranks[0] + ranks[1] - (n - 1))
    spans_all = any(reg == 0.0 and rank >= n - 1 for reg, rank in zip(regs, ranks, strict=True))
    return min(ranks) if spans_all else 0


def _warn_degenerate(message: str) -> None:
    warn(message, DegenerateDataWarning)


def _refuse_too_few(X: Any) -> None:
    if X.shape[0] < 2:
        raise ValueError(f"A correlation needs at least two samples; n_samples = {X.shape[0]} was given.")


def _refuse_apart(X: Any, Y: Any) -> None:
    """Both views must be where products of one with the other can be taken."""
    if is_foreign(X) != is_foreign(Y) or (is_foreign(X) and (placement(X) != placement(Y) or type(X) is not type(Y))):
        places = " and ".join(f"{type(A).__module__.partition('.')[0]} arrays" for A in (X, Y))
        raise ValueError(f"X and y must be of one array type and on one device, not {places}: convert one of them.")


# --- the second view ---------------------------------------------------------------------------------------


class SecondView(KernelEstimator):
    """What an estimator of two views knows of y: `kernel_`, `gamma_`, `n_features_in_` and `X_fit_` are y's."""

    _saved = SavedEstimator(
        "SecondView",
        {**INPUT, "kernel_": bound_kernel, "gamma_": optional(number), "X_fit_": samples("n", "d")},
        root=False,
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **KERNEL_CONSTRAINTS,
        "gamma": [*KERNEL_CONSTRAINTS["gamma"], StrOptions({"cv"})],
    }

    def __init__(
        self,
        owner: str = "",
        *,
        kernel: str | Callable[..., Any] = "rbf",
        gamma: Any = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
    ) -> None:
        self.owner = owner
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params

    def read(self, y: Any) -> tuple[Any, Callable[[Any], Any]]:
        """The samples to fit, checked, and the function that gives a result the type of y."""
        return self._samples(y, reset=True, ensure_min_samples=2)

    def read_new(self, y: Any) -> tuple[Any, Callable[[Any], Any]]:
        """New samples, in the place and the precision of the fitted ones, and the same function."""
        return self._new_samples(y)

    def bind_source(self, source: RowSource, places: np.ndarray) -> Any:
        """Set the kernel for streamed rows by those with the given numbers, which are returned."""
        self._read_source(source, 2)
        self._refuse_not_vectors()
        rows = rows_at(source, places)
        self._bind(rows)
        return rows

    def mapped(self, source: RowSource, expansion: KernelExpansion, names: list[str]) -> MappedRows:
        """The scores of streamed rows, as a source."""
        return self._placed_by(source, expansion, len(names), names)

    def bind(self, Y: Any) -> None:
        """Set the kernel with all its numbers for the samples Y."""
        self._bind(Y)

    def _read(
        self, X: Any, *, reset: bool, accept_sparse: Any = "csr", **checks: Any
    ) -> tuple[Any, Callable[[Any], Any]]:
        """y as (n, d), one column if it has one dimension, and the function that gives a result its type."""
        Y, restore = adopt(X)
        if is_foreign(Y):
            Y = namespace(Y).reshape(Y, (-1, 1)) if Y.ndim == 1 else Y
            return self._check_foreign(Y, reset=reset, **checks), restore
        refuse_not_numeric(Y, "y")
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
    """A view of one number per sample, as one column."""
    if sp.issparse(Y) or getattr(Y, "ndim", 1) != 1:
        return Y
    values = np.asarray(Y)
    return values.reshape(-1, 1) if values.ndim == 1 else values
