"""One HTML file with maps, the table behind them, their quality and how they were made.

The file holds a script and a style sheet (static/, built from client/), a description in JSON and one block of data. It
asks nothing of the network, and a content security policy in its head makes the browser enforce that. Whatever comes
from data reaches the page as text: the script never makes markup of it.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.atomic_write import replacing
from mercer.web.columns import Column, add_column
from mercer.web.payload import QUANTISE_FROM, Payload, add_coordinates

_FORMAT = 1
_IMAGE_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # PNG, JPEG: neither can carry a script
_SCORE = ("name", "value", "error", "rows", "best", "meaning", "unit", "note")


@dataclasses.dataclass(frozen=True)
class Map:
    """One map: a name, one point per row, and what is known about it.

    name : the name shown above the map
    coordinates : (n, k) or (n,), finite; with more than two columns you can choose on the page which two to draw
    axes : names of the k columns; by default "axis 1", …
    quality : scores, dictionaries (name, value, error, rows, best, meaning, unit, note) or dataclasses of these fields,
        such as `mercer.quality.report(…).scores`
    run : how the map was made, as JSON values like those of a `.run.json`
    row_scores : name → (n,) scores of single rows, NaN for a row without one; `with_neighbors` computes them
    snapshots : earlier states of the map, (steps, (n, k)) each, such as `TSNE.snapshots_`, for a slider

    >>> Map("first two", np.eye(3)[:, :2], axes=["length", "width"]).coordinates.shape
    (3, 2)
    """

    name: str
    coordinates: np.ndarray
    axes: Sequence[str] = ()
    quality: Sequence[Any] | None = None
    run: Mapping[str, Any] | None = None
    row_scores: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    snapshots: Sequence[tuple[int, np.ndarray]] = ()


@dataclasses.dataclass(frozen=True)
class NearRows:
    """The nearest rows in the data: `indices` (m, k), nearest first, for the rows `rows` (m,), ascending, or for all.

    >>> near = NearRows(np.array([[1, 2], [0, 2], [1, 0]]))  # row 0 is nearest to row 1, then to row 2
    >>> near.indices[0].tolist(), near.rows
    ([1, 2], None)
    """

    indices: np.ndarray
    rows: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class AsFitted:
    """How the values of a column were prepared for a method: (value − centre) / spread, with `fill` for missing values.

    >>> how = AsFitted(fill=4.0, centre=5.0, spread=2.0)  # a missing value counted as 4, so the method saw −0.5
    >>> (how.fill - how.centre) / how.spread
    -0.5
    """

    fill: float | str | None = None
    centre: float = 0.0
    spread: float = 1.0


@dataclasses.dataclass(frozen=True)
class Page:
    """The contents of a page.

    title : the title of the page
    maps : one or more, all of the same n rows; two can be looked at side by side
    ids : (n,), shown first for every row; None means row numbers
    columns : name → (n,) values: text, numbers, booleans or dates; None and NaN are missing
    label : the column to colour by first
    images : n PNG (or JPEG) files as bytes, None for a row without one
    fitted : name → how the values of that column were filled and scaled before the fit; the page shows both values
    neighbors : the nearest rows in the data, which a click on a point shows; `with_neighbors` finds them
    id_name : what the table calls its ids

    >>> kinds = {"kind": np.array(["a", "b", "a"])}
    >>> page = Page("Flowers", [Map("PCA", np.eye(3)[:, :2])], columns=kinds, label="kind")
    >>> page.title, list(page.columns), page.id_name
    ('Flowers', ['kind'], 'id')
    """

    title: str
    maps: Sequence[Map]
    ids: np.ndarray | None = None
    columns: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    label: str | None = None
    images: Sequence[bytes | None] | None = None
    fitted: Mapping[str, AsFitted] = dataclasses.field(default_factory=dict)
    neighbors: NearRows | None = None
    id_name: str = "id"


def write_page(page: Page, path: str | Path) -> int:
    """Write the page as one HTML file and return its size in bytes.

    The same page gives the same bytes. A file at `path` is replaced only when the new one is complete.
    Cost: O(n) time and memory for each map and column; a million points take seconds.

    >>> import tempfile
    >>> page = Page("Three points", [Map("PCA", np.eye(3)[:, :2])], columns={"kind": np.array(["a", "b", "a"])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = write_page(page, Path(folder) / "map.html")
    >>> size > 10_000
    True
    """
    content = page_bytes(page)
    with replacing(path) as part:
        part.write_bytes(content)
    return len(content)


def page_policy(*, live: bool = False) -> str:
    """The content security policy of a page: its own script and style, and no connection, but to the server that a
    live page comes from.
    """
    parts = [
        "default-src 'none'",
        f"script-src '{_digest(_asset('page.js'))}'",
        f"style-src '{_digest(_asset('page.css'))}'",
        "img-src data: blob:",
        "connect-src 'self'" if live else "connect-src 'none'",
        "form-action 'none'",
        "base-uri 'none'",
    ]
    return "; ".join(parts)


def page_bytes(page: Page, *, live: Mapping[str, Any] | None = None) -> bytes:
    """The HTML file that `write_page` writes. It is ASCII throughout.

    live : the settings of a page that a server sends; see `mercer.live`

    >>> page_bytes(Page("Three points", [Map("PCA", np.eye(3)[:, :2])])).startswith(b"<!doctype html>")
    True
    """
    about, payload = _about(page, live)
    body = [
        b'<div id="page"><p class="waiting">',
        f"Reading {amount(about['rows'], 'row')} &hellip;".encode("ascii"),
        b"</p></div>\n",
        b"<noscript><p class='waiting'>This page draws its maps with JavaScript, which is switched off here. ",
        b"It runs from this one file and asks nothing of the network.</p></noscript>\n",
        b'<script type="application/json" id="about">',
        _script_safe(about),
        b'</script>\n<script type="text/plain" id="data">',
        base64.b64encode(payload.packed()),
        b"</script>\n",
    ]
    return _document(str(page.title), page_policy(live=live is not None), body)


def page_parts(page: Page, *, live: Mapping[str, Any] | None = None) -> tuple[str, bytes]:
    """The description of a page in JSON, and its arrays as compressed bytes, for `page_frame` to show."""
    about, payload = _about(page, live)
    return json.dumps(about, ensure_ascii=False, allow_nan=False, separators=(",", ":")), payload.packed()


def page_frame() -> str:
    """A page without data, in HTML: a widget gives it the parts of one (client/src/widget.ts)."""
    body = [b'<div id="page"><p class="waiting">Reading the map &hellip;</p></div>\n']
    return _document("Map", page_policy(), body).decode("ascii")


def widget_script() -> str:
    """The script that gives a page a place in a notebook."""
    return f"const PAGE = {_script_safe(page_frame()).decode()};\n{_asset('widget.js').decode()}"


def _about(page: Page, live: Mapping[str, Any] | None) -> tuple[dict[str, Any], Payload]:
    payload = Payload()
    return _described(page, payload) | ({} if live is None else {"live": plain(live)}), payload


def _document(title: str, policy: str, body: Sequence[bytes]) -> bytes:
    title = html.escape(" ".join(title.split()) or "Map")
    pieces = [
        b'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'.encode(),
        b'<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        b'<meta name="generator" content="Mercer">\n<meta name="referrer" content="no-referrer">\n',
        f"<title>{title}</title>\n".encode("ascii", "xmlcharrefreplace"),
        b'<link rel="icon" href="data:,">\n',
        b"<style>",
        _asset("page.css"),
        b"</style>\n</head>\n<body>\n",
        *body,
        b"<script>",
        _asset("page.js"),
        b"</script>\n</body>\n</html>\n",
    ]
    return b"".join(pieces)


@cache
def _asset(name: str) -> bytes:
    return (files("mercer.web") / "static" / name).read_bytes()


def _digest(content: bytes) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content).digest()).decode()


def _script_safe(value: Any) -> bytes:
    """JSON that can stand in a script element: no <, no character that ends a line of JavaScript, ASCII alone."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode("ascii")


def _described(page: Page, payload: Payload) -> dict[str, Any]:
    """The page's description in JSON; its arrays go into the payload."""
    if not page.maps:
        raise ValueError("A page needs at least one map.")
    coordinates = [_coordinates(each) for each in page.maps]
    rows = len(coordinates[0])
    for each, points in zip(page.maps, coordinates, strict=True):
        if len(points) != rows:
            raise ValueError(
                f"Map {each.name!r} has {len(points)} points and {page.maps[0].name!r} has {rows}; maps on one page "
                "show the same rows in the same order. Match them by id first, or write a page each."
            )
    if page.label is not None and page.label not in page.columns:
        known = ", ".join(repr(name) for name in page.columns) or "none"
        raise ValueError(f"label={page.label!r} is not the name of a column. The columns are {known}.")
    return {
        "format": _FORMAT,
        "title": str(page.title),
        "rows": rows,
        "maps": [_map(each, points, payload) for each, points in zip(page.maps, coordinates, strict=True)],
        "ids": None if page.ids is None else add_column(payload, str(page.id_name), page.ids, rows, use="id"),
        "columns": _columns(page, payload, rows),
        "label": None if page.label is None else list(page.columns).index(page.label),
        "neighbors": None if page.neighbors is None else _neighbors(page.neighbors, rows, payload),
        "images": None if page.images is None else _images(page.images, rows, payload),
        "bytes": payload.size,
    }


def _columns(page: Page, payload: Payload, rows: int) -> list[Column]:
    return [
        add_column(payload, str(name), values, rows, use="label" if name == page.label else "column")
        | ({"fitted": plain(dataclasses.asdict(page.fitted[name]))} if name in page.fitted else {})
        for name, values in page.columns.items()
    ]


def _coordinates(each: Map) -> np.ndarray:
    points = np.asarray(each.coordinates)
    if points.dtype.kind not in "biuf":
        raise TypeError(f"Map {each.name!r}: coordinates hold {points.dtype}; give numbers.")
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"Map {each.name!r}: coordinates have shape {points.shape}; (n, k) with n, k ≥ 1 is needed.")
    bad = ~np.isfinite(points).all(axis=1)
    if bad.any():
        raise ValueError(
            f"Map {each.name!r}: {bad.sum()} of {len(points)} points have NaN or infinite coordinates, the first is "
            f"row {int(np.argmax(bad))}. Leave these rows out, or give them finite coordinates."
        )
    return points


def _map(each: Map, points: np.ndarray, payload: Payload) -> dict[str, Any]:
    names = [str(name) for name in each.axes] or [f"axis {i + 1}" for i in range(points.shape[1])]
    if len(names) != points.shape[1]:
        raise ValueError(f"Map {each.name!r}: {len(names)} names of axes for {points.shape[1]} columns of coordinates.")
    return {
        "name": str(each.name),
        "axes": [
            {"name": name} | add_coordinates(payload, column) for name, column in zip(names, points.T, strict=True)
        ],
        "quality": None if each.quality is None else [_score(score) for score in each.quality],
        "run": None if each.run is None else plain(each.run),
        "scores": [_row_score(name, values, len(points), payload) for name, values in each.row_scores.items()],
        "snapshots": [_snapshot(each, steps, places, len(points), payload) for steps, places in each.snapshots],
    }


def _row_score(name: str, values: np.ndarray, rows: int, payload: Payload) -> Column:
    # Four digits are more than a colour can tell, and what is left of the others compresses to little.
    rounded = np.round(np.asarray(values, dtype=np.float64), 4).astype(np.float32)
    return add_column(payload, str(name), rounded, rows, use="score")


def _snapshot(each: Map, steps: int, places: np.ndarray, rows: int, payload: Payload) -> dict[str, Any]:
    places = _coordinates(dataclasses.replace(each, coordinates=places))
    if len(places) != rows or places.shape[1] < 2:
        raise ValueError(
            f"Map {each.name!r}: the snapshot after {steps} steps has shape {places.shape}; it must have the {rows} "
            "points of the map and at least two columns."
        )
    # Snapshots pass by: whole steps of 1/65535 of the range are enough for them, however few the points.
    return {
        "steps": int(steps),
        "axes": [add_coordinates(payload, column, rows=QUANTISE_FROM) for column in places.T[:2]],
    }


def _neighbors(near: NearRows, rows: int, payload: Payload) -> dict[str, Any]:
    indices = np.asarray(near.indices)
    m = rows if near.rows is None else len(near.rows)
    if indices.ndim != 2 or len(indices) != m or not indices.size:
        raise ValueError(f"neighbors: indices have shape {indices.shape}; ({m}, k) with k ≥ 1 is needed.")
    for name, found in (("indices", indices), ("rows", near.rows)):
        if found is not None and (np.min(found) < 0 or np.max(found) >= rows):
            raise ValueError(f"neighbors: {name} must be from 0 to {rows - 1}, the rows of the page.")
    return {
        "k": int(indices.shape[1]),
        "indices": payload.add(indices.ravel()),
        "rows": None if near.rows is None else payload.add(np.asarray(near.rows)),
    }


def _score(score: Any) -> dict[str, Any]:
    fields = dataclasses.asdict(score) if dataclasses.is_dataclass(score) and not isinstance(score, type) else score
    return {name: plain(fields.get(name)) for name in _SCORE}


def plain(value: Any) -> Any:
    """The JSON value of anything in a run or a score. Numbers that a browser cannot hold become text.

    >>> plain({"gamma": np.float32(0.5), "shape": (2, 3), "loss": float("nan")})
    {'gamma': 0.5, 'shape': [2, 3], 'loss': 'nan'}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(part) for part in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 2**53 else str(value)  # a browser would round it
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    return str(value)


def _images(images: Sequence[bytes | None], rows: int, payload: Payload) -> dict[str, Any]:
    if len(images) != rows:
        raise ValueError(
            f"There are {len(images)} images for {rows} points. Give one per point, None for a point without an image."
        )
    for row, image in enumerate(images):
        if image is not None and not bytes(image[:8]).startswith(_IMAGE_SIGNATURES):
            raise ValueError(
                f"The image of row {row} is neither a PNG nor a JPEG file: it begins with {bytes(image[:8])!r}."
            )
    parts = [b"" if image is None else bytes(image) for image in images]
    lengths = payload.add(np.array([len(part) for part in parts]))
    return payload.add_bytes(b"".join(parts)) | {"lengths": lengths}
