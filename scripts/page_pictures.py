"""The pictures of the guide to pages: examples/page.py opened in headless Chromium.

python scripts/page_pictures.py docs/pictures

Needs the test extra and Chromium (MERCER_CHROMIUM, or `chromium` on the path).
"""

import math
import os
import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright
from sklearn.datasets import load_digits, make_swiss_roll

import mercer

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ["--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-gpu", "--disable-3d-apis"]


def main() -> None:
    folder = Path(sys.argv[1])
    path = os.environ.get("MERCER_CHROMIUM") or shutil.which("chromium")
    if path is None:
        sys.exit("No Chromium: install it, or set MERCER_CHROMIUM to its path.")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as play:
        subprocess.run([sys.executable, ROOT / "examples" / "page.py", "--output", scratch], check=True)
        browser = play.chromium.launch(executable_path=path, headless=True, args=FLAGS)
        for name, scheme, act in (("page-light", "light", point_at_one), ("page-dark", "dark", circle_a_cluster)):
            size = {"width": 1280, "height": 800}
            tab = browser.new_page(viewport=size, device_scale_factor=1.5, color_scheme=scheme, reduced_motion="reduce")
            tab.goto(f"file://{scratch}/digits.html")
            tab.locator("html[data-drawn]").wait_for(state="attached")
            act(tab)
            tab.wait_for_timeout(500)
            save(tab.screenshot(), folder / f"{name}.png")
        live_page(browser, folder)
        live_graph(browser, folder)
        browser.close()


def live_page(browser: Browser, folder: Path) -> None:
    """The live page of the digits, with the pointer in the map."""
    X, y = load_digits(return_X_y=True)
    server = mercer.explore(X, y.astype(str), title="digits", image_shape=(8, 8), open_browser=False, wait=False)
    tab = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5, reduced_motion="reduce")
    tab.goto(server.address)
    tab.locator("html[data-drawn]").wait_for(state="attached")
    tab.locator(".stage-name", has_text="exact").wait_for()
    point_at_one(tab, panel=0)
    tab.locator(".under canvas").wait_for()
    tab.wait_for_timeout(1500)
    save(tab.screenshot(), folder / "explore.png")
    server.stop()


def live_graph(browser: Browser, folder: Path) -> None:
    """Isomap's graph of a roll, with the shortcuts among 8 neighbours, and the numbers of neighbours compared."""
    X, along = make_swiss_roll(600, noise=0.3, random_state=0)
    server = mercer.explore(X, along, title="roll", features=["x", "y", "z"], open_browser=False, wait=False)
    tab = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5, reduced_motion="reduce")
    tab.goto(server.address)
    tab.locator("html[data-drawn]").wait_for(state="attached")
    tab.select_option("#live-method", "isomap")
    tab.get_by_label("neighbours, as a number").fill("8")
    tab.keyboard.press("Enter")
    tab.locator("#graph summary").click()
    tab.locator("#graph tbody tr").first.wait_for(timeout=300_000)
    tab.locator("#graph-compare").click()
    tab.locator("[data-neighbors]").last.wait_for(timeout=300_000)
    tab.locator("#graph").evaluate("part => part.scrollIntoView()")
    tab.wait_for_timeout(500)
    save(tab.screenshot(), folder / "explore_graph.png")
    server.stop()


def point_at_one(tab: Page, panel: int = 1) -> None:
    """The pointer rests on a point of a map."""
    box = tab.locator(".surface").nth(panel).bounding_box()
    assert box is not None
    x, y = tab.evaluate(f"mercer.screen({panel}, 14)")
    tab.mouse.move(box["x"] + x, box["y"] + y)


def circle_a_cluster(tab: Page) -> None:
    """A lasso around the neighbourhood of one point."""
    box = tab.locator(".surface").first.bounding_box()
    assert box is not None
    x, y = tab.evaluate("mercer.screen(0, 8)")
    tab.keyboard.down("Shift")
    tab.mouse.move(box["x"] + x + 70, box["y"] + y)
    tab.mouse.down()
    for k in range(1, 40):
        angle = k * math.tau / 40
        tab.mouse.move(box["x"] + x + 70 * math.cos(angle), box["y"] + y + 70 * math.sin(angle))
    tab.mouse.up()
    tab.keyboard.up("Shift")


def save(content: bytes, path: Path) -> None:
    """As a PNG of its 256 most frequent colours, a third of the size; every other becomes the nearest of them."""
    pixels = np.asarray(Image.open(BytesIO(content)).convert("RGB"))
    colours, index, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    kept = colours[np.argsort(-counts, kind="stable")[:256]].astype(np.int64)
    nearest = [np.square(kept - colour).sum(axis=1).argmin() for colour in colours.astype(np.int64)]
    picture = Image.fromarray(np.array(nearest, np.uint8)[index].reshape(pixels.shape[:2]), "P")
    picture.putpalette(kept.astype(np.uint8).tobytes())
    picture.save(path, optimize=True)


if __name__ == "__main__":
    main()
