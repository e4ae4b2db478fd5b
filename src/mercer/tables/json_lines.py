"""Reader of JSON lines: one object per line, whose names are the columns.

Arrow parses the file. It wants one type per column, so a file that it refuses is parsed line by line: a line that is no
object is named, and a column of several types becomes text.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import json as arrow_json

from mercer import memory
from mercer.tables.arrow import ArrowSource, from_columns
from mercer.tables.arrow_columns import python_column
from mercer.tables.dates import as_days
from mercer.tables.dialect import open_bytes
from mercer.tables.source import TableError, digest_of, readable, shortened

_DEEPEST = 64  # levels of nesting: no table has more, and a few ten thousand make Arrow's parser crash
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_STEPS = np.zeros(256, np.int64)  # byte → how it changes the depth
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_PIECE = 1 << 20  # bytes whose nesting is followed at a time
_GZIP = b"\x1f\x8b"


def open_json_lines(path: Path) -> ArrowSource:
    """Open a file of JSON lines, plain or gzipped."""
    digest = digest_of(path)
    with readable(path, "JSON lines"):
        content = _content(path)
        try:
            if deepest(content) > _DEEPEST:
                raise TableError(f"{path} holds values that are nested more than {_DEEPEST} levels deep.")
            table = arrow_json.read_json(pa.BufferReader(content), arrow_json.ReadOptions(block_size=_block(content)))
            columns = {name: table.column(name) for name in table.column_names}
        except pa.ArrowInvalid:
            columns = _line_by_line(path, content)
        if not columns:
            raise TableError(f'{path} holds no values. Each line must be an object such as {{"x": 1}}.')
        return from_columns(path, digest, _flat(columns))


def _content(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is gzipped; TableError if they do not fit in memory."""
    most = memory.available_bytes() // 2
    with open(path, "rb") as file:
        gzipped = file.read(2) == _GZIP
    with open_bytes(path, gzipped) as text:
        content = text.read(most + 1)
    if len(content) > most:
        raise TableError(f"{path} is larger than half of the memory that is free, {memory.format_bytes(2 * most)}.")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        raise TableError(f'{path} is empty. Each line must be an object such as {{"x": 1}}.')
    return content


def _block(content: bytes) -> int:
    """Bytes that Arrow parses at a time. An object must not be longer than a block."""
    longest = max((len(line) for line in content.split(b"\n")), default=0)
    return max(1 << 20, longest + 2)  # 1 MB is Arrow's own choice; 2 bytes end a line


def deepest(content: bytes) -> int:
    """How deeply the brackets of a text are nested, those within strings aside.

    >>> deepest(b'{"a": [1, [2]], "b": "[[[["}')
    3
    """
    bare = np.frombuffer(_STRING.sub(b"", content), np.uint8)
    level = most = 0
    for start in range(0, len(bare), _PIECE):
        levels = level + np.cumsum(_STEPS[bare[start : start + _PIECE]])
        level, most = int(levels[-1]), max(most, int(levels.max()))
    return most


def _line_by_line(path: Path, content: bytes) -> dict[str, Any]:
    """The columns, parsed by Python: NaN is a number, and a column of several types is text."""
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(content.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = shortened(" ".join(str(error).split()), 80)
            raise TableError(f"{path}: line {number} is not JSON ({why}): {_start(line)!r}.") from error
        if not isinstance(row, dict):
            raise TableError(f'{path}: line {number} is not an object such as {{"x": 1}}: {_start(line)!r}.')
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: python_column([row.get(name) for row in rows], _text) for name in names}


def _start(line: bytes) -> str:
    return shortened(line.decode("utf-8", "replace").strip())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _flat(columns: dict[str, Any]) -> dict[str, Any]:
    """Objects within an object become columns of their own: {"size": {"x": 1}} is the column size.x."""
    found: dict[str, Any] = {}
    for name, column in columns.items():
        if pa.types.is_struct(column.type):
            parts = pa.table({name: column}).flatten()
            found |= _flat({part: parts.column(part) for part in parts.column_names})
        else:
            found[name] = as_days(column)
    return found
