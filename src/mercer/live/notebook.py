"""`mercer.widget`: a map in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mercer.live.shown_map import shown_map
from mercer.live.static_map import StaticMap

if TYPE_CHECKING:
    from mercer.live.map_widget import MapWidget


def widget(
    shown: Any,
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
    height: int = 600,
) -> MapWidget | StaticMap:
    """A map in a notebook, whose selection is an array in Python, and whose sliders compute other maps in the kernel.

    Needs `pip install mercer[notebook]`. Without it you get the same map as a page in a frame, without sliders and
    without `selected`. Tested in JupyterLab, Notebook 7 and marimo.

    Parameters
    ----------
    shown : a fitted estimator, coordinates (n, k), a `mercer.web.Map`, a `mercer.web.Page` or a `mercer.live.LiveTable`
    X : (n, d) the rows of the map. A kernel PCA keeps its rows; other estimators need them for sliders.
    y : (n,) labels, to colour by
    live : whether sliders compute other maps. By default they do if the rows are at hand and there are sliders for the
        estimator: for KernelPCA, PCA, Isomap, TSNE and SNE, up to 200,000 rows.
    images, ids, columns, title : as in `mercer.web.Page`
    features : names of the columns of X; those of a data frame are known
    image_shape : (height, width), if rows of X are grey images
    height : the height of the widget in pixels

    Returns
    -------
    A widget. Its `selected` is an array of row numbers: a lasso sets it, setting it selects points in the page, and
    `observe(function, "selected")` calls a function at each change. `coordinates`, `settings` and `estimator` describe
    the last map that the sliders have made.

    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> model = KernelPCA(2, kernel="rbf", gamma=0.5).fit(X)
    >>> widget(model).coordinates.shape
    (30, 2)
    """
    found = shown_map(
        shown,
        X,
        y,
        live=live,
        images=images,
        ids=ids,
        columns=columns,
        title=title,
        features=features,
        image_shape=image_shape,
    )
    try:
        import_module("anywidget")
    except ImportError:
        return StaticMap(found.page, height)
    from mercer.live.map_widget import MapWidget

    return MapWidget(found, height)
