"""Pages: how large the file is, and how long Chromium takes from being told its address until the points are drawn.

Every measurement starts a browser of its own, headless, with WebGL in software or without WebGL; a page of few points
is opened first, so that the programs are in the machine's memory. The peak is that of all processes of the browser
together.
"""

from __future__ import annotations

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
    """Ten clusters of n points with an id, a class and a number each."""
    from mercer.web import Map, Page

    rng = np.random.default_rng(0)
    kind = rng.integers(0, 10, n)
    points = 5 * rng.standard_normal((10, 2))[kind] + rng.standard_normal((n, 2))
    ids = np.array([f"row-{i:07d}" for i in range(n)])
    columns = {"cluster": kind, "score": rng.standard_normal(n) + kind}
    return Page(f"{n:,} points", [Map("Clusters", points)], ids=ids, columns=columns, label="cluster")


def open_page(job: dict[str, Any]) -> dict[str, Any]:
    """The measurement, in a process of its own: write the page, open it, wait until it is drawn."""
    from playwright.sync_api import sync_playwright

    from mercer.web import write_page

    path = os.environ.get("MERCER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        return {"error": "no Chromium"}
    small, large = Path(job["out"]) / "small.html", Path(job["out"]) / "large.html"
    write_page(clustered_page(_WARM_ROWS), small)
    page, started = clustered_page(job["n"]), time.perf_counter()
    size = write_page(page, large)
    written = time.perf_counter() - started
    with sync_playwright() as play:
        flags = [*_QUIET, *DRAWS[job["what"]]]
        browser = play.chromium.launch(executable_path=path, headless=True, args=flags)
        tab = browser.new_page(viewport={"width": 1440, "height": 900})
        _wait(tab, small)
        before = _browser_bytes("VmRSS")
        seconds = _wait(tab, large)
        drawn, peak = tab.evaluate("document.documentElement.dataset.drawn"), _browser_bytes("VmHWM")
        browser.close()
    large.unlink()
    if drawn != job["what"]:
        return {"error": f"drawn by {drawn}"}
    return {
        "seconds": [seconds],
        "before_bytes": before,
        "peak_bytes": peak,
        "file_bytes": size,
        "write_seconds": written,
    }


def _wait(tab: Any, path: Path) -> float:
    """Seconds until the page says that its points are drawn."""
    started = time.perf_counter()
    tab.goto(f"file://{path}")
    tab.locator("html[data-drawn]").wait_for(state="attached", timeout=300_000)
    return time.perf_counter() - started


def _browser_bytes(field: str) -> int:
    """What the processes that this one has started hold, or have held at most, all together."""
    parents, sizes = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
        except OSError:
            continue  # ended meanwhile
        parents[int(folder.name)] = int(fields["PPid"])
        sizes[int(folder.name)] = 1024 * int(fields.get(field, "0 kB").split()[0])
    return sum(size for process, size in sizes.items() if _descends(process, parents))


def _descends(process: int, parents: dict[int, int]) -> bool:
    while process in parents:
        process = parents[process]
        if process == os.getpid():
            return True
    return False
