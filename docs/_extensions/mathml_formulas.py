"""Formulas as MathML, which every browser of the last years draws itself: no script and no font is fetched.

A formula in TeX becomes markup while the site is built. The TeX stays in an annotation, so it can be copied.
A formula with a label has its number beside it.
"""

import re
from html import escape

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util.math import get_node_equation_number

# Browsers draw no other alphabet by an attribute, and 11ᵀ would read as eleven: such letters are their own characters.
LETTERS = {"mathbf 1": "𝟏", "mathbb R": "ℝ", "mathbb P": "ℙ", "mathbb E": "𝔼"}
LETTER = re.compile(r"\\(mathbf|mathbb)\s*\{?(\w)\}?")


def markup(tex: str, display: str) -> str:
    """MathML of one formula, with the TeX that it came from."""
    drawn = convert(LETTER.sub(lambda found: LETTERS[f"{found[1]} {found[2]}"], tex), display=display)
    opening, _, rest = drawn.partition(">")
    inside = rest.removesuffix("</math>")
    note = f'<annotation encoding="application/x-tex">{escape(tex)}</annotation>'
    return f"{opening}><semantics>{inside}{note}</semantics></math>"


def inline(translator, node) -> None:
    translator.body.append(f'<span class="math">{markup(node.astext(), "inline")}</span>')
    raise nodes.SkipNode


def display(translator, node) -> None:
    number = ""
    if node["number"]:
        shown = get_node_equation_number(translator, node)
        number = f'<a class="eqno" href="#{node["ids"][0]}">({shown})</a>' if node["ids"] else f"({shown})"
    translator.body.append(
        translator.starttag(node, "div", CLASS="math")
        + f'<div class="formula" tabindex="0" role="group" aria-label="formula">{markup(node.astext(), "block")}</div>'
        + f"{number}</div>\n"
    )
    raise nodes.SkipNode


def setup(app) -> dict:
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(display, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
