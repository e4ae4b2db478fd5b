"""Arrays to compact bytes: what a page carries, and how its script finds it.

All arrays lie one after the other in one block, which is compressed as a whole. The script knows a *place* for each of
them: where it starts, its type and the number of its values. Types wider than a byte are stored byte plane after byte
plane: all first bytes, then all second bytes, and so on. Neighbouring values agree in their high bytes, so these planes
compress well.
"""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

Place = dict[str, Any]

QUANTISE_FROM = 20_000  # points from which coordinates are whole steps of 1/65535 of their range; below, float32
MOST_BYTES = 350_000_000  # a browser holds no text above half a gigabyte, and base64 adds a third
_LEVEL = 6
_CODES = {"u1": "<u1", "u2": "<u2", "u4": "<u4", "i1": "<i1", "i2": "<i2", "i4": "<i4", "f4": "<f4", "f8": "<f8"}


class Payload:
    """The block of bytes that a page carries, grown array by array.

    >>> payload = Payload()
    >>> payload.add(np.array([1, 2, 300]))
    {'at': 0, 'type': 'u2', 'count': 3}
    >>> payload.add_bytes(b"xyz")
    {'at': 6, 'count': 3}
    """

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def add_bytes(self, part: bytes) -> Place:
        """Bytes as they are."""
        place = {"at": self.size, "count": len(part)}
        self._parts.append(part)
        self.size += len(part)
        return place

    def add(self, values: np.ndarray) -> Place:
        """Numbers: whole ones in the narrowest type that holds them, others as float32 or float64 as they come."""
        code = _code(values)
        array = np.ascontiguousarray(values, dtype=_CODES[code])
        planes = array.view(np.uint8).reshape(array.size, array.itemsize).T
        place = self.add_bytes(planes.tobytes())
        return {"at": place["at"], "type": code, "count": array.size}

    def packed(self) -> bytes:
        """The whole block, gzipped. The same arrays give the same bytes."""
        packed = gzip.compress(b"".join(self._parts), _LEVEL, mtime=0)
        if len(packed) > MOST_BYTES:
            raise ValueError(
                f"The page would hold {len(packed) / 1e6:,.0f} MB of compressed data; browsers read no more than "
                f"{MOST_BYTES / 1e6:,.0f} MB. Leave out columns or images, or give fewer rows."
            )
        return packed


def _code(values: np.ndarray) -> str:
    if values.dtype.kind == "f":
        return "f4" if values.dtype.itemsize <= 4 else "f8"
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    signed = "i" if low < 0 else "u"
    for width in (1, 2, 4):
        limits = np.iinfo(f"{signed}{width}")
        if limits.min <= low and high <= limits.max:
            return f"{signed}{width}"
    if max(-low, high) > 2**53:
        raise ValueError(f"Whole numbers up to {max(-low, high)} are not exact in a browser; give them as text.")
    return "f8"


def add_coordinates(payload: Payload, values: np.ndarray, rows: int | None = None) -> Place:
    """One axis of a map, as steps from its least value: value = start + step · stored.

    Few points are kept in float32; from QUANTISE_FROM on they are whole steps, within range/131070 of their values.
    """
    values = np.asarray(values, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    span = high - low
    if not np.isfinite(span):
        raise ValueError(f"Coordinates from {low:g} to {high:g} span more than a float can hold; scale them down.")
    if (len(values) if rows is None else rows) < QUANTISE_FROM or span == 0.0:
        unit = span or 1.0  # float32 of shares of the range: neither overflow nor loss by a large common offset
        return payload.add(((values - low) / unit).astype(np.float32)) | {"start": low, "step": unit}
    steps = np.round((values - low) / span * 65535)
    return payload.add(steps.astype(np.uint16)) | {"start": low, "step": span / 65535}


def add_texts(payload: Payload, texts: list[str | None]) -> Place:
    """Strings in UTF-8, joined, and the length of each plus one; 0 stands for one that is missing."""
    parts = [None if text is None else text.encode("utf-8", "replace") for text in texts]
    lengths = np.array([0 if part is None else len(part) + 1 for part in parts], dtype=np.int64)
    joined = payload.add_bytes(b"".join(part for part in parts if part is not None))
    return joined | {"lengths": payload.add(lengths)}
