"""How a text file writes its table is found by looking: delimiter, encoding, header, decimal sign, comments."""

import numpy as np
import pytest

from mercer.tables.dialect import sniff
from mercer.tables.table import Choice, TableError, read_columns, read_table


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_the_delimiter_is_found(table, delimiter, name):
    text = "a,b,long name\n1,2,3\n4,5,6\n".replace(",", delimiter)
    found = read_table(table(text, name))
    assert found.X.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.features == ["a", "b", "long name"]


def test_a_delimiter_inside_text_is_not_taken_for_one():
    assert sniff(["name;remark\n", "a;one, two, three\n", "b;four\n"]) == ";"
    assert sniff(['"a,b";c\n', "1;2\n"]) == ";"
    assert sniff(["alone\n", "1\n"]) == ","


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(table, encoding):
    found = read_table(table("größe,art\n1.5,süß\n2.5,sauer\n".encode(encoding)), Choice(label="art"))
    assert found.features == ["größe"]
    assert found.labels.tolist() == ["süß", "sauer"]
    assert any("Latin-1" in note for note in found.notes) == (encoding == "latin-1")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings(table, ending):
    assert read_table(table(f"a,b{ending}1,2{ending}3,4")).X.tolist() == [[1, 2], [3, 4]]


def test_mixed_line_endings(table):
    assert read_table(table("a,b\r1,2\r3,4\n5,6\r\n7,8")).X.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert read_table(table("a\r1\r2\r3\n4\n5\n6\n")).X.ravel().tolist() == [1, 2, 3, 4, 5, 6]  # as many of either


def test_a_first_row_of_numbers_is_data(table):
    found = read_table(table("1,2.5,NA\n3,4,5\n"), Choice(impute="zero"))
    assert found.X.tolist() == [[1, 2.5, 0], [3, 4, 5]]
    assert found.features == ["x1", "x2", "x3"]
    assert "x1 … x3" in found.notes[0]
    assert read_table(table("1,2,3\n4,5,6\n"), Choice(label="x3")).labels.tolist() == [3, 6]


def test_names_that_are_numbers_are_names_in_quotes_or_beside_an_index(table):
    assert read_table(table('"1","2"\n3,4\n')).features == ["1", "2"]
    assert read_table(table(",0,1\na,3,4\n"), Choice(id="x1")).features == ["0", "1"]


def test_a_decimal_comma(table):
    found = read_table(table("a;b\n1,5;2\n-2,25;3\n"))
    assert found.X.tolist() == [[1.5, 2], [-2.25, 3]]
    assert any("comma" in note for note in found.notes)
    assert read_table(table("a;b\n1.5;2\n")).X.tolist() == [[1.5, 2]]


def test_a_decimal_comma_without_a_header_and_in_what_is_carried(table):
    """Commas divide these rows alike as well, but not into numbers."""
    assert read_table(table("1,5;2,5\n3,5;4,5\n")).X.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    path = table("a;b;c\n1,5;2;x\n-3,5;4;y\n")
    assert read_columns(path)["a"].tolist() == [1.5, -3.5]
    assert read_table(path, Choice(label="a", id="c")).labels.tolist() == [1.5, -3.5]
    with pytest.raises(TableError, match=r"row 201: '1.5'"):  # beyond the rows that are looked at
        read_table(table("a;b\n" + "1,5;2\n" * 200 + "1.5;2\n"))


def test_comments_before_the_table(table):
    found = read_table(table('# made, "by hand\n\n#on Monday\na,b\n1,2\n3,4\n'))
    assert found.features == ["a", "b"] and found.X.tolist() == [[1, 2], [3, 4]]
    assert any("2 lines" in note for note in found.notes)
    with pytest.raises(TableError, match="row 2 has 3 cells instead of 2"):
        read_table(table("# one\n\n# two\na,b\n1,2\n3,4,5\n"))
    assert read_table(table("#on this day, of rain\na,b\n1,2\n")).features == ["a", "b"]
    with pytest.raises(TableError, match="no rows, only blank lines and comments"):
        read_table(table("# a,b\n"))


@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
def test_what_numpy_writes_as_text(tmp_path, delimiter):
    X = np.random.default_rng(0).standard_normal((4, 3))
    np.savetxt(tmp_path / "t.txt", X, header=delimiter.join("abc"), delimiter=delimiter)
    found = read_table(tmp_path / "t.txt")
    assert found.X.tobytes() == X.tobytes() and found.features == ["a", "b", "c"] and found.preparation.named
    np.savetxt(tmp_path / "t.txt", X, delimiter=delimiter)
    assert read_table(tmp_path / "t.txt").X.tobytes() == X.tobytes()


@pytest.mark.parametrize("name", ["remark; note", "a|b", "first name"])
def test_one_column_whose_name_has_a_delimiter_in_it(table, name):
    assert read_columns(table(f"{name}\n1\n2\n3\n"))[name].tolist() == [1, 2, 3]


def test_a_format_that_is_given_is_not_guessed(table):
    path = table("1~2\n3~4\n")
    assert read_table(path, Choice(delimiter="~", header=True)).features == ["1", "2"]
    assert read_table(path, Choice(delimiter="~", header=False)).X.tolist() == [[1, 2], [3, 4]]
    named = table("a,b\nx,y\n")
    assert read_columns(named, Choice(header=False))["x1"].tolist() == ["a", "x"]
    cyrillic = table("слово,n\nдва,2\n".encode("cp1251"))
    assert read_columns(cyrillic, Choice(encoding="cp1251"))["слово"].tolist() == ["два"]
    wide = table("a,b\n1,x\n2,y\n".encode("utf-16-le"))
    assert read_columns(wide, Choice(encoding="utf-16-le"))["a"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "given", [{"delimiter": ",,"}, {"delimiter": '"'}, {"encoding": "nope"}, {"encoding": "base64"}, {"header": "no"}]
)
def test_a_format_that_cannot_be_is_refused(table, given):
    with pytest.raises(TableError, match=f"^{next(iter(given))}: "):
        read_table(table("a\n1\n2\n"), Choice(**given))


def test_a_wrong_encoding_is_one_line(table):
    with pytest.raises(TableError, match="ascii"):
        read_columns(table("a\né\n"), Choice(encoding="ascii"))


def test_the_format_of_text_is_for_text(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(3))
    with pytest.raises(TableError, match=r"delimiter: .*t.npy is not a text file"):
        read_table(tmp_path / "t.npy", Choice(delimiter=";"))
