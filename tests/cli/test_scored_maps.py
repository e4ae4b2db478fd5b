"""Scored maps side by side: the best of each score, tables that fit, and agreement."""

import numpy as np
import pytest

from mercer.cli.scored_maps import ScoredMap, agreement, best_of, print_side_by_side
from mercer.quality import Score


def test_the_best_is_nearest_to_the_ideal_and_ties_are_shared():
    def scores(ideal, *values):
        return [Score("s", value, 0.0, 10, ideal, "") for value in values]

    assert best_of(scores(1.0, 0.9, 0.95, 0.95)) == [1, 2]
    assert best_of(scores(0.0, 0.9, 0.1)) == [1]
    assert best_of(scores(1.0, 0.5, 0.5)) == []


@pytest.mark.parametrize("width", [60, 80, 120])
def test_maps_that_do_not_fit_side_by_side_follow_below(capsys, width):
    scores = [Score("trust", 0.5, 0.0123, 90, 1.0, ""), Score("a_long_name_of_a_score", 0.7, 0.001, 90, 1.0, "")]
    maps = [ScoredMap(f"method{i}", np.zeros((3, 2)), [], scores, None) for i in range(7)]
    print_side_by_side(maps, width)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    headings = [line.split() for line in lines if line.startswith("score")]
    assert [name for heading in headings for name in heading[1:-1]] == [m.name for m in maps]
    assert sum(line.count("±") for line in lines) == 14


def test_a_map_agrees_with_itself_and_points_that_coincide_have_no_shape():
    rng = np.random.default_rng(0)
    one = ScoredMap("a", rng.normal(size=(40, 2)), [], [], None)
    turned = ScoredMap("b", 3 * one.values[:, ::-1] + 1, [], [], None)
    found = agreement(one, turned, 5)
    assert found["disparity"] == pytest.approx(0, abs=1e-12) and found["neighbor_overlap"] == 1
    assert agreement(one, ScoredMap("c", np.zeros((40, 2)), [], [], None), 5)["disparity"] is None
