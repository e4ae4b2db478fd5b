"""How fast a live page answers, measured through the server's socket as a browser would: python scripts/live_figures.py

    first     from a slider's message to the first map of its settings
    settled   from the same message to the exact answer
    pointer   the row under the pointer, once the pre-images of a map have been prepared; paths, level sets, qualities
              and neighbours, when what can be kept has been found
    many      maps of 200,000 points per second, each taken before the next is asked for
    drawn     maps of 200,000 points that Chromium draws per second while a slider moves, without a graphics card
    descent   maps of t-SNE per second of its descent, and the time of a step with a page beside that without
    cold      `mercer explore digits` in a new process, to the settled map

Each figure is a median of repeats, with the least and the greatest, the processor time of one repeat (of server and
client, which share the process), and the load of the machine: a busy machine shows in the times, and hardly in the
processor time.

--only names some of them. --data is the folder of scripts/fetch_data.py, by default data/; without MNIST in it, the
pointer and the descent take rows of clusters. --soak N sends N random settings and selections, and tells how the memory
of the process has grown and whether every message was answered. Linux only.
"""

from __future__ import annotations

import argparse
import base64
import gc
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections import defaultdict
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
PATIENCE = 300  # seconds, after which a message counts as not answered, and the script fails


def clusters(n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return 3 * rng.normal(size=(10, d))[rng.integers(0, 10, n)] + rng.normal(size=(n, d))


class Trouble(Exception):
    """Settings that have no map."""


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
        self.number = self.messages = 0
        self.began = time.perf_counter()

    def close(self) -> None:
        self._opened.__exit__(None, None, None)

    def send(self, **message: object) -> None:
        self.messages += 1
        self.socket.send(json.dumps(message))

    def settings(self, **settings: object) -> None:
        self.number += 1
        self.send(type="settings", number=self.number, settings=settings)

    def maps(self):
        """(seconds since the call, header) of each map of the newest settings, to the last."""
        began = time.perf_counter()
        while True:
            header, _ = decode(self.socket.recv(timeout=PATIENCE))
            if header["type"] == "trouble" and header["number"] == self.number:
                raise Trouble(header["message"])
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
        while decode(self.socket.recv(timeout=PATIENCE))[0]["type"] != "answer":
            pass
        return time.perf_counter() - began


class Times:
    """Wall clock and processor time of repeats."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.processor: list[float] = []

    def add(self, wall: float, processor: float) -> None:
        self.wall.append(wall)
        self.processor.append(processor)

    def __str__(self) -> str:
        low, middle, high = (1e3 * np.quantile(self.wall, share) for share in (0, 0.5, 1))
        busy = 1e3 * np.median(self.processor)
        return f"median {middle:,.0f} ms, of {len(self.wall)} from {low:,.0f} to {high:,.0f}, {busy:,.0f} of processor"


def load() -> str:
    return f"(load {os.getloadavg()[0]:.1f} on {len(os.sched_getaffinity(0))} cores)"


def sliders(name: str, X: np.ndarray, moves: int) -> None:
    """A slider for gamma, moved and left."""
    with LiveServer(LiveTable.of(X)) as server:
        browser = Browser(server)
        gamma = server.controls.first()["gamma"]
        first, settled = Times(), Times()
        for move in range(moves + 2):
            began = time.process_time()
            browser.settings(method="kpca", kernel="rbf", gamma=gamma * 1.03**move, n_components=5)
            times = [(seconds, time.process_time() - began) for seconds, _ in browser.maps()]
            if move >= 2:  # compiled code is loaded by then
                first.add(*times[0])
                settled.add(*times[-1])
        print(f"{name}: first {first}; settled {settled} {load()}", flush=True)
        browser.close()


def pointer(name: str, X: np.ndarray) -> None:
    with LiveServer(LiveTable.of(X)) as server:
        browser = Browser(server)
        browser.settings(method="kpca", kernel="rbf", gamma=server.controls.first()["gamma"], n_components=5)
        for _ in browser.maps():
            pass
        if len(X) <= 2_000:
            for question in QUESTIONS:
                browser.ask(**question)
                times = Times()
                for _ in range(5):
                    began = time.process_time()
                    seconds = browser.ask(**question)
                    times.add(seconds, time.process_time() - began)
                print(f"{name}: {question['what']} {times} {load()}", flush=True)
        rng, taken = np.random.default_rng(0), Times()
        prepared = browser.ask(what="cursor", place=[0.05] * 5)
        for _ in range(50):
            began = time.process_time()
            seconds = browser.ask(what="cursor", place=list(rng.normal(0, 0.1, 5)))
            taken.add(seconds, time.process_time() - began)
        print(f"{name}: row under the pointer {taken}; the first after {prepared:.2f} s {load()}", flush=True)
        browser.close()


def many(rows: int, maps: int) -> None:
    """A slider that is moved on and on, over a table of as many rows as a live page takes."""
    X = clusters(rows, 5).astype(np.float32)
    with LiveServer(LiveTable.of(X)) as server:
        browser = Browser(server)
        seconds, processor = [], []
        for number in range(maps + 5):
            began, busy = time.perf_counter(), time.process_time()
            browser.settings(method="pca", n_components=2 + number % 2)
            for _ in browser.maps():
                pass
            seconds.append(time.perf_counter() - began)
            processor.append(time.process_time() - busy)
        rate, busy = 1 / np.median(seconds[5:]), np.median(processor[5:])
        print(
            f"{rows:,} points: {rate:.0f} maps per second, {1e3 * busy:.0f} ms of processor per map {load()}",
            flush=True,
        )
        browser.close()


# Chromium asks for the next frame only when those before are nearly on the screen, so frames with a new map count. The
# last of them is waited for.
DRAWN = """async (seconds) => {
    const times = [], end = performance.now() + 1000 * seconds;
    let last = mercer.live.map().count;
    while (performance.now() < end) {
        await new Promise(requestAnimationFrame);
        if (mercer.live.map().count === last) continue;
        last = mercer.live.map().count;
        times.push(performance.now());
    }
    await mercer.drawn();
    return [...times, performance.now()];
}"""
SETTLED = "mercer.live?.map().stage === 'settled' && mercer.live.map().number === mercer.live.number()"
QUIET = ["--no-sandbox", "--no-first-run", "--disable-background-networking"]
BY_WEBGL = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
BY_CANVAS = ["--disable-gpu", "--disable-3d-apis"]


def drawn(rows: int, seconds: float = 8.0) -> None:
    """A slider that is moved on and on in Chromium, and the maps that it draws."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("MERCER_CHROMIUM") or shutil.which("chromium")
    if path is None:
        print("no Chromium: set MERCER_CHROMIUM to its path")
        return
    X = clusters(rows, 5).astype(np.float32)
    for kind, flags in (("WebGL in software", BY_WEBGL), ("Canvas", BY_CANVAS)):
        table, first = LiveTable.of(X), {"method": "pca", "n_components": 2}
        with LiveServer(table, first=first) as server, sync_playwright() as play:
            browser = play.chromium.launch(executable_path=path, headless=True, args=[*QUIET, *flags])
            tab = browser.new_page(viewport={"width": 1280, "height": 800})
            tab.goto(server.address)
            while not tab.evaluate(SETTLED):
                time.sleep(0.05)
            tab.evaluate(MOVE)
            times = np.array(tab.evaluate(DRAWN, seconds))
            browser.close()
        between = np.diff(times)
        print(
            f"{rows:,} points by {kind}: {1e3 * (len(times) - 2) / (times[-1] - times[0]):.1f} maps drawn per second, "
            f"{np.median(between):.0f} ms from one to the next (95 %: {np.quantile(between, 0.95):.0f} ms) {load()}",
            flush=True,
        )


MOVE = """() => {
    const slider = document.querySelector("input[data-control=n_components]");
    setInterval(() => {
        slider.value = slider.value === "2" ? "3" : "2";
        slider.dispatchEvent(new Event("input", {bubbles: true}));
    }, 33);
}"""  # as often as a page sends what a hand does


class Stopwatch:
    """Notes when each step of a descent begins, and asks for nothing."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float]] = []

    def is_due(self, _: int) -> bool:
        self.seen.append((time.perf_counter(), time.process_time()))
        return False

    def __call__(self, *_: object) -> None: ...

    def per_step(self, after: int) -> tuple[float, float]:
        """Seconds and processor time of a step, without the first ones."""
        (began, busy), (ended, used) = self.seen[after], self.seen[-1]
        count = len(self.seen) - 1 - after
        return (ended - began) / count, (used - busy) / count


def descent(name: str, X: np.ndarray, steps: int, repeats: int = 6) -> None:
    """t-SNE with a page that takes every map, in turn with the same descent without one."""
    plain = TSNE(max_iter=20, early_exaggeration_iter=0).fit(X)
    rates, ratios, with_page, without = [], [], Times(), Times()
    with LiveServer(LiveTable.of(X)) as server:
        browser = Browser(server)
        browser.settings(method="tsne", perplexity=30)
        for _, header in browser.maps():
            if header["step"] == 1:
                browser.send(type="stop")
        for _ in range(repeats):
            browser.number += 1
            browser.send(type="go", number=browser.number)
            taken = []
            for seconds, header in browser.maps():
                taken.append((seconds, header["step"], time.process_time()))
                if header["stage"] == "steps" and header["step"] >= steps:
                    browser.send(type="stop")
            taken = [each for each in taken if each[1] >= 5]  # the first map waits for the beginning of the descent
            passed, busy = taken[-1][0] - taken[0][0], taken[-1][2] - taken[0][2]
            count = taken[-1][1] - taken[0][1]
            with_page.add(passed / count, busy / count)
            rates.append((len(taken) - 1) / passed)
            watch = Stopwatch()
            plain.optimize(count + 5, callbacks=watch, callback_every=1)
            without.add(*watch.per_step(5))
            ratios.append((with_page.wall[-1] / without.wall[-1], with_page.processor[-1] / without.processor[-1]))
        browser.close()
    wall, processor = np.median(ratios, axis=0)
    print(f"{name}: {np.median(rates):.1f} maps per second; a step with a page {with_page}; without {without}")
    print(f"    {wall:.2f} times as long, {processor:.2f} times the processor time {load()}", flush=True)


def cold(repeats: int) -> None:
    """`mercer explore digits` in a new process, to the settled map."""
    listening, settled = Times(), Times()
    run = "from mercer.cli.main import main; main()"
    command = [sys.executable, "-c", run, "explore", "digits", "--no-browser", "-q"]
    for _ in range(repeats):
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            listening.add(time.perf_counter() - began, processor_of(process.pid))
            port, token = address.split(":")[2].split("/")[0], address.split("token=")[1]
            browser = Browser(SimpleNamespace(access=Access.to("127.0.0.1", int(port), token), port=int(port)))
            browser.settings(method="kpca")
            for _ in browser.maps():
                pass
            settled.add(time.perf_counter() - began, processor_of(process.pid))
            browser.close()
            process.terminate()
    print(f"mercer explore digits: address {listening}; map {settled} {load()}", flush=True)


def processor_of(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Soak:
    """A person who tries settings and selects rows for hours: random settings, one after the other, each answered by a
    map or by what is wrong with them; a slider that is moved on before it is answered; questions; and reloads.
    """

    _OFTEN = 100  # messages per second, which the server takes without end
    _RELOAD = 97  # rounds between two reloads of the page

    def __init__(self, server: LiveServer, rows: int) -> None:
        self.rng, self.rows, self.server = np.random.default_rng(0), rows, server
        self.gamma = server.controls.first()["gamma"]
        self.browser = Browser(server)
        self.began, self.sent, self.replaced, self.answered, self.troubles = time.perf_counter(), 0, 0, 0, 0
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def settings(self) -> dict[str, object]:
        rng = self.rng
        method = str(rng.choice(["kpca", "pca", "isomap", "tsne"], p=[0.6, 0.2, 0.18, 0.02]))
        if method == "tsne":
            return {"method": method, "perplexity": float(rng.uniform(2, 50))}
        settings: dict[str, object] = {"method": method, "n_components": int(rng.integers(2, 6))}
        if method == "kpca":
            kernel = str(rng.choice(["rbf", "laplacian", "matern", "cosine", "chi2"]))  # χ² fails: numbers below 0
            settings["kernel"] = kernel
            if kernel == "rbf":
                settings["gamma"] = self.gamma * 10 ** self.rng.uniform(-2, 2)
        if method == "isomap":
            settings["n_neighbors"] = int(rng.integers(4, 30))
        return settings

    def questions(self, number: int) -> list[dict[str, object]]:
        selected = base64.b64encode(np.packbits(self.rng.random(self.rows) < 0.3).tobytes()).decode()
        some: dict[str, object] = {"what": "groups", "first": selected} if number % 10 == 0 else {"what": "text"}
        asked = [some, {"what": "cursor", "place": [0.0] * 2}]
        return [*asked, QUESTIONS[number // 10 % len(QUESTIONS)]] if number % 10 == 5 else asked

    def round(self, number: int) -> None:
        if number % self._RELOAD == self._RELOAD - 1:
            self.browser.close()
            self.browser = Browser(self.server)
        for _ in range(int(self.rng.integers(0, 3)) if number % 5 == 0 else 0):  # a slider on its way
            self.browser.settings(**self.settings())
            self.replaced += 1
        settings = self.settings()
        self.sent += 1
        began = time.perf_counter()
        self.browser.settings(**settings)
        try:
            for _, header in self.browser.maps():
                if header["stage"] == "steps":
                    self.browser.send(type="stop")
        except Trouble:
            self.troubles += 1
        self.answered += 1
        self.seconds[str(settings["method"])].append(time.perf_counter() - began)
        for question in self.questions(number):
            self.sent += 1
            self.seconds[str(question["what"])].append(self.browser.ask(**question))
            self.answered += 1
        early = self.browser.messages / self._OFTEN - (time.perf_counter() - self.browser.began)
        time.sleep(max(0.0, early))


def soak(rounds: int) -> None:
    """Memory at the end beside that after a tenth, and whether every message was answered."""
    rng = np.random.default_rng(0)
    rows = 300
    with LiveServer(LiveTable.of(clusters(rows, 6), rng.integers(0, 3, rows))) as server:
        person, resident = Soak(server, rows), []
        for number in range(rounds):
            person.round(number)
            if (number + 1) % max(1, rounds // 10) == 0:
                resident.append(_resident())
                print(f"{number + 1:,} settings: {resident[-1] / 1e6:,.0f} MB {load()}", flush=True)
        person.browser.close()
    for what, seconds in person.seconds.items():
        middle, most = 1e3 * np.median(seconds), 1e3 * max(seconds)
        print(f"    {what}: {len(seconds):,}, median {middle:,.0f} ms, greatest {most:,.0f} ms")
    print(
        f"{person.sent:,} messages, {person.answered:,} answered, {person.troubles:,} of them by what is wrong with "
        f"them; {person.replaced:,} settings replaced by newer ones"
    )
    growth = 100 * (resident[-1] / resident[0] - 1)
    passed = time.perf_counter() - person.began
    print(f"    from a tenth to the end memory grew by {growth:+.1f} %; {passed:,.0f} s")


def _resident() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def mnist(folder: Path) -> np.ndarray | None:
    """The 70,000 images, (n, 784), None if they are not there."""
    files = [folder / f"mnist_{part}_images.npy" for part in ("train", "test")]
    return np.vstack([np.load(file) for file in files]).astype(np.float32) if all(map(Path.exists, files)) else None


def components(X: np.ndarray, k: int) -> np.ndarray:
    X = X - X.mean(axis=0)
    _, vectors = np.linalg.eigh(X.T @ X)
    return X @ vectors[:, -k:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    known = ["cold", "digits", "20000", "pointer", "many", "drawn", "descent"]
    parser.add_argument("--only", nargs="+", choices=known, default=known)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[1] / "data")
    parser.add_argument("--steps", type=int, default=60, help="of a descent, per repeat")
    parser.add_argument("--soak", type=int, metavar="N", help="send so many random settings, and nothing else")
    given = parser.parse_args()
    if given.soak:
        soak(given.soak)
        return
    images = mnist(given.data)
    if "cold" in given.only:
        cold(5)
    if "digits" in given.only:
        sliders("1,797 digits", load_digits().data, 30)
    if "20000" in given.only:
        sliders("20,000 × 50", clusters(20_000, 50), 7)
    if "pointer" in given.only:
        pointer("1,797 digits", load_digits().data)
        pointer(
            "20,000 digits" if images is not None else "20,000 rows",
            clusters(20_000, 784) if images is None else images[:20_000] / 255,
        )
    if "many" in given.only:
        many(200_000, 60)
    if "drawn" in given.only:
        drawn(200_000)
    if "descent" in given.only:
        if images is not None:
            descent("t-SNE of 70,000 digits", components(images, 50), given.steps)
        else:
            descent("t-SNE of 20,000 rows", clusters(20_000, 50), given.steps)


if __name__ == "__main__":
    main()
