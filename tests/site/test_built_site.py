"""The built site without a browser: each name has its page, each link leads somewhere, nothing comes from elsewhere."""

from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from public_names import pages

pytestmark = pytest.mark.site

LOADING = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("id", "name"):
                self.anchors.add(value)
            elif (tag, name) in LOADING:
                self.loads.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


@cache
def parsed(path):
    return Page(path)


def html_files(site):
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def test_every_public_name_has_a_page_with_its_definition(site):
    for path, name in pages().items():
        page = site / "api" / f"{name.path}.html"
        assert page.exists(), f"{path} has no page"
        assert name.kind == "module" or name.path in parsed(page).anchors, f"{page} does not define {name.path}"


def test_every_example_has_a_page_and_a_thumbnail(site):
    examples = {path.stem for path in (Path(__file__).parents[2] / "examples").glob("*.py")}
    gallery = (site / "gallery" / "index.html").read_text(encoding="utf-8")
    for name in examples:
        assert (site / "gallery" / f"{name}.html").exists()
        assert f"sphx_glr_{name}_thumb" in gallery


def broken(site, path):
    for link in parsed(path).links + parsed(path).loads:
        if "://" in link or link.startswith(("mailto:", "data:")):
            continue
        target, _, anchor = unquote(link).partition("#")
        target = target.partition("?")[0]
        found = (path.parent / target).resolve() if target else path
        if not found.exists():
            yield f"{path.relative_to(site)} links to {link}, which is not there"
        elif found.suffix == ".html" and anchor and anchor not in parsed(found).anchors:
            yield f"{path.relative_to(site)} links to {link}, and the page has no such place"


def test_every_link_inside_leads_somewhere(site):
    found = [problem for path in html_files(site) for problem in broken(site, path)]
    assert not found, "\n".join(found[:40])


def test_no_page_loads_anything_from_elsewhere(site):
    outside = [
        f"{path.relative_to(site)}: {load}"
        for path in html_files(site)
        for load in parsed(path).loads
        if load and load.startswith(("http:", "https:", "//"))
    ]
    assert not outside, "\n".join(outside)


@pytest.mark.parametrize("page", ["guide/isomap.html", "guide/kernel_pca.html", "guide/tsne.html"])
def test_guides_and_reference_link_both_ways(site, page):
    name = {"isomap": "Isomap", "kernel_pca": "KernelPCA", "tsne": "TSNE"}[Path(page).stem]
    assert f"../api/mercer.{name}.html" in {link.partition("#")[0] for link in parsed(site / page).links}
    assert f"../{page}" in parsed(site / "api" / f"mercer.{name}.html").links


def test_the_search_reads_no_more_of_an_example_than_what_it_says(site):
    sections = (site / "_static" / "search_sections.js").read_text(encoding="utf-8")
    assert "What is the crowding problem?" in sections
    for words in ("Total running time", "Download Jupyter notebook", "download the full example code"):
        assert words not in sections
