"""The reference: one page per public name, made from its docstring, and a list of all with their first sentences."""

import inspect
from pathlib import Path

from plain_docstrings import escaped
from public_names import MODULES, PublicName, names_of, pages

import mercer

DOCS = Path(__file__).parents[1]
FOLDER = DOCS / "api"
DIRECTIVES = {
    "class": "autoclass",
    "exception": "autoexception",
    "function": "autofunction",
    "module": "automodule",
}
MEMBERS = {
    "class": "   :members:\n   :inherited-members: BaseEstimator, TransformerMixin, object\n",
    "module": "   :members:\n",
}


def first_sentence(value: object) -> str:
    text = " ".join((inspect.getdoc(value) or "").partition("\n\n")[0].split())
    sentence = text.partition(". ")[0]
    return escaped(sentence if sentence.endswith(".") else f"{sentence}.")


def heading(text: str, mark: str = "=") -> str:
    return f"{text}\n{mark * (len(text) + 2)}\n\n"


def page(name: PublicName) -> str:
    """The source of the page of one public name."""
    if name.kind == "data":  # its docstring would be that of str or tuple
        value = f"   :value: {name.value!r}\n" if isinstance(name.value, str | tuple) else ""
        return f":orphan:\n\n{heading(name.path)}.. py:data:: {name.path}\n{value}\n   {escaped(name.comment)}\n"
    directive = DIRECTIVES[name.kind]
    body = f".. {directive}:: {name.path}\n{MEMBERS.get(name.kind, '')}"
    return f":orphan:\n\n{heading(name.path)}{body}\n"


def table(names: list[PublicName], homes: dict[str, PublicName]) -> str:
    rows = []
    for name in names:
        home = homes[name.path]
        said = escaped(name.comment) if name.kind == "data" else first_sentence(name.value)
        rows.append(f"   * - :doc:`{name.path} <{home.path}>`\n     - {said}\n")
    return ".. list-table::\n   :widths: 35 65\n   :class: names\n\n" + "".join(rows) + "\n"


def index(homes: dict[str, PublicName]) -> str:
    parts = [
        heading("Reference"),
        "Every public name of Mercer has a page. It tells what the name computes, with its parameters, its attributes "
        "and its cost, and shows an example.\n\n",
        heading("mercer", "-"),
        table(names_of(mercer), homes),
    ]
    for each in MODULES:
        module = getattr(mercer, each)
        parts += [heading(f"mercer.{each}", "-"), f"{first_sentence(module)}\n\n", table(names_of(module), homes)]
    return "".join(parts)


def write(path: Path, text: str) -> None:
    """Write a file unless it already says that: Sphinx reads again only what changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def generate(app) -> None:
    FOLDER.mkdir(exist_ok=True)
    homes = pages()
    wanted = {FOLDER / f"{name.path}.rst": page(name) for name in homes.values()}
    wanted[FOLDER / "index.rst"] = index(homes)
    for path in set(FOLDER.glob("*.rst")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        write(path, text)


def setup(app) -> dict:
    app.connect("builder-inited", generate)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
