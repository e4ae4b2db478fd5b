"""Names in the text link to their page in the reference, and that page lists the pages that name it."""

from collections import defaultdict

from docutils import nodes
from public_names import pages

HOMES = {path: f"api/{name.path}" for path, name in pages().items()}
# A guide says `KernelPCA`, seldom `mercer.KernelPCA`. A name without its module is linked if it can mean one page only.
_SHORT = defaultdict(set)
for _path, _page in HOMES.items():
    _SHORT[_path.rpartition(".")[2]].add(_page)
    _SHORT[_path.removeprefix("mercer.")].add(_page)
LINKED = HOMES | {short: next(iter(found)) for short, found in _SHORT.items() if len(found) == 1 and len(short) > 2}
LISTED = ("guide/", "learn/", "gallery/", "coming_from/", "theory/", "trouble", "start")


def named_page(text: str) -> str | None:
    if text.startswith("examples/"):
        return f"gallery/{text.removeprefix('examples/').removesuffix('.py')}"
    return LINKED.get(text.removesuffix("()"))


def record(app, doctree) -> None:
    """Remember which pages a document names."""
    named = getattr(app.env, "pages_named", {})
    app.env.pages_named = named
    found = {named_page(node.astext()) for node in doctree.findall(nodes.literal)} - {None}
    if app.env.docname.startswith(LISTED):
        imported = {word for node in doctree.findall(nodes.literal_block) for word in _imported(node.astext())}
        found |= {LINKED[word] for word in imported}
    named[app.env.docname] = found


def _imported(code: str) -> set[str]:
    """Public names that an example imports from Mercer."""
    words = set()
    for line in code.splitlines():
        module, _, names = line.strip().removeprefix("from ").partition(" import ")
        if module.split(".")[0] == "mercer":
            words |= {f"{module}.{name.strip()}" for name in names.split(",")} & set(LINKED)
    return words


def forget(app, env, docname: str) -> None:
    getattr(env, "pages_named", {}).pop(docname, None)


def merge(app, env, docnames, other) -> None:
    env.pages_named = getattr(env, "pages_named", {}) | {
        name: found for name, found in getattr(other, "pages_named", {}).items() if name in docnames
    }


def rewritten(app, env) -> list[str]:
    """Pages of the reference whose list of pages may have changed."""
    return sorted({page for found in getattr(env, "pages_named", {}).values() for page in found} & env.found_docs)


def link(app, doctree, docname: str) -> None:
    if app.builder.format != "html":
        return
    for node in list(doctree.findall(nodes.literal)):
        page = named_page(node.astext())
        inside = any(isinstance(parent, (nodes.reference, nodes.title)) for parent in _parents(node))
        if page and page != docname and page in app.env.found_docs and not inside:
            uri = app.builder.get_relative_uri(docname, page)
            node.replace_self(nodes.reference("", "", node.deepcopy(), internal=True, refuri=uri))
    if docname.startswith("api/") and docname != "api/index":
        doctree += _mentions(app, docname)
    elif docname.startswith(LISTED):
        doctree += _reference(app, docname)


def _parents(node):
    while node.parent is not None:
        node = node.parent
        yield node


def _reference(app, docname: str) -> list[nodes.Node]:
    """A line with the pages of the reference for the names that this page uses."""
    used = sorted(app.env.pages_named.get(docname, set()) & app.env.found_docs, key=str.lower)
    used = [page for page in used if page.startswith("api/")]
    if not used:
        return []
    links = []
    for page in used:
        name = page.removeprefix("api/")
        links += [nodes.reference("", name, internal=True, refuri=app.builder.get_relative_uri(docname, page))]
        links += [nodes.Text(", ")]
    return [nodes.paragraph("", "", nodes.Text("In the reference: "), *links[:-1], nodes.Text("."))]


def _mentions(app, docname: str) -> list[nodes.Node]:
    """A list of the guides, chapters and examples that name this page."""
    named = app.env.pages_named
    where = sorted(name for name in named if name.startswith(LISTED) and docname in named[name])
    if not where:
        return []
    items = nodes.bullet_list()
    for name in where:
        uri = app.builder.get_relative_uri(docname, name)
        title = app.env.titles[name].astext()
        items += nodes.list_item("", nodes.paragraph("", "", nodes.reference("", title, internal=True, refuri=uri)))
    section = nodes.section("", nodes.title("", "Read more"), items, ids=["read-more"])
    return [section]


def setup(app) -> dict:
    app.connect("doctree-read", record)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", rewritten)
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
