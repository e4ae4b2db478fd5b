"""What a widget shows: a page, and the table behind it if the map can follow sliders."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.backends import to_numpy
from mercer.estimators.fitted_map import fitted_map
from mercer.live.controls import Controls, Settings
from mercer.live.launch import settings_of
from mercer.live.live_page import live_page
from mercer.live.live_table import MOST_ROWS, LiveTable
from mercer.live.map_stages import MapFrame
from mercer.web.page import Map, Page


@dataclasses.dataclass(frozen=True)
class ShownMap:
    """A page; for a live map also its table, its controls, and the map that is known before anything is computed."""

    page: Page
    table: LiveTable | None = None
    controls: Controls | None = None
    known: tuple[Settings, MapFrame] | None = None

    @property
    def live(self) -> dict[str, Any] | None:
        """What the page is told of its settings; None if the map is static."""
        if self.table is None or self.controls is None:
            return None
        return live_page(self.table, self.controls)


def shown_map(
    what: Any,
    X: Any = None,
    y: Any = None,
    *,
    live: bool | None = None,
    images: Sequence[bytes | None] | None = None,
    ids: Any = None,
    columns: Mapping[str, Any] | None = None,
    title: str | None = None,
    features: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
) -> ShownMap:
    """What to show of a page, a map, a table, coordinates or a fitted estimator; see `mercer.widget`."""
    if isinstance(what, LiveTable):
        return _of_table(what, Controls(what), None)
    if isinstance(what, Page | Map):
        if live:
            raise ValueError("A page shows finished maps. Pass a fitted estimator and its rows for sliders.")
        return ShownMap(what if isinstance(what, Page) else _page([what], y, images, ids, columns, title or what.name))
    if not hasattr(what, "get_params"):
        if live:
            raise ValueError("Coordinates do not say how they were made. Pass the fitted estimator for sliders.")
        found = Map("map", np.asarray(what))
        return ShownMap(_page([found], y, images, ids, columns, title or "Map"))
    rows = _rows_of(what) if X is None else X
    coordinates = _coordinates(what, X)
    name = type(what).__name__
    settings = settings_of(what)
    why = _why_not_live(what, rows, settings, len(coordinates))
    if live and why:
        raise ValueError(why)
    if live is False or why:
        axes = _axes(what, coordinates.shape[1])
        return ShownMap(_page([Map(name, coordinates, axes, run=_run(what))], y, images, ids, columns, title or name))
    if features is None:
        features = [str(each) for each in getattr(rows, "columns", getattr(what, "feature_names_in_", ()))]
    table = LiveTable.of(
        rows.to_numpy() if hasattr(rows, "to_numpy") else rows if hasattr(rows, "indptr") else to_numpy(rows),
        None if y is None else np.asarray(y),
        images=images,
        ids=ids,
        columns=columns,
        title=title or name,
        features=features,
        image_shape=image_shape,
    )
    return _of_table(table, Controls(table, settings), (what, coordinates))


def _is_of_the_fit(estimator: Any, n: int) -> bool:
    """Whether a map of n rows is that of the rows that the estimator was fitted to."""
    found = fitted_map(estimator)
    return getattr(estimator, "n_samples_", None) == n if found is None else len(found) == n


def _of_table(table: LiveTable, controls: Controls, fitted: tuple[Any, np.ndarray] | None) -> ShownMap:
    if fitted is None:
        return ShownMap(table.first_page(), table, controls)
    estimator, coordinates = fitted
    axes = _axes(estimator, coordinates.shape[1])
    page = table.page(type(estimator).__name__, coordinates, axes, None)
    if not _is_of_the_fit(estimator, len(coordinates)):
        return ShownMap(page, table, controls)
    frame = MapFrame(
        np.ascontiguousarray(coordinates, np.float32), axes, "settled", _facts(estimator), estimator=estimator
    )
    if len(getattr(estimator, "eigenvalues_", ())) == coordinates.shape[1]:
        frame = dataclasses.replace(frame, spectrum=to_numpy(estimator.eigenvalues_).astype(np.float64))
    return ShownMap(page, table, controls, (controls.first(), frame))


def _why_not_live(estimator: Any, rows: Any, settings: Settings | None, n: int) -> str | None:
    """Why the map cannot follow sliders; None if it can."""
    name = type(estimator).__name__
    if settings is None:
        return f"There are no sliders for {name}, only for KernelPCA, PCA, Isomap, TSNE and SNE."
    if rows is None:
        return f"{name} keeps no rows to compute other maps of. Pass them: mercer.widget(model, X)."
    if any(getattr(estimator, name, None) == "precomputed" for name in ("kernel", "metric")):
        return "The model was fitted to a matrix between rows, and sliders need the rows themselves."
    if n > MOST_ROWS:
        return f"{n:,} rows cannot follow a slider; {MOST_ROWS:,} can. The map is shown as it is."
    return None


def _rows_of(estimator: Any) -> Any:
    """The rows that an estimator keeps, None if it keeps none."""
    rows = getattr(estimator, "X_fit_", None)
    return rows if getattr(rows, "ndim", 1) == 2 else None


def _coordinates(estimator: Any, X: Any) -> np.ndarray:
    found = fitted_map(estimator)
    if found is not None and (X is None or len(found) == (X.shape[0] if hasattr(X, "shape") else len(X))):
        return found
    if X is None:
        raise ValueError(
            f"{type(estimator).__name__} is not fitted, or keeps no map of its rows. Fit it, and pass the rows: "
            "mercer.widget(model, X)."
        )
    if not hasattr(estimator, "transform"):
        raise ValueError(f"{type(estimator).__name__} was fitted to other rows, and cannot map new ones.")
    return np.asarray(to_numpy(estimator.transform(X)))


def _axes(estimator: Any, k: int) -> list[str]:
    words = {"KernelPCA": "component", "PCA": "component", "Isomap": "coordinate", "TSNE": "t-SNE", "SNE": "SNE"}
    return [f"{words.get(type(estimator).__name__, 'axis')} {i + 1}" for i in range(k)]


def _facts(estimator: Any) -> list[tuple[str, str]]:
    found = [("fitted", type(estimator).__name__)]
    ratio = getattr(estimator, "explained_variance_ratio_", None)
    if ratio is not None:
        found.append(("explained", f"{100 * float(np.sum(to_numpy(ratio))):.3g} %"))
    if getattr(estimator, "residual_variance_", None) is not None:
        left = float(np.ravel(to_numpy(estimator.residual_variance_))[-1])
        found.append(("unexplained", f"{100 * left:.3g} % of the variance of distances"))
    if getattr(estimator, "kl_divergence_", None) is not None:
        found.append(("divergence", f"{float(estimator.kl_divergence_):.4f}"))
    return found


def _run(estimator: Any) -> dict[str, Any]:
    return {
        "method": type(estimator).__name__,
        "parameters": estimator.get_params(deep=False),
        **dict(_facts(estimator)),
    }


def _page(
    maps: Sequence[Map],
    y: Any,
    images: Sequence[bytes | None] | None,
    ids: Any,
    columns: Mapping[str, Any] | None,
    title: str,
) -> Page:
    shown = {str(name): np.asarray(values) for name, values in (columns or {}).items()}
    label = None
    if y is not None:
        label = "label"
        while label in shown:
            label += "_"
        shown = {label: np.asarray(y)} | shown
    return Page(title, maps, None if ids is None else np.asarray(ids), shown, label, images)
