"""From settings to maps: a quick answer first, then the exact one, or a descent step by step.

    kernel PCA      scores on landmarks at once, then exact pairs with their residuals
    PCA             exact at once
    Isomap          paths from a few landmarks first, then from all rows
    SNE, t-SNE      the map after every few steps; a change of settings goes on from the map that is shown

What is shown goes to `show`. `check` is called between steps, from threads of the computation too, and ends it by
raising `Superseded`.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mercer.embedding.affinities import Affinities
from mercer.estimators.isomap import Isomap
from mercer.estimators.kernel_pca import KernelPCA
from mercer.estimators.pca import PCA
from mercer.estimators.tsne import SNE, TSNE
from mercer.exceptions import collected_warnings
from mercer.kernels.resolve import resolve_kernel
from mercer.linalg.eigen import SMALL
from mercer.live.controls import METHODS, Settings
from mercer.live.landmark_scores import LandmarkScores
from mercer.live.live_table import LiveTable
from mercer.live.map_alignment import mirrored_onto, turn_onto
from mercer.progress import listening

EXACT_KPCA = 30_000  # rows up to which the exact answer comes within seconds
_QUICK_KPCA, _QUICK_ISOMAP = 600, 1_500  # rows up to which it comes as soon as an approximate one
_TOLERANCE = 1e-4  # of the residuals: a thousandth of what a screen can show; the residual that was reached is told
_RANK = 500  # of kernel PCA where all pairs take too long
_FEW_PATHS = 150  # landmarks of Isomap for its first map
STEPS, MORE_STEPS, EARLY = 1000, 500, 250  # of a descent; of one that goes on; exaggerated ones
_FRAME_SECONDS = 0.09  # between two maps of a descent, if a step takes less
_MANY_ROWS, _BETWEEN_DIVERGENCES = 20_000, 1.0  # rows beyond which the divergence is computed once per second


class Superseded(Exception):
    """The computation is not wanted any more."""


@dataclasses.dataclass(frozen=True)
class MapFrame:
    """A map on its way or finished.

    stage : "quick", "steps" or "settled"
    facts : (name, text) of what is known about the answer
    step, divergence : of a descent
    spectrum, errors : eigenvalues and their error bounds, if the answer is certified
    estimator : fitted to the table, if the map is finished
    """

    coordinates: np.ndarray
    axes: list[str]
    stage: str
    facts: list[tuple[str, str]]
    step: int | None = None
    divergence: float | None = None
    spectrum: np.ndarray | None = None
    errors: np.ndarray | None = None
    estimator: Any = None


@dataclasses.dataclass(frozen=True)
class DescentWish:
    """What a person does to a descent: how many steps are still to come, and which rows are held where they are."""

    steps: int = STEPS
    exaggeration: float | None = None
    held: np.ndarray | None = None
    moved: np.ndarray | None = None
    by: tuple[float, float] = (0.0, 0.0)


Show = Callable[[MapFrame], None]
Check = Callable[[], None]


class DescentFrames:
    """Shows a descent ten times per second or a little more often: the callback of an estimator.

    A map costs its copy. Its divergence costs about as much as a step, so large maps tell it once in a while.

    show : called with the number of the step, the newest divergence and the map
    check : called at every step, and may end the descent by an error
    stopped : whether the descent is to end where it is
    between : seconds between two divergences
    """

    def __init__(
        self,
        show: Callable[[int, float, np.ndarray], None],
        check: Check,
        stopped: Callable[[], bool],
        between: float = 0.0,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._show, self._check, self._stopped, self._between, self._clock = show, check, stopped, between, clock
        self._shown_at = self._judged_at = -math.inf
        self._stepped_at = clock()
        self._divergence = math.nan

    def is_due(self, _: int) -> bool:
        """Whether to show this step: one step more would be too late."""
        self._check()
        now = self._clock()
        step, self._stepped_at = now - self._stepped_at, now
        return now - self._shown_at + step > _FRAME_SECONDS or self._stopped()

    def sees_value(self, _: int) -> bool:
        """Whether to compute the divergence of this step."""
        return self._clock() - self._judged_at >= self._between

    def __call__(self, step: int, divergence: float, Y: np.ndarray) -> bool:
        self._shown_at = self._clock()
        if math.isfinite(divergence):
            self._divergence, self._judged_at = divergence, self._shown_at
        self._show(step, self._divergence, Y)
        return self._stopped()


class MapStages:
    """The maps of one table, with what is worth keeping from one to the next: landmarks, affinities, the last map."""

    def __init__(self, table: LiveTable) -> None:
        self.table = table
        self._landmarks: LandmarkScores | None = None
        self._affinities: tuple[float, Affinities] | None = None
        self._first_look = False  # while an answer is computed that is shown whatever has been asked since
        self.last: np.ndarray | None = None
        self.last_method = ""

    def run(
        self,
        settings: Settings,
        show: Show,
        check: Check,
        *,
        descent: DescentWish | None = None,
        stopped: Callable[[], bool] = lambda: False,
        progress: Callable[[str, int, int], None] = lambda *_: None,
    ) -> None:
        """Compute the map of these settings. ValueError and its like come through as the estimators raise them.

        descent, stopped : what a person wishes of a descent, and whether it is to end where it is
        progress : called with a phase, the jobs done in it, and all its jobs or 0
        """
        method = settings["method"]
        spectral = {"kpca": self._kernel_pca, "pca": self._pca, "isomap": self._isomap}
        turn: np.ndarray | None = None  # of all maps of a descent, found for its first
        began = time.perf_counter()

        def shown(frame: MapFrame) -> None:
            nonlocal turn
            if method in spectral:
                aligned = mirrored_onto(self.last, frame.coordinates)
            else:
                turn = turn_onto(self.last, frame.coordinates) if turn is None else turn
                aligned = frame.coordinates @ turn
            aligned = np.ascontiguousarray(aligned, np.float32)
            self.last, self.last_method = aligned, method
            taken = [("time", f"{time.perf_counter() - began:.2g} s")] if frame.stage == "settled" else []
            show(dataclasses.replace(frame, coordinates=aligned, facts=[*frame.facts, *taken]))

        def heard(phase: str, done: int, total: int, _: str) -> None:
            if not self._first_look:  # without one, a slider that moves on and on would show nothing
                check()
            progress(phase, done, total)

        with listening(heard), collected_warnings() as caught:
            if method in spectral:
                frames = spectral[method](settings)
            else:
                frames = self._descent(settings, shown, check, stopped, descent or DescentWish())
            for frame in frames:
                notes = list(dict.fromkeys(caught))[:3]
                shown(dataclasses.replace(frame, facts=[*frame.facts, *(("note", note) for note in notes)]))
                check()

    @contextmanager
    def _uninterrupted(self) -> Iterator[None]:
        self._first_look = True
        try:
            yield
        finally:
            self._first_look = False

    # --- spectral maps ---------------------------------------------------------------------------------------

    def _kernel_pca(self, settings: Settings) -> Iterator[MapFrame]:
        n, k = self.table.rows, settings["n_components"]
        if n > _QUICK_KPCA:
            with self._uninterrupted():
                first = self._on_landmarks(settings, k)
            yield first
        estimator = estimator_for(settings, n)
        scores = np.asarray(estimator.set_output(transform="default").fit_transform(self.table.X))
        values = np.asarray(estimator.eigenvalues_, np.float64)
        share = float(np.sum(estimator.explained_variance_ratio_))
        largest = float(values[0]) if len(values) and values[0] > 0 else 1.0
        if estimator.landmarks_ is None:
            worst = float(np.max(estimator.residuals_)) / largest
            certificate = ("residual", f"{worst:.1e} of the largest eigenvalue")
        else:
            worst = float(np.max(estimator.eigenvalue_error_)) / largest
            certificate = ("bound", f"eigenvalues too small by at most {worst:.1g} of the largest")
        yield MapFrame(
            scores,
            [f"component {i + 1}" for i in range(scores.shape[1])],
            "settled",
            [("explained", _percent(share)), certificate, ("solver", str(estimator.solver_.name))],
            spectrum=values,
            errors=np.asarray(estimator.eigenvalue_error_, np.float64),
            estimator=estimator,
        )

    def _on_landmarks(self, settings: Settings, k: int) -> MapFrame:
        if self._landmarks is None:
            self._landmarks = LandmarkScores(self.table.X)
        kernel = _kernel_of(settings).bind(self._landmarks.X)
        answer = self._landmarks(kernel, k)
        bound = answer.bound / max(float(answer.values[0]), 1e-300)
        return MapFrame(
            answer.scores,
            [f"component {i + 1}" for i in range(answer.scores.shape[1])],
            "quick",
            [
                ("explained", f"at least {_percent(float(np.sum(answer.values)) / answer.total)}"),
                ("landmarks", str(len(self._landmarks.rows))),
                *([("bound", f"eigenvalues too small by at most {bound:.1g} of the largest")] if bound < 1 else []),
            ],
            spectrum=answer.values,
        )

    def _pca(self, settings: Settings) -> Iterator[MapFrame]:
        estimator = estimator_for(settings, self.table.rows)
        scores = np.asarray(estimator.set_output(transform="default").fit_transform(self.table.X))
        yield MapFrame(
            scores,
            [f"component {i + 1}" for i in range(scores.shape[1])],
            "settled",
            [("explained", _percent(float(np.sum(estimator.explained_variance_ratio_))))],
            spectrum=np.asarray(estimator.explained_variance_, np.float64),
            estimator=estimator,
        )

    def _isomap(self, settings: Settings) -> Iterator[MapFrame]:
        n = self.table.rows
        if n > _QUICK_ISOMAP and not 0 < settings.get("landmarks", 0) <= _FEW_PATHS:
            few = Isomap(**{name: settings[name] for name in ("n_neighbors", "n_components")}, landmarks=_FEW_PATHS)
            with self._uninterrupted():
                first = self._isomap_frame(few, "quick")
            yield first
        yield self._isomap_frame(estimator_for(settings, n), "settled")

    def _isomap_frame(self, estimator: Any, stage: str) -> MapFrame:
        scores = np.asarray(estimator.set_output(transform="default").fit_transform(self.table.X))
        facts = [("unexplained", f"{_percent(float(estimator.residual_variance_[-1]))} of the variance of distances")]
        if estimator.landmarks_ is not None:
            facts.append(("paths", f"from {len(estimator.landmarks_):,} landmarks"))
        if estimator.n_connected_components_ > 1:
            facts.append(("parts", f"{estimator.n_connected_components_} before they were joined"))
        return MapFrame(
            scores,
            [f"coordinate {i + 1}" for i in range(scores.shape[1])],
            stage,
            facts,
            spectrum=np.asarray(estimator.eigenvalues_, np.float64),
            errors=np.asarray(estimator.eigenvalue_error_, np.float64),
            estimator=estimator if stage == "settled" else None,
        )

    # --- descents --------------------------------------------------------------------------------------------

    def _descent(
        self, settings: Settings, show: Show, check: Check, stopped: Callable[[], bool], wish: DescentWish
    ) -> Iterator[MapFrame]:
        n = self.table.rows
        warm = self.last_method in ("tsne", "sne") and self.last is not None and self.last.shape == (n, 2)
        if warm and wish.moved is not None and self.last is not None:
            self.last = self.last.copy()
            self.last[wish.moved] += np.array(wish.by, self.last.dtype)
        early = 0 if warm else min(EARLY, STEPS)
        estimator = estimator_for(settings, n).set_params(
            max_iter=0,
            early_exaggeration_iter=early,
            n_iter_without_progress=10**9,
            min_grad_norm=0.0,
            affinities=self._known_affinities(settings["perplexity"]),
            **({"init": self.last} if warm else {}),
            **({"fixed": wish.held} if warm and wish.held is not None and wish.held.any() else {}),
        )
        estimator.fit(self.table.X)
        self._affinities = (settings["perplexity"], estimator.affinities_)
        strength = {} if wish.exaggeration is None else {"exaggeration": wish.exaggeration}

        def frame(stage: str, step: int, divergence: float, Y: np.ndarray) -> MapFrame:
            facts = [("divergence", f"{divergence:.4f}"), ("steps", f"{step:,}")]
            if 0 < step < early:
                facts.append(("phase", "early exaggeration"))
            return MapFrame(
                Y,
                [f"{METHODS[settings['method']]} 1", f"{METHODS[settings['method']]} 2"],
                stage,
                facts,
                step,
                divergence,
                estimator=estimator if stage == "settled" else None,
            )

        frames = DescentFrames(
            lambda step, divergence, Y: show(frame("steps", step, divergence, Y)),
            check,
            stopped,
            _BETWEEN_DIVERGENCES if n > _MANY_ROWS else 0.0,
        )
        estimator.optimize(wish.steps, callbacks=frames, callback_every=1, **strength)
        yield frame("settled", estimator.n_iter_ + 1, float(estimator.kl_divergence_), np.asarray(estimator.embedding_))

    def _known_affinities(self, perplexity: float) -> Affinities | None:
        return self._affinities[1] if self._affinities is not None and self._affinities[0] == perplexity else None


def estimator_for(settings: Settings, rows: int) -> Any:
    """The estimator that the settings describe, for a table of so many rows."""
    method = settings["method"]
    given = {name: value for name, value in settings.items() if name != "method"}
    if method == "kpca":
        if rows > EXACT_KPCA:
            given |= {"eigen_solver": "rpcholesky", "rank": _RANK}
        elif rows > SMALL:  # smaller ones are solved to rounding in no time
            given["tol"] = _TOLERANCE
        return KernelPCA(**given)
    if method == "pca":
        return PCA(**given)
    if method == "isomap":
        return Isomap(**given | {"landmarks": given.get("landmarks") or None})
    return (TSNE if method == "tsne" else SNE)(**given)


def _kernel_of(settings: Settings) -> Any:
    gamma = settings.get("gamma")
    return resolve_kernel(settings["kernel"], gamma if gamma is not None else 1.0, settings.get("degree", 3))


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
