"""How fast a live page answers, measured through the server's socket as a browser would: python scripts/live_figures.py

    first     from a slider's message to the first map of its settings
    settled   from the same message to the exact answer
    path, levels, quality, near   from a question to its answer, when what can be kept has been found
    frames    maps of t-SNE per second of its descent, and the seconds of a plain descent beside those with a page

--soak sends random settings and selections, and tells how the memory of the process has grown. Linux only.
--mnist names a .npy file of MNIST's training images, (n, 28, 28), for the descent of 70,000 rows; without it 20,000
rows of clusters are taken.
"""

from __future__ import annotations

import argparse
import base64
import gc
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sklearn.datasets import load_digits
from websockets.sync.client import connect

from mercer import TSNE
from mercer.live.access import Access
from mercer.live.live_table import LiveTable
from mercer.live.messages import decode
from mercer.live.server import LiveServer

QUESTIONS: list[dict] = [
    {"what": "path", "start": 0, "end": 1, "count": 9},
    {"what": "levels", "component": 0, "across": None},
    {"what": "quality", "score": "neighbours kept"},
    {"what": "near", "row": 0, "count": 10},
]


def clusters(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return 3 * rng.normal(size=(10, d))[rng.integers(0, 10, n)] + rng.normal(size=(n, d))


class Browser:
    """What a page does, without drawing."""

    def __init__(self, server: LiveServer | SimpleNamespace) -> None:
        cookie = f"{server.access.cookie_name}={server.access.cookie_value}"
        address = f"127.0.0.1:{server.port}"
        self._opened = connect(
            f"ws://{address}/socket", origin=f"http://{address}", additional_headers={"Cookie": cookie}, max_size=None
        )
        self.socket = self._opened.__enter__()
        self.socket.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as browsers do
        self.number = 0

    def close(self) -> None:
        self._opened.__exit__(None, None, None)

    def send(self, **message: object) -> None:
        self.socket.send(json.dumps(message))

    def settings(self, **settings: object) -> None:
        self.number += 1
        self.send(type="settings", number=self.number, settings=settings)

    def maps(self):
        """(seconds since the call, header) of each map of the newest settings, to the last."""
        began = time.perf_counter()
        while True:
            header, _ = decode(self.socket.recv())
            if header["type"] == "trouble":
                raise SystemExit(header["message"])
            if header["type"] != "map":
                continue
            self.send(type="taken", map=header["map"])
            if header["number"] == self.number:
                yield time.perf_counter() - began, header
                if header["stage"] == "settled":
                    return

    def ask(self, **question: object) -> float:
        began = time.perf_counter()
        self.send(type="ask", id=1, **question)
        while decode(self.socket.recv())[0]["type"] != "answer":
            pass
        return time.perf_counter() - began


def milliseconds(seconds: list[float]) -> str:
    low, middle, high = (1e3 * np.quantile(seconds, share) for share in (0, 0.5, 1))
    return f"median {middle:,.0f} ms, of {len(seconds)} from {low:,.0f} to {high:,.0f}"


def sliders(name: str, X: np.ndarray, moves: int) -> None:
    """A slider for gamma, moved and left."""
    with LiveServer(LiveTable.of(X)) as server:
        browser = Browser(server)
        gamma = server.controls.first()["gamma"]
        first, settled = [], []
        for move in range(moves + 2):
            browser.settings(method="kpca", kernel="rbf", gamma=gamma * 1.03**move, n_components=5)
            times = [seconds for seconds, _ in browser.maps()]
            if move >= 2:  # compiled code is loaded by then
                first.append(times[0])
                settled.append(times[-1])
        print(f"{name}: first {milliseconds(first)}; settled {milliseconds(settled)}")
        place = [0.05] * 5
        browser.ask(what="cursor", place=place)
        under = [browser.ask(what="cursor", place=place) for _ in range(20)]
        print(f"{name}: row under the pointer {milliseconds(under)}")
        for question in QUESTIONS:
            browser.ask(**question)
            times = [browser.ask(**question) for _ in range(5)]
            print(f"{name}: {question['what']} {milliseconds(times)}")
        browser.close()


def descent(name: str, X: np.ndarray, steps: int) -> None:
    """t-SNE with a page that takes every map, beside the same descent with none."""
    affinities = TSNE(max_iter=0).fit(X).affinities_
    with LiveServer(LiveTable.of(X)) as server:
        browser = Browser(server)
        browser.settings(method="tsne", perplexity=30)
        taken = []
        for seconds, header in browser.maps():
            taken.append((seconds, header["step"], time.process_time()))
            if header["step"] >= steps:
                break
        browser.close()
    taken = [each for each in taken if each[1] >= 20]  # the pace has been found by then
    watched = (taken[-1][0] - taken[0][0]) / (taken[-1][1] - taken[0][1])
    busy = (taken[-1][2] - taken[0][2]) / (taken[-1][1] - taken[0][1])
    reached: list[tuple[float, int, float]] = []
    last = taken[-1][1]
    plain = TSNE(
        affinities=affinities,
        max_iter=last,
        callbacks=lambda step, *_: reached.append((time.perf_counter(), step, time.process_time())),
        callback_every=max(1, (last - 20) // 2),
    )
    plain.fit(X)
    plain_seconds = (reached[-1][0] - reached[0][0]) / (reached[-1][1] - reached[0][1])
    plain_busy = (reached[-1][2] - reached[0][2]) / (reached[-1][1] - reached[0][1])
    frames = len(taken) / (taken[-1][0] - taken[0][0])
    print(
        f"{name}: {frames:.1f} maps per second, {1e3 * watched:.1f} ms per step with a page and "
        f"{1e3 * plain_seconds:.1f} without: {watched / plain_seconds:.2f} times; "
        f"of processor time {1e3 * busy:.1f} and {1e3 * plain_busy:.1f} ms: {busy / plain_busy:.2f} times"
    )


def cold_start() -> None:
    """`mercer explore digits` in a new process, to the settled map."""
    began = time.perf_counter()
    run = "from mercer.cli.main import main; main()"
    command = [sys.executable, "-c", run, "explore", "digits", "--no-browser", "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        listening = time.perf_counter() - began
        port, token = address.split(":")[2].split("/")[0], address.split("token=")[1]
        browser = Browser(SimpleNamespace(access=Access.to("127.0.0.1", int(port), token), port=int(port)))
        browser.settings(method="kpca")
        for _ in browser.maps():
            pass
        print(f"mercer explore digits: address after {listening:.1f} s, map after {time.perf_counter() - began:.1f} s")
        browser.close()
        process.terminate()


def soak(rounds: int) -> None:
    """Random settings and selections, one after the other: memory at the end beside that after a tenth of them."""
    rng = np.random.default_rng(0)
    X = clusters(300, 6)
    with LiveServer(LiveTable.of(X, rng.integers(0, 3, 300))) as server:
        browser = Browser(server)
        early = 0
        for number in range(rounds):
            method = str(rng.choice(["kpca", "pca", "isomap", "tsne"], p=[0.6, 0.2, 0.18, 0.02]))
            settings: dict[str, object] = {"method": method, "n_components": int(rng.integers(2, 6))}
            if method == "kpca":
                gamma = server.controls.first()["gamma"] * 10 ** rng.uniform(-2, 2)
                settings |= {"kernel": "rbf", "gamma": gamma}
            if method == "tsne":
                settings = {"method": method, "perplexity": float(rng.uniform(2, 50))}
            browser.settings(**settings)
            for _ in browser.maps():
                pass
            if number % 10 == 0:
                selected = base64.b64encode(np.packbits(rng.random(300) < 0.3).tobytes()).decode()
                browser.ask(what="groups", first=selected)
                browser.ask(**QUESTIONS[number // 10 % len(QUESTIONS)])
            if number == rounds // 10:
                early = _resident()
        late = _resident()
        browser.close()
    memory = f"{early / 1e6:,.0f} MB after a tenth, {late / 1e6:,.0f} MB at the end"
    print(f"{rounds:,} random settings, all answered: {memory}")


def _resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mnist")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--soak", type=int, metavar="N", help="send so many random settings, and nothing else")
    given = parser.parse_args()
    if given.soak:
        soak(given.soak)
        return
    cold_start()
    sliders("1,797 digits", load_digits().data, 20)
    sliders("20,000 × 50", clusters(20_000, 50), 5)
    if given.mnist:
        X = np.load(given.mnist)
        X = X.reshape(len(X), -1).astype(np.float32)
        X = X - X.mean(axis=0)
        _, vectors = np.linalg.eigh(X.T @ X)
        descent(f"t-SNE of {len(X):,} images", X @ vectors[:, -50:], given.steps)
    else:
        descent("t-SNE of 20,000 rows", clusters(20_000, 50), given.steps)


if __name__ == "__main__":
    main()
