"""Options that verbs share."""

import numpy as np

from mercer.tables.table import write_table


def test_names_with_commas_stand_in_quotes(shell):
    write_table("t.csv", {"size, cm": np.arange(9.0), "b": np.arange(9.0) ** 2, "c": np.arange(9.0) % 2})
    shell("fit", "t.csv", "--drop", '"size, cm",c', "-o", "c.csv")
    assert shell.record("c.run.json")["choice"] == {"drop": ["size, cm", "c"]}
    assert shell.record("c.run.json")["input"]["columns"] == 1
