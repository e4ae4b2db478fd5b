"""Settings as text that makes the same map again: a few lines of Python, and a command line.

A descent depends on its way. If it went on from another map, or points were held or pulled, the Python repeats its
runs one after the other, as long as these are few. The command can repeat a single run from the beginning.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.live.controls import Settings
from mercer.live.descent_runs import STEPS, DescentRun, DescentWish
from mercer.live.live_table import LiveTable
from mercer.live.method_estimators import estimator_for

MOST_RUNS, MOST_HELD = 12, 200  # of a descent, and rows held in all of them: more make no code that a person reads


def as_python(settings: Settings, table: LiveTable, runs: Sequence[DescentRun] = ()) -> str:
    """Lines of Python that fit the same map to the rows X.

    runs : of a descent; none if the map is that of a whole descent from the beginning

    >>> print(as_python({"method": "isomap", "n_neighbors": 7, "n_components": 2}, LiveTable(np.eye(9))))
    from mercer import Isomap
    <BLANKLINE>
    estimator = Isomap(n_components=2, n_neighbors=7)
    Z = estimator.fit_transform(X)
    """
    rows = (table.joined if settings.get("added") == "joined" else table.first).rows
    estimator = estimator_for(settings, rows)
    imports, body = [f"from mercer import {type(estimator).__name__}"], []
    if settings.get("added") == "joined":
        body.append("X = np.vstack([X, X_more])")
    if settings["method"] in ("tsne", "sne"):
        body += _descent_lines(settings, rows, runs)
    else:
        body += [f"estimator = {_call(estimator)}", "Z = estimator.fit_transform(X)"]
    if settings.get("added") == "placed":
        body.append("Z_more = estimator.transform(X_more)")
    lines = [*table.origin.splitlines(), *body]
    if any("np." in line for line in lines):
        imports.append("import numpy as np")
    imports += [line for line in lines if line.startswith("from ")]
    imports.sort(key=lambda line: (not line.startswith("import "), line))
    return "\n".join([*imports, "", *(line for line in lines if not line.startswith("from "))])


def as_command(settings: Settings, table: LiveTable, runs: Sequence[DescentRun] = ()) -> tuple[str, str]:
    """The command that fits the same map to the table, as it stands in a shell, and what to know about it.

    There is no command for what only Python can repeat.

    >>> as_command({"method": "isomap", "n_neighbors": 7, "n_components": 2}, LiveTable(np.eye(9), words=("my t.csv",)))
    ("mercer fit 'my t.csv' --method isomap --n-components 2 --n-neighbors 7 -o coords.csv", '')
    """
    if settings.get("added") == "joined":
        return "", "The command reads one table, and this map has two. The Python reads both."
    if _many(runs):
        return "", "The command begins at the beginning, and more was done. “Model” keeps the map as it is."
    if len(_repeated(runs)) > 1:
        return "", "The command begins at the beginning; the Python repeats what was done on the page."
    estimator = estimator_for(settings, table.first.rows)
    given = _changed(estimator)
    if settings["method"] in ("tsne", "sne"):
        steps = next((run.steps for run in _repeated(runs)), STEPS)
        given |= {"max_iter": steps, "n_iter_without_progress": steps, "min_grad_norm": 0}
    words = ["mercer", "fit", *(table.words or ("X.npy",)), "--method", settings["method"]]
    for key, value in given.items():
        words += [f"--{key.replace('_', '-')}", _word(value)]
    note = "" if table.words else "The rows are not those of a file: numpy.save('X.npy', X) makes one."
    if table.notes:
        note = " ".join([*table.notes, note]).strip()
    if settings.get("added") != "placed":
        return shlex.join([*words, "-o", "coords.csv"]), note
    fit = shlex.join([*words, "-o", "coords.csv", "--save", "map.mercer"])
    place = ["mercer", "transform", "map.mercer", *(table.more_words or ("X_more.npy",)), "-o", "added.csv"]
    return f"{fit} && {shlex.join(place)}", note


def _word(value: Any) -> str:
    """A parameter as `mercer fit` reads it: edges are pairs of rows."""
    return ",".join(f"{i}-{j}" for i, j in value) if isinstance(value, list) else str(value)


# --- descents ------------------------------------------------------------------------------------------------


def _repeated(runs: Sequence[DescentRun]) -> list[DescentRun]:
    """The runs that changed something."""
    return [run for run in runs if run.steps or run.by != (0.0, 0.0)]


def _many(runs: Sequence[DescentRun]) -> bool:
    """Whether the runs are more than code should repeat, or began at a map that no code gives."""
    left = _repeated(runs)
    held = sum(int(np.sum(mask)) for run in left for mask in (run.wish.held, run.wish.moved) if mask is not None)
    return len(left) > MOST_RUNS or held > MOST_HELD or bool(left and left[0].warm)


def _descent_lines(settings: Settings, rows: int, runs: Sequence[DescentRun]) -> list[str]:
    if _many(runs):
        lines = ["# More was done on the page than these lines repeat. “Model” keeps the map as it is."]
        return [*lines, *_run_lines(DescentRun(settings, DescentWish(), warm=False, steps=STEPS), rows)]
    left = _repeated(runs) or [DescentRun(settings, DescentWish(), warm=False, steps=STEPS)]
    return [line for run in left for line in _run_lines(run, rows)]


def _run_lines(run: DescentRun, rows: int) -> list[str]:
    given: dict[str, Any] = {}
    lines = []
    if run.wish.exaggeration is not None:
        given["exaggeration"] = run.wish.exaggeration
    if run.wish.moved is not None and run.by != (0.0, 0.0):
        lines.append(f"Z[{np.flatnonzero(run.wish.moved).tolist()}] += np.float32([{run.by[0]!r}, {run.by[1]!r}])")
    ends = {"max_iter": run.steps, "n_iter_without_progress": max(run.steps, 1), "min_grad_norm": 0}
    estimator = estimator_for(run.settings, rows).set_params(**given, **ends)
    more = []
    if run.warm:
        more += ["early_exaggeration_iter=0", "init=Z"]
    if run.warm and run.wish.held is not None:
        more.append(f"fixed={np.flatnonzero(run.wish.held).tolist()}")
    call = _call(estimator, ends)
    call = call[:-1] + "".join(f", {each}" for each in more) + ")"
    return [*lines, f"estimator = {call}", "Z = estimator.fit_transform(X)"]


# --- what estimators are given -----------------------------------------------------------------------------------


def _call(estimator: Any, always: Any = ()) -> str:
    given = ", ".join(f"{key}={value!r}" for key, value in _changed(estimator, always).items())
    return f"{type(estimator).__name__}({given})"


def _changed(estimator: Any, also: Any = ()) -> dict[str, Any]:
    """The parameters that are not as the class has them, and those that the command chooses otherwise."""
    first = type(estimator)().get_params(deep=False)
    always = {"n_components", "kernel", "gamma", *also}
    return {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if value is not None and (name in always or value != first[name])
    }
