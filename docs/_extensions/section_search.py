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
NOT_READ = (nodes.math_block, nodes.math, nodes.raw, nodes.comment, nodes.image, addnodes.toctree, nodes.target)


class Sections(nodes.SparseNodeVisitor):
    """The sections of a document in their order: anchor, heading and text. The first one is the page itself."""

    def __init__(self, document: nodes.document) -> None:
        super().__init__(document)
        self.found: list[list[str]] = [["", "", ""]]
        self.open = [0]

    def begin(self, anchor: str, heading: str) -> None:
        self.open.append(len(self.found))
        self.found.append([anchor, heading, ""])

    def visit_section(self, node: nodes.section) -> None:
        title = next(iter(node.findall(nodes.title)), None)
        if isinstance(node.parent, nodes.document) and not self.found[0][1]:
            self.found[0][1] = title.astext() if title else ""
            self.open.append(0)
        else:
            self.begin(node["ids"][0] if node["ids"] else "", title.astext() if title else "")

    def depart_section(self, node: nodes.section) -> None:
        self.open.pop()

    def visit_desc(self, node: addnodes.desc) -> None:
        """A class or function of the reference, or a method of a class, which has a place of its own."""
        signature = next(iter(node.findall(addnodes.desc_signature)), None)
        ids = signature["ids"] if signature is not None else []
        inner = isinstance(node.parent, addnodes.desc_content)
        if ids and inner:
            self.begin(ids[0], ids[0].rpartition(".")[2])
        else:
            self.open.append(self.open[-1])

    def depart_desc(self, node: addnodes.desc) -> None:
        self.open.pop()

    def visit_title(self, node: nodes.title) -> None:
        raise nodes.SkipNode

    def visit_desc_signature(self, node: addnodes.desc_signature) -> None:
        raise nodes.SkipNode

    def visit_Text(self, node: nodes.Text) -> None:
        self.found[self.open[-1]][2] += node.astext() + " "

    def unknown_visit(self, node: nodes.Node) -> None:
        if isinstance(node, NOT_READ):
            raise nodes.SkipNode

    def unknown_departure(self, node: nodes.Node) -> None:
        pass


def sections_of(document: nodes.document) -> list[list[str]]:
    visitor = Sections(document)
    document.walkabout(visitor)
    return [[anchor, heading, " ".join(text.split())] for anchor, heading, text in visitor.found]


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
