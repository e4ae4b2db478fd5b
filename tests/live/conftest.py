"""A small table, and sessions whose messages are collected."""

import threading
import time

import numpy as np
import pytest

from mercer.live.controls import Controls
from mercer.live.live_table import LiveTable
from mercer.live.messages import decode
from mercer.live.session import Session


def clusters(n=240, d=5):
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 3
    return 4 * rng.standard_normal((3, d))[kind] + rng.standard_normal((n, d)), kind


@pytest.fixture
def table():
    X, kind = clusters()
    return LiveTable.of(X, np.array(["red", "green", "blue"])[kind], title="three clusters")


class Listener:
    """A session and everything that it sent, as a browser would take it."""

    def __init__(self, table, turn=None):
        self.woken = threading.Event()
        self.controls = Controls(table)
        self.session = Session(table, self.controls, self.woken.set, turn)
        self.heard = []

    def settings(self, number, **settings):
        self.session.receive({"type": "settings", "number": number, "settings": settings})

    def take(self, answers=True):
        """Whatever can be taken now."""
        while (message := self.session.outgoing()) is not None:
            header, arrays = decode(message)
            self.heard.append((header, arrays))
            if header["type"] == "map" and answers:
                self.session.receive({"type": "taken", "map": header["map"]})

    def until(self, wanted, seconds=120):
        """The first message, from now on, of which wanted(header) is true."""
        start, end = len(self.heard), time.monotonic() + seconds
        while True:
            self.take()
            for header, arrays in self.heard[start:]:
                start += 1
                if wanted(header):
                    return header, arrays
            assert time.monotonic() < end, [header for header, _ in self.heard[-5:]]
            self.woken.wait(0.05)
            self.woken.clear()

    def settled(self, number):
        return self.until(lambda h: h["type"] == "map" and h["number"] == number and h["stage"] == "settled")

    def trouble(self, number):
        return self.until(lambda h: h["type"] == "trouble" and h["number"] == number)[0]["message"]

    def maps(self, number):
        return [header for header, _ in self.heard if header["type"] == "map" and header["number"] == number]

    def answer(self, **question):
        self.session.receive({"type": "ask", **question})
        return self.until(lambda h: h["type"] == "answer" and h["id"] == question["id"])


@pytest.fixture
def listen():
    """Makes listeners of tables, and ends their sessions."""
    made = []

    def get(table, turn=None):
        made.append(Listener(table, turn))
        return made[-1]

    yield get
    for listener in made:
        listener.session.close()
        assert listener.session.join(60)
