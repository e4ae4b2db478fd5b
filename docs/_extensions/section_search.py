"""The search: every section of every page in one script, which the search page ranks in the browser.

Sphinx's own search shows only pages that have all the words that were typed, and knows no sections. A question in
someone's own words rarely has all the words of its answer. `_static/search.js` therefore ranks sections by how well
they match. It needs their text, and a page that was opened from a folder may not fetch anything, so the text comes as
a script, too.
"""

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

SCRIPT = "search_sections.js"
LEFT_OUT = {"search", "genindex", "py-modindex"}
CODE = (nodes.literal_block, nodes.doctest_block)
# Headings and signatures are kept beside the text, and formulas are no words.
NOT_READ = (
    nodes.title,
    nodes.math_block,
    nodes.math,
    nodes.raw,
    nodes.comment,
    addnodes.desc_signature,
    addnodes.toctree,
)
# What the gallery writes around every example: how to download it, and how long it ran.
AROUND_EXAMPLES = {"sphx-glr-download-link-note", "sphx-glr-timing", "sphx-glr-footer"}


def sections_of(document: nodes.document) -> list[list[str]]:
    """The sections of a document in their order: anchor, heading, text and code. The first one is the page itself."""
    found = [["", "", "", ""]]

    def read(node: nodes.Node, section: list[str]) -> None:
        if isinstance(node, nodes.Text):
            section[2] += node.astext() + " "
        elif isinstance(node, CODE):
            section[3] += node.astext() + " "
        elif not isinstance(node, NOT_READ) and AROUND_EXAMPLES.isdisjoint(node.get("classes", ())):
            section = _opened(node, found) or section
            for child in node.children:
                read(child, section)

    read(document, found[0])
    return [[anchor, heading, " ".join(text.split()), " ".join(code.split())] for anchor, heading, text, code in found]


def _opened(node: nodes.Node, found: list[list[str]]) -> list[str] | None:
    """The section that begins with a node: one with a heading, or a method of a class in the reference."""
    if isinstance(node, nodes.section):
        title = next((child.astext() for child in node.children if isinstance(child, nodes.title)), "")
        if not found[0][1]:
            found[0][1] = title
            return found[0]
        return _added(found, node["ids"][0], title)
    if isinstance(node, addnodes.desc) and isinstance(node.parent, addnodes.desc_content):
        ids = node.children[0].get("ids")
        return _added(found, ids[0], ids[0].rpartition(".")[2]) if ids else None
    return None


def _added(found: list[list[str]], anchor: str, heading: str) -> list[str]:
    found.append([anchor, heading, "", ""])
    return found[-1]


def record(app, doctree) -> None:
    every = getattr(app.env, "sections_found", {})
    app.env.sections_found = every
    every[app.env.docname] = sections_of(doctree)


def forget(app, env, docname: str) -> None:
    getattr(env, "sections_found", {}).pop(docname, None)


def merge(app, env, docnames, other) -> None:
    env.sections_found = getattr(env, "sections_found", {}) | {
        name: found for name, found in getattr(other, "sections_found", {}).items() if name in docnames
    }


def use(app, pagename: str, templatename: str, context: dict, doctree) -> None:
    """Only the search page loads the scripts. They replace the search of Sphinx before it begins."""
    if pagename == "search":
        app.add_js_file(SCRIPT, loading_method="defer")
        app.add_js_file("search.js", loading_method="defer")


def write(app, error) -> None:
    if error or app.builder.format != "html":
        return
    every = {name: found for name, found in app.env.sections_found.items() if name not in LEFT_OUT}
    text = json.dumps(dict(sorted(every.items())), ensure_ascii=False, separators=(",", ":"))
    text = re.sub("[\u2028\u2029]", " ", text).replace("</", "<\\/")
    Path(app.outdir, "_static", SCRIPT).write_text(f"const SECTIONS = {text};\n", encoding="utf-8")


def setup(app) -> dict:
    app.connect("doctree-read", record)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-page-context", use)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1", "env_version": 1}
