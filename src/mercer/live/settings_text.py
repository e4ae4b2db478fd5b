"""Settings as text that makes the same map again: a few lines of Python, and a command line."""

from __future__ import annotations

import shlex
from typing import Any

from mercer.live.controls import Settings
from mercer.live.live_table import LiveTable
from mercer.live.map_stages import estimator_for


def as_python(settings: Settings, table: LiveTable) -> str:
    """Lines of Python that fit the same map to the rows X.

    >>> import numpy as np
    >>> print(as_python({"method": "isomap", "n_neighbors": 7, "n_components": 2}, LiveTable(np.eye(9))))
    from mercer import Isomap
    <BLANKLINE>
    estimator = Isomap(n_components=2, n_neighbors=7)
    Z = estimator.fit_transform(X)
    """
    estimator = estimator_for(settings, table.rows)
    name = type(estimator).__name__
    given = ", ".join(f"{key}={value!r}" for key, value in _changed(estimator).items())
    return f"from mercer import {name}\n\nestimator = {name}({given})\nZ = estimator.fit_transform(X)"


def as_command(settings: Settings, table: LiveTable) -> str:
    """The command that fits the same map to the table, as it stands in a shell.

    >>> import numpy as np
    >>> as_command({"method": "isomap", "n_neighbors": 7, "n_components": 2}, LiveTable(np.eye(9), "my table.csv"))
    "mercer fit 'my table.csv' --method isomap --n-components 2 --n-neighbors 7 -o coords.csv"
    """
    words = ["mercer", "fit", table.title, "--method", settings["method"]]
    for key, value in _changed(estimator_for(settings, table.rows)).items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    return shlex.join([*words, "-o", "coords.csv"])


def _changed(estimator: Any) -> dict[str, Any]:
    """The parameters that are not as the class has them, and those that the command chooses otherwise."""
    first = type(estimator)().get_params(deep=False)
    always = {"n_components", "kernel", "gamma"}
    return {
        name: value
        for name, value in estimator.get_params(deep=False).items()
        if value is not None and (name in always or value != first[name])
    }
