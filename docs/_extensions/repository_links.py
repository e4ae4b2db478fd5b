"""Links that work in the repository work in the site.

The documents link to one another as files, so that they can be read in the repository. A link to a page of the site
stays as it is. This extension turns the others into pages: the README becomes the home page, an example its page in
the gallery.
`{include}` of a document outside this folder is expanded here, with its links seen from its own place.
"""

import os
import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changes.md"}
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(?=[)#])")
CODE = re.compile(r"(```.*?```|`[^`\n]*`)", re.DOTALL)
INCLUDE = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)


def page_of(target: Path) -> Path | None:
    """The page of the site that shows a file of the repository, if it is another file; None if the link can stay."""
    name = target.relative_to(ROOT).as_posix()
    if name in PAGES:
        return DOCS / PAGES[name]
    if name == "examples":
        return DOCS / "gallery" / "index.rst"
    if name.startswith("examples/") and name.endswith(".py"):
        return DOCS / "gallery" / f"{target.stem}.rst"
    return None


def with_links_of_the_site(text: str, place: Path, page: Path) -> str:
    """The text of a document in `place`, as it will be read on `page`."""

    def moved(found: re.Match) -> str:
        target = (place / found[1]).resolve()
        return os.path.relpath(page_of(target) or target, page.parent)

    parts = CODE.split(text)
    return "".join(part if i % 2 else LINK.sub(moved, part) for i, part in enumerate(parts))


def read(app, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    if page.suffix != ".md":
        return

    def included(found: re.Match) -> str:
        path = (page.parent / found[1]).resolve()
        app.env.note_dependency(str(path), docname=docname)
        return with_links_of_the_site(path.read_text(encoding="utf-8"), path.parent, page)

    text = with_links_of_the_site(source[0], page.parent, page)
    source[0] = INCLUDE.sub(included, text)


def setup(app) -> dict:
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
