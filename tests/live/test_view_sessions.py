"""The views of a widget: each has a session, hears what is meant for it, and leaves nothing behind when it goes."""

import json
import threading
import time

import numpy as np
import pytest

from mercer.live.controls import Controls
from mercer.live.messages import decode
from mercer.live.shown_map import shown_map
from mercer.live.view_sessions import MOST_VIEWS, ViewSessions


class Views:
    """Sessions and everything that they told their views."""

    def __init__(self, table, **settings):
        self.told, self.woken = [], threading.Event()
        self.sessions = ViewSessions(table, Controls(table), self._tell, **settings)

    def _tell(self, content, message):
        self.told.append((content, None if message is None else decode(message)))
        self.woken.set()

    def say(self, view, **message):
        self.sessions.receive({"view": view, "text": json.dumps(message)})

    def hello(self, view):
        self.sessions.receive({"view": view, "what": "hello"})

    def until(self, wanted, takes=True, seconds=120):
        start, end = 0, time.monotonic() + seconds
        while True:
            for content, message in self.told[start:]:
                start += 1
                if takes and message is not None and message[0]["type"] == "map":
                    self.say(content["view"], type="taken", map=message[0]["map"])
                if wanted(content, message):
                    return message
            assert time.monotonic() < end, self.told[-5:]
            self.woken.wait(0.05)
            self.woken.clear()

    def settled(self, view, number):
        def is_it(content, message):
            return content["view"] == view and message is not None and message[0].get("stage") == "settled"

        return self.until(lambda content, message: is_it(content, message) and message[0]["number"] == number)


def threads():
    return [thread for thread in threading.enumerate() if thread.name in ("mercer-live", "mercer-widget")]


@pytest.fixture
def views():
    made = []

    def get(table, **settings):
        made.append(Views(table, **settings))
        return made[-1]

    yield get
    for each in made:
        each.sessions.close()
    end = time.monotonic() + 60
    while threads():
        assert time.monotonic() < end, threads()
        time.sleep(0.01)


def test_a_view_that_says_hello_is_answered_and_gets_its_maps(views, table):
    seen = views(table)
    seen.hello("a")
    assert seen.told[0] == ({"view": "a", "here": True}, None)
    seen.say("a", type="settings", number=1, settings={"method": "pca"})
    header, arrays = seen.settled("a", 1)
    assert len(arrays["coordinates"]) == 2 * table.rows and header["settings"]["method"] == "pca"
    assert seen.sessions.shown.settings == header["settings"]


def test_views_have_settings_of_their_own(views, table):
    seen = views(table)
    for view, method in (("a", "pca"), ("b", "isomap")):
        seen.hello(view)
        seen.say(view, type="settings", number=1, settings={"method": method})
    assert seen.settled("a", 1)[0]["settings"]["method"] == "pca"
    assert seen.settled("b", 1)[0]["settings"]["method"] == "isomap"


def test_a_view_that_is_not_known_is_told_to_begin_again(views, table):
    seen = views(table)
    seen.say("a", type="settings", number=1, settings={"method": "pca"})
    assert seen.told == [({"view": "a", "ended": True}, None)]


def test_a_view_that_leaves_ends_its_computation(views, table):
    seen = views(table)
    seen.hello("a")
    seen.say("a", type="settings", number=1, settings={"method": "sne", "perplexity": 15})
    seen.until(lambda content, message: message is not None and message[0]["type"] == "map")
    seen.sessions.receive({"view": "a", "what": "left"})
    end = time.monotonic() + 60
    while threads():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_view_that_takes_no_map_has_gone(views, table):
    seen = views(table, gone=0.2)
    seen.hello("a")
    seen.say("a", type="settings", number=1, settings={"method": "sne", "perplexity": 15})
    seen.until(lambda content, message: content.get("ended", False), takes=False)
    seen.say("a", type="taken", map=1)
    assert seen.told[-1] == ({"view": "a", "ended": True}, None)


def test_the_oldest_of_too_many_views_is_ended(views, table):
    seen = views(table)
    for number in range(MOST_VIEWS + 1):
        seen.hello(f"view {number}")
    ended = [content["view"] for content, _ in seen.told if content.get("ended")]
    assert ended == ["view 0"]


@pytest.mark.parametrize(
    "told",
    [
        None,
        5,
        "text",
        [],
        {},
        {"view": 5, "what": "hello"},
        {"view": "", "what": "hello"},
        {"view": "v" * 1000, "what": "hello"},
        {"view": "a", "what": "unknown"},
        {"view": "a", "text": 5},
        {"view": "a", "text": ""},
        {"view": "a", "text": "{"},
        {"view": "a", "text": "[" * 5000},
        {"view": "a", "text": '{"type": "eval"}'},
        {"view": "a", "text": '{"type": "ask", "what": "../etc", "id": 1}'},
        {"view": "a", "text": "x" * 100_000},
    ],
)
def test_messages_that_mean_nothing_harm_nothing(views, table, told):
    seen = views(table)
    seen.hello("a")
    seen.sessions.receive(told)
    seen.say("a", type="settings", number=1, settings={"method": "pca"})
    seen.settled("a", 1)


def test_the_map_of_a_fitted_estimator_is_shown_and_not_computed_again(views):
    from mercer import TSNE

    X = np.random.default_rng(0).normal(size=(60, 4))
    model = TSNE(max_iter=60, perplexity=12).fit(X)
    shown = shown_map(model, X)
    seen = views(shown.table, known=shown.known)
    seen.hello("a")
    seen.say("a", type="settings", number=1, settings=shown.known[0])
    header, arrays = seen.settled("a", 1)
    assert np.array_equal(arrays["coordinates"], model.embedding_.T.astype("f4").ravel())
    assert header["map"] == 1 and seen.sessions.shown.frame.estimator is model
    # A descent goes on from it, and coming back to its settings shows it again.
    seen.say("a", type="go", number=2)
    assert seen.settled("a", 2)[0]["map"] > 1
    seen.say("a", type="settings", number=3, settings=shown.known[0])
    assert np.array_equal(seen.settled("a", 3)[1]["coordinates"], arrays["coordinates"])
