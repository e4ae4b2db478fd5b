"""Pages: how large the file is, how long Chromium takes from being told its address until the points are drawn, and how
long a lasso takes from letting go until the selection is drawn.

Every measurement starts a browser of its own, headless, with WebGL in software or without WebGL; a page of few points
is opened first, so that the programs are in the machine's memory. Peak and processor time are those of all processes of
the browser together.
"""

from __future__ import annotations

import math
import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

_QUIET = ("--no-sandbox", "--no-first-run", "--disable-quic", "--disable-background-networking", "--disable-sync")
DRAWS = {
    "webgl": ("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"),
    "canvas": ("--disable-gpu", "--disable-3d-apis"),
}
_WARM_ROWS = 2000


def clustered_page(n: int) -> Any:
    """PCA of n points in ten clusters, with an id, a class and a number each, scored as the command scores maps."""
    from mercer import PCA, quality
    from mercer.web import Map, Page, with_neighbors

    rng = np.random.default_rng(0)
    kind = rng.integers(0, 10, n)
    X = 5 * rng.standard_normal((10, 20))[kind] + rng.standard_normal((n, 20))
    points = PCA(2).fit_transform(X)
    scores = quality.report(X, points, labels=kind).scores
    ids = np.array([f"row-{i:07d}" for i in range(n)])
    columns = {"cluster": np.array([f"cluster {k}" for k in range(10)])[kind], "score": rng.standard_normal(n) + kind}
    page = Page(f"{n:,} points", [Map("PCA", points, quality=scores)], ids=ids, columns=columns, label="cluster")
    return with_neighbors(page, X)


def write(folder: Path, n: int) -> dict[str, Any]:
    """The files that are opened, a small one first, and the seconds that it took to write the large one."""
    from mercer.web import write_page

    small, large = folder / "small.html", folder / "large.html"
    write_page(clustered_page(_WARM_ROWS), small)
    page, started = clustered_page(n), time.perf_counter()
    write_page(page, large)
    return {"small": str(small), "large": str(large), "write_seconds": time.perf_counter() - started}


def open_page(job: dict[str, Any]) -> dict[str, Any]:
    """The measurement, in a process of its own: open the page with names and lines, wait for it, draw a lasso."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("MERCER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        return {"error": "no Chromium"}
    with sync_playwright() as play:
        flags = [*_QUIET, *DRAWS[job["what"]]]
        browser = play.chromium.launch(executable_path=path, headless=True, args=flags)
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        _wait(tab, job["small"])
        before, spent = _browser_bytes("VmRSS"), _browser_seconds()
        seconds = _wait(tab, f"{job['large']}#lines=1")
        used = _since(spent)
        drawn, lasso = tab.evaluate("document.documentElement.dataset.drawn"), _lasso(tab)
        peak = _browser_bytes("VmHWM")
        browser.close()
    if drawn != job["what"]:
        return {"error": f"drawn by {drawn}"}
    return {
        "seconds": [seconds],
        "before_bytes": before,
        "peak_bytes": peak,
        "processor_seconds": used,
        **lasso,
        "file_bytes": Path(job["large"]).stat().st_size,
        "write_seconds": job["write_seconds"],
    }


def _wait(tab: Any, address: str) -> float:
    """Seconds until the page says that its points are drawn."""
    started = time.perf_counter()
    tab.goto(f"file://{address}")
    tab.locator("html[data-drawn]").wait_for(state="attached", timeout=300_000)
    return time.perf_counter() - started


def _lasso(tab: Any) -> dict[str, float]:
    """Seconds from letting go of a lasso around the middle of the map until the selection is drawn."""
    box = tab.locator(".surface").bounding_box()
    x, y, radius = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, 0.3 * box["height"]
    tab.keyboard.down("Shift")
    tab.mouse.move(x + radius, y)
    tab.mouse.down()
    for k in range(1, 60):
        tab.mouse.move(x + radius * math.cos(k * math.tau / 60), y + radius * math.sin(k * math.tau / 60))
    spent, started = _browser_seconds(), time.perf_counter()
    tab.mouse.up()
    tab.evaluate("mercer.drawn()")
    seconds = time.perf_counter() - started
    used = _since(spent)
    assert tab.evaluate("mercer.selected().length") > 0
    return {"lasso_seconds": seconds, "lasso_processor_seconds": used}


def _browser_bytes(field: str) -> int:
    """What the processes that this one has started hold, or have held at most, all together."""
    return sum(1024 * int(fields.get(field, "0 kB").split()[0]) for _, fields in _browser())


def _browser_seconds() -> dict[str, float]:
    """The processor time of each process that this one has started."""
    spent = {}
    for folder, _ in _browser():
        try:
            ticks = (folder / "stat").read_text().rsplit(")", 1)[1].split()[11:13]
        except OSError:
            continue  # ended meanwhile
        spent[folder.name] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
    return spent


def _since(earlier: dict[str, float]) -> float:
    """The processor time since then. Each page may have a process of its own, and that of the last may be gone."""
    return sum(spent - earlier.get(process, 0.0) for process, spent in _browser_seconds().items())


def _browser() -> list[tuple[Path, dict[str, str]]]:
    """The processes that this one has started, and what the system says of them."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            lines = (folder / "status").read_text().splitlines()
        except OSError:
            continue  # ended meanwhile
        found[int(folder.name)] = folder, dict(line.split(":", 1) for line in lines if ":" in line)
    parents = {process: int(fields["PPid"]) for process, (_, fields) in found.items()}
    return [each for process, each in found.items() if _descends(process, parents)]


def _descends(process: int, parents: dict[int, int]) -> bool:
    while process in parents:
        process = parents[process]
        if process == os.getpid():
            return True
    return False
