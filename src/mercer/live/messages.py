"""What a live page and its server say to each other.

From the browser come short texts of JSON, each an object with a "type". From the server come binary messages:

    4 bytes     length of the header, little-endian
    header      JSON in UTF-8, filled up with spaces so that the numbers begin at a multiple of 8
    arrays      one after the other, each filled up to a multiple of 8 bytes, as the header's "buffers" lists them:
                name, count, and f4 for float32 or u1 for bytes

The sizes of both are bounded, and nothing that a browser sends is run, unpickled or used as a path.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

MOST_DEPTH = 4  # objects within objects; the messages of the page have two
_HEAD = struct.Struct("<I")
_PATHS = re.compile(r"(?<![\w)\]])(?:~?/[\w.~+-][^\s'\",;:()<>]*|[A-Za-z]:[\\/][^\s'\",;()<>]+|\\\\[^\s'\",;()<>]+)")


def longest_text(rows: int) -> int:
    """The longest message that a browser may send, in bytes: two sets of rows, one bit each, in base64, and some words.

    >>> longest_text(200_000)
    83056
    """
    return 16_384 + 2 * 4 * (-(-rows // 24))


def encode(header: Mapping[str, Any], buffers: Mapping[str, np.ndarray] | None = None) -> bytes:
    """A message of the server.

    >>> message = encode({"type": "map"}, {"x": np.array([1.0, 2.0])})
    >>> decode(message)[1]["x"]
    array([1., 2.], dtype=float32)
    """
    arrays = {name: _flat(values) for name, values in (buffers or {}).items()}
    listed = [[name, len(array), array.dtype.str[1:]] for name, array in arrays.items()]
    text = json.dumps(
        {**header, "buffers": listed}, ensure_ascii=False, allow_nan=False, separators=(",", ":")
    ).encode()
    text += b" " * (-(len(text) + _HEAD.size) % 8)
    parts = [part for array in arrays.values() for part in (array.tobytes(), bytes(-array.nbytes % 8))]
    return b"".join([_HEAD.pack(len(text)), text, *parts])


def _flat(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, "|u1" if values.dtype == np.uint8 else "<f4").ravel()


def decode(message: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a message of the server: what the page does with it."""
    (length,) = _HEAD.unpack_from(message)
    header = json.loads(message[_HEAD.size : _HEAD.size + length])
    at, arrays = _HEAD.size + length, {}
    for name, count, kind in header.pop("buffers"):
        array = np.frombuffer(message, "|u1" if kind == "u1" else "<f4", count, at)
        arrays[name] = array
        at += array.nbytes + (-array.nbytes % 8)
    return header, arrays


def read_text(text: str, rows: int) -> dict[str, Any]:
    """A message of a browser, as far as its form can tell; ValueError for anything else."""
    if len(text) > longest_text(rows):
        raise ValueError(f"The message is longer than {longest_text(rows):,} characters.")
    if text.count("{") + text.count("[") > 200:
        raise ValueError("The message has too many parts.")
    try:
        message = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("The message is nested too deeply.") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str) or _depth(message) > MOST_DEPTH:
        raise ValueError("A message is an object with a type.")
    return message


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON.")


def _depth(value: Any) -> int:
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return 1 + max(map(_depth, parts), default=0)
    return 0


def without_paths(text: str) -> str:
    """A sentence in which paths of this machine are left out; fractions and kernels' names stay.

    >>> without_paths("[Errno 28] No space left on device: '/tmp/x/model.mercer', 1/2 of what gamma/2 needs")
    "[Errno 28] No space left on device: '…', 1/2 of what gamma/2 needs"
    """
    return _PATHS.sub("…", text)


def read_rows(text: Any, rows: int) -> np.ndarray:
    """A set of rows as a mask (rows,): one bit per row, the first in the highest bit, in base64.

    >>> read_rows(base64.b64encode(bytes([0b10100000])).decode(), 4).tolist()
    [True, False, True, False]
    """
    if not isinstance(text, str):
        raise ValueError("A set of rows must be text in base64.")
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError("A set of rows must be text in base64.") from error
    if len(packed) != -(-rows // 8):
        raise ValueError(f"A set of {rows:,} rows takes {-(-rows // 8):,} bytes, not {len(packed):,}.")
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=rows).astype(bool)
