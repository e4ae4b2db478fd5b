"""How many neighbours for Isomap: connected parts, shortcuts, and how well a map keeps the distances."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from mercer.backends import adopt, is_torch
from mercer.estimators.base import FLOATS
from mercer.features import answer_dtype
from mercer.graph.connectivity import connected, join_components
from mercer.graph.geodesics import Geodesics
from mercer.graph.host_answers import HostAnswers
from mercer.graph.nearest_neighbors import build_index
from mercer.graph.row_checks import refuse_foreign
from mercer.graph.shortcut_edges import EdgeList, EdgeLoads, edge_loads, shortcuts
from mercer.kernels import Kernel
from mercer.kernels.discrete import Precomputed
from mercer.linalg.eigen import SMALL
from mercer.numeric_input import refuse_not_numeric
from mercer.random_state import generator_from, seed_from
from mercer.selection.neighbors_recommendation import choose
from mercer.selection.neighbors_result import NeighborsDiagnosis, records
from mercer.selection.samples import read_samples
from mercer.spectral.scaling import distance_settings, plan_unfolding, refuse_units, unfold_landmarks

COUNTS = range(4, 31, 2)
_REFERENCE = 15  # fewest neighbours of the graph in which shortcuts are sought: a thinner graph has gaps
_TOGETHER = 16  # sources whose distances are in memory at once: the lanes of one sweep
_SOURCES = 200  # by default: enough for three digits of the residual variance
# Beyond this many rows 200 sources lie too far apart for one sweep to follow several, so each costs a separate search.
# A third of them then gives the same recommendations in a third of the time.
_MANY_ROWS, _FEWER_SOURCES = 12_800, 64


def diagnose_neighbors(
    X: Any,
    n_neighbors: Iterable[int] = COUNTS,
    *,
    n_components: int = 2,
    metric: Any = "minkowski",
    p: float = 2,
    metric_params: dict | None = None,
    detour: float = 5.0,
    sources: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> NeighborsDiagnosis:
    """What each number of neighbours does to Isomap's graph, which number to use, and why.

        k is sound  ⇔  the graph of k neighbours is in one piece, and has no edge whose ends are more than `detour`
                       times its length apart along the rest of the data (`mercer.graph.shortcut_edges`)

    The recommended number is the smallest sound one whose residual variance is close to the least of the sound ones.
    If none is sound, it is the one that does the least harm, and the reason says what is wrong and what to try.

    Parameters
    ----------
    X : (n, d), dense or CSR; distances or a sparse graph of them for metric="precomputed". The neighbours of a tensor
        are found on its device, and the graph is examined on the CPU
    n_neighbors : numbers to examine, each below n; default numbers that are too large are left out
    n_components : the dimension of the map whose residual variance is computed
    metric, p, metric_params : as for Isomap
    detour : how many times its length the ends of an edge must be apart for it to be a shortcut
    sources : number of points from which distances are computed, for the residual variance (as landmarks) and for the
        use of shortcuts. They are chosen by max–min and are the same for every k; if n is smaller, they are all rows.
        None means 200, or 64 beyond 12,800 rows
    random_state : the seed of the first source; None is the seed 0
    n_jobs : threads; None means all cores
    verbose : whether to report progress on standard error

    Cost: one search for neighbours, for the largest k; a search for shortcuts, in which most edges need only a look at
    common neighbours; and `sources` shortest-path trees of O(nk) for each k, or three times as many if its graph has
    shortcuts. Memory: 4 · n · sources bytes and about 100 bytes per edge.

    References
    ----------
    Balasubramanian & Schwartz, The Isomap algorithm and topological stability, Science 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from mercer import diagnose_neighbors
    >>> X, _ = make_swiss_roll(600, noise=0.3, random_state=0)
    >>> found = diagnose_neighbors(X, [6, 8, 12])
    >>> found.n_shortcuts.tolist(), found.recommended
    ([0, 2, 17], 6)
    >>> edge = found.shortcuts[1][0]  # the one on which most hangs, with 8 neighbours
    >>> bool(edge.detour > 9 and edge.share > 0.2 and edge.first <= 8)
    True
    """
    detour, n_components = _checked(detour, sources, n_components)
    precomputed = isinstance(metric, str) and metric == "precomputed"
    X = _rows(X, metric, precomputed)
    n, graph_given = X.shape[0], precomputed and sp.issparse(X)
    counts = _counts(n_neighbors, n)
    sources = int(sources or (_SOURCES if n <= _MANY_ROWS else _FEWER_SOURCES))
    say = _say if verbose else _say_nothing
    seed = seed_from(random_state)
    index: Any = build_index(X, metric=metric, p=p, metric_params=metric_params, n_jobs=n_jobs, random_state=seed)
    index = HostAnswers(index) if is_torch(X) else index
    most = counts[-1] if graph_given else min(max(counts[-1], _REFERENCE), n - 1)
    say(f"{most} neighbours of {n} rows, by {index.method}")
    found = index.neighbors(most)
    _refuse_units(found.distances)

    edges = EdgeList.of(_first(found, most))
    say(f"shortcuts among {len(edges.i)} edges")
    cut = shortcuts(edges, detour=detour, n_jobs=n_jobs)
    first = _first_at(found.indices, edges.i[cut], edges.j[cut])
    ways = _ways(edges, cut, sources, n_jobs)
    judge = _Judge(index, not graph_given, n_components, sources, seed, n_jobs, answer_dtype(X))
    rows = []
    for k in counts:
        say(f"the graph of {k} neighbours, from {sources} sources")
        seen = np.flatnonzero(first <= k)
        row, hanging = judge(_first(found, k), edges.i[cut[seen]], edges.j[cut[seen]])
        table = records(
            edges.i[cut[seen]], edges.j[cut[seen]], edges.length[cut[seen]], ways[seen], hanging.share, first[seen]
        )
        rows.append((*row, table, hanging.together, hanging.growth))
    components, sizes, variance, tables, together, growth = zip(*rows, strict=True)
    result = NeighborsDiagnosis(
        n_neighbors=np.array(counts),
        components=np.array(components),
        sizes=tuple(sizes),
        residual_variance=np.array(variance),
        shortcuts=tuple(tables),
        share=np.array(together),
        growth=np.array(growth),
        n_components=n_components,
        recall=float(found.recall),
    )
    recommended, reason = choose(result)
    return replace(result, recommended=recommended, reason=reason)


# --- the arguments -----------------------------------------------------------------------------------------


def _checked(detour: Any, sources: Any, n_components: Any) -> tuple[float, int]:
    if not isinstance(detour, Real) or not 1 < float(detour) < np.inf:
        raise ValueError(
            f"detour={detour!r} must be a number above 1: how many times longer a way round is than a shortcut."
        )
    if not isinstance(n_components, Integral) or n_components < 1:
        raise ValueError(f"n_components={n_components!r} must be a whole number ≥ 1.")
    if sources is not None and (not isinstance(sources, Integral) or sources <= n_components):
        raise ValueError(
            f"sources={sources!r} must be a whole number above n_components={n_components}; some hundred is good."
        )
    if sources is None and int(n_components) >= _FEWER_SOURCES:
        raise ValueError(
            f"n_components={n_components} needs more sources than the default. Give sources={10 * int(n_components)}."
        )
    return float(detour), int(n_components)


def _say(line: str) -> None:
    sys.stderr.write(f"diagnose_neighbors: {line}\n")


def _say_nothing(line: str) -> None:
    pass


def _rows(X: Any, metric: Any, precomputed: bool) -> Any:
    if isinstance(metric, Kernel) and metric.accepts == "strings":
        return read_samples(X, metric, least=3)
    X, _ = adopt(X)
    if is_torch(X):
        return read_samples(X, Precomputed() if precomputed else None, least=3)
    refuse_foreign(X)
    refuse_not_numeric(X)
    X = check_array(X, accept_sparse="csr", dtype=FLOATS, ensure_min_samples=3, ensure_all_finite=not precomputed)
    if precomputed and X.shape[0] != X.shape[1]:
        raise ValueError(f"Precomputed distances must be a square matrix (n_samples, n_samples), not {X.shape}.")
    return X


def _counts(n_neighbors: Any, n: int) -> list[int]:
    """The numbers asked for, in order, once each."""
    default = n_neighbors is COUNTS
    given = [n_neighbors] if isinstance(n_neighbors, Integral) else list(n_neighbors)
    if not given or not all(isinstance(k, Integral) and not isinstance(k, bool) and int(k) >= 1 for k in given):
        raise ValueError(f"n_neighbors={n_neighbors!r} must be whole numbers ≥ 1, such as range(4, 31, 2).")
    counts = sorted({int(k) for k in given})
    if default:
        counts = [k for k in counts if k < n] or [n - 1]
    if counts[-1] >= n:
        raise ValueError(
            f"Expected n_neighbors < n_samples_fit, but n_neighbors = {counts[-1]}, n_samples_fit = {n}: a row has "
            f"only {n - 1} others."
        )
    return counts


def _refuse_units(distances: np.ndarray) -> None:
    largest = float(distances.max(initial=0.0))
    if largest == 0:
        raise ValueError(
            "Every row has only copies of itself as neighbours, so there is no graph to examine. Remove the copies."
        )
    refuse_units(largest)


# --- the graphs --------------------------------------------------------------------------------------------


def _first(found: Any, k: int) -> sp.csr_array:
    """The graph of the first k neighbours."""
    part = replace(found, indices=found.indices[:, :k], distances=found.distances[:, :k])
    return part.graph(found.indices.shape[0])


def _first_at(indices: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """The least k at which one of i and j is a neighbour of the other."""
    places = []
    for a, b in ((i, j), (j, i)):
        hit = indices[a] == b[:, None]
        places.append(np.where(hit.any(axis=1), hit.argmax(axis=1) + 1, indices.shape[1] + 1))
    return np.minimum(*places)


def _ways(edges: EdgeList, cut: np.ndarray, sources: int, n_jobs: int | None) -> np.ndarray:
    """(s,) the distance between the ends of each shortcut along all other edges, relative to its length.

    It is exact for shortcuts that end at one of the `sources` vertices with the most shortcuts. For others it is the
    lower bound |d(s, i) − d(s, j)| over these vertices s.
    """
    i, j = edges.i[cut], edges.j[cut]
    ways = np.zeros(len(cut))
    if not len(cut):
        return ways
    busy = np.bincount(np.concatenate([i, j]), minlength=edges.n)
    at = np.argsort(-busy, kind="stable")[: min(sources, np.count_nonzero(busy))]
    keep = np.ones(len(edges.i), bool)
    keep[cut] = False
    along = Geodesics(edges.graph(keep), n_jobs=n_jobs)
    for start in range(0, len(at), _TOGETHER):
        D = along.from_nodes(at[start : start + _TOGETHER])
        with np.errstate(invalid="ignore"):  # infinity less infinity: a part that the source is not in
            apart = np.nan_to_num(np.abs(D[:, i] - D[:, j]), nan=0.0)
        np.maximum(ways, apart.max(axis=0), out=ways)
    return ways / edges.length[cut]


class _Judge:
    """Measures components, residual variance and the use of shortcuts, for one graph after the other."""

    def __init__(
        self,
        index: Any,
        measurable: bool,
        n_components: int,
        sources: int,
        seed: int | None,
        n_jobs: int | None,
        dtype: Any,
    ) -> None:
        self.index, self.measurable, self.n_components, self.sources = index, measurable, n_components, sources
        self.seed, self.n_jobs, self.dtype = seed, n_jobs, dtype
        self._landmarks: np.ndarray | None = None  # of the graph of all rows

    def __call__(
        self, graph: sp.csr_array, i: np.ndarray, j: np.ndarray
    ) -> tuple[tuple[int, np.ndarray, float], EdgeLoads]:
        count, labels = connected(graph)
        sizes = np.sort(np.bincount(labels))[::-1]
        graph, rows = self._whole(graph, count, labels)
        n = graph.shape[0]
        geodesics = Geodesics(graph, dtype=np.float64 if n <= SMALL else np.float32, n_jobs=self.n_jobs)
        landmarks = self._spread(geodesics, everyone=n == len(labels))
        variance = self._residual_variance(geodesics, landmarks)
        hanging = EdgeLoads(np.zeros(len(i)), 0.0, 0.0)
        if len(i):
            hanging = self._hanging(geodesics.graph, rows, i, j, landmarks)
        return (int(count), sizes, variance), hanging

    def _spread(self, geodesics: Geodesics, everyone: bool) -> np.ndarray:
        """Sources by max–min; the same for every graph of all rows, so that graphs are compared by the same pairs."""
        if everyone and self._landmarks is not None:
            return self._landmarks
        first = int(generator_from(self.seed).integers(geodesics.n))
        landmarks = geodesics.spread(min(self.sources, geodesics.n), first)
        if everyone:
            self._landmarks = landmarks
        return landmarks

    def _whole(self, graph: sp.csr_array, count: int, labels: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
        """A connected graph: the parts joined, or the largest part if rows of different parts have no distance."""
        rows = np.arange(graph.shape[0])
        if count > 1 and self.measurable:
            graph = join_components(self.index, graph, labels)[0]
        elif count > 1:
            rows = np.flatnonzero(labels == np.bincount(labels).argmax())
            graph = graph[rows][:, rows]
        return graph, rows

    def _residual_variance(self, geodesics: Geodesics, landmarks: np.ndarray) -> float:
        k = min(self.n_components, len(landmarks))
        plan = plan_unfolding(geodesics.n, k, landmarks=len(landmarks), n_jobs=self.n_jobs)
        settings = distance_settings(k, self.dtype, random_state=self.seed, n_jobs=self.n_jobs)
        return float(unfold_landmarks(geodesics, landmarks, plan, settings).residual_variance[-1])

    def _hanging(
        self, graph: sp.csr_array, rows: np.ndarray, i: np.ndarray, j: np.ndarray, sources: np.ndarray
    ) -> EdgeLoads:
        edges = EdgeList.of(graph)
        inside = np.isin(i, rows) & np.isin(j, rows)
        numbers = edges.find(np.searchsorted(rows, i[inside]), np.searchsorted(rows, j[inside]))
        found = edge_loads(edges, numbers, sources, n_jobs=self.n_jobs)
        share = np.zeros(len(i))
        share[inside] = found.share
        return replace(found, share=share)
