"""`mercer.explore`, and the settings of fitted estimators."""

import http.client

import numpy as np
import pytest

import mercer
from mercer import TSNE, Isomap, KernelPCA
from mercer.live.controls import Controls
from mercer.live.launch import settings_of
from mercer.live.live_table import LiveTable


def test_explore_serves_arrays_until_it_is_stopped(capsys):
    pytest.importorskip("uvicorn")
    X = np.random.default_rng(0).normal(size=(40, 3))
    server = mercer.explore(X, np.arange(40) % 2, open_browser=False, wait=False)
    try:
        assert server.address in capsys.readouterr().err
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("GET", f"/?token={server.token}")
        assert connection.getresponse().status == 303
    finally:
        server.stop()
    assert not server.running


def test_columns_of_a_frame_keep_their_names():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("uvicorn")
    frame = pandas.DataFrame({"length": [1.0, 2.0, 3.0], "width": [0.0, 1.0, 0.5]})
    server = mercer.explore(frame, open_browser=False, wait=False)
    server.stop()
    assert server.table.features == ["length", "width"]


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (KernelPCA(3, kernel="rbf", gamma=0.2), {"method": "kpca", "kernel": "rbf", "gamma": 0.2, "n_components": 3}),
        (Isomap(n_neighbors=7), {"method": "isomap", "n_neighbors": 7, "n_components": 2}),
        (Isomap(n_neighbors=9, landmarks=20, cut_edges=[(4, 3)]), {"method": "isomap", "landmarks": 20, "cut": "3-4"}),
        (TSNE(perplexity=5, max_iter=10), {"method": "tsne", "perplexity": 5, "exaggeration": 1.0}),
    ],
)
def test_the_settings_of_an_estimator_are_those_of_its_map(estimator, expected):
    X = np.random.default_rng(0).normal(size=(60, 3))
    found = Controls(LiveTable.of(X), settings_of(estimator.fit(X))).first()
    assert {name: found[name] for name in expected} == expected


def test_other_estimators_have_no_settings():
    assert settings_of(object()) is None
