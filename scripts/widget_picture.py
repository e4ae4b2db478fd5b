"""The picture of the guide to maps in notebooks: a widget of the digits in JupyterLab, in headless Chromium.

python scripts/widget_picture.py docs/pictures

Run it in the environment of `make test-notebook`. Chromium is MERCER_CHROMIUM, or `chromium` on the path.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from page_pictures import FLAGS, save
from playwright.sync_api import Page, sync_playwright

CELLS = [
    """import mercer
from sklearn.datasets import load_digits

X, y = load_digits(return_X_y=True)
model = mercer.KernelPCA(5, kernel="rbf", gamma="median").fit(X)
w = mercer.widget(model, y=y.astype(str), image_shape=(8, 8), title="digits")
w""",
    "w.selected = y == 0\nX[w.selected].mean(axis=0).reshape(8, 8).round().astype(int)",
]


def main() -> None:
    path = os.environ.get("MERCER_CHROMIUM") or shutil.which("chromium")
    if path is None:
        sys.exit("No Chromium: install it, or set MERCER_CHROMIUM to its path.")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as play:
        cells = [
            {"cell_type": "code", "id": f"c{k}", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
            for k, text in enumerate(CELLS)
        ]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        notebook = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        Path(scratch, "digits.ipynb").write_text(json.dumps(notebook))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}"]
        command += ["--IdentityProvider.token=picture", f"--ServerApp.root_dir={scratch}"]
        command += ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url="]
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ | {"HOME": scratch})
        try:
            wait_for(f"http://127.0.0.1:{port}/api")
            browser = play.chromium.launch(executable_path=path, headless=True, args=FLAGS)
            tab = browser.new_page(viewport={"width": 1180, "height": 1120}, device_scale_factor=1.25)
            tab.set_default_timeout(300_000)
            tab.goto(f"http://127.0.0.1:{port}/lab/tree/digits.ipynb?token=picture&reset")
            draw(tab)
            save(tab.screenshot(), Path(sys.argv[1]) / "widget.png")
            browser.close()
        finally:
            server.terminate()
            server.wait(60)


def draw(tab: Page) -> None:
    """Run both cells, and wait for their output."""
    tab.wait_for_function("window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')")
    while tab.evaluate("jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status") != "idle":
        tab.wait_for_timeout(200)
    for name in ("application:toggle-left-area", "notebook:run-all-cells"):
        tab.evaluate("(name) => void jupyterapp.commands.execute(name)", name)
        tab.wait_for_timeout(1000)
    frame = tab.frame_locator("iframe")
    frame.locator(".stage-name", has_text="exact").wait_for()
    tab.locator(".jp-OutputArea-output", has_text="array").wait_for()
    close = tab.get_by_role("button", name="Hide notification")
    if close.count():
        close.first.click()
    tab.locator(".jp-Cell").first.click()
    tab.wait_for_timeout(1000)


def wait_for(address: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.2)
    sys.exit(f"{address} does not answer.")


if __name__ == "__main__":
    main()
