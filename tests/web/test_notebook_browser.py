"""`mercer.widget` in real JupyterLab, Notebook 7 and marimo, in Chromium: `make test-notebook` installs them."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import mercer

pytestmark = pytest.mark.browser
_PATIENCE = 120  # seconds; a kernel that starts on a busy machine takes its time
SETTLED = "mercer.live.map().stage == 'settled' && mercer.live.map().number == mercer.live.number()"
DATA = """import numpy as np, mercer
rng = np.random.default_rng(0)
kind = np.arange(150) % 3
X = 3 * rng.standard_normal((3, 4))[kind] + rng.standard_normal((150, 4))
model = mercer.KernelPCA(3, kernel="rbf", gamma=0.05).fit(X)"""


def model_and_rows():
    names = {}
    exec(DATA, names)
    return names["model"], names["X"]


def needs(package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: make test-notebook installs it")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serving(command, address, folder, **variables):
    """A server in a process of its own, once it answers."""
    path = os.pathsep.join([str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "MPLBACKEND": "agg", "HOME": str(folder)} | variables
    log = folder / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=out, stderr=out)
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return process
        except OSError:
            assert process.poll() is None and time.monotonic() < end, log.read_text()[-2000:]
            time.sleep(0.2)


def ended(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


class Opened:
    """A notebook in a browser."""

    def __init__(self, page):
        self.page = page

    def until(self, wanted):
        """Wait until a function gives something that is true, and give that."""
        end = time.monotonic() + _PATIENCE
        while not (found := wanted()):
            assert time.monotonic() < end, self.page.locator("body").inner_text()[-2000:]
            self.page.wait_for_timeout(50)
        return found

    def frames(self):
        """The frames of widgets that are drawn."""
        drawn = "!!(window.mercer && document.documentElement.dataset.drawn)"
        return [each for each in self.page.frames if each.url == "about:srcdoc" and each.evaluate(drawn)]

    def frame(self, number=0):
        return self.until(lambda: len(self.frames()) > number and self.frames()[number])

    def is_true(self, frame, expression):
        return self.until(lambda: frame.evaluate(expression))

    def box(self, frame):
        """Select the left half of the map with a rectangle; the rows that are in it."""
        surface = frame.locator(".surface").first
        surface.scroll_into_view_if_needed()
        frame.locator("button[data-tool=box]").first.click()
        box, mouse = surface.bounding_box(), self.page.mouse
        left, top, middle = box["x"] + 8, box["y"] + 8, box["x"] + box["width"] / 2
        mouse.move(left, top)
        mouse.down()
        mouse.move(middle, top + 40)
        mouse.move(middle, box["y"] + box["height"] - 8)
        mouse.up()
        return self.until(lambda: frame.evaluate("mercer.selected()"))


class Jupyter(Opened):
    def command(self, name, arguments=None):
        self.page.evaluate(
            "([name, arguments]) => jupyterapp.commands.execute(name, arguments ?? {}).then(() => null)",
            [name, arguments],
        )

    def run(self, cell):
        """Run a cell; what it printed."""
        self.page.locator(".jp-Cell").nth(cell).locator(".jp-InputPrompt, .jp-InputArea-prompt").first.click()
        self.command("notebook:run-cell")
        return self.page.locator(".jp-Cell").nth(cell).locator(".jp-OutputArea-output")


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory):
    """The address of a JupyterLab and Notebook server, and its folder."""
    needs("jupyterlab")
    needs("notebook")
    needs("anywidget")
    folder, port = tmp_path_factory.mktemp("jupyter"), free_port()
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.port={port}"]
    command += [
        "--ServerApp.port_retries=0",
        "--IdentityProvider.token=for-this-test",
        f"--ServerApp.root_dir={folder}",
    ]
    command += ["--LabApp.expose_app_in_browser=True", "--JupyterNotebookApp.expose_app_in_browser=True"]
    variables = {f"JUPYTER_{name}_DIR": str(folder / f".{name}".lower()) for name in ("CONFIG", "RUNTIME", "DATA")}
    process = serving(command, f"http://127.0.0.1:{port}/api", folder, **variables)
    yield f"http://127.0.0.1:{port}", folder
    ended(process)


@pytest.fixture
def opened(browsers, jupyter):
    """Opens notebooks of some cells."""
    address, folder = jupyter
    contexts = []

    def get(cells, application="lab/tree"):
        made = [
            {"cell_type": "code", "id": f"c{k}", "metadata": {}, "execution_count": None, "outputs": [], "source": text}
            for k, text in enumerate(cells)
        ]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        name = f"notebook{time.monotonic_ns()}.ipynb"
        text = json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})
        (folder / name).write_text(text)
        contexts.append(browsers("canvas").new_context(viewport={"width": 1300, "height": 1500}))
        page = contexts[-1].new_page()
        page.set_default_timeout(1000 * _PATIENCE)
        page.goto(f"{address}/{application}/{name}?reset&token=for-this-test")  # without the tabs of other tests
        page.wait_for_function("window.jupyterapp && document.querySelector('.jp-Notebook .jp-Cell')")
        seen = Jupyter(page)
        seen.until(lambda: page.evaluate(_KERNEL) == "idle")
        return seen

    yield get
    for context in contexts:
        context.close()


_KERNEL = "jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
SHOWN = ["w = mercer.widget(model, y=kind)\nw", "w.selected = [5, 3]", "print(w.selected.tolist(), w.settings)"]


@pytest.mark.parametrize("application", ["lab/tree", "notebooks"])
def test_a_map_is_shown_selected_and_moved_in_jupyter(opened, application):
    seen = opened([DATA + "\nmodel", *SHOWN], application)
    offer = seen.run(0).filter(has_text="mercer.widget")
    offer.wait_for()
    seen.run(1)
    frame = seen.frame()
    model, X = model_and_rows()
    seen.is_true(frame, SETTLED)
    found = np.array(frame.evaluate("[mercer.live.values(0), mercer.live.values(1)]")).T
    assert np.allclose(found, model.fit_transform(X)[:, :2], atol=1e-5)
    seen.run(2)
    seen.is_true(frame, "String(mercer.selected()) == '3,5'")
    rows = seen.box(frame)
    assert 0 < len(rows) < 150
    frame.locator("input[data-control=gamma][type=range]").focus()
    seen.page.keyboard.press("PageUp")
    seen.is_true(frame, f"mercer.live.settings().gamma > 0.05 && {SETTLED}")
    printed = seen.run(3)
    printed.wait_for()
    gamma = frame.evaluate("mercer.live.settings().gamma")
    assert printed.inner_text().strip() == f"{rows} " + str(
        {"method": "kpca", "kernel": "rbf", "gamma": gamma, "n_components": 3}
    )
    assert seen.page.evaluate("document.documentElement.dataset.drawn") is None


def test_two_widgets_and_a_dark_theme_in_jupyterlab(opened):
    seen = opened(
        [DATA, "a = mercer.widget(X[:, :2], height=300)\na", "b = mercer.widget(model)\nb", "b.selected = [7]"]
    )
    for cell in range(3):
        seen.run(cell)
    first, second = seen.frame(0), seen.frame(1)
    seen.run(3)
    seen.is_true(second, "String(mercer.selected()) == '7'")
    assert first.evaluate("mercer.selected()") is None and first.evaluate("mercer.live") is None
    seen.command("apputils:change-theme", {"theme": "JupyterLab Dark"})
    for frame in (first, second):
        seen.is_true(frame, "document.documentElement.dataset.theme == 'dark'")


def test_a_kernel_that_has_ended_shows_as_such(opened):
    seen = opened([DATA, *SHOWN])
    seen.run(0)
    seen.run(1)
    frame = seen.frame()
    seen.is_true(frame, SETTLED)
    seen.command("kernelmenu:shutdown")
    seen.until(lambda: seen.page.evaluate(_KERNEL) in (None, "dead", "unknown"))
    frame.select_option("#live-method", "pca")
    notice = frame.locator(".notice")
    notice.wait_for()
    assert "kernel does not answer" in notice.inner_text()


_MARIMO = """import marimo
app = marimo.App()

@app.cell
def _():
    {data}
    return X, kind, mercer, model, np

@app.cell
def _(kind, mercer, model):
    import marimo as mo
    w = mo.ui.anywidget(mercer.widget(model, y=kind))
    w
    return mo, w

@app.cell
def _(mo, w):
    button = mo.ui.button(label="choose two", on_click=lambda _: setattr(w.widget, "selected", [5, 3]))
    button
    return

@app.cell
def _(w):
    w.value
    print("rows", w.widget.selected.tolist(), w.widget.settings)
    return
"""


@pytest.fixture(scope="module")
def marimo(tmp_path_factory):
    """The address of a marimo server with one notebook."""
    needs("marimo")
    needs("anywidget")
    folder, port = tmp_path_factory.mktemp("marimo"), free_port()
    (folder / "map.py").write_text(_MARIMO.format(data=DATA.replace("\n", "\n    ")))
    command = [sys.executable, "-m", "marimo", "-q", "-y", "edit", "map.py", "--headless", "--no-token"]
    command += ["--port", str(port), "--skip-update-check"]
    process = serving(command, f"http://127.0.0.1:{port}/health", folder, XDG_CONFIG_HOME=str(folder))
    yield f"http://127.0.0.1:{port}"
    ended(process)


def test_a_map_is_shown_selected_and_moved_in_marimo(browsers, marimo):
    context = browsers("canvas").new_context(viewport={"width": 1300, "height": 1500})
    page = context.new_page()
    page.set_default_timeout(1000 * _PATIENCE)
    page.goto(marimo)
    page.locator("[data-testid=run-button]").first.wait_for()
    seen = Opened(page)

    def drawn():
        page.keyboard.press("Control+Shift+R")  # run what has not run; the page may not listen yet
        page.wait_for_timeout(1000)
        return seen.frames()

    frame = seen.until(drawn)[0]
    seen.is_true(frame, SETTLED)
    page.get_by_role("button", name="choose two").click()
    seen.is_true(frame, "String(mercer.selected()) == '3,5'")
    rows = seen.box(frame)
    page.get_by_text(f"rows {rows}").wait_for()
    frame.locator("input[data-control=gamma][type=range]").focus()
    page.keyboard.press("PageUp")
    seen.is_true(frame, f"mercer.live.settings().gamma > 0.05 && {SETTLED}")
    assert frame.evaluate("document.documentElement.dataset.theme") == "light"
    context.close()
