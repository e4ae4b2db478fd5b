"""Docstrings are plain text with the sections of NumPy; this makes reStructuredText of the text.

An indented block is a formula or a list of names and is shown as it stands. Asterisks, bars
and the underscore that ends the name of a fitted attribute are just themselves.
"""

import re

MARKS = re.compile(r"([*|]|(?<=\w)_(?!\w))")
LISTED = re.compile(r"([-*]|\d+\.) ")
ENTRY = re.compile(r"\*{0,2}\w[\w, *]* :( |$)")
UNDERLINE = re.compile(r"-{3,}$")


def escaped(line: str) -> str:
    """The line with marks of reStructuredText taken literally, outside of backticks."""
    parts = line.split("`")
    plain = [part if i % 2 else MARKS.sub(r"\\\1", part) for i, part in enumerate(parts)]
    # "`Score`s": a name in backticks ends where a letter follows only if that is said.
    return "`".join(rf"\ {part}" if i and i % 2 == 0 and part[:1].isalnum() else part for i, part in enumerate(plain))


def with_literal_blocks(lines: list[str]) -> list[str]:
    """Indented blocks of the text before the first section become literal blocks."""
    answer: list[str] = []
    inside = False  # a literal block
    in_list = in_doctest = False
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and UNDERLINE.match(lines[i + 1]) and line and not line.startswith(" "):
            return [*answer, "", *with_sections(lines[i:])]
        indented = line.startswith(" ")
        if line.strip() and not indented:
            in_doctest = line.startswith(">>>") or (in_doctest and bool(lines[i - 1].strip()))
            in_list = bool(LISTED.match(line)) or (in_list and bool(lines[i - 1].strip()))
            if inside:
                answer += [""] * bool(answer[-1].strip())
                inside = False
        elif indented and line.strip() and not in_list and not in_doctest and not inside:
            answer += ["", "::", ""]
            inside = True
        answer.append(line if inside or in_doctest else escaped(line))
    return answer


def with_sections(lines: list[str]) -> list[str]:
    """Sections are numpydoc's to read; only marks in their text are escaped."""
    answer = []
    in_doctest = False
    for line in lines:
        in_doctest = line.lstrip().startswith(">>>") or (in_doctest and bool(line.strip()))
        name, colon, kind = line.partition(" :") if ENTRY.match(line) else ("", "", line)
        answer.append(line if in_doctest else f"{name}{colon}{escaped(kind)}")
    return answer


def process(app, what, name, obj, options, lines: list[str]) -> None:
    lines[:] = with_literal_blocks(list(lines))


def skip(app, what, name, obj, skipped, options) -> bool | None:
    """Leave out the members that scikit-learn brings: its own site explains them."""
    home = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None) or "mercer"
    return True if what in ("class", "exception") and not home.startswith("mercer") else None


def setup(app) -> dict:
    app.connect("autodoc-process-docstring", process, priority=100)  # before numpydoc, which reads the sections
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
