"""Isomap's graph: edges that are cut, and those that look like shortcuts."""

import pytest
from sklearn.datasets import make_swiss_roll

from mercer import Isomap, diagnose_neighbors
from mercer.live.isomap_graph import GraphQuestions, read_cut, written_cut


@pytest.fixture(scope="module")
def roll():
    """A roll whose graph of 8 neighbours has two shortcuts."""
    return make_swiss_roll(600, noise=0.3, random_state=0)[0]


def pairs(records):
    return list(zip(records.i.tolist(), records.j.tolist(), strict=True))


def test_a_setting_of_cut_edges_is_read_as_it_was_written():
    edges = [(0, 5), (3, 4), (3, 17)]
    assert read_cut(written_cut(edges), 18) == edges and read_cut("", 18) == []
    assert read_cut("17-3 3-4 5-0 3-17", 18) == edges


@pytest.mark.parametrize("text", [None, 3, "3", "3-", "3-3", "3-18", "-1-4", "3-4,5-6", "1-2 " * 501, "1-2" * 9000])
def test_everything_else_is_refused(text):
    with pytest.raises(ValueError):
        read_cut(text, 18)


def test_the_suspected_edges_are_those_of_the_diagnosis_until_they_are_cut(roll):
    isomap = Isomap(n_neighbors=8).fit(roll)
    expected = pairs(diagnose_neighbors(roll, [8]).shortcuts[0])
    questions = GraphQuestions(roll)
    found = questions.graph(isomap, 8, [])
    assert pairs(found.suspected) == expected and len(expected) == 2
    assert {*expected} <= {*map(tuple, found.edges.tolist())} and found.count == len(found.edges)
    assert pairs(questions.graph(isomap, 8, [expected[0]]).suspected) == [expected[1]]
    assert questions.diagnosis([6, 8]).n_shortcuts.tolist() == [0, 2]
