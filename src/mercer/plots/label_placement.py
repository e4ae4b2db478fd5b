"""Choosing which class names fit into a map, and moving apart those that would cover each other."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

_ROUNDS = 60  # of moving boxes apart; crowded maps may end with some overlap
_COVERED = 0.18  # share of the axes that names may cover, so that the points remain visible
_ROOM = 2.0  # pixels between two boxes


def those_that_fit(texts: list[Any], counts: np.ndarray) -> list[Any]:
    """Keep the names of the largest classes until they would cover too much of the axes, and remove the others."""
    if len(texts) < 2:
        return texts
    areas, room = _extents(texts)[:, 2:].prod(axis=1), _COVERED * float(np.prod(texts[0].axes.bbox.size))
    order = np.argsort(-np.asarray(counts), kind="stable")
    kept = np.zeros(len(texts), bool)
    kept[order[np.cumsum(areas[order]) <= room]] = True
    kept[order[0]] = True
    for text, keep in zip(texts, kept, strict=True):
        if not keep:
            text.remove()
    return [text for text, keep in zip(texts, kept, strict=True) if keep]


def spread_apart(texts: list[Any]) -> None:
    """Move the texts of one axes as little as possible, each the shorter way, until no two boxes overlap."""
    if len(texts) < 2:
        return
    data, extents = texts[0].axes.transData, _extents(texts)
    centres, halves = extents[:, :2] + extents[:, 2:] / 2, extents[:, 2:] / 2 + _ROOM / 2
    if not np.isfinite(centres).all():
        return
    inside = texts[0].axes.bbox
    moved = settled(centres, halves, np.array([[inside.x0, inside.y0], [inside.x1, inside.y1]]))
    shifts = data.inverted().transform(moved) - data.inverted().transform(centres)
    for text, shift, apart in zip(texts, shifts, np.any(moved != centres, axis=1), strict=True):
        if apart:
            text.set_position(np.asarray(text.get_position()) + shift)


def _extents(texts: list[Any]) -> np.ndarray:
    """Left, bottom, width and height of the boxes around texts, in pixels, (m, 4)."""
    ax, figure = texts[0].axes, texts[0].figure.figure  # of a subfigure: the whole one
    if not hasattr(figure.canvas, "get_renderer"):
        FigureCanvasAgg(figure)
    ax.autoscale_view()
    ax.apply_aspect()
    renderer = figure.canvas.get_renderer()
    for text in texts:
        text.update_bbox_position_size(renderer)
    return np.array([(text.get_bbox_patch() or text).get_window_extent(renderer).bounds for text in texts])


def settled(centres: np.ndarray, halves: np.ndarray, inside: np.ndarray | None = None) -> np.ndarray:
    """Centres of boxes, (m, 2), moved until none overlaps another, or a number of rounds is over.

    inside : two corners between which the boxes must stay; a box that is too large is centred

    >>> settled(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[5.0, 1.0], [5.0, 1.0]])).tolist()
    [[0.0, -0.5], [0.0, 1.5]]
    """
    centres = centres.astype(np.float64).copy()
    for _ in range(_ROUNDS):
        still = True
        if inside is not None:
            low, high = inside[0] + halves, inside[1] - halves
            centres = np.where(low < high, np.clip(centres, low, high), (low + high) / 2)
        for i in range(len(centres)):
            for j in range(i):
                gap = centres[i] - centres[j]
                overlap = halves[i] + halves[j] - np.abs(gap)
                if (overlap > 1e-9).all():  # labels that only touch stay, also after rounding
                    axis = int(np.argmin(overlap))
                    way = 1.0 if gap[axis] >= 0 else -1.0
                    centres[i, axis] += way * overlap[axis] / 2
                    centres[j, axis] -= way * overlap[axis] / 2
                    still = False
        if still:
            break
    return centres
