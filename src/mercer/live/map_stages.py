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
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mercer.embedding.affinities import Affinities
from mercer.exceptions import collected_warnings
from mercer.live.added_rows import AddedRows
from mercer.live.controls import METHODS, Settings
from mercer.live.descent_runs import EARLY, STEPS, DescentFrames, DescentRun, DescentWish
from mercer.live.landmark_scores import LandmarkScores
from mercer.live.live_table import LiveTable
from mercer.live.map_alignment import mirrored_onto, turn_onto
from mercer.live.method_estimators import estimator_for, kernel_of
from mercer.progress import listening

_QUICK_KPCA, _QUICK_ISOMAP = 600, 1_500  # rows up to which it comes as soon as an approximate one
_FEW_PATHS = 150  # landmarks of Isomap for its first map
_MOST_RUNS = 100  # of a descent that are remembered; its beginning is forgotten first
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


Show = Callable[[MapFrame], None]
Check = Callable[[], None]


class MapStages:
    """The maps of one table, with what is worth keeping from one to the next: landmarks, affinities, the last map."""

    def __init__(self, table: LiveTable) -> None:
        self.table = table
        self._mapped = table.first
        self._landmarks: LandmarkScores | None = None
        self._affinities: tuple[float, Affinities] | None = None
        self._added: AddedRows | None = None
        self._first_look = False  # while an answer is computed that is shown whatever has been asked since
        self.last: np.ndarray | None = None  # of all rows of the page
        self.last_settings: Settings = {"method": ""}
        self._raw: np.ndarray | None = None  # the last map of a descent as the estimator has it
        self.runs: list[DescentRun] = []  # that led to the map of a descent, from its beginning

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
        self._turn_to(settings)
        spectral = {"kpca": self._kernel_pca, "pca": self._pca, "isomap": self._isomap}
        turn: np.ndarray | None = None  # of all maps of a descent, found for its first
        began = time.perf_counter()

        def shown(frame: MapFrame) -> None:
            nonlocal turn
            coordinates = self._with_added(frame, settings)
            if method in spectral:
                aligned = mirrored_onto(self.last, coordinates)
            else:
                turn = turn_onto(self.last, coordinates) if turn is None else turn
                aligned = coordinates @ turn
                self._raw, self.runs[-1].steps = frame.coordinates.copy(), frame.step or 0
            aligned = np.ascontiguousarray(aligned, np.float32)
            self.last, self.last_settings = aligned, settings
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

    def begin_at(self, frame: MapFrame, settings: Settings) -> None:
        """Take a map that was computed elsewhere for the last one."""
        self.last, self.last_settings, self._raw = frame.coordinates, settings, None
        self.runs = [DescentRun(settings, DescentWish(), warm=True, steps=frame.step or 1)]

    def mapped(self, settings: Settings) -> LiveTable:
        """The table of the rows that a map of these settings is made of."""
        return self.table.joined if settings.get("added") == "joined" else self.table.first

    def _turn_to(self, settings: Settings) -> None:
        mapped = self.mapped(settings)
        if mapped is not self._mapped:
            self._mapped, self._landmarks, self._affinities, self._raw = mapped, None, None, None

    def _with_added(self, frame: MapFrame, settings: Settings) -> np.ndarray:
        """The coordinates with those of rows that are not mapped themselves: placed, or hidden in the middle."""
        missing = self.table.rows - len(frame.coordinates)
        if not missing:
            return frame.coordinates
        if settings.get("added") == "hidden":
            others = np.repeat(frame.coordinates.mean(axis=0, keepdims=True), missing, axis=0)
        elif frame.estimator is None:
            others = self._more().interpolated(frame.coordinates)
        else:
            others = self._more().placed(frame.estimator)
        return np.concatenate([frame.coordinates, others.astype(frame.coordinates.dtype)])

    def _more(self) -> AddedRows:
        if self._added is None:
            self._added = AddedRows(self.table)
        return self._added

    @contextmanager
    def _uninterrupted(self) -> Iterator[None]:
        self._first_look = True
        try:
            yield
        finally:
            self._first_look = False

    # --- spectral maps ---------------------------------------------------------------------------------------

    def _kernel_pca(self, settings: Settings) -> Iterator[MapFrame]:
        n, k = self._mapped.rows, settings["n_components"]
        if n > _QUICK_KPCA:
            with self._uninterrupted():
                first = self._on_landmarks(settings, k)
            yield first
        estimator = estimator_for(settings, n)
        scores = np.asarray(estimator.set_output(transform="default").fit_transform(self._mapped.X))
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
            self._landmarks = LandmarkScores(self._mapped.X)
        kernel = kernel_of(settings).bind(self._landmarks.X)
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
        estimator = estimator_for(settings, self._mapped.rows)
        scores = np.asarray(estimator.set_output(transform="default").fit_transform(self._mapped.X))
        yield MapFrame(
            scores,
            [f"component {i + 1}" for i in range(scores.shape[1])],
            "settled",
            [("explained", _percent(float(np.sum(estimator.explained_variance_ratio_))))],
            spectrum=np.asarray(estimator.explained_variance_, np.float64),
            estimator=estimator,
        )

    def _isomap(self, settings: Settings) -> Iterator[MapFrame]:
        n = self._mapped.rows
        if n > _QUICK_ISOMAP and not 0 < settings.get("landmarks", 0) <= _FEW_PATHS:
            few = estimator_for(settings | {"landmarks": _FEW_PATHS}, n)
            with self._uninterrupted():
                first = self._isomap_frame(few, "quick")
            yield first
        yield self._isomap_frame(estimator_for(settings, n), "settled")

    def _isomap_frame(self, estimator: Any, stage: str) -> MapFrame:
        scores = np.asarray(estimator.set_output(transform="default").fit_transform(self._mapped.X))
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
        n = self._mapped.rows
        begin, wish = self._beginning(settings, wish)
        early = 0 if begin is not None else min(EARLY, STEPS)
        estimator = estimator_for(settings, n).set_params(
            max_iter=0,
            early_exaggeration_iter=early,
            n_iter_without_progress=10**9,
            min_grad_norm=0.0,
            affinities=self._known_affinities(settings["perplexity"]),
            **({"init": begin} if begin is not None else {}),
            **({"fixed": wish.held} if wish.held is not None else {}),
        )
        estimator.fit(self._mapped.X)
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

    def _beginning(self, settings: Settings, wish: DescentWish) -> tuple[np.ndarray | None, DescentWish]:
        """Where a descent begins, None for principal components, and the wish for the rows that are mapped."""
        n = self._mapped.rows
        warm = self.last_settings["method"] in ("tsne", "sne") and self.last is not None
        if not warm or self.last is None:
            self.runs = [DescentRun(settings, DescentWish(wish.steps), warm=False)]
            return None, self.runs[0].wish
        held = None if wish.held is None or not wish.held[:n].any() else wish.held[:n]
        moved = None if wish.moved is None else wish.moved[:n]
        run = DescentRun(settings, dataclasses.replace(wish, held=held, moved=moved), warm=True)
        if self._raw is None or len(self._raw) != n:  # other rows are mapped now: their points are those on the page
            if self.last_settings.get("added") == "hidden" and n > self.table.first.rows:
                self.last[self.table.first.rows :] = self._more().interpolated(self.last[: self.table.first.rows])
            self._raw, self.runs = self.last[:n].copy(), []
        if moved is not None:
            back = turn_onto(self.last[:n], self._raw)
            self.last = self.last.copy()
            self.last[:n][moved] += np.array(wish.by, self.last.dtype)
            shift = np.asarray(wish.by) @ back.T
            self._raw[moved] += shift.astype(self._raw.dtype)
            run.by = (float(shift[0]), float(shift[1]))
        self.runs = [*self.runs, run][-_MOST_RUNS:]
        return self._raw, run.wish

    def _known_affinities(self, perplexity: float) -> Affinities | None:
        return self._affinities[1] if self._affinities is not None and self._affinities[0] == perplexity else None


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
