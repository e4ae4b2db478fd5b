"""SNE crowds its map; t-SNE leaves room between clusters."""

import numpy as np

from mercer.cli.demos.crowding import crowd, far_over_near


def test_spread_is_in_units_of_the_distance_to_the_tenth_neighbour():
    line = np.arange(30.0)[:, None]
    spread = far_over_near(line)
    near = np.median([np.sort(abs(line[:, 0] - x))[10] for x in line[:, 0]])
    assert spread.max() == 27 / near and spread.min() == 3 / near  # every third point is compared


def test_both_maps_are_told_about_and_drawn():
    said = []
    figure = crowd(240, 60, said.append)
    assert [line.partition(":")[0] for line in said] == ["SNE", "t-SNE", "SNE", "t-SNE"]
    assert len(figure.axes) >= 3
