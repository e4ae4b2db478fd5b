"""The widget's script in Chromium, in a document that does what notebooks do; the kernel's side is the real one.

The document has a content policy as strict as that of VS Code's outputs. test_notebook_browser.py has real notebooks.
"""

import base64
import json

import numpy as np
import pytest

from mercer import KernelPCA
from mercer.live.shown_map import shown_map
from mercer.live.view_sessions import ViewSessions
from mercer.web.page import page_parts, widget_script

pytestmark = pytest.mark.browser

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src https: http: data:; "
    "connect-src https:; child-src https: data: blob:"
)
_NOTEBOOK = """<!doctype html><html><head><meta http-equiv="Content-Security-Policy" content="%s"><style>
body { background: oklch(0.98 0 0); } body.dark { background: oklch(0.2 0 0); } #page { color: red; }</style></head>
<body><div id="page" class="card">of the notebook</div><button id="search">of the notebook</button><script>
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const letters = (view) => btoa(Array.from(new Uint8Array(view.buffer ?? view), (x) => String.fromCharCode(x)).join(""));
class Model {
  constructor(values) { this.values = values; this.heard = {}; this.sent = []; this.saved = []; }
  get(name) { return this.values[name]; }
  set(name, value) { this.values[name] = value; this.changed = [...(this.changed ?? []), name]; }
  save_changes() {
    const names = this.changed ?? [];
    this.changed = [];
    for (const name of names) { this.saved.push(name); this.tell(`change:${name}`); }
  }
  on(event, listener) { (this.heard[event] ??= []).push(listener); }
  off(event, listener) { this.heard[event] = (this.heard[event] ?? []).filter((each) => each !== listener); }
  tell(event, ...given) { for (const each of this.heard[event] ?? []) each(...given); }
  send(content) { this.sent.push(content); }
}
const models = [], views = [];
async function add(script, values) {
  const { default: widget } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  const _block = new DataView(bytes(values._block).buffer), selected = new DataView(new ArrayBuffer(0));
  const model = new Model({ ...values, _block, selected });
  models.push(model);
  return show(widget, model);
}
function show(widget, model) {
  const el = document.createElement("div");
  document.body.append(el);
  views.push({ el, leave: widget.render({ model, el }), widget });
}
let keys = 0;
document.addEventListener("keydown", () => keys++);
</script></body></html>"""


class Notebook:
    """A document with widgets, and the kernels behind them."""

    def __init__(self, page):
        self.page, self.kernels, self.told = page, [], []
        self.errors = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.set_content(_NOTEBOOK % _POLICY)

    def add(self, shown, height=500):
        about, block = page_parts(shown.page, live=shown.live)
        values = {"_about": about, "_block": base64.b64encode(block).decode(), "_chosen": "", "height": height}
        number = len(self.kernels)
        told = []
        sessions = shown.table and ViewSessions(
            shown.table, shown.controls, lambda content, message: told.append((content, message)), shown.known
        )
        self.kernels.append((sessions, told))
        self.page.evaluate("([script, values]) => add(script, values)", [widget_script(), values | {"title": "a map"}])
        return number

    def frame(self, view=0):
        """The frame of a view, drawn."""
        element = self.page.locator("iframe").nth(view)
        element.scroll_into_view_if_needed()  # Chromium draws no frame that is not seen
        found = element.element_handle().content_frame()
        self.until(found, "document.documentElement.dataset.drawn && mercer")
        return found

    def carry(self):
        """Carry what has been said between pages and kernels."""
        for number, (sessions, told) in enumerate(self.kernels):
            for content in self.page.evaluate(f"models[{number}].sent.splice(0)"):
                if sessions is not None:
                    sessions.receive(content)
            while told:
                content, message = told.pop(0)
                self.told.append((content, message))
                parts = [] if message is None else [base64.b64encode(message).decode()]
                self.page.evaluate(
                    f"([content, parts]) => models[{number}].tell('msg:custom', content, "
                    "parts.map((part) => new DataView(bytes(part).buffer)))",
                    [content, parts],
                )

    def until(self, frame, expression, seconds=120):
        for _ in range(int(seconds / 0.02)):
            self.carry()
            if frame.evaluate(expression):
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"{expression} did not come true; {self.errors} {self.told[-3:]}")

    def selected(self, number=0):
        return self.page.evaluate(f"Array.from(new Uint32Array(models[{number}].get('selected').buffer))")

    def select(self, rows, number=0):
        self.page.evaluate(
            f"(rows) => {{ models[{number}].set('selected', new DataView(Uint32Array.from(rows).buffer)); "
            f"models[{number}].save_changes(); }}",
            rows,
        )

    def close(self):
        for sessions, _ in self.kernels:
            if sessions is not None:
                sessions.close()


@pytest.fixture
def notebooks(browsers):
    opened = []

    def get(kind="canvas"):
        context = browsers(kind).new_context(viewport={"width": 1100, "height": 900}, reduced_motion="reduce")
        opened.append((Notebook(context.new_page()), context))
        return opened[-1][0]

    yield get
    for notebook, context in opened:
        notebook.close()
        assert notebook.errors == []
        context.close()


def fitted(n=120):
    rng = np.random.default_rng(0)
    X = 3 * rng.standard_normal((3, 4))[np.arange(n) % 3] + rng.standard_normal((n, 4))
    return KernelPCA(3, kernel="rbf", gamma=0.05).fit(X)


SETTLED = "mercer.live.map().stage == 'settled' && mercer.live.map().number == mercer.live.number()"


@pytest.mark.parametrize("kind", ["canvas", "webgl"])
def test_a_finished_map_is_drawn_under_a_strict_policy(notebooks, kind):
    notebook = notebooks(kind)
    notebook.add(shown_map(np.random.default_rng(0).normal(size=(50, 2)), y=np.arange(50) % 2))
    frame = notebook.frame()
    assert frame.evaluate("mercer.panels()[0].kind") == kind and frame.evaluate("mercer.live") is None
    assert notebook.page.locator("iframe").bounding_box()["height"] == 500


def test_the_selection_goes_both_ways_and_echoes_end(notebooks):
    notebook = notebooks()
    notebook.add(shown_map(np.random.default_rng(0).normal(size=(50, 2))))
    frame = notebook.frame()
    notebook.select([3, 17])
    notebook.until(frame, "String(mercer.selected()) == '3,17'")
    frame.locator(".surface").focus()
    notebook.page.keyboard.press("Escape")
    notebook.until(frame, "mercer.selected() === null")
    notebook.page.wait_for_timeout(100)
    assert (
        notebook.selected() == [] and notebook.page.evaluate("models[0].saved.filter(x => x == 'selected').length") == 2
    )


def test_the_notebook_and_the_page_keep_out_of_each_other(notebooks):
    notebook = notebooks()
    notebook.add(shown_map(np.random.default_rng(0).normal(size=(50, 2))))
    frame, page = notebook.frame(), notebook.page
    assert page.evaluate("Object.keys(document.documentElement.dataset).length") == 0
    assert page.evaluate("getComputedStyle(document.querySelector('#page')).color") == "rgb(255, 0, 0)"
    frame.locator(".surface").focus()
    page.keyboard.press("l")
    assert frame.evaluate("document.querySelector('.surface').dataset.tool") == "lasso" and page.evaluate("keys") == 0
    page.locator("#search").focus()
    page.keyboard.press("b")
    assert frame.evaluate("document.querySelector('.surface').dataset.tool") == "lasso" and page.evaluate("keys") == 1
    # The frame has no origin: what is in it reaches nothing around it.
    reached = frame.evaluate(
        "(() => { try { return String(parent.document.title); } catch (error) { return error.name; } })()"
    )
    assert reached == "SecurityError" and frame.evaluate("origin") == "null"


def test_sliders_compute_in_the_kernel_after_the_map_that_was_fitted(notebooks):
    notebook, model = notebooks(), fitted()
    notebook.add(shown_map(model))
    frame = notebook.frame()
    notebook.until(frame, SETTLED)
    first = np.array(frame.evaluate("[mercer.live.values(0), mercer.live.values(1)]")).T
    assert np.allclose(first, model.fit_transform(model.X_fit_)[:, :2], atol=1e-5)
    assert sum(message is not None and b'"type":"map"' in message for _, message in notebook.told) == 1
    frame.locator("input[data-control=gamma][type=range]").focus()
    notebook.page.keyboard.press("PageUp")
    notebook.until(frame, f"mercer.live.settings().gamma > 0.05 && {SETTLED}")
    gamma = frame.evaluate("mercer.live.settings().gamma")
    exact = KernelPCA(3, kernel="rbf", gamma=gamma).fit_transform(model.X_fit_)[:, :2]
    found = np.array(frame.evaluate("[mercer.live.values(0), mercer.live.values(1)]")).T
    assert np.allclose(found * np.sign((found * exact).sum(axis=0)), exact, atol=1e-4)


def test_two_widgets_are_apart_and_two_views_share_a_selection(notebooks):
    notebook = notebooks()
    for _ in range(2):
        notebook.add(shown_map(np.random.default_rng(0).normal(size=(50, 2))))
    notebook.page.evaluate("show(views[0].widget, models[0])")
    frames = [notebook.frame(view) for view in range(3)]
    notebook.select([5])
    notebook.until(frames[2], "String(mercer.selected()) == '5'")
    notebook.until(frames[0], "String(mercer.selected()) == '5'")
    assert frames[1].evaluate("mercer.selected()") is None


def test_a_frame_that_is_moved_goes_on_where_it_was(notebooks):
    notebook = notebooks()
    notebook.add(shown_map(fitted()))
    frame = notebook.frame()
    notebook.until(frame, SETTLED)
    frame.select_option("#live-method", "pca")
    notebook.until(frame, f"mercer.live.settings().method == 'pca' && {SETTLED}")
    notebook.select([1, 2])
    notebook.until(notebook.page, "models[0].get('_chosen').includes('live.method=pca')")
    notebook.page.evaluate("document.body.prepend(views[0].el)")
    notebook.page.wait_for_timeout(200)
    frame = notebook.frame()
    notebook.until(frame, f"mercer.live.settings().method == 'pca' && {SETTLED}")
    assert frame.evaluate("String(mercer.selected())") == "1,2"


def test_the_page_is_dark_where_the_notebook_is(notebooks):
    notebook = notebooks()
    notebook.add(shown_map(np.random.default_rng(0).normal(size=(50, 2))))
    frame = notebook.frame()
    assert frame.evaluate("document.documentElement.dataset.theme") == "light"
    notebook.page.evaluate("document.body.className = 'dark'")
    notebook.until(frame, "document.documentElement.dataset.theme == 'dark'")


def test_a_widget_that_is_taken_away_leaves_its_kernel(notebooks):
    notebook = notebooks()
    notebook.add(shown_map(fitted()))
    notebook.until(notebook.frame(), SETTLED)
    notebook.page.evaluate("views[0].leave()")
    assert notebook.page.evaluate("models[0].sent").pop()["what"] == "left"
    assert notebook.page.evaluate("Object.values(models[0].heard).flat().length") == 0
    assert notebook.page.locator("iframe").count() == 0


def test_a_kernel_that_is_silent_shows_as_such_and_the_page_goes_on_with_it(notebooks):
    notebook = notebooks()
    notebook.add(shown_map(fitted()))
    frame = notebook.frame()
    notebook.until(frame, SETTLED)
    frame.select_option("#live-method", "pca")  # and nobody carries the message
    for _ in range(600):
        notebook.page.wait_for_timeout(100)
        if not frame.evaluate("mercer.live.connected()"):
            break
    assert "kernel does not answer" in frame.locator(".notice").inner_text()
    notebook.until(frame, f"mercer.live.connected() && mercer.live.settings().method == 'pca' && {SETTLED}")
    assert frame.locator(".notice").is_hidden()


def test_a_session_that_the_kernel_has_ended_is_opened_again(notebooks):
    notebook = notebooks()
    notebook.add(shown_map(fitted()))
    frame = notebook.frame()
    notebook.until(frame, SETTLED)
    notebook.kernels[0][0].close()
    frame.select_option("#live-method", "pca")
    notebook.until(frame, f"mercer.live.connected() && mercer.live.settings().method == 'pca' && {SETTLED}")


def test_images_of_rows_are_shown_under_a_strict_policy(notebooks):
    from mercer.tables.images import thumbnail_of_array

    images = [thumbnail_of_array(np.full((8, 8), value, np.uint8)) for value in range(50)]
    notebook = notebooks()
    notebook.add(shown_map(np.random.default_rng(0).normal(size=(50, 2)), images=images))
    frame = notebook.frame()
    x, y = frame.evaluate("mercer.screen(0, 7)")
    frame.locator(".surface").click(position={"x": x, "y": y})
    frame.locator(".card.pinned img").wait_for()
    notebook.until(frame, "document.querySelector('.card.pinned img').naturalWidth == 8")


def test_messages_of_others_do_not_open_the_page(notebooks):
    notebook = notebooks()
    notebook.add(shown_map(np.random.default_rng(0).normal(size=(50, 2)), title="the true one"))
    frame = notebook.frame()
    other = json.dumps({"format": 1, "title": "another", "rows": 1, "maps": []})
    notebook.page.evaluate(
        "(about) => frames[0].postMessage({ mercer: 'open', about, block: new ArrayBuffer(0) }, '*', "
        "[new MessageChannel().port1])",
        other,
    )
    notebook.page.wait_for_timeout(100)
    assert frame.locator("h1").inner_text() == "the true one"
