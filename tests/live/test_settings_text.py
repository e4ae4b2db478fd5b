"""Settings as text: running it gives the map."""

import shlex

import numpy as np
import pytest

from mercer.live.controls import Controls
from mercer.live.map_stages import MapStages
from mercer.live.settings_text import as_command, as_python


@pytest.mark.parametrize("method", ["kpca", "pca", "isomap"])
def test_the_python_gives_the_map(table, method):
    settings = Controls(table).checked({"method": method} | ({"n_neighbors": 100} if method == "isomap" else {}))
    found = []
    MapStages(table).run(settings, found.append, lambda *_: None)
    names = {"X": table.X}
    exec(as_python(settings, table), names)
    signs = np.sign((found[-1].coordinates * names["Z"]).sum(axis=0))
    assert np.allclose(found[-1].coordinates * signs, names["Z"], atol=1e-5 * np.abs(names["Z"]).max())


def test_names_of_tables_are_quoted(table):
    from dataclasses import replace

    hostile = replace(table, title="a; rm -rf ~ '.csv")
    words = shlex.split(as_command({"method": "pca", "n_components": 2}, hostile))
    assert words[:3] == ["mercer", "fit", "a; rm -rf ~ '.csv"]
