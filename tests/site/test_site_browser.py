"""Each page of the built site in Chromium: no error on the console, no request that leaves it, nothing for axe-core."""

import os
import shutil
import tomllib
from pathlib import Path
from urllib.parse import quote_plus

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.site]

ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "node_modules" / "axe-core" / "axe.min.js"
QUIET = ["--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
FOUND = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
    .flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 160)} ${node.failureSummary}`))"""
WIDTHS = (390, 820, 1440)
QUESTIONS = tomllib.loads((Path(__file__).parent / "newcomers_questions.toml").read_text(encoding="utf-8"))["question"]
SHARED = (
    "api/mercer.",
    "_modules/",
)  # pages of one template: a sample of them goes through axe-core


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("MERCER_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no chromium found; install it (apt-get install chromium) or set MERCER_CHROMIUM to its path")
    with playwright.sync_playwright() as play:
        started = play.chromium.launch(executable_path=path, headless=True, args=["--no-sandbox", *QUIET])
        yield started
        started.close()


def names(site):
    found = sorted(path.relative_to(site).with_suffix("").as_posix() for path in site.rglob("*.html"))
    return [name for name in found if not name.startswith("_static")]


class Visitor:
    """A tab that remembers what its pages complained about and asked for."""

    def __init__(self, browser, site, **settings):
        self.site, self.complaints, self.left = site, [], []
        self.page = browser.new_page(**settings)
        self.page.set_default_timeout(60_000)
        self.page.on("pageerror", lambda error: self.complaints.append(f"{self.page.url}: {error}"))
        self.page.on("console", self._said)
        self.page.on("request", self._asked)

    def _said(self, message):
        if message.type == "error":
            self.complaints.append(f"{self.page.url}: {message.text}")

    def _asked(self, request):
        if not request.url.startswith(("data:", self.site.as_uri())):
            self.left.append(f"{self.page.url} asks for {request.url}")

    def open(self, name):
        self.page.goto((self.site / f"{name}.html").as_uri())


@pytest.mark.timeout(1800)
def test_no_page_complains_or_asks_for_anything_outside(browser, site):
    visitor = Visitor(browser, site)
    for name in names(site):
        visitor.open(name)
    assert not visitor.complaints, "\n".join(visitor.complaints)
    assert not visitor.left, "\n".join(visitor.left)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, site, scheme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make test-docs")
    every = names(site)
    alike = [[name for name in every if name.startswith(start)] for start in SHARED]
    chosen = [name for name in every if not name.startswith(SHARED)] + [name for group in alike for name in group[::8]]
    if scheme == "dark":
        chosen = chosen[::4]
    visitor = Visitor(browser, site, color_scheme=scheme)
    found = []
    for name in chosen:
        visitor.open(name)
        visitor.page.evaluate(AXE.read_text(encoding="utf-8"))
        found += [f"{name}: {problem}" for problem in visitor.page.evaluate(FOUND)]
    assert not found, f"{len(found)} violations\n" + "\n".join(found[:30])


@pytest.mark.timeout(600)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_its_window(browser, site, width):
    visitor = Visitor(browser, site, viewport={"width": width, "height": 900})
    wide = []
    for name in ("index", "start", "guide/isomap", "guide/cli", "benchmarks", "gallery/index", "api/mercer.KernelPCA"):
        visitor.open(name)
        if visitor.page.evaluate("document.documentElement.scrollWidth > window.innerWidth + 1"):
            wide.append(name)
    assert not wide


@pytest.mark.timeout(300)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_search_is_in_reach_at_every_width(browser, site, width):
    visitor = Visitor(browser, site, viewport={"width": width, "height": 900})
    visitor.open("index")
    visitor.page.locator("button.search-button:visible").first.click()
    visitor.page.locator("input[name=q]:visible").first.fill("isomap")
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_selector("#search-results li a")
    assert not visitor.complaints


def search(visitor, words):
    visitor.page.goto(f"{(visitor.site / 'search.html').as_uri()}?q={quote_plus(words)}")
    visitor.page.wait_for_selector("#search-results > p")


def first_result(visitor, words):
    """The page that the search lists first, as its address within the site; None if it finds nothing."""
    search(visitor, words)
    link = visitor.page.locator("#search-results ul.search li a").first
    return link.get_attribute("href").partition("?")[0].partition("#")[0] if link.count() else None


@pytest.mark.timeout(600)
def test_the_search_finds_crowding_without_a_network(browser, site):
    visitor = Visitor(browser, site)
    assert first_result(visitor, "crowding") is not None
    assert not visitor.left
    assert not visitor.complaints


@pytest.mark.timeout(600)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_name_a_section_show_its_words_and_can_be_read_by_all(browser, site, scheme):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make test-docs")
    visitor = Visitor(browser, site, color_scheme=scheme)
    search(visitor, "PCA sign flip")
    first = visitor.page.locator("#search-results li").first
    assert "#" in first.locator("a").get_attribute("href")
    assert any("sign" in word.lower() for word in first.locator("mark").all_text_contents())
    assert not visitor.left and not visitor.complaints  # axe itself asks for style sheets
    visitor.page.evaluate(AXE.read_text(encoding="utf-8"))
    assert not visitor.page.evaluate(FOUND)
    search(visitor, "qwertyuiop")
    assert "No page matches" in visitor.page.locator("#search-results").text_content()


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("written", "most_missed"), [("in the manner of threads", 0.1), ("as titles of threads", 0.2)])
def test_the_first_result_answers_newcomers(browser, site, written, most_missed):
    """Titles of threads are harder: many have words for a thing that no page has."""
    visitor, missed = Visitor(browser, site), []
    questions = [question for question in QUESTIONS if ("asks" in question) == (written == "in the manner of threads")]
    for question in questions:
        found = first_result(visitor, question["types"])
        if found is None or not found.startswith(tuple(question["pages"])):
            missed.append(f"{question['types']!r} led to {found}")
    answered = f"{len(questions) - len(missed)} of {len(questions)} answered\n"
    assert len(missed) <= most_missed * len(questions), answered + "\n".join(missed)
