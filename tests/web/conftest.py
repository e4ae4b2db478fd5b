"""A browser for the pages: Debian's Chromium, or the one that $MERCER_CHROMIUM names."""

import os
import shutil
import time

import numpy as np
import pytest

from mercer.web import Map, Page, write_page

_QUIET = [
    "--no-sandbox",
    "--no-first-run",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
_SOFTWARE_GL = ["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]
_NO_GL = ["--disable-gpu", "--disable-3d-apis"]


@pytest.fixture(scope="session")
def chromium():
    """Chromium's path; tests that need it are skipped, with the reason, where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("MERCER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium found; install it (apt-get install chromium) or set MERCER_CHROMIUM to its path")
    return playwright.sync_playwright, path


@pytest.fixture(scope="session")
def browsers(chromium):
    """Browsers by what they draw with, started when first asked for."""
    sync_playwright, path = chromium
    with sync_playwright() as play:
        started = {}

        def get(kind):
            if kind not in started:
                flags = _QUIET + (_SOFTWARE_GL if kind == "webgl" else _NO_GL)
                started[kind] = play.chromium.launch(executable_path=path, headless=True, args=flags)
            return started[kind]

        yield get
        for browser in started.values():
            browser.close()


class Watched:
    """A browser's page with everything it complained about or asked for."""

    def __init__(self, page):
        self.page, self.errors, self.requests, self.dialogs = page, [], [], []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", self._dismiss)

    def _dismiss(self, dialog):
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def state(self, expression):
        return self.page.evaluate(f"mercer.{expression}")

    def until(self, expression, seconds=60):
        """Wait until an expression is true. Playwright's own wait makes code from text, which the policy forbids."""
        end = time.monotonic() + seconds
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"{expression} did not come true within {seconds} s"
            self.page.wait_for_timeout(20)

    def box(self, panel=0):
        return self.page.locator(".surface").nth(panel).bounding_box()

    def place(self, row, panel=0):
        """Where a row's point is, in pixels of the window."""
        box = self.box(panel)
        x, y = self.state(f"screen({panel}, {row})")
        return box["x"] + x, box["y"] + y

    def drag(self, places, key=None):
        """Press at the first place, move through the others, let go at the last."""
        mouse, keyboard = self.page.mouse, self.page.keyboard
        if key:
            keyboard.down(key)
        mouse.move(*places[0])
        mouse.down()
        for place in places[1:]:
            mouse.move(*place)
        mouse.up()
        if key:
            keyboard.up(key)


@pytest.fixture
def opened(browsers, tmp_path):
    """Opens pages in fresh contexts; at the end nothing may have gone wrong, nor been asked of a network."""
    contexts, watched = [], []

    def get(page, kind="canvas", *, prepare=None, fragment="", **options):
        path = tmp_path / "map.html"
        if isinstance(page, Page):
            write_page(page, path)
        else:
            path.write_bytes(page)
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
        context = browsers(kind).new_context(accept_downloads=True, **options)
        contexts.append(context)
        seen = Watched(context.new_page())
        watched.append(seen)
        if prepare:
            seen.page.add_init_script(prepare)
        seen.page.goto(f"file://{path}{fragment}")
        seen.until("document.documentElement.dataset.drawn")
        return seen

    yield get
    for seen in watched:
        assert seen.errors == []
        assert seen.dialogs == []
        assert [url for url in seen.requests if not url.startswith(("file:", "blob:", "data:"))] == []
    for context in contexts:
        context.close()


@pytest.fixture
def visited(browsers):
    """Opens addresses of a server in fresh contexts; at the end nothing may have gone wrong.

    allowed : parts of messages that the browser may print, such as that of a server that has ended
    """
    contexts, watched = [], []

    def get(address, kind="canvas", *, allowed=(), **options):
        options = {"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce"} | options
        context = browsers(kind).new_context(accept_downloads=True, **options)
        contexts.append(context)
        seen = Watched(context.new_page())
        watched.append((seen, allowed))
        seen.page.goto(address)
        seen.until("document.documentElement.dataset.drawn")
        return seen

    yield get
    for seen, allowed in watched:
        assert [error for error in seen.errors if not any(part in error for part in allowed)] == []
        assert seen.dialogs == []
    for context in contexts:
        context.close()


@pytest.fixture
def clusters():
    """Three clusters in two maps, with all kinds of columns."""
    rng = np.random.default_rng(0)
    n = 300
    kind = rng.integers(0, 3, n)
    plane = np.array([[0.0, 0.0], [6.0, 1.0], [2.0, 5.0]])[kind] + 0.5 * rng.standard_normal((n, 2))
    other = np.column_stack([plane[:, 1], -plane[:, 0], rng.standard_normal(n)])
    weight = np.where(np.arange(n) % 50 == 0, np.nan, rng.random(n))
    quality = [
        {
            "name": "trustworthiness",
            "value": 0.98,
            "error": 0.002,
            "rows": 300,
            "best": 1.0,
            "meaning": "Nothing false.",
        },
        {"name": "kl_divergence", "value": 1.25, "error": 0.0, "rows": 300, "best": 0.0, "meaning": "A divergence."},
    ]
    return Page(
        "Three clusters",
        [
            Map("Plane", plane, ["first", "second"], quality, {"method": "pca", "parameters": {"n_components": 2}}),
            Map("Turned", other, ["a", "b", "c"], quality[:1]),
        ],
        ids=np.array([f"row-{i:03d}" for i in range(n)]),
        columns={
            "kind": np.array(["red", "green", "blue"])[kind],
            "weight": weight,
            "note": np.array([f"note {i}, said “{i % 7}”" for i in range(n)]),
        },
        label="kind",
    )
