"""Isomap: coordinates whose distances are those along a graph of neighbours."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.neighbors import BallTree, KDTree, NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.backends import backend_of, is_cupy, is_foreign, is_torch, namespace, placement, to_numpy
from mercer.estimators.base import Estimator
from mercer.estimators.kernel_pca import KernelPCA
from mercer.exceptions import DisconnectedGraphError, MemoryLimitError
from mercer.features import answer_dtype
from mercer.fit_report import Report
from mercer.graph.connectivity import WAYS, checked_edges, connect, cut_from, links_without
from mercer.graph.geodesics import Geodesics
from mercer.graph.nearest_neighbors import Neighbors, build_index
from mercer.graph.tensor_geodesics import TensorGeodesics, TensorGraph, padded_links
from mercer.kernels import Kernel
from mercer.kernels.metric import bound_metric
from mercer.linalg.eigen import SMALL
from mercer.memory import available_bytes, format_bytes
from mercer.models.fields import (
    INPUT,
    Mismatch,
    SavedEstimator,
    derived,
    finite,
    floats,
    if_set,
    instance_of,
    integers,
    list_of,
    not_stored,
    number,
    optional,
    samples,
    tuple_of,
    whole,
)
from mercer.planning import Plan, limit_of
from mercer.spectral import scaling, tensor_scaling
from mercer.spectral.components import Settings
from mercer.spectral.scaling import (
    Scaling,
    choose_landmarks,
    distance_settings,
    landmark_count,
    refuse_units,
)
from mercer.streams.local_driver import is_row_source

_SPECTRUM = ("eigenvalues_", "residuals_", "eigenvalue_error_", "report_")  # those of the kernel PCA that it is


class Isomap(Estimator):
    """Isomap: the coordinates that best keep the distances along a graph of nearest neighbours.

    With d the length of the shortest path between two points in the graph, and H = I − 11ᵀ/n, the coordinates are the
    top eigenvectors of −½ H D² H, each times the root of its eigenvalue. A new point is linked to its neighbours, and
    placed by its distances along the graph.

    The class has everything that `sklearn.manifold.Isomap` has, under the same names. New parameters come last.

    Parameters
    ----------
    n_neighbors : int or None, default 5
        Neighbours of each point in the graph. `mercer.diagnose_neighbors` helps to choose.
    radius : float or None
        Instead of n_neighbors, which must then be None: link all points at most this far apart.
    n_components : int, default 2
        The number of coordinates.
    eigen_solver : "auto", "dense", "arpack" or "krylov"
        How eigenpairs are found; "auto" chooses by the number of rows and components.
    tol : float, default 0
        Largest residual, relative to the largest eigenvalue; 0 is 1e-10 for float64 data and 1e-6 for float32.
    max_iter : int or None
        The largest number of passes over the distances (krylov) or of iterations (arpack).
    path_method : "auto", "FW" or "D"
        Accepted for compatibility with scikit-learn: all three use the same method.
    neighbors_algorithm : "auto", "brute", "kd_tree", "ball_tree" or "approximate"
        "auto" is exact unless the data is both large and wide; `recall_` says what was measured.
    n_jobs : int or None
        Threads; None is all cores.
    metric : str, callable or Kernel, default "minkowski"
        A name that scikit-learn knows, a function of two rows, "precomputed" (a matrix of distances, or a sparse graph
        of them), or a kernel: the distance is then that of its feature space, √(k(x, x) − 2k(x, y) + k(y, y)).
    p : float, default 2
        The power of the Minkowski metric.
    metric_params : dict or None
    landmarks : int, array of row numbers, or None
        Keep distances to these points only (de Silva & Tenenbaum). A number is chosen by max–min: each is the farthest
        along the graph from those before it. Work then grows as n log n, and memory as n × landmarks, instead of n².
        For a source of rows only the landmarks are fitted, and a number of them is drawn at random
        (`mercer.streams.landmark_places`).
    disconnected : "join", "largest" or "error"
        What to do with a graph that falls apart: add the shortest connections between its parts (the minimum spanning
        tree), with a warning that names their sizes; map the largest part and place the other rows as new points;
        or refuse.
    cut_edges : list of pairs of rows, array (m, 2), or None
        Edges to take out of the graph of neighbours, such as suspected shortcuts. Pairs that are not edges change
        nothing. If rows fall apart without an edge, "join" would put it back, so it is refused. A new row takes none of
        the edges that were taken from its nearest row.
    random_state : int, RandomState or None
        The seed of the first landmark and of the eigensolver's start. None is the seed 0: the same data gives the same
        bits.
    memory_limit : bytes, text such as "4GB", or None
        None is half of what is free. Distances that would need more are refused before neighbours are looked for.
    verbose : bool, default False
        Say on standard error what is being done.

    Attributes
    ----------
    embedding_ : (n, k)
        If only the largest part of a sparse graph is mapped, it holds the rows of that part, `fitted_rows_`.
    eigenvalues_, residuals_, eigenvalue_error_ : (k,)
        γ; ‖−½HD²Hv − γv‖, recomputed from the vectors that are returned; and the error bound of γ that follows.
    residual_variance_ : (k,)
        1 − R² between distances along the graph and in the first 1 … k coordinates. Tenenbaum plots it to find the
        dimension.
    geodesics_, dist_matrix_ : (n, n)
        The distances along the graph between the fitted rows, computed when asked for and not kept.
    graph_ : (n, n) CSR
        The graph of the fitted rows, every edge in both directions, added connections included.
    n_connected_components_ : int
        The number of parts before they were joined. `component_labels_` (n,) tells which part each row was in.
    added_edges_ : list of (i, j, distance)
    fitted_rows_ : (m,)
        Rows that the map was made of: all, unless disconnected="largest" left some out.
    landmarks_ : (m,) row numbers, or None
    source_rows_ : (m,) row numbers of the landmarks of a source; only they were fitted
    recall_ : float
        Share of the true nearest neighbours in the graph; 1 unless they are approximate.
    kernel_pca_ : KernelPCA
        The kernel PCA of the precomputed kernel −½d².
    report_ : Report; `solver_` is another name for it
        Which solver ran and why, passes, bytes, seconds.

    Cost: neighbours, n shortest-path trees of O(nk) each (0.1 ms at n = 10,000 on two cores), 2n² bytes, and a few
    passes over these. With m landmarks: m trees and 4nm bytes. Above 2048 rows distances are summed in float32: right
    to about √h · 6e-8 for a path of h edges.

    If a few points lie very far from the rest, Isomap sums and keeps distances in float64.

    References
    ----------
    Tenenbaum, de Silva & Langford, A global geometric framework for nonlinear dimensionality reduction, Science 2000.
    de Silva & Tenenbaum, Sparse multidimensional scaling using landmark points, 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from mercer import Isomap
    >>> X, along = make_swiss_roll(1000, random_state=0)
    >>> isomap = Isomap(n_neighbors=10).fit(X)
    >>> bool(abs(np.corrcoef(isomap.embedding_[:, 0], along)[0, 1]) > 0.99)
    True
    >>> bool(isomap.residual_variance_[1] < 0.01)  # two coordinates keep the distances
    True
    """

    _saved = SavedEstimator(
        "Isomap",
        {
            **INPUT,
            "_X": samples("n", "d", infinite=True),
            "_links": tuple_of(optional(whole(1)), optional(number)),  # a radius may be infinite
            "_cut_ends": if_set(integers("ends", below="n")),
            "fitted_rows_": integers("m", below="n", increasing=True),
            "index_": instance_of("index", n="m"),
            "recall_": number,
            "n_connected_components_": whole(1),
            "component_labels_": integers("n"),
            "added_edges_": list_of(tuple_of(whole(), whole(), finite)),
            "_geodesics": instance_of("Geodesics", n="m"),
            "landmarks_": optional(integers("l", below="n")),
            "source_rows_": if_set(integers("n", increasing=True)),
            "kernel_pca_": instance_of("KernelPCA", n="r", k="k"),
            "embedding_": floats("e", "k"),
            "residual_variance_": floats("k", infinite=True),
            "_left_over": number,
            "eigenvalues_": derived(lambda self: self.kernel_pca_.eigenvalues_),
            "residuals_": derived(lambda self: self.kernel_pca_.residuals_),
            "eigenvalue_error_": derived(lambda self: self.kernel_pca_.eigenvalue_error_),
            "report_": derived(lambda self: self.kernel_pca_.report_),
            "_plan": not_stored,
            "_metric": not_stored,
        },
        also=lambda parts: _refuse_other_rows(parts),
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "radius": [Interval(Real, 0, None, closed="both"), None],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "eigen_solver": [StrOptions({"auto", "dense", "arpack", "krylov"})],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left"), None],
        "path_method": [StrOptions({"auto", "FW", "D"})],
        "neighbors_algorithm": [StrOptions({"auto", "brute", "kd_tree", "ball_tree", "approximate"})],
        "n_jobs": [Integral, None],
        "metric": [str, callable],
        "p": [Interval(Real, 1, None, closed="left")],
        "metric_params": [dict, None],
        "landmarks": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "disconnected": [StrOptions(set(WAYS))],
        "cut_edges": ["array-like", None],
        "random_state": ["random_state"],
        "memory_limit": [Interval(Real, 0, None, closed="neither"), str, None],
        "verbose": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_neighbors: int | None = 5,
        radius: float | None = None,
        n_components: int = 2,
        eigen_solver: str = "auto",
        tol: float = 0,
        max_iter: int | None = None,
        path_method: str = "auto",
        neighbors_algorithm: str = "auto",
        n_jobs: int | None = None,
        metric: str | Callable[..., Any] = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        landmarks: Any = None,
        disconnected: str = "join",
        cut_edges: Any = None,
        random_state: Any = None,
        memory_limit: int | float | str | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.n_components = n_components
        self.eigen_solver = eigen_solver
        self.tol = tol
        self.max_iter = max_iter
        self.path_method = path_method
        self.neighbors_algorithm = neighbors_algorithm
        self.n_jobs = n_jobs
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.landmarks = landmarks
        self.disconnected = disconnected
        self.cut_edges = cut_edges
        self.random_state = random_state
        self.memory_limit = memory_limit
        self.verbose = verbose

    # --- fitting ---------------------------------------------------------------------------------------

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None) -> Isomap:
        """Map the rows of X, (n, d), dense or CSR; distances or a graph of them for metric="precomputed".

        A tensor is mapped on its device. For a tensor the metric is a Minkowski distance, "cosine", "correlation", a
        kernel, or "precomputed".

        X may also be a source of rows (`mercer.streams`) with `landmarks`. The map is then that of the landmarks and of
        the graph among them, and `transform` places the rows of a source chunk by chunk.
        """
        self._forget("source_rows_")
        if is_row_source(X):
            self._refuse_unsuitable_source()
            self._fit_landmarks(X)
        else:
            self._fit(X)
        return self

    @_fit_context(prefer_skip_nested_validation=False)
    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Map the rows of X and return their coordinates, (n, k); those of a source of rows are a source."""
        if is_row_source(X):
            return self.fit(X).transform(X)
        self._forget("source_rows_")
        return self._fit(X)(self.embedding_)

    def _fit(self, X: Any) -> Callable[[Any], Any]:
        """Map the rows, and return the function that gives results their type."""
        started = time.perf_counter()
        self._refuse_both()
        X, restore = self._rows_of(X, reset=True)
        self._X, self._links = X, (self.n_neighbors, self.radius)
        self._cut_ends = checked_edges(() if self.cut_edges is None else self.cut_edges, X.shape[0]).ravel()
        metric = self.metric
        if isinstance(metric, Kernel):  # replace the column names in a kernel by column numbers
            metric = metric.with_names(getattr(self, "feature_names_in_", ()))
        self._metric = bound_metric(metric, self.metric_params, X)
        self._checked(self._draft(X), X)  # a fit that needs too much memory is refused before the neighbour search
        self.index_ = self._index(X)
        self._say(f"neighbours by {self.index_.method} ({self.index_.reason})")
        graph = self._neighborhood()
        graph = cut_from(graph, self._cut, self.disconnected) if len(self._cut) else graph
        measurable = not (self._is_precomputed() and sp.issparse(X))
        reach = "n_neighbors" if self.radius is None else "radius"
        connection = connect(self.index_, graph, self.disconnected, measurable=measurable, reach=reach)
        self.n_connected_components_, self.component_labels_ = connection.count, connection.labels
        self.added_edges_, self.fitted_rows_ = connection.added, connection.rows
        self._refuse_cut_joints()
        result = self._unfolded(connection.graph)
        self._keep(result, started)
        if len(connection.rows) < X.shape[0]:
            self._restrict(X, measurable)
        return restore

    def _unfolded(self, graph: sp.csr_array | TensorGraph) -> Scaling:
        """Coordinates of the rows of a connected graph."""
        n = graph.shape[0]
        count, m = self._planned(n)
        dtype: Any = np.float64 if n <= SMALL else np.float32
        if isinstance(graph, TensorGraph):
            self._geodesics: Geodesics | TensorGeodesics = TensorGeodesics(graph, dtype=dtype)
        else:
            self._geodesics = Geodesics(graph, dtype=dtype, n_jobs=self.n_jobs)
        refuse_units(self._geodesics.unit, answer_dtype(self._X))
        if n > SMALL and self._geodesics.is_uneven():
            self._planned(n, itemsize=8)
            self._geodesics = self._geodesics.computed_in(np.float64)
        self._say(f"{format_bytes(self._plan.needed_bytes)}, {n} points, {m or n} sources")
        self.landmarks_ = None
        way: Any = self._way(self._X)
        if m is None:
            return way.unfold(self._geodesics, self._plan, self._settings(count))
        rows = self.fitted_rows_
        self.landmarks_ = choose_landmarks(self.landmarks, m, self._geodesics, rows, self.random_state)
        return way.unfold_landmarks(self._geodesics, self._local(self.landmarks_), self._plan, self._settings(count))

    @staticmethod
    def _way(X: Any) -> Any:
        """The module that computes where X lives."""
        return tensor_scaling if is_foreign(X) else scaling

    def _source_plan(self, source: Any, y: Any = None) -> Plan:
        self._refuse_unsuitable_source()
        return self._landmark_plan(source)

    def _refuse_unsuitable_source(self) -> None:
        if self._is_precomputed():
            raise ValueError("A source has rows, not distances between them. Take a metric of rows.")
        if self.cut_edges is not None:
            raise ValueError("cut_edges names rows of a table in memory. Of a source only landmarks are fitted.")

    def _draft(self, X: Any, y: Any = None) -> Plan:
        return self._drafted(X, X.shape[0], 5 * X.shape[0] if self.n_neighbors is None else None)

    def _drafted(self, X: Any, n: int, edges: int | None = None, itemsize: int = 4) -> Plan:
        """The plan for a graph of n of the rows of X."""
        where = {"free": backend_of(X).free_bytes(X)} if is_foreign(X) else {"n_jobs": self.n_jobs}
        return self._way(X).plan_unfolding(
            n,
            min(self.n_components, n),
            solver=self.eigen_solver,
            landmarks=landmark_count(self.landmarks, n, X.shape[0], self.n_components),
            limit=self.memory_limit,
            itemsize=itemsize,
            edges=n * (self.n_neighbors or 0) if edges is None else edges,
            **where,
        )

    def _lighter(self, plan: Plan) -> list[dict[str, Any]]:
        return [{"landmarks": m} for m in (500, 100) if 2 * self.n_components < m < plan.rows and m != self.landmarks]

    def _planned(self, n: int, itemsize: int = 4) -> tuple[int, int | None]:
        """The numbers of components and landmarks for n rows. Raises MemoryLimitError if their distances do not fit."""
        self._plan = self._drafted(self._X, n, itemsize=itemsize)
        self._checked(self._plan, self._X)
        return min(self.n_components, n), landmark_count(self.landmarks, n, self._X.shape[0], self.n_components)

    def _settings(self, count: int) -> Settings:
        return distance_settings(
            count,
            answer_dtype(self._X),
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            monitor=self._say_pass if self.verbose else None,
        )

    def _keep(self, result: Scaling, started: float) -> None:
        params = {name: getattr(self, name) for name in ("n_components", "eigen_solver", "tol", "max_iter", "n_jobs")}
        tol = self._settings(1).tol
        self.kernel_pca_ = KernelPCA.of_scaling(result, self._plan, tol, started, **params)
        neighbors = f"{self.index_.method}, {self.index_.reason}"
        self.kernel_pca_.report_ = replace(self.kernel_pca_.report_, neighbors=neighbors, recall=self.recall_)
        self._set_spectrum()
        self._say(str(self.report_))
        self.embedding_, self.residual_variance_ = result.embedding, result.residual_variance
        self._left_over = result.left_over

    def _set_spectrum(self) -> None:
        for name in _SPECTRUM:
            setattr(self, name, getattr(self.kernel_pca_, name))

    def _restrict(self, X: Any, measurable: bool) -> None:
        """After a fit on some of the rows: index only those, and place the others if they have distances to them."""
        rows = self.fitted_rows_
        self.index_ = self._index(X[rows][:, rows] if self._is_precomputed() else X[rows])
        if measurable:
            others = np.setdiff1d(np.arange(X.shape[0]), rows)
            new = X[others][:, rows] if self._is_precomputed() else X[others]
            links = self._links_of(self.index_.query(new, self._links[0] or 1))  # they are beyond any radius
            placed, known = self._placed(links), self.embedding_
            shape = (X.shape[0], known.shape[1])
            self.embedding_ = namespace(known).empty(shape, dtype=known.dtype, **placement(known))
            self.embedding_[rows], self.embedding_[others] = known, placed

    @property
    def solver_(self) -> Report:
        """Another name for `report_`."""
        return self.report_

    # --- the graph -------------------------------------------------------------------------------------

    def _refuse_both(self) -> None:
        if self.n_neighbors is not None and self.radius is not None:
            raise ValueError(
                f"Both n_neighbors and radius are provided. Use Isomap(radius={self.radius}, n_neighbors=None) if "
                "intended to use radius-based neighbors."
            )
        if self.n_neighbors is None and self.radius is None:
            raise ValueError("n_neighbors and radius are both None: give one of them.")

    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _rows_of(self, X: Any, *, reset: bool) -> tuple[Any, Callable[[Any], Any]]:
        """The rows, checked, and the function that gives a result their type.

        If X is a tree or a NearestNeighbors of scikit-learn, the rows that it holds.
        """
        if isinstance(X, BallTree | KDTree):
            X = np.asarray(X.data)
        elif isinstance(X, NearestNeighbors):
            X = X._fit_X
        if isinstance(self.metric, Kernel) and self.metric.accepts == "strings":
            return self._strings(X, 2 if reset else 1), lambda result: result
        self._refuse_foreign(X, but=lambda X: is_torch(X) or is_cupy(X))
        least, finite = 2 if reset else 1, not self._is_precomputed()  # infinite weights are no edges; NaN comes later
        X, restore = self._read(X, reset=reset, ensure_min_samples=least, ensure_all_finite=finite)
        if not reset:
            self._refuse_other_place(X, self._X)
        if reset and self._is_precomputed() and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed distances must be a square matrix (n_samples, n_samples), not {X.shape}.")
        return X, restore

    def _index(self, X: Any) -> Any:
        metric, params = self._metric
        return build_index(
            X,
            metric=metric,
            p=self.p,
            metric_params=params,
            method=self.neighbors_algorithm,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def _neighborhood(self) -> sp.csr_array | TensorGraph:
        self.recall_, on_device = 1.0, is_foreign(self._X)
        if self.n_neighbors is None:
            pairs = self.index_.within(self.radius)
            return TensorGraph.of_sparse(pairs) if on_device else pairs
        found = self.index_.neighbors(self.n_neighbors)
        self.recall_ = found.recall
        return TensorGraph.of_neighbors(found, self.index_.n) if on_device else found.graph(self.index_.n)

    @property
    def _cut(self) -> np.ndarray:
        """(c, 2), the edges that were taken out, by rows of X."""
        return getattr(self, "_cut_ends", np.empty(0, np.int64)).reshape(-1, 2)

    def _refuse_cut_joints(self) -> None:
        """An edge that was added to join two parts of the graph is all that holds them together."""
        cut = {tuple(sorted(ends)) for ends in self._cut.tolist()}
        for i, j, _ in self.added_edges_:
            if tuple(sorted((i, j))) in cut:
                raise DisconnectedGraphError(
                    f"The edge of rows {i} and {j} joins parts of the graph that nothing else holds together, so it "
                    "cannot be cut. Set disconnected='largest', or raise n_neighbors."
                )

    def _local(self, rows: np.ndarray) -> np.ndarray:
        """Row numbers of X as vertices of the fitted graph."""
        return np.searchsorted(self.fitted_rows_, rows)

    # --- using the map ---------------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Coordinates of new rows, (m, k), from distances along the graph that start at their neighbours.

        One shortest-path tree per row gives them, so the fit does not have to keep its distances. The coordinates of a
        source of rows are a source too.
        """
        check_is_fitted(self)
        if is_row_source(X):
            return self._mapped(X, self._n_features_out, self.transform, dtype=self.embedding_.dtype)
        X, restore = self._rows_of(X, reset=False)
        if self._is_precomputed() and len(self.fitted_rows_) < X.shape[1]:
            X = X[:, self.fitted_rows_]
        n_neighbors, radius = self._links
        if n_neighbors is not None:
            return restore(self._placed(self._links_of(self.index_.query(X, n_neighbors))))
        links = self.index_.query_within(X, radius)
        counts = to_numpy(links.crow_indices() if is_foreign(X) else links.indptr)
        alone = int(np.sum(np.diff(counts) == 0))
        if alone:
            raise ValueError(f"{alone} of the new rows have no fitted row within radius={radius}. Raise the radius.")
        return restore(self._placed(padded_links(links) if is_foreign(X) else links))

    def _links_of(self, found: Neighbors) -> Any:
        """The links of new points to the graph, as `place_links` reads them."""
        return (found.indices, found.distances) if is_foreign(self._X) else found.graph(self.index_.n)

    def _placed(self, links: Any) -> Any:
        cut = self._cut[np.isin(self._cut, self.fitted_rows_).all(axis=1)]
        links = links_without(links, self._local(cut)) if len(cut) else links
        landmarks = None if self.landmarks_ is None else self._local(self.landmarks_)
        return self._way(self._X).place_links(self._geodesics, links, self.kernel_pca_.expansion_, landmarks)

    def reconstruction_error(self) -> float:
        """‖−½HD²H − ZZᵀ‖ / n in the Frobenius norm, Z the map; with landmarks, for the landmarks' own matrix."""
        check_is_fitted(self)
        n = self._geodesics.n if self.landmarks_ is None else len(self.landmarks_)
        return self._left_over / n

    @property
    def graph_(self) -> sp.csr_array:
        check_is_fitted(self)
        return self._geodesics.graph

    @property
    def geodesics_(self) -> np.ndarray:
        """The distances along the graph, (n, n), computed anew in the precision of the data."""
        check_is_fitted(self)
        graph, dtype = self._geodesics.graph, answer_dtype(self._X)
        if is_foreign(self._X):
            free, kind = backend_of(self._X).free_bytes(self._X), getattr(namespace(self._X), dtype.name)
        else:
            free, kind = available_bytes(), dtype
        need, bound = graph.shape[0] ** 2 * dtype.itemsize, limit_of(self.memory_limit, free)
        if need > bound:
            raise MemoryLimitError(
                f"All distances between {graph.shape[0]} points are {format_bytes(need)}, more than "
                f"{format_bytes(bound)}. mercer.graph.geodesics.Geodesics(isomap.graph_).from_nodes(rows) gives those "
                "of some rows."
            )
        return self._geodesics.computed_in(np.float64).from_nodes(np.arange(graph.shape[0]), kind)

    @property
    def dist_matrix_(self) -> np.ndarray:
        """scikit-learn's name for `geodesics_`."""
        return self.geodesics_

    @property
    def nbrs_(self) -> NearestNeighbors:
        """scikit-learn's index of the fitted rows, built when asked for; Mercer's own is `index_`."""
        check_is_fitted(self)
        if isinstance(self.metric, Kernel):
            raise AttributeError("scikit-learn's NearestNeighbors does not accept kernels. Use index_, Mercer's index.")
        rows = self._X[self.fitted_rows_]
        rows = rows[:, self.fitted_rows_] if self._is_precomputed() else rows
        return NearestNeighbors(
            n_neighbors=self.n_neighbors,
            radius=self.radius,
            algorithm="auto" if self.neighbors_algorithm == "approximate" else self.neighbors_algorithm,
            metric=self.metric,
            p=self.p,
            metric_params=self.metric_params,
            n_jobs=self.n_jobs,
        ).fit(rows)

    # --- scikit-learn ----------------------------------------------------------------------------------

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    def _say(self, line: str) -> None:
        if self.verbose:
            sys.stderr.write(f"Isomap: {line}\n")

    def _say_pass(self, passes: int, residual: float) -> None:
        self._say(f"pass {passes}, largest residual {residual:.1e}")


def _refuse_other_rows(parts: Any) -> None:
    """Raise Mismatch for a model file in which landmarks, graph, coefficients and map do not belong together."""
    landmarks, rows = parts.landmarks_, parts.fitted_rows_
    if landmarks is not None and not np.isin(landmarks, rows).all():
        raise Mismatch("landmarks_ has rows that were not fitted")
    if len(parts.kernel_pca_.X_fit_) != len(rows if landmarks is None else landmarks):
        raise Mismatch("kernel_pca_ has other rows than the graph")
    if isinstance(parts.metric, str) and parts.metric == "precomputed" and parts._X.shape[0] != parts.n_features_in_:
        raise Mismatch("precomputed distances must be square")
    if len(parts.embedding_) not in (len(rows), parts._X.shape[0]):
        raise Mismatch("embedding_ has other rows than the data")
    if sp.csgraph.connected_components(parts._geodesics.graph, directed=False)[0] != 1:
        raise Mismatch("the graph is not connected")
