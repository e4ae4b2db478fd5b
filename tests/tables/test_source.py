"""What readers share: names, messages of one line, and checks before allocating."""

import hashlib

import pytest

from mercer import memory
from mercer.tables.source import TableError, check_room, readable, unique_names
from mercer.tables.table import Choice, read_table


def test_empty_and_repeated_names(table):
    found = read_table(table("a,,a,a_2,a\n1,2,3,4,5\n6,7,8,9,10\n"))
    assert found.features == ["a", "x2", "a_3", "a_2", "a_4"]
    assert found.X[0].tolist() == [1, 2, 3, 4, 5]
    assert len(found.notes) >= 2


@pytest.mark.parametrize("part", ["label", "id", "drop", "columns"])
def test_unknown_names_come_with_the_closest(table, part):
    path = table("target,height,width\n1,2,3\n")
    given = "heigth" if part in ("label", "id") else ("heigth",)
    with pytest.raises(TableError, match=f"{part}: the table has no column 'heigth'. Did you mean 'height'"):
        read_table(path, Choice(**{part: given}))


def test_a_wrong_delimiter_is_suspected(table):
    with pytest.raises(TableError, match=r"Did you mean 'a,b'\? Is the delimiter right\?"):
        read_table(table("a,b\n1,2\n"), Choice(delimiter=";", columns=("a",)))


def test_the_digest_is_that_of_the_bytes(table):

    path = table("a,b\n1,2\n", "t.csv.gz")
    assert read_table(path).digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_names_are_unique_in_linear_time():
    names, notes = unique_names(["a"] * 20_000 + [""] * 20_000)
    assert len(set(names)) == 40_000 and len(notes) == 2


def test_whatever_a_library_raises_is_one_line():
    for error in (
        OSError("two\nlines"),
        MemoryError(),
        KeyError(),
        RecursionError("deep"),
        TableError("said\nalready"),
    ):
        with pytest.raises(TableError) as caught, readable("t.csv", "a table"):
            raise error
        assert str(caught.value) and "\n" not in str(caught.value)


def test_room_is_checked_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 8 * 10**6)
    check_room("t.npy", 1000, 1000)
    with pytest.raises(TableError, match=r"1000 rows of 1001 numbers need 8.01 MB, but only 8 MB are free"):
        check_room("t.npy", 1000, 1001)
