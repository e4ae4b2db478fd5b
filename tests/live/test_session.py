"""One browser's session: the newest settings win, frames are dropped and not queued, and nothing ends the page."""

import base64
import tempfile
import threading

import numpy as np
import pytest

from mercer.live.live_table import LiveTable

NOBODY = base64.b64encode(bytes(30)).decode()  # none of the 240 rows
DESCENT = {"method": "tsne", "perplexity": 15.0}


def test_settings_are_answered_by_a_map_of_all_rows(listen, table):
    page = listen(table)
    page.settings(1, method="kpca", n_components=3)
    header, arrays = page.settled(1)
    assert header["settings"]["n_components"] == 3 and header["axes"] == [f"component {i}" for i in (1, 2, 3)]
    assert arrays["coordinates"].shape == (3 * table.rows,)
    assert len(arrays["spectrum"]) == len(arrays["errors"]) == 3


def test_newer_settings_replace_older_ones(listen, table):
    page = listen(table)
    page.settings(1, **DESCENT)
    page.until(lambda h: h["type"] == "map" and h["number"] == 1)
    page.settings(2, method="pca")
    page.settled(2)
    assert not any(header["stage"] == "settled" for header in page.maps(1))
    seen = [header["number"] for header, _ in page.heard if header["type"] == "map"]
    assert seen == sorted(seen)


def test_of_many_settings_the_last_is_always_answered(listen, table):
    page = listen(table)
    for number in range(1, 60):
        page.settings(number, method="kpca", n_components=1 + number % 5)
    header, _ = page.settled(59)
    assert header["settings"]["n_components"] == 1 + 59 % 5


def test_a_page_that_takes_no_map_gets_one_and_then_the_newest(listen, table):
    page = listen(table)
    page.settings(1, **DESCENT)
    while not page.maps(1):
        page.take(answers=False)
        page.woken.wait(0.05)
    page.settings(2, method="pca")
    command = ""
    while "--method pca" not in command:  # questions are answered between maps, so PCA's has been made by then
        page.session.receive({"type": "ask", "what": "text", "id": 1})
        answers = []
        while not answers:
            answers = page.take(answers=False)
            page.woken.wait(0.05)
            page.woken.clear()
        command = answers[-1]["command"]
        assert [header for header, _ in page.heard if header["type"] == "trouble"] == []
    assert [header["number"] for header, _ in page.heard if header["type"] == "map"] == [1]
    page.session.receive({"type": "taken", "map": page.maps(1)[0]["map"]})
    page.take()
    assert [header["number"] for header, _ in page.heard if header["type"] == "map"] == [1, 2]


def test_settings_that_fail_leave_the_last_map_and_say_why(listen, table):
    page = listen(table)
    page.settings(1, method="pca")
    page.settled(1)
    page.settings(2, method="kpca", kernel="chi2")
    assert "negative" in page.trouble(2)
    page.settings(3, method="kpca", gamma=-1)
    assert "gamma" in page.trouble(3)
    page.settings(4, method="pca")
    page.settled(4)


def test_no_path_of_the_machine_is_told(listen, table, monkeypatch, tmp_path):
    page = listen(table)
    page.settings(1, method="pca")
    page.settled(1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "not there"))
    header, _ = page.answer(what="model", id=1)
    assert "FileNotFoundError" in header["trouble"] and tmp_path.name not in str(header)


def test_a_descent_stops_and_goes_on(listen, table):
    page = listen(table)
    page.settings(1, **DESCENT)
    page.until(lambda h: h["type"] == "map" and h["stage"] == "steps")
    page.session.receive({"type": "stop"})
    first, _ = page.settled(1)
    page.session.receive({"type": "go", "number": 2})
    second, _ = page.settled(2)
    assert second["step"] == 500 and second["divergence"] < first["divergence"] * 1.1


def test_only_descents_go_on(listen, table):
    page = listen(table)
    page.session.receive({"type": "go", "number": 1})
    assert "SNE" in page.trouble(1)


def test_a_closed_session_stops_computing(listen, table):
    page = listen(table)
    page.settings(1, **DESCENT)
    page.until(lambda h: h["type"] == "map" and h["stage"] == "steps")
    page.session.close()
    assert page.session.join(60)
    assert not any(header["stage"] == "settled" for header in page.maps(1))


def test_sessions_of_one_process_take_turns(listen, table):
    turn = threading.Lock()
    first, second = listen(table, turn), listen(table, turn)
    first.settings(1, **DESCENT)
    first.until(lambda h: h["type"] == "map")
    second.settings(1, method="pca")
    second.until(lambda h: h["type"] == "working" and "another" in h["phase"])
    first.session.close()
    second.settled(1)


@pytest.mark.parametrize(
    "message",
    [
        {"type": "unknown"},
        {"type": "settings"},
        {"type": "settings", "number": -1},
        {"type": "settings", "number": 1.5},
        {"type": "settings", "number": True},
        {"type": "settings", "number": 2**60},
        {"type": "taken"},
        {"type": "taken", "map": "1"},
        {"type": "go"},
        {"type": "go", "number": 1, "held": "!"},
        {"type": "go", "number": 1, "held": "AAAA"},
        {"type": "go", "number": 1, "moved": "AAAA", "by": [0, 0]},
        *(
            {"type": "go", "number": 1, "moved": NOBODY, "by": by}
            for by in (None, [1], "1,2", [1e9, 0], ["1", 2], [True, 0])
        ),
        {"type": "go", "number": 1, "exaggeration": "4"},
        {"type": "go", "number": 1, "exaggeration": 0},
        {"type": "go", "number": 1, "exaggeration": 1e9},
        {"type": "ask"},
        {"type": "ask", "what": "passwords", "id": 1},
        {"type": "ask", "what": "text"},
        {"type": "ask", "what": ["text"], "id": 1},
        {"type": "ask", "what": "text", "id": -1},
    ],
)
def test_malformed_messages_are_refused_and_harm_nothing(listen, table, message):
    page = listen(table)
    with pytest.raises(ValueError):
        page.session.receive(message)
    page.settings(1, method="pca")
    page.settled(1)


def test_random_settings_are_always_answered(listen):
    X = np.random.default_rng(0).normal(size=(60, 3))
    page = listen(LiveTable.of(X))
    rng = np.random.default_rng(1)
    for number in range(1, 41):
        method = str(rng.choice(["kpca", "pca", "isomap"]))
        settings = {"method": method}
        if method == "kpca":
            settings["kernel"] = str(rng.choice(["rbf", "poly", "chi2", "cosine", "sigmoid"]))
        if method == "isomap":
            settings["n_neighbors"] = int(rng.integers(1, 20))
        page.settings(number, **settings)
        page.until(lambda h, n=number: h.get("number") == n and (h["type"] == "trouble" or h.get("stage") == "settled"))
