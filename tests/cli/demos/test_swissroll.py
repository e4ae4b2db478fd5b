"""Isomap unrolls the sheet; projections do not."""

import re

from mercer.cli.demos.swissroll import ISOMAP, unroll


def test_the_roll_is_unrolled():
    said = []
    figure = unroll(1500, said.append)
    found = {line[:22].strip(): float(re.search(r"r = ([\d.]+)", line)[1]) for line in said if "r = " in line}
    assert found[ISOMAP] > 0.99 and max(found["PCA"], found["kernel PCA"]) < 0.9
    assert len(figure.axes) == 4
