"""SNE and t-SNE: maps that keep neighbours together, O(n) per step, with a place for new points."""

from __future__ import annotations

from mercer.embedding.similarity import Gaussian, Similarity, Student
from mercer.estimators.neighbor_embedding import MAP_FIELDS, NeighborEmbedding, refuse_other_positions
from mercer.models.fields import SavedEstimator


class TSNE(NeighborEmbedding):
    """t-SNE: a map in which points are near one another if their rows are neighbours.

        KL(P ‖ Q) = Σ pᵢⱼ log(pᵢⱼ / qᵢⱼ) → min,   qᵢⱼ = w(‖yᵢ − yⱼ‖²) / Σ_{k≠l} w(‖yₖ − yₗ‖²),   w(d²) = 1/(1 + d²)

    P holds Gaussian affinities of near neighbours; the perplexity sets the width of each row. The class replaces
    scikit-learn's TSNE. It interpolates the repulsion of all pairs on a grid, and has `transform` for new rows.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map; above three the repulsion is exact, O(n²).
    perplexity : float or list, default=30.0
        How many neighbours count, less than n. A list averages the affinities of several perplexities: (30, 500) also
        preserves how clusters lie relative to each other.
    early_exaggeration : float, default=12.0
        What P is multiplied by in the first `early_exaggeration_iter` steps, so that clusters find each other.
    learning_rate : float or "auto", default="auto"
        "auto" is n / exaggeration / 4 in each phase. The unit is scikit-learn's: other libraries have rates 4 times as
        large. scikit-learn's "auto" is at least 50, which makes few points overshoot.
    max_iter : int, default=1000
        The largest number of steps, including the exaggerated ones. 0 keeps the map at its start.
    n_iter_without_progress : int, default=300
        Stop when the divergence has not fallen for this many steps. It is computed every 50 steps.
    min_grad_norm : float, default=1e-7
        Stop when the norm of the gradient is at most this.
    metric : str, callable or Kernel, default="euclidean"
        The distance of rows: a name that scikit-learn knows, a function of two rows, a `mercer.kernels.Kernel` (the
        distance in its feature space; string kernels take strings), or "precomputed": X holds distances, dense or a
        sparse graph.
    metric_params : dict, default=None
        Further arguments of the metric.
    init : {"auto", "pca", "spectral", "random"} or array (n, n_components), default="auto"
        Where the points start, scaled to a deviation of 1e-4. "pca" takes the principal components, of a kernel if the
        metric is one. "spectral" takes the slowest directions of a random walk on the affinities. "auto" is "pca" for
        rows, and "spectral" for precomputed distances and affinities.
    verbose : int, default=0
        1 reports each stage, and 2 also reports every 50 steps.
    random_state : int, RandomState or None, default=None
        None is the seed 0: the same data gives the same bits.
    method : {"auto", "barnes_hut", "grid", "exact"}, default="auto"
        How to compute the repulsion. "grid" interpolates it, in O(n). "auto" and "barnes_hut" do so if that is faster
        than summing over all pairs. "exact" sums over all pairs, and uses all n − 1 neighbours: O(n²) time and memory.
    angle : float, default=0.5
        Accepted for compatibility with scikit-learn but not used: the accuracy of the grid is fixed and tested.
    n_jobs : int, default=None
        Threads; None is all cores.
    dof : float, default=None
        Degrees of freedom ν of w = (1 + d²/ν)^(−(ν+1)/2); below 1 splits clusters further. None is
        max(n_components − 1, 1), as in scikit-learn.
    exaggeration : float, default=1.0
        What P is multiplied by after the first phase: 4 shows clusters of large data more clearly.
    affinities : Weighting, Affinities, "precomputed" or None, default=None
        `mercer.embedding.FixedWidth(sigma)` or `mercer.embedding.Uniform(n_neighbors)` in place of a perplexity.
        `mercer.embedding.Affinities.of(X)`, or `affinities_` of another fit to the same rows, saves the search for
        neighbours; `fit` then works without X too. "precomputed": X is P itself, dense or sparse.
    fixed : mask or row numbers, default=None
        Points that stay where `init`, which must be given, puts them.
    callbacks : callable or list, default=None
        Called as callback(steps, kl_divergence, embedding) every `callback_every` steps. A callback that returns True
        ends the descent and keeps the map.
    callback_every : int, default=50
    snapshots : int, default=None
        The number of steps between two copies of the map, for the slider of a page. None keeps no copies.
    early_exaggeration_iter : int, default=250
        The number of exaggerated steps.
    neighbors : {"auto", "exact", "approximate", "kd_tree", "ball_tree", "brute"}, default="auto"
        The search for neighbours. "auto" is exact up to n²d = 1e11, and approximate beyond; `report_` has the share of
        true neighbours that it found.
    landmarks : int, array of row numbers, or None, default=None
        Make the map of these rows only, and place every other row in it as `transform` would. A number of rows is drawn
        at random, so that the map shows the densities of the data; `mercer.selection.landmark_rows` chooses in other
        ways. Use it if a descent of all rows would take too long. For a source of rows only the landmarks are fitted
        (`mercer.streams.landmark_places` chooses them).

    Attributes
    ----------
    embedding_ : array (n, n_components), float32
    landmarks_ : array (m,) of row numbers, or None
        With landmarks, everything below describes the map of the landmarks.
    source_rows_ : array (m,), after a fit to a source
        The row numbers of its landmarks, in the order of `embedding_`
    kl_divergence_ : float
        KL(P ‖ Q) of `embedding_`, P without exaggeration, Q over all pairs, sums in float64.
    affinities_ : `mercer.embedding.Affinities`, with P, the widths and the recall of the search
    learning_rate_ : float, the rate of the first phase
    n_iter_ : int, the number of the last step; the first is number 0, as in scikit-learn
    snapshots_ : list of (steps, map)
    report_ : which neighbours, which repulsion, how many steps, and why they ended
    n_features_in_, feature_names_in_

    Notes
    -----
    Cost of a step: about 1.4 k n terms of attraction, k = 3 · perplexity, and one pass over a grid. Memory: 12 bytes
    per neighbour, twice that from 10,000 rows on, and 36 while P is computed. Ctrl-C keeps the map so far. With m
    landmarks, the descent costs what it would for m rows, and every other row a search among the landmarks and 100
    steps of its own.

    References
    ----------
    van der Maaten & Hinton (2008), Visualizing data using t-SNE. Linderman et al. (2019), Fast interpolation-based
    t-SNE. Kobak & Berens (2019), The art of using t-SNE.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> tsne = TSNE(perplexity=20, max_iter=500).fit(X)
    >>> tsne.embedding_.shape, tsne.transform(X[:3] + 0.01).shape
    ((150, 2), (3, 2))
    """

    _saved = SavedEstimator("TSNE", MAP_FIELDS, also=refuse_other_positions)

    _NAME = "t-SNE"

    def _similarity(self) -> Similarity:
        return Student(float(max(self.n_components - 1, 1) if self.dof is None else self.dof))


class SNE(NeighborEmbedding):
    """SNE: the same map with a Gaussian w(d²) = exp(−d²), which crowds points that t-SNE's heavy tails keep apart.

        KL(P ‖ Q) = Σ pᵢⱼ log(pᵢⱼ / qᵢⱼ) → min,   qᵢⱼ = exp(−‖yᵢ − yⱼ‖²) / Σ_{k≠l} exp(−‖yₖ − yₗ‖²)

    Q is normalised over all pairs (symmetric SNE). Parameters, attributes and methods are those of `TSNE`, and so is
    the cost, O(n) per step. Only the default of `dof` differs: None is the Gaussian, the limit of very many degrees.

    Parameters
    ----------
    n_components, perplexity, early_exaggeration, learning_rate, max_iter, … : as in `TSNE`

    Attributes
    ----------
    embedding_, kl_divergence_, affinities_, report_, … : as in `TSNE`

    References
    ----------
    Hinton & Roweis (2002), Stochastic neighbor embedding. Cook, Sutskever, Mnih & Hinton (2007), Visualizing similarity
    data with a mixture of maps.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> sne = SNE(perplexity=20, max_iter=500).fit(load_iris().data)
    >>> sne.embedding_.shape
    (150, 2)

    The parameters are those of `TSNE`: perplexity, init, max_iter, learning_rate, momentum; early_exaggeration,
    early_exaggeration_iter and exaggeration; affinities, metric and metric_params, neighbors, method, angle, dof;
    fixed, landmarks; callbacks, callback_every and snapshots; n_iter_without_progress and min_grad_norm; n_jobs,
    random_state, memory_limit and verbose.
    """

    _saved = SavedEstimator("SNE", MAP_FIELDS, also=refuse_other_positions)

    def _similarity(self) -> Similarity:
        return Gaussian() if self.dof is None else Student(float(self.dof))
