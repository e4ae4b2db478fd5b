"""How a text file writes its table: encoding, delimiter, header, decimal sign. This module finds them by looking."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

from mercer import memory
from mercer.amounts import amount
from mercer.tables.source import CHUNK, TableError, digest_of, place_names, unique_names

INERT = r"^'('*[=+\-@\t\r])"  # how text that a spreadsheet would run is written: with an apostrophe before it
DELIMITERS = (",", ";", "\t", "|", " ")  # a space only between numbers
MISSING = ("", "NA", "N/A", "NaN", "nan", "NAN", "null", "NULL", "Null", "None", "none", "?", "-")
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")
LONGEST_LINE = 1 << 28  # bytes; no table has longer lines, but a decompression bomb does
_SAMPLE = 1 << 20  # bytes at the start of the file from which the dialect is found
_LETTERS = 200_000  # of the sample are split into cells: the sniffer splits them once per delimiter
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(inf|infinity)\s*", re.IGNORECASE)
ZERO_PADDED = r"^\s*[+-]?0\d"  # 007 is a code: as a number it would lose its zeros
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
_COMMA = str.maketrans({",": ".", ".": "no"})  # with a decimal comma, a point makes the cell text
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class TextFormat:
    """What a user says about a text file. The reader finds by itself what is None."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None  # whether the first row holds names

    def __post_init__(self) -> None:
        if self.delimiter is not None and (
            not isinstance(self.delimiter, str) or len(self.delimiter) != 1 or self.delimiter in '"\r\n'
        ):
            raise TableError(f"delimiter: {self.delimiter!r} is not a single character, such as ';' or a tab.")
        if self.delimiter is not None and not self.delimiter.isascii():
            raise TableError(f"delimiter: {self.delimiter!r} is not an ASCII character.")
        if self.encoding is not None and not _is_encoding(self.encoding):
            raise TableError(f"encoding: Python does not know {self.encoding!r}. Try utf-8, latin-1, cp1252 or utf-16.")
        if not isinstance(self.header, bool | None):
            raise TableError(f"header: {self.header!r} is neither true nor false.")


UNKNOWN = TextFormat()


def _is_encoding(name: object) -> bool:
    """Whether Python has a codec of this name that turns bytes into text; some turn bytes into bytes."""
    try:
        return isinstance(name, str) and isinstance(b"a".decode(name), str)
    except UnicodeError:  # Python knows the encoding, but in it a single byte is not a letter
        return True
    except (LookupError, ValueError, TypeError):
        return False


@dataclass
class Scan:
    """What one pass over the bytes finds."""

    digest: str = ""
    encoding: str = "utf-8"
    lines: int = 1  # an upper bound on the number of rows
    size: int = 0  # bytes of text, decompressed
    gzipped: bool = False
    quotes: int = 0  # an odd number means that one is not closed, or stands inside a cell


@dataclass
class Dialect:
    """How the rows are written, and the names of the columns."""

    delimiter: str
    names: list[str]
    named: bool
    lead: int = 0  # blank lines and comments before the first row
    header: int = 1  # 1 if the first row holds the names, 0 if it holds data
    decimal: str = "."
    sample: list[list[str]] = field(default_factory=list)  # the first rows of data
    line: int = 0  # bytes of the longest line in the sample
    notes: list[str] = field(default_factory=list)


def open_bytes(path: Path, gzipped: bool) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if gzipped else open(path, "rb")


def scan(path: Path, longest_line: int = LONGEST_LINE, encoding: str | None = None) -> Scan:
    """Find digest, encoding and number of lines in one pass. Gzip takes two: its digest is of the compressed bytes."""
    with open(path, "rb") as file:
        gzipped = file.read(2) == _GZIP
    watch = _Watch(path, longest_line)
    if gzipped:
        digest = digest_of(path)
        with open_bytes(path, True) as file:
            while piece := file.read(CHUNK):
                watch(piece)
    else:
        digest = digest_of(path, watch)
    found = Scan(digest, encoding or watch.encoding(), watch.lines, watch.size, gzipped, watch.quotes)
    if encoding is not None and '\n\r"'.encode(encoding, "replace") != b'\n\r"':
        found.lines = found.size  # where other bytes end a line, the bytes bound their number
    return found


class _Watch:
    """Counts lines and checks for UTF-8, piece by piece; refuses files that grow beyond what a table can be."""

    def __init__(self, path: Path, longest_line: int):
        self.path, self.longest_line = path, longest_line
        self.lines, self.size, self.unbroken, self.quotes = 1, 0, 0, 0
        self.start = b""
        self.decoder: codecs.IncrementalDecoder | None = codecs.getincrementaldecoder("utf-8")()

    def __call__(self, piece: bytes) -> None:
        if not self.size:
            self.start = piece[:4]
        self.size += len(piece)
        self.quotes += piece.count(b'"')
        feeds, returns = piece.count(b"\n"), piece.count(b"\r")
        self.lines += feeds + (returns - piece.count(b"\r\n") if returns else 0)  # old files end lines with \r alone
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r") if returns else -1)
        self.unbroken = len(piece) - last - 1 if last >= 0 else self.unbroken + len(piece)
        if self.unbroken > self.longest_line:
            limit = memory.format_bytes(self.longest_line)
            raise TableError(f"{self.path} has a line longer than {limit}; it is not a table of text.")
        if self.lines * 8 > memory.available_bytes():  # every row has at least one number, of 8 bytes
            raise TableError(f"{self.path} has more than {self.lines} lines, too many for the memory that is free.")
        self._decode(piece)

    def _decode(self, piece: bytes) -> None:
        if self.decoder is None or (piece.isascii() and not self.decoder.getstate()[0]):
            return
        try:
            self.decoder.decode(piece)
        except UnicodeDecodeError:
            self.decoder = None

    def encoding(self) -> str:
        if self.start.startswith((b"\xff\xfe", b"\xfe\xff")):
            return "utf-16"
        whole = self.decoder is not None and not self.decoder.getstate()[0]
        return "utf-8" if whole else "latin-1"  # every byte is a letter of Latin-1, so this cannot fail


def look(path: Path, found: Scan, given: TextFormat = UNKNOWN) -> Dialect:
    """Find the dialect from the first megabyte; from more if that has not even two lines."""
    with open_bytes(path, found.gzipped) as file:
        start = file.read(_SAMPLE)
        while not _has_two_lines(start) and len(start) < LONGEST_LINE and (more := file.read(len(start))):
            start += more
    text = _decoded(start, found.encoding)
    if "\0" in text:
        raise TableError(f"{path} is not a table of text: it contains zero bytes. Does the suffix match the content?")
    if not text.strip("\r\n\ufeff"):
        raise TableError(f"{path} is empty. A table has a row of names and rows of values.")
    lines = list(io.StringIO(text, newline=""))  # lines end with \n, \r or \r\n, as they do for Arrow
    if len(start) < found.size:
        lines.pop()  # the sample may end in the middle of this line
    dialect = _dialect(path, lines, given)
    dialect.line = max(len(line) for line in lines) * 2  # a letter may take two bytes
    return dialect


def refuse_unclosed_quote(path: Path, found: Scan, dialect: Dialect) -> None:
    """TableError with the line of a quote that is never closed: all rows after it would become one cell, in silence."""
    if found.quotes % 2 == 0:
        return
    line = 1
    encoding = "utf-8-sig" if found.encoding == "utf-8" else found.encoding
    with open_bytes(path, found.gzipped) as file, io.TextIOWrapper(file, encoding, newline="") as text:
        reader = csv.reader(text, delimiter=dialect.delimiter, strict=True)
        try:
            for _ in reader:
                line = reader.line_num + 1
        except csv.Error as error:
            if "end of data" in str(error):
                raise TableError(
                    f"{path}: a quote that opens in line {line} is never closed, so all rows after it would be one "
                    "cell. Close it or remove it."
                ) from error


def _has_two_lines(start: bytes) -> bool:
    return start.count(b"\n") > 1 or start.count(b"\r") > 1


def _decoded(start: bytes, encoding: str) -> str:
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)("replace")
    return decoder.decode(start)


def _dialect(path: Path, lines: list[str], given: TextFormat) -> Dialect:
    lead = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    delimiter = given.delimiter or sniff(lines[lead:])
    rows = [row for row in _records(lines[lead:], delimiter, 200) if row]
    if not rows:
        raise TableError(f"{path} has no rows, only blank lines and comments.")
    decimal = _decimal(rows, delimiter)
    notes = ["Numbers are written with a decimal comma."] if decimal == "," else []
    comments = [line for line in lines[:lead] if line.startswith("#")]
    names, bare = None if given.header is not None else _commented_names(comments, rows, delimiter), False
    if given.header is False:
        names, header, bare = place_names(len(rows[0])), 0, True
    elif given.header:
        names, header = rows[0], 1
    elif names is not None:
        comments, header = comments[:-1], 0
    elif _holds_data(rows[0], decimal) and not _only_header_quoted(lines[lead:]):
        names, header, bare = place_names(len(rows[0])), 0, True
        notes.insert(0, f"The first row holds numbers, so it was read as data. The columns are named x1 … {names[-1]}.")
    else:
        names, header = rows[0], 1
    if comments:
        notes.append(f"{amount(len(comments), 'line')} at the start skipped: a # marks a comment.")
    named, more = unique_names([re.sub(INERT, r"\1", name.strip()) for name in names])
    return Dialect(delimiter, named, not bare, lead, header, decimal, rows[header:], notes=[*notes, *more])


def sniff(lines: list[str]) -> str:
    """Find the delimiter that splits most rows into as many cells as the first; "," if none does.

    >>> sniff(["a;b;c\\n", "1,5;2,5;3\\n"]), sniff(["name\\n", "x, y\\n"]), sniff(["a|b\\n"])
    (';', ',', '|')
    """
    best, score = ",", (0.0, 0.0, 0)
    for delimiter in DELIMITERS:
        rows = [row for row in _records(lines, delimiter, 50) if row]
        if 2 * sum(len(row) > 1 for row in rows) <= len(rows) or len(rows[0]) < 2:
            continue
        alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        numbers = _share_of_numbers(rows)  # makes 1,5;2,5 two numbers rather than three cells split at the commas
        if delimiter == " " and (alike < 1 or _share_of_numbers(rows[1:] or rows) < 1):
            continue  # these spaces separate words
        if (alike, numbers, len(rows[0])) > score:
            best, score = delimiter, (alike, numbers, len(rows[0]))
    return best


def _share_of_numbers(rows: list[list[str]]) -> float:
    cells = [cell for row in rows for cell in row[:100]]
    return sum(is_number(cell) or is_number(cell, ",") for cell in cells) / max(1, len(cells))


def _commented_names(comments: list[str], rows: list[list[str]], delimiter: str) -> list[str] | None:
    """The names in the last comment, where numpy.savetxt puts them: as many as cells, and not followed by a header."""
    if not comments:
        return None
    found = next(_records([comments[-1].lstrip("#").lstrip(" ")], delimiter, 1), [])
    header_follows = not _share_of_numbers(rows[:1]) and _share_of_numbers(rows[1:]) > 0
    return None if len(found) != len(rows[0]) or header_follows else found


def _records(lines: list[str], delimiter: str, most: int) -> Iterator[list[str]]:
    """The first records, without their quotes; stops at one that cannot be parsed."""
    csv.field_size_limit(LONGEST_LINE)
    reader = csv.reader(io.StringIO(_start(lines, 4 * most), newline=""), delimiter=delimiter)
    try:
        for _, row in zip(range(most), reader, strict=False):
            yield row
    except csv.Error:
        return


def _start(lines: list[str], most: int) -> str:
    """At most `most` lines; after the second, no more than fit into the letters that are looked at."""
    length = 0
    kept: list[str] = []
    for line in lines[:most]:
        if length > _LETTERS and len(kept) >= 2:
            break
        kept.append(line)
        length += len(line)
    return "".join(kept)


def _holds_data(first: list[str], decimal: str) -> bool:
    """Whether the first row is data: numbers, some of them perhaps missing. But pandas writes headers like ",0,1,2"."""
    numbers = [is_number(cell, decimal) for cell in first]
    if first[0] == "" and first[1:] == [str(i) for i in range(len(first) - 1)]:
        return False
    return any(numbers) and all(number or cell.strip() in MISSING for number, cell in zip(numbers, first, strict=True))


def _only_header_quoted(lines: list[str]) -> bool:
    """Whether the first row is quoted and the second is not: then it holds names, even if they are numbers."""
    filled = [line for line in lines if line.strip()][:2]
    return len(filled) == 2 and filled[0].startswith('"') and not filled[1].startswith('"')


def is_number(cell: str, decimal: str = ".") -> bool:
    """Whether a cell reads as a number.

    >>> is_number("-1.5e3"), is_number(" 2 "), is_number("1,5"), is_number("1,5", ","), is_number("1e")
    (True, True, False, True, False)
    """
    return _NUMBER.fullmatch(cell.translate(_COMMA) if decimal == "," else cell) is not None


def _decimal(rows: list[list[str]], delimiter: str) -> str:
    """ "," if commas do not delimit cells, some number has a decimal comma, and none has a point."""
    if delimiter == ",":
        return "."
    cells = [cell for row in rows for cell in row]
    comma = any(_COMMA_NUMBER.fullmatch(cell) for cell in cells)
    return "," if comma and not any("." in cell and is_number(cell) for cell in cells) else "."
