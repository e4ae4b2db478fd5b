"""A selection is a set of rows: whatever way it is given, it comes back as ascending indices and travels as bytes."""

import numpy as np
import pytest

traitlets = pytest.importorskip("traitlets")
from mercer.live.row_set import RowSet  # noqa: E402


class Holder(traitlets.HasTraits):
    rows = 10
    selected = RowSet()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, []),
        ([], []),
        ([3, 1, 3], [1, 3]),
        ((2,), [2]),
        (np.array([9, 0], np.uint8), [0, 9]),
        (np.arange(10) > 7, [8, 9]),
        (slice(0, 4, 2), [0, 2]),
        (range(3), [0, 1, 2]),
        ([True] + [False] * 9, [0]),
    ],
)
def test_every_way_to_name_rows(given, expected):
    holder = Holder()
    holder.selected = given
    assert holder.selected.tolist() == expected and holder.selected.dtype == np.int64


@pytest.mark.parametrize("given", [[10], [-1], [0.0], ["a"], "all", [[1]], np.ones(9, bool), 3, {1: 2}])
def test_other_things_are_refused_and_the_selection_stays(given):
    holder = Holder(selected=[1, 2])
    with pytest.raises(traitlets.TraitError):
        holder.selected = given
    assert holder.selected.tolist() == [1, 2]


def test_a_selection_is_changed_by_setting_it():
    holder = Holder(selected=[1, 2])
    with pytest.raises(ValueError, match="read-only"):
        holder.selected[0] = 5
    assert not Holder().selected.flags.writeable


def test_observers_hear_of_changes_alone():
    holder, heard = Holder(), []
    holder.observe(lambda change: heard.append((change["old"].tolist(), change["new"].tolist())), "selected")
    for given in ([1], [1, 1], np.arange(10) == 1, [2], None, []):
        holder.selected = given
    assert heard == [([], [1]), ([1], [2]), ([2], [])]


def test_two_holders_have_selections_of_their_own():
    first, second = Holder(), Holder()
    first.selected = [4]
    assert second.selected.tolist() == []


def test_rows_travel_as_little_endian_bytes():
    trait = Holder.class_traits()["selected"]
    to_bytes, from_bytes = trait.metadata["to_json"], trait.metadata["from_json"]
    sent = to_bytes(np.array([1, 258]), None)
    assert bytes(sent) == b"\x01\0\0\0\x02\x01\0\0"
    assert from_bytes(sent, None).tolist() == [1, 258]
