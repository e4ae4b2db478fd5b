"""What a map of landmarks loses when the other rows are placed in it, on a sample of rows."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.graph.nearest_neighbors import build_index
from mercer.quality.sampling import mean_of
from mercer.quality.score import Score
from mercer.streams.local_driver import row_count
from mercer.streams.row_sample import rows_at, sample_places
from mercer.streams.row_source import RowSource

_MEANING = "share of the nearest landmarks in the data that are the nearest landmarks in the map"


@dataclass(frozen=True)
class PlacementQuality:
    """Recall of the nearest landmarks, for rows that were placed and for the landmarks themselves.

    placed, landmarks : scores with their standard errors
    """

    placed: Score
    landmarks: Score

    def __str__(self) -> str:
        return f"placed rows: {self.placed}; landmarks: {self.landmarks}"


def placement_quality(
    model: Any, source: RowSource, *, n_neighbors: int = 10, sample: int = 1000, random_state: Any = None
) -> PlacementQuality:
    """How well rows of a source are placed in the map that TSNE, SNE or Isomap made of its landmarks.

        score = the mean of |k nearest landmarks in the data ∩ k nearest landmarks in the map| / k over sampled rows

    model : fitted to the source, with landmarks
    sample : how many rows of each kind are used. The scores have the standard error of a mean over these rows.

    The nearest landmarks of a landmark do not include itself. If the two scores agree, placing a row is as good as
    fitting it. Cost: `sample` searches among the landmarks, in the data and in the map.

    `n_neighbors` are compared, and `random_state` draws the rows.

    >>> import mercer
    >>> rows = mercer.open_rows(np.random.default_rng(0).standard_normal((300, 3)))
    >>> model = mercer.Isomap(n_neighbors=5, landmarks=100).fit(rows)
    >>> type(placement_quality(model, rows, sample=50)).__name__
    'PlacementQuality'
    """
    chosen, model = model.source_rows_, copy(model)
    model.__dict__.pop("feature_names_in_", None)  # samples are arrays, which have no names to compare
    m, k = len(chosen), int(n_neighbors)
    if not 1 <= k < m:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be at least 1 and less than the {m} landmarks.")
    index = getattr(model, "index_", None) or model.affinities_.index
    in_map = build_index(np.asarray(model.embedding_, np.float64))
    places = sample_places(source, min(row_count(source), sample + m), random_state)
    places = np.setdiff1d(places, chosen)
    places = np.sort(np.random.default_rng(len(places)).permutation(places)[:sample])
    if not len(places):
        raise ValueError("Every row of the source is a landmark, so none was placed.")
    rows = rows_at(source, places)
    placed = _recall(index, rows, in_map, np.asarray(model.transform(rows), np.float64), k)
    own = np.sort(np.random.default_rng(m).permutation(m)[:sample])
    landmarks = rows_at(source, chosen[own])
    at_home = _recall(index, landmarks, in_map, np.asarray(model.embedding_, np.float64)[own], k, own)
    return PlacementQuality(_score(placed, row_count(source) - m), _score(at_home, m))


def _recall(index: Any, rows: Any, in_map: Any, positions: np.ndarray, k: int, own: np.ndarray | None = None) -> Any:
    """For each row, the share of its k nearest landmarks in the data that are among those in the map."""
    more = 0 if own is None else 1
    data, map_ = (np.asarray(part.indices) for part in (index.query(rows, k + more), in_map.query(positions, k + more)))
    if own is not None:
        data, map_ = (_without(part, own) for part in (data, map_))
    return np.array([np.isin(a, b).mean() for a, b in zip(data, map_, strict=True)])


def _without(found: np.ndarray, own: np.ndarray) -> np.ndarray:
    """The neighbours without the row itself; without the last one if a copy of the row hides it."""
    keep = found != own[:, None]
    keep[keep.all(axis=1), -1] = False
    return found[keep].reshape(len(found), -1)


def _score(terms: np.ndarray, n: int) -> Score:
    found = mean_of(terms, n)
    return Score("recall of the nearest landmarks", found.value, found.error, found.count, 1.0, _MEANING)
