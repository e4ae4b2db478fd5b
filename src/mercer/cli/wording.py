"""Messages of the library in the language of the command: `--n-neighbors 10`, not `n_neighbors=10`."""

from __future__ import annotations

import re
import shlex
from functools import cache

_SIZES = dict.fromkeys(("n_samples_fit", "n_samples"), "the number of rows") | {"n_features": "the number of columns"}
_VALUE = r"""(?:'[^']*'|"[^"]*"|-?\d[\w.+-]*|[A-Za-z_]\w*)"""
_QUOTED = r"""(?:'[^']*'|"[^"]*")"""
_APART, _ALONE = r"""(?<![\w'"/.])""", r"""(?![\w'"/]|\.\w)"""  # no column's name in quotes, and no part of a path
_OBJECTS = ("a callable", "an instance of", "an array-like", "an object")  # which nobody types in a shell
_SENTENCES = {  # of the library and of scikit-learn, which name what a shell does not have
    r"optimize\(n_iter\) continues from it": "--resume goes on with it if --save wrote the model",
    r"; mercer\.diagnose_neighbors shows how the number falls": "",
    r"`y` could represent a regression problem, not a classification problem": (
        "The label may be a number on a scale, or name the rows"
    ),
    r"( rows by [\w ]+) \(.*\) needs (?=[\d.]+ \w+, more than)": r"\1 needs ",  # --dry-run tells why
    r"^[A-Z]\w*\([^()]*\) has negative eigenvalues": "The kernel has negative eigenvalues",
    r"The number of unique classes is greater than 50% of the number of samples": "There is a class for every two rows",
    r"Expected n_neighbors <=? n_samples_fit, but n_neighbors = (\d+), n_samples_fit = (\d+), n_samples = \d+": (
        r"n_neighbors=\1 asks for more neighbours than \2 rows have. Lower it."
    ),
}
_CONSTRAINT = re.compile(r"The '(\w+)' parameter of \w+ must be (.*)\. Got (.*) instead\.", re.DOTALL)


@cache
def _options() -> dict[str, str]:
    """Parameter → option."""
    from mercer.cli.options import PREPARING, READING

    return _method_options() | {name: f"--{name.replace('_', '-')}" for name in (*PREPARING, *READING, "page_columns")}


@cache
def _method_options() -> dict[str, str]:
    from mercer.cli.methods import METHODS
    from mercer.cli.parameters import parameters_of

    return {each.name: each.option for method in METHODS for each in parameters_of(method)}


def in_options(message: str) -> str:
    """A message with options for parameters, and words that can be typed in a shell.

    >>> in_options("Raise n_neighbors, or set disconnected='largest'.")
    'Raise --n-neighbors, or set --disconnected largest.'
    >>> in_options("Use impute='mean' or 'median', or drop='petal width'.")
    "Use --impute mean or median, or --drop 'petal width'."
    """
    for said, better in _SENTENCES.items():
        message = re.sub(said, better, message)
    if not re.search(r"[=_`']|^\w+:", message):
        return message
    names = "|".join(sorted(_options(), key=len, reverse=True))
    message = _CONSTRAINT.sub(_constraint, message)
    message = re.sub(r"\bn_samples=(\d+)", r"\1 rows", re.sub(r"\bn_features=(\d+)", r"\1 columns", message))
    message = re.sub(rf"{_APART}({'|'.join(_SIZES)}){_ALONE}", lambda m: _SIZES[m[1]], message)
    bare = "|".join(name for name in _options() if "_" in name)  # other names are also words
    message = re.sub(rf"{_APART}(?<!-)({bare}){_ALONE}(?!=)", lambda m: _options()[m[1]], message)
    message = re.sub(rf"\b({names})=({_VALUE})((?:(?:, | or ){_QUOTED})*)", _assignment, message)
    message = re.sub(rf"`({names})`|^({names})(?=: )", lambda m: _options()[m[1] or m[2]], message)
    message = re.sub(rf"(?<=--)([\w-]+ or )({names})\b(?!=)", lambda m: m[1] + _options()[m[2]], message)
    message = re.sub(rf"{_APART}([a-z]+)_(?=[ ,]|\.( |$))", r"\1", message)  # residual_ is an attribute
    estimators = "|".join(_method_options())  # "3 rows (2 %)" is about rows
    return re.sub(rf"(?<![\w-])({estimators})(?= \(\d| = )", lambda m: _options()[m[1]], message)


def _assignment(found: re.Match[str]) -> str:
    option = _options()[found[1]]
    if found[2] in ("True", "False"):
        return option if found[2] == "True" else f"--no-{option[2:]}"
    others = re.sub(_QUOTED, lambda word: _typed(word[0]), found[3])
    return f"{option} {_typed(found[2])}{others}"


def _typed(value: str) -> str:
    """A Python literal as one types it."""
    return "none" if value == "None" else shlex.quote(value.strip("'\""))


def _constraint(found: re.Match[str]) -> str:
    """scikit-learn's message for a parameter out of range."""
    from mercer.cli.options import did_you_mean, enumerated

    option = _options().get(found[1], found[1])
    choices = [word for listed in re.findall(r"a str among \{([^}]*)\}", found[2]) for word in _words(listed)]
    if hint := did_you_mean(_typed(found[3]), choices):
        return f"{option} {_typed(found[3])} is unknown. {hint}"
    outside = r"(?![^{\[(]*[}\])])"  # of a set or a range
    kinds = [kind for kind in re.split(rf"(?:, | or ){outside}", found[2]) if not kind.startswith(_OBJECTS)]
    wanted = ", or ".join(filter(None, [", ".join(kinds[:-1]), kinds[-1] if kinds else "something else"]))
    wanted = re.sub(r"a str among \{([^}]*)\}", lambda m: "one of " + enumerated(sorted(_words(m[1]))), wanted)
    wanted = wanted.replace("a float in", "a number in").replace("an int in", "a whole number in")
    more = " --help lists them." if re.search(r" and \d+ more", wanted) else ""
    return f"{option} must be {wanted.replace('None', 'none')}, not {_typed(found[3])}.{more}"


def _words(text: str) -> list[str]:
    return [word.strip(" '\"") for word in text.split(",")]
