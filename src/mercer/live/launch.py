"""`mercer.explore`: a live page of arrays, from Python."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.live.controls import Settings
from mercer.live.isomap_graph import written_cut
from mercer.live.live_table import LiveTable
from mercer.live.server import IDLE, LiveServer


def explore(
    X: Any,
    y: Any = None,
    *,
    images: Sequence[bytes | None] | None = None,
    ids: Any = None,
    columns: Mapping[str, Any] | None = None,
    title: str = "Live map",
    features: Sequence[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    more: Any = None,
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    names: Sequence[str] = (),
    idle: float = IDLE,
    open_browser: bool = True,
    wait: bool = True,
) -> LiveServer:
    """Open a page in the browser whose map follows its sliders: kernel PCA, PCA, Isomap, t-SNE and SNE of X.

    Needs `pip install mercer[explore]`. The page is served to this machine only, and only to browsers that know the
    token in its address.

    Parameters
    ----------
    X : (n, d) numbers, dense or sparse, or a data frame; above 200,000 rows a random sample is shown
    y : (n,) labels, to colour by
    images, ids, columns, title : as in `mercer.web.Page`
    features : names of the columns of X; those of a data frame are known
    image_shape : (height, width), if rows of X are grey images
    more : at most 5,000 further rows with the columns of X, which the page can add to the map. y, ids, columns and
        images have values for the rows of X, or for these and then for the rows of `more`.
    host, port, token, names : where the server listens, by default on a free port of this machine. Another host needs a
        token. `names` lists further host names that browsers may use for it.
    idle : the server ends after this many seconds without an open page
    open_browser : whether to open the address, which is printed in any case
    wait : whether to return only after the server has ended or you have pressed Ctrl-C. Otherwise the server runs in a
        thread; `.address` is its address and `.stop()` ends it.

    >>> server = explore(np.random.default_rng(0).normal(size=(50, 3)), open_browser=False, wait=False)
    >>> server.address.startswith("http://127.0.0.1:")
    True
    >>> server.stop()
    """
    if features is None:
        features = [str(name) for name in getattr(X, "columns", ())]
    rows, others = (each.to_numpy() if hasattr(each, "to_numpy") else each for each in (X, more))
    y = None if y is None else np.asarray(y)
    table = LiveTable.of(
        rows,
        y,
        images=images,
        ids=ids,
        columns=columns,
        title=title,
        features=features,
        image_shape=image_shape,
        more=others,
    )
    server = LiveServer(table, host=host, port=port, token=token, names=names, idle=idle)
    return serve(server, open_browser=open_browser, wait=wait)


def serve(server: LiveServer, *, open_browser: bool, wait: bool, say: bool = True) -> LiveServer:
    """Start a server, say where it is, and open a browser if one is wanted."""
    try:
        server.start()
        if say:
            sys.stderr.write(f"Open {server.address}\n")
        if open_browser:
            webbrowser.open(server.address)
        if wait:
            server.wait()
    except KeyboardInterrupt:
        server.stop()
        if not wait:
            raise
    if wait:
        server.stop()
    return server


def settings_of(estimator: Any) -> Settings | None:
    """The settings of a live page that give the map of a fitted estimator, as far as there are sliders for them."""
    name = type(estimator).__name__
    methods = {"KernelPCA": "kpca", "PCA": "pca", "Isomap": "isomap", "TSNE": "tsne", "SNE": "sne"}
    if name not in methods:
        return None
    given = estimator.get_params(deep=False)
    settings: Settings = {"method": methods[name]}
    for key in ("kernel", "degree", "n_components", "n_neighbors", "landmarks", "perplexity", "exaggeration", "dof"):
        if isinstance(given.get(key), int | float | str):
            settings[key] = given[key]
    if getattr(estimator, "gamma_", None) is not None:
        settings["gamma"] = float(estimator.gamma_)
    if given.get("cut_edges") is not None:
        settings["cut"] = written_cut([(int(i), int(j)) for i, j in given["cut_edges"]])
    if name == "KernelPCA":
        settings["n_components"] = len(estimator.eigenvalues_)
    return settings
