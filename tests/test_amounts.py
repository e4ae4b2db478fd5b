"""Counts with their nouns."""

import pytest

from mercer.amounts import amount


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 passes"), (1, "1 pass"), (2, "2 passes"), (999, "999 passes"), (1_000_000, "1,000,000 passes")],
)
def test_only_one_is_singular_and_thousands_are_parted(count, said):
    assert amount(count, "pass", "passes") == said


def test_the_plural_is_regular_unless_it_is_given():
    assert [amount(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
