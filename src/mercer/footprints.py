"""The memory model: how many bytes each part of a fit takes, as functions of the sizes alone.

Every function gives a `Footprint` (see `mercer.planning`) or the bytes of one part of it. A fit, its `memory_limit`,
its `plan` and the command's `--dry-run` all read these and no others. `python -m benchmarks --only memory` compares
them with what processes really take.

Letters: n rows, d columns, k components or neighbours, m columns of a factor, b columns of a block.
"""

from __future__ import annotations

from dataclasses import dataclass

from mercer.linalg.covariance import product_rows
from mercer.linalg.crossproducts import ONE_MATRIX_ABOVE
from mercer.linalg.eigen import MANY, SMALL
from mercer.linalg.gram import WIDE
from mercer.linalg.krylov import guard_pairs, most_columns, start_rank
from mercer.linalg.lanczos import largest_basis
from mercer.linalg.tiled import Packed
from mercer.planning import Footprint, Parts

_FACTOR_RUN = 8192  # rows of a factor that are computed at a time
_LEAST_TILE = 256


@dataclass(frozen=True)
class Workload:
    """The data of a fit with a kernel, and the machine it runs on.

    n, d : rows and columns
    width : numbers that a row holds in memory: d, or for CSR rows the stored ones and their indices
    itemsize : bytes of a number
    threads, tile : of the backend
    kernels : how many simple kernels the kernel is made of; each has points and tiles of its own
    fused : whether a tile is computed in its own memory, without temporaries
    copied : whether the fit keeps a copy of the rows
    products : whether products with the kernel matrix are fused: they take copies of the rows and no tiles
    """

    n: int
    d: int
    width: int
    itemsize: int = 8
    threads: int = 1
    tile: int = 1024
    kernels: int = 1
    fused: bool = False
    copied: bool = True
    products: bool = False

    @property
    def rows(self) -> int:
        return self.n * self.width * self.itemsize

    def points(self, itemsize: int) -> int:
        """Rows made ready for tiles: shifted, with a norm each, once for every simple kernel."""
        return self.kernels * self.n * (self.width + 1) * itemsize

    def tiles(self, tile: int, itemsize: int = 8) -> int:
        """A tile for each thread, and the temporaries that its formula makes."""
        pointers = 4 * self.d if self.width < self.d else 0  # SciPy's products of CSR rows have one for each column
        matrices = 1 if self.fused else 1 + self.kernels
        return self.threads * (matrices * itemsize * min(tile, self.n) ** 2 + pointers)

    def tile_within(self, room: int) -> int:
        """The backend's tile, halved until those of all threads fit into `room`."""
        tile = self.tile
        while tile > _LEAST_TILE and self.threads * (1 + self.kernels) * 8 * tile**2 > room:
            tile //= 2
        return tile

    def sums(self, columns: int) -> int:
        """What a product with a block of vectors adds up in: one sum for each thread, and the block."""
        return (self.threads + 1) * 8 * self.n * (columns + 4)

    def operands(self) -> int:
        """Copies of the rows for fused products, their coordinates padded: in float64, and as pairs of halves."""
        padded = max(16, 1 << (self.d - 1).bit_length())  # a card multiplies blocks of 16 and more, by powers of two
        return 2 * self.kernels * self.n * padded * (8 + 4) if self.products else 0


def kept_tiles(n: int, tile: int, itemsize: int) -> int:
    """All tiles on and above the diagonal."""
    return n * (n + min(tile, n)) // 2 * itemsize


def _held(work: Workload) -> dict[str, int]:
    return {"a copy of the rows": work.rows if work.copied else 0}


def eigenpairs(work: Workload, k: int, solver: str, tile: int, rank: int) -> Footprint:
    """Of kernel PCA by any solver."""
    if solver == "rpcholesky":
        return factor_components(work, k, rank)
    if solver == "dense":
        return dense_components(work, k)
    stored = work.n <= SMALL or solver == "lanczos"
    return stored_components(work, k) if stored else block_components(work, k, tile)


def dense_components(work: Workload, k: int) -> Footprint:
    """LAPACK on the whole matrix."""
    n, many, square = work.n, 6 * k > work.n, 8 * work.n**2  # above a sixth of all pairs LAPACK finds all of them
    if many and k > MANY:  # in the memory of the matrix, with two more as workspace
        workspace, answer = 2 * square, 8 * n * k * (2 if work.itemsize == 8 else 4)
    else:  # the reduced matrix, and one in which SciPy leaves room for every vector; a third to find them all
        workspace, answer = (3 if 7 * k >= n else 2) * square + 8 * n * k, 11 * 4 * n * k
    return Footprint(
        {**_held(work), "kernel matrix": square},
        {
            "matrix": {"points": work.points(8), "tiles": work.tiles(work.tile)},
            "LAPACK": {"workspace": workspace},
            "answer": {"vectors, their products and residuals": answer},
        },
    )


def stored_components(work: Workload, k: int) -> Footprint:
    """Few pairs of a matrix that is stored."""
    n = work.n
    return Footprint(
        {**_held(work), "kernel matrix": 8 * n * n, "points": work.points(8)},
        {
            "matrix": {"tiles": work.tiles(max(_LEAST_TILE, n // 4))},
            "iterations": {"basis": 8 * n * largest_basis(n, k)},
            "answer": {"vectors, their products and residuals": 6 * 8 * n * k},
        },
    )


def block_components(work: Workload, k: int, tile: int) -> Footprint:
    """Few pairs of a matrix that is streamed in tiles: block Davidson, started by a low-rank factor."""
    n, guard = work.n, guard_pairs(k, WIDE if work.products else 0)
    width, rank = most_columns(k, guard), start_rank(work.n, k)
    preconditioner = 4 * n * rank
    return Footprint(
        {**_held(work), "points": work.points(8) + work.points(4), "operands of products": work.operands()},
        {
            "start": {"factor": 2 * preconditioner, "strips": strips(work, rank, 4), "block": 4 * 8 * n * (k + guard)},
            "passes": {
                "preconditioner": preconditioner,
                "basis and products": 4 * 8 * n * width,
                "sums": work.sums(k + guard),
                "tiles": work.tiles(tile),
            },
        },
    )


def _run(n: int) -> int:
    """Rows that a thread reads of a factor at a time."""
    return min(n, _FACTOR_RUN, max(1024, -(-n // 4)))


def strips(work: Workload, rank: int, itemsize: int) -> int:
    """Columns of K on their way into a factor, a few at a time in each thread."""
    return work.threads * 4 * itemsize * _run(work.n) * max(8, rank // 8)


def small_products(work: Workload, *widths: int) -> int:
    """FᵢᵀFⱼ of factors of these widths: a sum and a run of rows in each thread, or in one if they are wide."""
    run = _run(work.n)
    runs = -(-work.n // max(1, run))  # a plan may be made for no rows; the fit refuses them
    slots = 1 if max(widths) > ONE_MATRIX_ABOVE else min(work.threads, runs)
    pairs = sum(widths[i] * widths[j] for i in range(len(widths)) for j in range(i, len(widths)))
    return slots * (8 * pairs + work.itemsize * run * sum(widths))


def factor_columns(n: int, rank: int | None) -> int:
    """Columns of a factor at most; None is all n."""
    return n if rank is None else min(n, rank)


def factor(work: Workload, rank: int | None) -> Footprint:
    """F with F Fᵀ ≈ K, and the coefficients of its map; rank None forms K and factors all of it."""
    n, m, size = work.n, factor_columns(work.n, rank), work.itemsize
    held = {"points": work.points(size), "factor": n * m * size}
    if rank is None:
        steps: dict[str, Parts] = {"factorisation": {"kernel matrix": 8 * n * n, "triangle": 8 * n * n}}
    else:
        steps = {"factorisation": {"strips": strips(work, m, size)}}
    return Footprint(held, {**steps, "map": {"coefficients": 3 * 8 * m * m}})


def factor_components(work: Workload, k: int, rank: int) -> Footprint:
    """Kernel PCA on a factor."""
    inner, n, m = factor(work, rank), work.n, factor_columns(work.n, rank)
    held = {**inner.held, "a copy of the rows": work.rows if work.copied else 0}
    spectrum = {"products": small_products(work, m) + 4 * 8 * m * m, "vectors": 4 * n * k * work.itemsize}
    return Footprint(held, {**inner.steps, "spectrum": spectrum})


def streamed(
    longest: int, d: int, m: int, *, itemsize: int, threads: int, run: int, sample: int = 0, draws: int = 0
) -> Footprint:
    """A pass over rows in chunks of at most `longest`: the same whatever the number of rows.

    m : columns of the map whose sums are taken; run : rows that a thread maps at a time
    sample : rows that landmarks are chosen from, with their own factor
    """
    rows = min(run, longest)
    held = {"two chunks": 2 * longest * d * itemsize, "the sample": 2 * sample * (d + 1) * itemsize}
    passed = {
        "sums": 3 * 8 * m * m,
        "runs of features": threads * (3 * 8 * rows * m + 8 * m * m),
        "what is left of each row of a chunk": 3 * 8 * longest,
        "draws": 2 * draws * d * itemsize,
    }
    chosen = {"factor of the sample": 2 * sample * m * itemsize + 3 * 8 * m * m}
    return Footprint(
        held, {"landmarks": chosen if sample else {}, "pass": passed, "spectrum": {"small": 6 * 8 * m * m}}
    )


def scaling(
    n: int, k: int, *, solver: str, landmarks: int | None, itemsize: int, threads: int, edges: int = 0
) -> Footprint:
    """Coordinates from distances along a graph of `edges` edges: all distances, or those to landmarks."""
    m = n if landmarks is None else landmarks
    graph = {"graph": 40 * edges}  # in both directions, with its weights in two precisions, and while it is made
    whole = {"LAPACK": 16 * m * m, "vectors": 40 * m * k}
    basis = {"basis and products": 32 * m * most_columns(k, guard_pairs(k))}
    paths = {"paths of each thread": threads * n * (16 * itemsize + 16)}
    if landmarks is not None:
        held = {**graph, "distances to landmarks": itemsize * n * m}
        # Coordinates are computed from up to 8192 columns at a time.
        mapped = {"squares": itemsize * n * m, "a copy in float64": 8 * min(n, 8192) * m}
        return Footprint(held, {"paths": paths, "solver": {**whole, "matrix": 8 * m * m}, "coordinates": mapped})
    if m <= SMALL:
        solved = whole if solver == "dense" else basis
        steps: dict[str, Parts] = {
            "paths": {**paths, "distances": 8 * m * m},
            "solver": {"centred": 8 * m * m, **solved},
            "left over": {"squares": 16 * m * m},
        }
        return Footprint({**graph, "−½d²": 8 * m * m}, steps)
    packed = {"half of −½d²": itemsize * m * (m + Packed.TILE) // 2}
    start = {"factor": 2 * 4 * m * start_rank(m, k)}
    tiles = {"tiles": threads * 8 * Packed.TILE**2, "sums": (threads + 1) * 8 * m * (k + 8)}
    solved = {"matrix": 8 * m * m, **whole} if solver == "dense" else {**basis, **tiles, **start}
    return Footprint({**graph, **packed}, {"paths": paths, "solver": solved})


def tensor_scaling(n: int, k: int, *, solver: str, landmarks: int | None, itemsize: int, edges: int = 0) -> Footprint:
    """`scaling` on the device that holds the graph: a whole matrix of distances, and no copy of it."""
    m = n if landmarks is None else landmarks
    columns = most_columns(k, guard_pairs(k))
    graph = {"graph": 160 * edges}  # keys of both directions and their order, while it is made
    held = {**graph, "distances": itemsize * n * m}
    wide = {"rows in float64": 40 * min(n * m, 2**24)}  # at most 2²⁴ distances are compared with the map at a time
    solved = {"LAPACK": 24 * m * m} if solver == "dense" else {"basis and products": 32 * m * columns, **wide}
    small = {"centred": 8 * m * m} if m <= SMALL or landmarks is not None else {}
    return Footprint(held, {"paths": {"sources": 4 * n * min(m, 4096)}, "solver": {**small, **solved}, "map": wide})


def canonical(works: tuple[Workload, Workload], rank: int | None, k: int) -> Footprint:
    """Two factors, one after the other, and the products between them."""
    first, second = (factor(work, rank) for work in works)
    n, m = works[0].n, factor_columns(works[0].n, rank)
    one = {"the first factor": first.held["factor"]}
    both = {**one, "the second factor": second.held["factor"]}
    steps = {
        **first.as_steps("first view"),
        **{name: {**one, **parts} for name, parts in second.as_steps("second view").items()},
        "pairs": {**both, "products": small_products(works[0], m, m) + 2 * 8 * m * m, "scores": 32 * n * k},
        "maps": {**both, "coefficients": 2 * 3 * 8 * m * m},
    }
    return Footprint({}, steps)


def whole_canonical(works: tuple[Workload, Workload], k: int) -> Footprint:
    """Two kernel matrices, each factored in its own memory, and a search space of ten blocks in two versions."""
    n, width = works[0].n, max(16, k + 8)  # columns of a block of the search
    tried = 8 * n * (n // 10) * 2  # factors that show whether both matrices have a low rank
    one, both = {"the first matrix": 8 * n * n}, {"both matrices": 2 * 8 * n * n}
    forms = [{"points": work.points(8), "tiles": work.tiles(work.tile)} for work in works]
    return Footprint(
        {},
        {
            "ranks": {"factors": tried},
            "first view": {**one, **forms[0]},
            "second view": {**both, **forms[1]},
            "pairs": {**both, "search space": 2 * 10 * 8 * n * width, "scores and coefficients": 12 * 8 * n * width},
        },
    )


# A search among all rows uses each product for both of its rows from this many columns on. Every row then keeps the
# intervals of k + MIRRORED_ROOM candidates at a time. If those of all rows took more than MIRRORED_MOST bytes, each
# block of rows is searched by itself.
MIRRORED_FROM, MIRRORED_ROOM, MIRRORED_MOST = 150, 64, 2**28


def mirrored_search(n: int, k: int) -> int:
    """Bytes of the intervals of all rows: two ends and a column for each candidate; 0 if these would be too many."""
    size = 20 * n * (k + MIRRORED_ROOM)
    return size if size <= MIRRORED_MOST else 0


def neighbor_affinities(n: int, k: int) -> Footprint:
    """P over k neighbours of each row, from neighbours and distances to the symmetric matrix."""
    found = {"neighbours and weights": 8 * n * k}
    return Footprint(
        {},
        {
            "search": {"neighbours, distances and their squares": 20 * n * k},
            "affinities": {**found, "distances": 8 * n * k},
            # P has more entries than the rows have neighbours: a pair counts if either has the other
            "joint": {**found, "the transpose": 12 * n * k, "P": 20 * n * k},
        },
    )


def neighbor_map(n: int, k: int, c: int, width: int, itemsize: int, threads: int) -> Footprint:
    """A map of c dimensions by k neighbours of each row: the search, P, and the steps."""
    affinities = neighbor_affinities(n, k)
    held = {"rows in float32": 4 * n * width, "tiles": threads * 4 * 256 * 2048}
    intervals = {"candidates": mirrored_search(n, k)} if width >= MIRRORED_FROM else {}
    search = {**affinities.steps["search"], **intervals}
    steps = {**affinities.steps, "search": search, "steps": {"P": 2 * 12 * n * k, "forces": 20 * 4 * n * c}}
    return Footprint(held, steps)


def tensor_neighbor_map(n: int, k: int, c: int, width: int, itemsize: int, tile: int) -> Footprint:
    """The same map of tensors; `tile` are the bytes of a tile and what is computed from it."""
    found = {"neighbours and weights": 8 * n * k}
    return Footprint(
        {"tile": tile},
        {
            "search": {"rows in float32, sorted": 8 * n * width, "neighbours and squares": 24 * n * k},
            "joint": {**found, "the transpose": 16 * n * k, "P": 16 * n * k},
            "steps": {"P": 2 * 16 * n * k, "forces": 40 * 4 * n * c},
        },
    )


def landmark_neighbor_map(
    n: int, m: int, k: int, c: int, width: int, itemsize: int, threads: int, together: int
) -> Footprint:
    """A map of m landmarks by k neighbours of each, in which the other rows are placed, `together` at a time."""
    landmarks = neighbor_map(m, k, c, width, itemsize, threads)
    placed = min(together, max(n - m, 0))
    placement = {"rows": placed * width * itemsize, "neighbours and weights": 40 * placed * k, "steps": 80 * placed * c}
    return Footprint(
        {**landmarks.held, "rows of the landmarks": m * width * itemsize, "positions": 4 * n * c},
        {**landmarks.steps, "placement": placement},
    )


def stress_map(n: int, c: int, *, pair_bytes: int, monotone: bool, threads: int, scaled: int, given: bool) -> Footprint:
    """A map of c dimensions by dissimilarities of all pairs; `pair_bytes` of each are kept, 0 if none.

    scaled : rows that the start places by classical scaling: all, some landmarks, or 0 for another start
    given : whether the dissimilarities come as a matrix, of which the start takes copies
    """
    pairs = n * (n - 1) // 2
    steps: dict[str, Parts] = {}
    held = {"dissimilarities": 0 if monotone else pair_bytes * pairs}
    if monotone:  # sorted once; then the order, the disparities in it, and those in the order of the pairs
        steps["order"] = {"dissimilarities, their order and their ranks": 25 * pairs}
        held = {}
    copies = 6 if scaled < n else 4 if given else 1
    small = {"matrices of all rows or landmarks": 8 * scaled * (copies * scaled + largest_basis(scaled, c))}
    columns = (4 if given else 2) * 8 * n * scaled if scaled < n else 0  # unknown entries of a matrix are filled in
    at_start = {"dissimilarities while it starts": 8 * pairs} if monotone else {}
    blocks = threads * 4 * 8 * max(n, min(2**19, n * n))  # dissimilarities that a thread holds at a time
    steps["start"] = {**small, **at_start, "landmark columns": columns}
    steps["steps"] = {
        **({"order and disparities": (4 + 8 + pair_bytes) * pairs} if monotone else {}),
        "remembered steps": 30 * 8 * n * c,
        "sums": (threads + 1) * 8 * n * c,
        "blocks": blocks,
    }
    return Footprint(held, steps)


def stored_discriminants(work: Workload, classes: int) -> Footprint:
    """Discriminants by one Cholesky factor of the kernel matrix, which is in memory."""
    n = work.n
    return Footprint(
        {**_held(work), "kernel matrix": 8 * n * n, "points": work.points(8)},
        {
            "matrix": {"tiles": work.tiles(max(_LEAST_TILE, n // 4))},
            "centring": {"the centred matrix and temporaries": 3 * 8 * n * n},
            "factorisation": {"the centred matrix, its factor and inverse": 6 * 8 * n * n, "answer": 48 * n * classes},
        },
    )


def whole_discriminants(work: Workload, classes: int) -> Footprint:
    """Discriminants by one Cholesky factor in the memory of the kernel matrix; the penalty from a sample of 1500."""
    n, sample = work.n, min(work.n, 1500)
    return Footprint(
        {**_held(work), "kernel matrix": 8 * n * n},
        {
            "matrix": {"points": work.points(8), "tiles": work.tiles(work.tile)},
            "penalty": {"eigenvalues of a sample": 7 * 8 * sample * sample},
            "factorisation": {"answer": 80 * n * classes},
        },
    )


def streamed_discriminants(work: Workload, block: int, rank: int) -> Footprint:
    """Discriminants by conjugate gradients over streamed tiles, preconditioned by a factor in float32."""
    n = work.n
    return Footprint(
        {**_held(work), "points": work.points(8) + work.points(4), "factor": 4 * n * rank},
        {
            "start": {"strips": strips(work, rank, 4), "scatter": small_products(work, rank) + 4 * 8 * rank * rank},
            "passes": {
                "whitened factor": 4 * n * rank,
                "scatter": 4 * 8 * rank * rank,
                "blocks of vectors": 8 * 8 * n * block,
                "sums": work.sums(block),
                "tiles": work.tiles(512),
            },
        },
    )


def factor_discriminants(work: Workload, columns: int, sample: int, spectrum_up_to: int, start: int) -> Footprint:
    """Discriminants on a factor; `sample` rows are left out in turn.

    spectrum_up_to : columns up to which all eigenvalues of the scatter are computed. Beyond, penalties are tried one by
        one, from the best for `start` rows on
    """
    inner, m = factor(work, columns), factor_columns(work.n, columns)
    held = {**inner.held, "a copy of the rows": work.rows if work.copied else 0}
    rows = 8 * min(work.n, sample) * m
    penalty = {"scatter": 8 * m * m, "rows of a sample": rows}
    if m <= spectrum_up_to:
        tried = {"eigenvectors": 8 * m * m, "rows along them": max(2 * rows, 3 * 8 * m * m)}
    else:
        first = min(work.n, start)
        tried = {"penalties": max(8 * m * m + rows, 8 * first * m + 6 * 8 * first * first)}
    # Weighted rows of a run stand beside the rows, and its product beside the sum.
    steps = {"scatter": {"sums and runs of rows": 2 * small_products(work, m)}, "penalty": {**penalty, **tried}}
    return Footprint(held, {**inner.steps, **steps})


def left_out_rows(work: Workload, k: int, whole: int, entries: int) -> Footprint:
    """Distances of rows that are left out in turn: all eigenpairs up to `whole` rows, else one more pass over K."""
    n = work.n
    if n <= whole:
        steps: dict[str, Parts] = {"all eigenpairs": {"kernel matrix": 8 * n * n, "LAPACK and vectors": 8 * 8 * n * n}}
    else:
        steps = {"one more pass": {"rows of the kernel matrix": 5 * 8 * max(entries, n), "scores": 3 * 8 * n * k}}
    return Footprint({"points": work.points(8)}, steps)


def scaled_matrix(n: int, k: int, solver: str) -> Footprint:
    """Coordinates from a matrix of distances that is given."""
    solved = 3 * 8 * n * n if solver == "dense" else 4 * 8 * n * most_columns(k, guard_pairs(k))
    return Footprint(
        {},
        {
            "check": {"the matrix and its transpose": 2 * 8 * n * n},
            "solver": {"−½d²": 8 * n * n, "workspace": solved},
            "what is left over": {"−½d² and its square": 2 * 8 * n * n},
        },
    )


def regression_back(n: int, d: int, rank: int | None, matrices: int = 1) -> Parts:
    """The regression of rows on their scores: by n × n matrices, or by a factor of the scores' kernel."""
    if rank is None:
        return {"matrices of the scores": 8 * matrices * n * n, "rows and coefficients": 3 * 8 * n * d}
    return {
        "factor, its vectors and a temporary": 3 * 8 * n * rank,
        "products and weights": 8 * (4 * rank * rank + 3 * rank * d),
    }


def fourier_features(work: Workload, columns: int) -> Footprint:
    """Random features: frequencies, phases, and their cosines and sines."""
    m = max(2, columns)
    frequencies = 8 * m * work.d  # m/2 rows of d, and those on the way
    features = {"phases, cosines and sines": 5 * work.n * m * work.itemsize // 2}
    return Footprint(
        {"frequencies": frequencies},
        {"frequencies": {"directions": frequencies}, "features": {"shifted rows": work.rows, **features}},
    )


def axes(
    n: int, d: int, k: int, *, solver: str, itemsize: int, threads: int, stored: int = 0, copied: bool = True
) -> Footprint:
    """The principal axes of n rows of d columns; `stored` are the numbers of CSR rows, which stay sparse."""
    if solver == "covariance_eigh":
        row = itemsize * max(1, d)
        rows = max(1, min(n, product_rows(d, row)))
        slots = min(threads, -(-n // rows))
        products = {"products of each thread": 2 * slots * 8 * d * d, "chunks": slots * rows * row}
        return Footprint({}, {"pass": products, "eigenvectors": {"LAPACK": 5 * 8 * d * d}})
    if stored:
        lanczos = 8 * min(n, d) * max(20, 2 * k + 1)
        return Footprint({}, {"iterations": {"Lanczos vectors": lanczos, "axes": 4 * 8 * (n + d) * k}})
    rows, small = itemsize * n * d, min(n, d)
    held = {"centred rows": rows if copied else 0}
    if solver == "full":
        vectors = 2 * rows + itemsize * small * max(n, d)
        return Footprint(held, {"LAPACK": {"rows and singular vectors": vectors, "work": 4 * itemsize * small**2}})
    return Footprint(held, {"iterations": {"blocks of vectors": 20 * itemsize * (n + d) * (k + 10)}})
