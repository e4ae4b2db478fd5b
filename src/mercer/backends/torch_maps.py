"""Maps of SNE and t-SNE on tensors: weights of neighbours, attraction, repulsion on a grid, and the steps.

Everything that a step adds up is added in a fixed order, or in whole numbers, whose sums do not depend on the order:
the same tensors on the same device give the same bits in every run. `triton_maps` has the three sums that read the most
memory as single kernels, for devices that Triton compiles for.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from mercer.backends import slices
from mercer.backends.torch import fuses
from mercer.backends.torch_neighbors import csr_tensor, entries_on, joined_ranges

ORDER = 6  # of the splines, as in `compiled_grid`
FIXED = 2.0**32  # units of a node's weight: a whole number of these fits 64 bits for a thousand million points

_CLOSE, _WIDEST, _NOTHING, _STRIDE = 1e-7, 80.0, 1e-25, 2.0  # as in `compiled_affinities`
_LOOK = 4  # steps of Newton's method between two looks at whether all rows have converged
_CARD_GRID = 2**28  # ten milliseconds per call
_NODE_BYTES = 128  # of a card per number of a grid: a spectrum is made from several arrays in float64
_LONGEST_MATRIX = 2**13  # nodes along an axis: 130 MB of cosines
_BITS = {1: 24, 2: 12, 3: 8}  # of a Z-curve, as in `z_order`
_LEAST_GAIN, _GROW, _SHRINK = 0.01, 0.2, 0.8


@cache
def _kernels() -> Any:
    return import_module("mercer.backends.triton_maps")


def has_kernels(Y: torch.Tensor) -> bool:
    """Whether the sums over Y run as Triton kernels; float64 maps are too rare to compile for."""
    return Y.dtype == torch.float32 and fuses(Y)


# --- affinities -----------------------------------------------------------------------------------------------


def calibrated(D: torch.Tensor, log_perplexity: float, share: float, P: torch.Tensor) -> torch.Tensor:
    """Add to P, times `share`, the Gaussian weights whose entropy is `log_perplexity`; σ of each row, (m,) float64.

    Newton's method on log β within a bracket, as in `compiled_affinities.calibrate`, for many rows at a time.
    """
    widths = torch.empty(len(D), dtype=torch.float64, device=D.device)
    for run in slices(len(D), max(1, entries_on(D) // (8 * D.shape[1]))):
        widths[run] = _calibrated(D[run], log_perplexity, share, P[run])
    return widths


def _calibrated(D: torch.Tensor, log_perplexity: float, share: float, P: torch.Tensor) -> torch.Tensor:
    k = D.shape[1]
    far = D.amax(dim=1).double()
    floor = (D.amin(dim=1).double() / far)[:, None]
    ratios = D.double() / far[:, None]
    E = (ratios - floor).mul_(ratios + floor)
    mean = E.mean(dim=1)
    equal = ~(mean > 0) | bool(log_perplexity >= np.log(k))
    E = E.div_(mean[:, None])
    theta = torch.zeros_like(far)
    low, high = torch.full_like(far, -torch.inf), torch.full_like(far, torch.inf)
    done = equal.clone()
    for step in range(1, 200):  # bisection alone would need a hundred
        beta = theta.exp()
        W = torch.exp(-beta[:, None] * E)
        total, WE = W.sum(dim=1), W.mul_(E)
        first, second = WE.sum(dim=1) / total, WE.mul_(E).sum(dim=1) / total
        gap = total.log() + beta * first - log_perplexity
        done |= (gap.abs() < _CLOSE) | (theta.abs() > _WIDEST) | (high - low < 1e-12)
        if step % _LOOK == 0 and bool(done.all()):
            break
        low, high = torch.where(gap > 0, theta, low), torch.where(gap > 0, high, theta)
        slope = beta.square() * (second - first.square())
        stride = torch.where(slope > 0, gap / slope, torch.copysign(torch.full_like(gap, _STRIDE), gap))
        new = theta + stride.clamp(-_STRIDE, _STRIDE)
        new = torch.where((new > low) & (new < high), new, 0.5 * (low + high))
        theta = torch.where(done, theta, new)
    W = torch.exp(-theta.exp()[:, None] * E)
    total = W.sum(dim=1, keepdim=True)
    W = torch.where(_NOTHING * total < W, W / total, 0.0)
    P += (share * torch.where(equal[:, None], 1 / k, W)).to(P.dtype)
    return torch.where(equal, far, far * torch.sqrt(0.5 * mean / theta.exp()))


def fixed_width_weights(D: torch.Tensor, sigma: float) -> torch.Tensor:
    """Gaussian weights of one σ, (m, k) float32, each row summing to one."""
    P = torch.empty(D.shape, dtype=torch.float32, device=D.device)
    for run in slices(len(D), max(1, entries_on(D) // (4 * D.shape[1]))):
        scaled = D[run].double() / sigma
        nearest = scaled.amin(dim=1, keepdim=True)
        powers = torch.exp(-0.5 * (scaled - nearest) * (scaled + nearest))
        P[run] = powers / powers.sum(dim=1, keepdim=True)
    return P


def joint(indices: torch.Tensor, P: torch.Tensor) -> torch.Tensor:
    """(p_{j|i} + p_{i|j}) / 2n as a CSR tensor with sorted columns, from neighbours and weights (n, k).

    The entries of the transpose are found by one sort of the neighbours. Some rows at a time, both are merged by a sort
    of pairs, in which an edge that goes both ways stands twice.
    """
    n, k = indices.shape
    targets = indices.reshape(-1)
    order = targets.argsort(stable=True)
    counts = torch.bincount(targets, minlength=n)
    size = max(1, entries_on(P) // (2 * k))
    edges = [*range(0, n, size), n]
    heads = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    cuts = heads[torch.tensor(edges, device=heads.device)].tolist()
    columns, values, lengths = [], [], []
    for start, stop, first, last in zip(edges[:-1], edges[1:], cuts[:-1], cuts[1:], strict=True):
        back = order[first:last]
        out = torch.arange(start, stop, device=order.device)[:, None] - start
        keys = torch.cat(
            [
                (out * n + indices[start:stop]).reshape(-1),
                (targets[back].long() - start) * n + torch.div(back, k, rounding_mode="floor"),
            ]
        )
        weights = torch.cat([P[start:stop].reshape(-1), P.reshape(-1)[back]])
        keys, places = keys.sort()
        weights = weights[places]
        twice = torch.cat([keys[1:] == keys[:-1], keys.new_zeros(1, dtype=torch.bool)])
        follows = torch.cat([keys.new_zeros(1, dtype=torch.bool), twice[:-1]])
        weights = (weights + torch.where(twice, weights.roll(-1), 0.0))[~follows]
        keys = keys[~follows]
        rows = torch.div(keys, n, rounding_mode="floor")
        columns.append((keys - rows * n).int())
        values.append(weights * np.float32(0.5 / n))
        lengths.append(torch.bincount(rows, minlength=stop - start))
    starts = torch.cat([counts.new_zeros(1), torch.cat(lengths).cumsum(0)])
    return csr_tensor(starts, torch.cat(columns), torch.cat(values), (n, n))


def entropy(values: torch.Tensor) -> float:
    """Σ p log p in float64."""
    total = 0.0
    for run in slices(len(values), entries_on(values)):
        p = values[run].double()
        total += float(torch.special.xlogy(p, p).sum())
    return total


# --- the order in memory --------------------------------------------------------------------------------------


def curve_order(Y: torch.Tensor) -> torch.Tensor:
    """The order of the points (n, c), c ≤ 3, along the Z-curve through their bounding box."""
    c = Y.shape[1]
    low, high = Y.amin(dim=0), Y.amax(dim=0)
    width = float((high - low).max())
    if not width > 1e-30:
        return torch.arange(len(Y), device=Y.device)
    cells = ((Y - low) * ((2 ** _BITS[c] - 1) / width)).int()
    key = torch.zeros(len(Y), dtype=torch.int32, device=Y.device)
    for bit in range(_BITS[c]):
        for axis in range(c):
            key |= ((cells[:, axis] >> bit) & 1) << (bit * c + axis)
    return key.argsort(stable=True)


def reordered_csr(P: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """P[order][:, order]. The entries of a row keep the order that they have in P."""
    starts, columns, values = P.crow_indices(), P.col_indices(), P.values()
    places = torch.empty(len(order), dtype=columns.dtype, device=columns.device)
    places[order] = torch.arange(len(order), dtype=columns.dtype, device=columns.device)
    lengths = starts.diff()[order].long()
    heads = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)])
    entries = joined_ranges(starts[:-1][order].long(), lengths, len(values))
    return csr_tensor(heads, places[columns[entries]], values[entries], tuple(P.shape))


# --- attraction -----------------------------------------------------------------------------------------------


def attract(P: torch.Tensor, A: torch.Tensor, Y: torch.Tensor, a: float, b: float, s: float) -> torch.Tensor:
    """Σⱼ pᵢⱼ a / (b + s d²ᵢⱼ) (aᵢ − yⱼ) for each row of a CSR tensor, (m, c)."""
    if has_kernels(A) and A.shape[1] <= 3 and P.values().dtype == torch.float32:  # the kernel names three coordinates
        return _kernels().attract(P, A, Y, a, b, s)
    pull = torch.empty_like(A)
    for run, starts, rows, columns, weights in _edges(P, A.shape[1]):
        apart = A[rows] - Y[columns]
        strength = weights * a / (b + s * apart.square().sum(dim=1))
        pull[run] = _row_sums(strength[:, None] * apart, starts)
    return pull


def log_similarities(P: torch.Tensor, A: torch.Tensor, Y: torch.Tensor, a: float, b: float, s: float) -> torch.Tensor:
    """Σⱼ pᵢⱼ log wᵢⱼ of each row in float64, (m,)."""
    logs = torch.empty(len(A), dtype=torch.float64, device=A.device)
    for run, starts, rows, columns, weights in _edges(P, 2 * A.shape[1]):
        d2 = (A[rows].double() - Y[columns].double()).square().sum(dim=1)
        terms = torch.log1p(s * d2 / b) * (-a / s) if s > 0 else d2 * (-a / b)
        logs[run] = _row_sums(weights * terms, starts)
    return logs


def general_sums(P: torch.Tensor, A: torch.Tensor, Y: torch.Tensor, similarity: Any) -> tuple[Any, Any]:
    """The pull (m, c), and Σⱼ pᵢⱼ log wᵢⱼ (m,), for any similarity whose formulas take tensors."""
    pull, logs = torch.empty_like(A), torch.empty(len(A), dtype=torch.float64, device=A.device)
    for run, starts, rows, columns, weights in _edges(P, 2 * A.shape[1]):
        apart = A[rows].double() - Y[columns].double()
        d2 = apart.square().sum(dim=1)
        pull[run] = _row_sums((weights * similarity.log_slope(d2))[:, None] * apart, starts).to(A.dtype)
        logs[run] = _row_sums(weights * similarity.log_weight(d2), starts)
    return pull, logs


def _edges(P: torch.Tensor, numbers: int) -> Any:
    """Runs of rows with (run, their starts, and row, column and weight of each stored entry).

    numbers : how many numbers each entry takes on the way, which bounds the entries of a run
    """
    starts, columns, values = P.crow_indices().long(), P.col_indices(), P.values()
    n, most = P.shape[0], max(1, entries_on(values) // (2 * numbers))
    size = max(1, min(n, int(most * n / max(1, len(values)))))
    cuts = [*range(0, n, size), n]
    ends = starts[torch.tensor(cuts, device=starts.device)].tolist() if size < n else [0, len(values)]
    for top, bottom, first, last in zip(cuts[:-1], cuts[1:], ends[:-1], ends[1:], strict=True):
        heads = starts[top : bottom + 1] - first
        rows = torch.repeat_interleave(
            torch.arange(top, bottom, device=starts.device), heads.diff(), output_size=last - first
        )
        yield slice(top, bottom), heads, rows, columns[first:last], values[first:last]


def _row_sums(values: torch.Tensor, starts: torch.Tensor) -> torch.Tensor:
    """Sums of runs of rows of `values`, each in order."""
    return torch.segment_reduce(values, "sum", offsets=starts, axis=0, unsafe=True, initial=0)


# --- all pairs ------------------------------------------------------------------------------------------------


def all_pairs(similarity: Any, new: torch.Tensor, fixed: torch.Tensor, same: bool) -> tuple[Any, Any]:
    """G (m, c) and the contribution of each row to Z (m,), both float64, pair by pair in float64."""
    G = torch.empty(new.shape, dtype=torch.float64, device=new.device)
    Z = torch.empty(len(new), dtype=torch.float64, device=new.device)
    others = fixed.double()
    for run in slices(len(new), max(1, entries_on(new) // (8 * len(fixed)))):
        rows = new[run].double()
        apart = [rows[:, None, axis] - others[None, :, axis] for axis in range(new.shape[1])]
        d2 = sum(difference.square() for difference in apart)
        weights, slopes = similarity.weight(d2), similarity.slope(d2)
        if same:
            weights.diagonal(offset=run.start).zero_()
        Z[run] = weights.sum(dim=1)
        for axis, difference in enumerate(apart):
            G[run, axis] = (slopes * difference).sum(dim=1)
    return G, Z


def short_range(
    Y: torch.Tensor, low: Any, side: float, shape: Any, reach: int, softness: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Σ_j −v'(d²)(yᵢ − yⱼ) and Σ_{j≠i} v(d²), v(d²) = exp(−softness (1 + d²)) / (1 + d²), over the cells around."""
    c, lengths = Y.shape[1], [int(length) for length in shape]
    low = torch.as_tensor(low, dtype=torch.float64, device=Y.device)
    top = torch.tensor(lengths, device=Y.device) - 1
    cells = torch.minimum(((Y.double() - low) * (1 / side)).long().clamp(min=0), top)
    number = cells[:, 0]
    for axis in range(1, c):
        number = number * lengths[axis] + cells[:, axis]
    order = number.argsort(stable=True)
    points, cells = Y[order].double(), cells[order]
    total = int(np.prod(lengths))
    heads = torch.cat([order.new_zeros(1), torch.bincount(number, minlength=total).cumsum(0)])
    G, Z = torch.zeros_like(points), torch.zeros(len(Y), dtype=torch.float64, device=Y.device)
    columns = lengths[-1]
    left, right = (cells[:, -1] - reach).clamp(min=0), (cells[:, -1] + reach + 1).clamp(max=columns)
    offsets = torch.cartesian_prod(*(torch.arange(-reach, reach + 1),) * (c - 1)).reshape(-1, c - 1).tolist()
    for offset in offsets:  # a row of cells beside that of the point
        beside = cells[:, :-1] + torch.tensor(offset, device=Y.device)
        inside = ((beside >= 0) & (beside <= top[:-1])).all(dim=1)
        row = beside[:, 0].clone()
        for axis in range(1, c - 1):
            row = row * lengths[axis] + beside[:, axis]
        row = torch.where(inside, row, 0) * columns
        begin, count = heads[row + left], torch.where(inside, heads[row + right] - heads[row + left], 0)
        _add_runs(points, begin, count, softness, G, Z)
    own = float(np.exp(-softness))
    push, rows = torch.empty_like(G), torch.empty_like(Z)
    push[order], rows[order] = G, Z - own
    return push, rows


def _add_runs(points: Any, begin: Any, count: Any, softness: float, G: Any, Z: Any) -> None:
    """Add to G and Z what each point has from the points begin … begin + count − 1, some pairs at a time."""
    ends = count.cumsum(0)
    room = entries_on(points) // 16
    cuts = torch.searchsorted(ends, torch.arange(room, int(ends[-1]) + room, room, device=ends.device)).tolist()
    edges = sorted({0, *(min(cut + 1, len(points)) for cut in cuts), len(points)})
    for first, last in pairwise(edges):
        sizes = count[first:last]
        starts = torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])
        pairs = int(starts[-1])
        if not pairs:
            continue
        others = joined_ranges(begin[first:last], sizes, pairs)
        rows = torch.repeat_interleave(torch.arange(first, last, device=sizes.device), sizes, output_size=pairs)
        apart = points[rows] - points[others]
        q = 1 / (1 + apart.square().sum(dim=1))
        w = q * torch.exp(-softness / q)
        Z[first:last] += _row_sums(w, starts)
        G[first:last] += _row_sums((w * (softness + q))[:, None] * apart, starts)


# --- the grid -------------------------------------------------------------------------------------------------


def kernel_spectrum(
    weight: Any, spacing: float, lengths: tuple[int, ...], splines: list[np.ndarray], device: Any
) -> tuple[torch.Tensor, float, np.ndarray]:
    """The spectrum of w less a constant; the constant; and the kernel that the grid makes of it near 0.

    The spectrum is divided by that of the splines, twice, and by the units in which points are added to nodes.
    The kernel is even along every axis, so a cosine transform of one octant holds all of it. Up to some thousand nodes
    along an axis it is a product with a matrix of cosines, so that a card sets up no transform in float64 for it.
    """
    d2: Any = 0.0
    axes = range(len(lengths))
    for axis, m in enumerate(lengths):
        steps = torch.arange(m // 2 + 1, dtype=torch.float64, device=device) * spacing
        d2 = d2 + steps.square().reshape([-1 if k == axis else 1 for k in axes])
    constant = float(weight(np.square(max(lengths) / 2 * spacing)))
    S = weight(d2) - constant
    for axis, spline in enumerate(splines):
        twice = torch.as_tensor(spline**2, device=device).reshape([-1 if k == axis else 1 for k in axes])
        S = _cosine_transform(S, axis) / twice
    near = S
    for axis, m in enumerate(lengths):
        back = _cosines(min(ORDER, m // 2 + 1), m, device) / m
        near = torch.tensordot(back, near, dims=([1], [axis])).movedim(0, axis)
    for axis, m in enumerate(lengths[:-1]):  # the transform of real numbers leaves out the mirror image of the last
        S = S.index_select(axis, _mirrored(m, device))
    return S / FIXED, constant, near.cpu().numpy()


def _mirrored(m: int, device: Any) -> torch.Tensor:
    """The places 0 … m − 1 of an even function of period m among 0 … m/2."""
    places = torch.arange(m, device=device)
    return torch.minimum(places, m - places)


def _cosines(rows: int, m: int, device: Any) -> torch.Tensor:
    """(rows, m/2 + 1): the matrix by which the first m/2 + 1 values of an even function of period m are transformed."""
    places = torch.arange(m // 2 + 1, device=device)
    angles = (torch.arange(rows, device=device)[:, None] * places) % m  # exact, however large the product is
    twice = torch.where((places == 0) | (2 * places == m), 1.0, 2.0).double()
    return torch.cos(angles.double() * (2 * np.pi / m)) * twice


def _cosine_transform(values: torch.Tensor, axis: int) -> torch.Tensor:
    """Along an axis, from the first m/2 + 1 values of an even function of period m to those of its transform."""
    m = 2 * (values.shape[axis] - 1)
    if m > _LONGEST_MATRIX:
        whole = values.index_select(axis, _mirrored(m, values.device))
        return torch.fft.rfft(whole, dim=axis).real
    return torch.tensordot(_cosines(m // 2 + 1, m, values.device), values, dims=([1], [axis])).movedim(0, axis)


def convolved(density: torch.Tensor, spectrum: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
    """The convolution with the kernel, on the nodes, of a density in whole numbers of 1/`FIXED`, (nodes)."""
    F = torch.fft.rfftn(density.to(spectrum.dtype), s=lengths)
    torch.view_as_real(F).mul_(spectrum[..., None])
    field = torch.fft.irfftn(F, s=lengths)
    return field[tuple(slice(m) for m in density.shape)]


def _polynomials() -> np.ndarray:
    """(6, 12): the coefficients of the powers of t in the six weights of a spline of order 6, and in their slopes."""
    from scipy.interpolate import BSpline, PPoly

    pieces = PPoly.from_spline(BSpline.basis_element(np.arange(ORDER + 1), extrapolate=False))
    coefficients = [pieces.c[::-1, np.flatnonzero(pieces.x[:-1] == j)[-1]] for j in range(ORDER)]
    values = np.stack(coefficients[::-1], axis=1)  # the first node lies under the spline's last piece
    slopes = np.zeros_like(values)
    slopes[:-1] = values[1:] * np.arange(1, ORDER)[:, None]
    return np.concatenate([values, slopes], axis=1)


@cache
def _polynomials_on(device: torch.device) -> torch.Tensor:
    return torch.as_tensor(_polynomials(), dtype=torch.float64, device=device)


def _windows(Y: torch.Tensor, low: torch.Tensor, scale: float, nodes: tuple[int, ...]) -> list[Any]:
    """For each axis the first node that a point reaches, its six weights, their slopes, and the fraction of a cell.

    Points beyond the grid are taken to its edge: what they get is wrong, and `GridPlan` says so.
    """
    found = []
    for axis, m in enumerate(nodes):
        x = ((Y[:, axis] - low[axis]) * scale).nan_to_num(0.0).clamp(0, m - ORDER + 0.999)
        cell = x.floor()
        t = (x - cell).double()
        powers = t[:, None] ** torch.arange(ORDER, dtype=torch.float64, device=Y.device)
        both = powers @ _polynomials_on(Y.device)
        found.append((cell.long(), both[:, :ORDER], both[:, ORDER:], t))
    return found


def spread(Y: torch.Tensor, low: torch.Tensor, spacing: float, nodes: tuple[int, ...]) -> torch.Tensor:
    """How much of the points each node has, as whole numbers of 1/`FIXED`, (nodes)."""
    if has_kernels(Y):
        return _kernels().spread(Y, low, 1 / spacing, nodes)
    grid = torch.zeros(int(np.prod(nodes)), dtype=torch.int64, device=Y.device)
    for run in _point_runs(Y):
        places, shares = _reached(_windows(Y[run], low, 1 / spacing, nodes), nodes)
        grid.scatter_add_(0, places.reshape(-1), (shares * FIXED).long().reshape(-1))
    return grid.reshape(nodes)


def _point_runs(Y: torch.Tensor) -> Any:
    return slices(len(Y), max(1, entries_on(Y) // (4 * ORDER ** Y.shape[1])))


def _reached(windows: list[Any], nodes: tuple[int, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """The numbers of the nodes that points reach, (m, 6, … 6), and the product of their weights."""
    places: Any = 0
    shares: Any = 1.0
    c = len(nodes)
    for axis, (cell, weights, _, _) in enumerate(windows):
        shape = [len(cell), *(ORDER if k == axis else 1 for k in range(c))]
        along = cell[:, None] + torch.arange(ORDER, device=cell.device)
        places = places * nodes[axis] + along.reshape(shape)
        shares = shares * weights.reshape(shape)
    return places, shares


def gather(
    Y: torch.Tensor, low: torch.Tensor, spacing: float, field: torch.Tensor, own: Any, own_slope: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """−½∇Φ (m, c) and Φ (m,) at points, without what `own` and `own_slope` say that a point does to itself.

    own, own_slope : (steps + 1,) tables over the fractions of a cell, or None
    """
    if has_kernels(Y) and field.dtype == torch.float32:
        return _kernels().gather(Y, low, 1 / spacing, field, own, own_slope)
    G, Z = torch.empty(Y.shape, dtype=torch.float64, device=Y.device), Y.new_empty(len(Y), dtype=torch.float64)
    nodes = tuple(field.shape)
    flat = field.contiguous().reshape(-1)
    for run in _point_runs(Y):
        windows = _windows(Y[run], low, 1 / spacing, nodes)
        near = flat[_reached(windows, nodes)[0]].double()
        for axis in range(len(nodes)):
            G[run, axis] = _contracted(near, [w[2] if k == axis else w[1] for k, w in enumerate(windows)])
        Z[run] = _contracted(near, [w[1] for w in windows])
        for axis, (_, _, _, t) in enumerate(windows if own is not None else ()):
            Z[run] -= _looked_up(own, t)
            G[run, axis] -= _looked_up(own_slope, t)
    return G.mul_(-0.5 / spacing), Z


def _contracted(values: torch.Tensor, factors: list[torch.Tensor]) -> torch.Tensor:
    for factor in reversed(factors):
        values = (values * factor.reshape(len(factor), *(1,) * (values.ndim - 2), ORDER)).sum(dim=-1)
    return values


def _looked_up(table: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    x = t * (len(table) - 1)
    m = x.floor().long().clamp(max=len(table) - 2)
    return table[m] + (x - m) * (table[m + 1] - table[m])


def parabola(slope: float, new: torch.Tensor, fixed: torch.Tensor, same: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The sums for w = 1 − slope d², which need the mean and the inertia of the fixed points alone."""
    origin = fixed[0].double()
    apart = fixed.double() - origin
    mean = apart.mean(dim=0)
    away = (new.double() - origin) - mean
    inertia = (apart - mean).square().sum()
    rows = len(fixed) - int(same) - slope * (len(fixed) * away.square().sum(dim=1) + inertia)
    return slope * len(fixed) * away, rows


# --- steps ----------------------------------------------------------------------------------------------------


def step(
    Y: torch.Tensor,
    update: torch.Tensor,
    gains: torch.Tensor,
    pull: torch.Tensor,
    push: torch.Tensor,
    strength: float,
    weights: Any,
    rate: float,
    momentum: float,
    longest: float,
    free: torch.Tensor | None,
) -> torch.Tensor:
    """One step along −(strength · pull − weights · push), in place; the sum of squares of the gradient, on the device.

    The gains are those of `compiled_attraction.descend`.
    """
    if has_kernels(Y):
        rule = _GROW, _SHRINK, _LEAST_GAIN
        motion = rate, momentum, longest
        return _kernels().step(Y, update, gains, pull, push, strength, weights, motion, rule, free)
    slope = strength * pull - weights * push
    against = (slope > 0) != (update > 0)
    new_gains = torch.where(against, gains + _GROW, (gains * _SHRINK).clamp(min=_LEAST_GAIN))
    new = (momentum * update - (rate * new_gains) * slope).clamp(-longest, longest)
    if free is not None:
        held = ~free[:, None]
        new_gains, new = torch.where(held, gains, new_gains), torch.where(held, update, new)
        slope = slope.masked_fill(held, 0.0)
        Y += new.masked_fill(held, 0.0)
    else:
        Y += new
    gains.copy_(new_gains)
    update.copy_(new)
    return slope.double().square().sum()


def most_nodes(Y: torch.Tensor, on_host: int) -> int:
    """The numbers of a padded grid that a map may take: `on_host` in the host's memory, more on a card, by its size."""
    if Y.device.type != "cuda":
        return on_host
    return min(_CARD_GRID, torch.cuda.get_device_properties(Y.device).total_memory // _NODE_BYTES)


# --- corners --------------------------------------------------------------------------------------------------


def corners(Y: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest coordinate along each axis, as NumPy arrays in float64."""
    both = torch.stack([Y.amin(dim=0), Y.amax(dim=0)]).double().cpu().numpy()
    return both[0], both[1]


def inner_corners(Y: torch.Tensor, left_out: int) -> tuple[np.ndarray, np.ndarray]:
    """The corners of the points without the outermost `left_out` at each end of an axis."""
    count = min(left_out, len(Y) - 1) + 1
    low = Y.topk(count, dim=0, largest=False).values[-1]
    high = Y.topk(count, dim=0).values[-1]
    both = torch.stack([low, high]).double().cpu().numpy()
    return both[0], both[1]


def weighted_medians(indices: torch.Tensor, weights: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """The weighted median of the positions of each row's neighbours, coordinate by coordinate, (m, c)."""
    out = torch.empty((len(indices), Y.shape[1]), dtype=Y.dtype, device=Y.device)
    for run in slices(len(indices), max(1, entries_on(Y) // (8 * indices.shape[1]))):
        for axis in range(Y.shape[1]):
            places, order = Y[indices[run], axis].sort(dim=1, stable=True)
            sums = weights[run].gather(1, order).double().cumsum(dim=1)
            middle = (sums >= 0.5 * sums[:, -1:]).int().argmax(dim=1)
            out[run, axis] = places.gather(1, middle[:, None])[:, 0]
    return out


def weighted_means(indices: torch.Tensor, weights: torch.Tensor, Y: torch.Tensor) -> torch.Tensor:
    """The weighted mean of the positions of each row's neighbours, (m, c)."""
    out = torch.empty((len(indices), Y.shape[1]), dtype=Y.dtype, device=Y.device)
    for run in slices(len(indices), max(1, entries_on(Y) // (8 * indices.shape[1]))):
        out[run] = (weights[run].double()[:, :, None] * Y[indices[run]].double()).sum(dim=1).to(Y.dtype)
    return out
