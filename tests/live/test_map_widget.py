"""The widget and its kernel: arrays travel as bytes, the selection goes both ways, and sliders compute."""

import json
import time
from typing import ClassVar

import numpy as np
import pytest

pytest.importorskip("anywidget")
import comm
from comm.base_comm import BaseComm

import mercer
from mercer import KernelPCA
from mercer.live.messages import decode
from mercer.live.static_map import StaticMap


class Wire(BaseComm):
    """What a kernel and a notebook say to each other about one widget."""

    made: ClassVar[list] = []

    def __init__(self, *args, **settings):
        self.sent = []
        Wire.made.append(self)
        super().__init__(*args, **settings)

    def publish_msg(self, msg_type, data=None, metadata=None, buffers=None, **keys):
        self.sent.append((msg_type, data, buffers or []))

    def hear(self, data, buffers=()):
        self.handle_msg({"content": {"data": data}, "buffers": list(buffers)})

    def messages(self):
        return [
            decode(bytes(buffers[0]))
            for kind, data, buffers in list(self.sent)
            if kind == "comm_msg" and data["method"] == "custom" and buffers
        ]


@pytest.fixture
def wires(monkeypatch):
    Wire.made = []
    monkeypatch.setattr(comm, "create_comm", lambda **settings: Wire(**settings))
    yield lambda: next(wire for wire in Wire.made if "_esm" in wire.sent[0][1]["state"])
    for wire in Wire.made:
        wire.close()


def model_of(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return KernelPCA(2, kernel="rbf", gamma=0.3).fit(X)


def opened(wire):
    """The state that a notebook gets, and the names of what came as bytes."""
    kind, data, buffers = wire.sent[0]
    assert kind == "comm_open"
    return data["state"], {path[-1]: bytes(part) for path, part in zip(data["buffer_paths"], buffers, strict=True)}


def test_coordinates_travel_as_bytes_and_never_as_text(wires):
    mercer.widget(model_of(50)).close()
    small, _ = opened(wires())
    Wire.made = []
    mercer.widget(model_of(1500)).close()
    large, binary = opened(wires())
    assert set(binary) == {"_block", "selected"} and len(binary["_block"]) > 4 * 1500
    assert len(json.dumps(large)) - len(json.dumps(small)) < 1450  # less than a character per row more: one more slider


def test_the_selection_goes_both_ways(wires):
    shown = mercer.widget(model_of(50))
    wire, heard = wires(), []
    shown.observe(lambda change: heard.append(change["new"].tolist()), "selected")
    shown.selected = [7, 3]
    _, data, buffers = wire.sent[-1]
    assert data["buffer_paths"] == [["selected"]] and bytes(buffers[0]) == b"\x03\0\0\0\x07\0\0\0"
    rows = np.array([1, 2, 49], "<u4").tobytes()
    wire.hear({"method": "update", "state": {}, "buffer_paths": [["selected"]]}, [memoryview(rows)])
    assert shown.selected.tolist() == [1, 2, 49] and heard == [[3, 7], [1, 2, 49]]
    shown.close()


def test_sliders_compute_in_the_kernel(wires):
    model = model_of(80)
    shown = mercer.widget(model)
    wire = wires()
    assert shown.estimator is model and shown.settings["gamma"] == 0.3
    wire.hear({"method": "custom", "content": {"view": "a", "what": "hello"}})
    text = json.dumps({"type": "settings", "number": 1, "settings": {"method": "pca", "n_components": 3}})
    wire.hear({"method": "custom", "content": {"view": "a", "text": text}})
    end = time.monotonic() + 60
    while not any(header.get("stage") == "settled" for header, _ in wire.messages()):
        assert time.monotonic() < end
        time.sleep(0.01)
    assert shown.coordinates.shape == (80, 3) and shown.settings == {"method": "pca", "n_components": 3}
    assert type(shown.estimator).__name__ == "PCA"
    shown.close()


def test_a_finished_map_has_no_settings_and_starts_no_thread(wires):
    shown = mercer.widget(np.eye(5)[:, :2])
    wires().hear({"method": "custom", "content": {"view": "a", "what": "hello"}})
    assert shown.settings is None and shown.estimator is None and wires().messages() == []
    assert json.loads(opened(wires())[0]["_about"]).get("live") is None


def test_readers_that_know_no_widgets_get_the_page(wires):
    data, _ = mercer.widget(np.eye(5)[:, :2], height=321)._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert data["text/html"].startswith("<iframe") and "height:321px" in data["text/html"]
    large = mercer.widget(np.random.default_rng(0).normal(size=(300_000, 2)))
    assert "text/html" not in large._repr_mimebundle_()[0]


def test_without_anywidget_the_map_is_a_page_in_a_frame(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "anywidget", None)
    shown = mercer.widget(model_of(50), height=300)
    assert isinstance(shown, StaticMap) and "mercer.widget" not in shown._repr_html_()
    assert "height:300px" in shown._repr_html_() and shown.coordinates.shape == (50, 2)
