"""The k nearest rows of tensors: few candidates from tiles of rounded dot products, and their distances exactly.

A tile gives ‖a − b‖² = ‖a‖² + ‖b‖² − 2⟨a, b⟩ to within e (‖a‖² + ‖b‖²). With (1 − e)‖a‖² in place of ‖a‖² it is a lower
bound of the squared distance. A row keeps the columns with the K least bounds, K a little more than k, and computes
their distances from the rows themselves, in float64. No other column is nearer than the largest of these K bounds, the
floor. If the k-th distance lies below the floor the row is decided; the others are searched again in float64, and what
that leaves undecided (copies) by the distances to all rows. No sum is taken in an undefined order, so the answer has
the same bits in every run.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import torch

from mercer.backends import slices

# Numbers of a tile and its columns: a processor's tile stays in its cache, a card needs a large one to be busy.
_ENTRIES = {"cpu": 2**20, "cuda": 2**28}
# Bytes of a card per number of a tile. All its memory counts, not only what is free, so that tiles are always the same.
_TILE_SHARE = 256
_COLUMNS = {"cpu": 2**12, "cuda": 2**15}
_GROUP = 16  # columns whose least is found first: selecting among groups reads a sixteenth of the numbers
_SLACK = 20  # roundings of a bound besides those of the dot product's own terms
_FAR = 2.0**20  # of the indexed rows' unit: beyond it squares of new rows would overflow float32
_SAMPLE = 1000  # rows whose median is the centre: enough for a rough one
_TF32 = 2.0**-10  # what TF32, if the user has allowed it, rounds off a product of two numbers, twice over


class ExactTensors(NamedTuple):
    """Rows as they are compared exactly; squared distances are ‖x − y‖² + extraₓ + extraᵧ.

    extra : (n,) float64, 1 for a row of zeros under a metric of angles, which is perpendicular to every other row
    """

    rows: torch.Tensor
    extra: torch.Tensor

    def take(self, index: Any) -> ExactTensors:
        return ExactTensors(self.rows[index], self.extra[index])


class RoundedTensors(NamedTuple):
    """Rows in the precision of a tile, centred and scaled, and (1 − e)‖x‖²."""

    rows: torch.Tensor
    norms: torch.Tensor

    def take(self, index: Any) -> RoundedTensors:
        return RoundedTensors(self.rows[index], self.norms[index])


class Found(NamedTuple):
    """Columns (m, k), nearest first, their squared distances in float64, and whether each row is decided (m,)."""

    columns: torch.Tensor
    squares: torch.Tensor
    decided: torch.Tensor


def entries_on(X: torch.Tensor) -> int:
    """The numbers that one tile may hold where X lives."""
    return _entries_on(X.device)


@cache
def _entries_on(device: torch.device) -> int:
    if device.type != "cuda":
        return _ENTRIES["cpu"]
    return min(_ENTRIES["cuda"], torch.cuda.get_device_properties(device).total_memory // _TILE_SHARE)


def _columns_on(X: torch.Tensor) -> int:
    return _COLUMNS["cuda" if X.device.type == "cuda" else "cpu"]


def tile_bytes(X: torch.Tensor) -> int:
    """What a tile of rows beside one another takes in float32, with the numbers that are computed from it."""
    return 16 * min(entries_on(X), X.shape[0] ** 2)


# --- rows -----------------------------------------------------------------------------------------------------


def exact_tensors(X: torch.Tensor, angles: str) -> ExactTensors:
    """The rows as they are, or as unit vectors for the metrics "cosine" and "correlation"."""
    zeros = torch.zeros(len(X), dtype=torch.float64, device=X.device)
    if not angles:
        return ExactTensors(X, zeros)
    X = X / sizes(X)[:, None].to(X.dtype)  # so that means and squares of rows of any size are safe
    if angles == "correlation":
        X = X - X.mean(dim=1, keepdim=True, dtype=torch.float64).to(X.dtype)
        flat = X.abs().amax(dim=1) <= 4 * torch.finfo(X.dtype).eps  # all entries equal, up to the rounding of the mean
        X = torch.where(flat[:, None], torch.zeros((), dtype=X.dtype, device=X.device), X)
        X = X / sizes(X)[:, None].to(X.dtype)
    lengths = torch.linalg.vector_norm(X, dim=1, dtype=torch.float64)
    nowhere = lengths == 0
    units = X / torch.where(nowhere, 1.0, lengths)[:, None].to(X.dtype)
    return ExactTensors(units, nowhere.double())


def sizes(X: torch.Tensor) -> torch.Tensor:
    """A power of two near the largest entry of each row, (n,) float64; 1 for a row of zeros."""
    largest = X.abs().amax(dim=1).double()
    exponents = torch.frexp(largest)[1].clamp(-1020, 1020)
    return torch.where(largest > 0, torch.exp2(exponents.double()), 1.0)


def centre_of(X: torch.Tensor) -> torch.Tensor:
    """The median of some rows in each column, (d,) float64. It stays with the majority if one row is far away."""
    return X[:: max(1, len(X) // _SAMPLE)].median(dim=0).values.double()


def reach_of(X: torch.Tensor, centre: torch.Tensor | None) -> float:
    """The largest |x − centre| of any entry, or up to twice that."""
    middle = 0.0 if centre is None else 0.5 * centre
    high, low = 0.5 * X.amax(dim=0).double() - middle, 0.5 * X.amin(dim=0).double() - middle
    reach = 2 * max(float(high.abs().max()), float(low.abs().max()))  # halves: a difference may not overflow
    return min(reach, float(torch.finfo(torch.float64).max))


def classes_of(Y: torch.Tensor, unit: float, centre: torch.Tensor | None) -> list[torch.Tensor]:
    """The rows of Y in groups that can share a unit: those near the indexed rows, and the others by size."""
    size = sizes(Y)
    middle = 0.0 if centre is None else float(centre.abs().max())
    kinds = torch.where(size > _FAR * max(unit, middle), torch.log2(size) // 256 + 100, 0.0)
    return [torch.nonzero(kinds == kind)[:, 0] for kind in torch.unique(kinds).tolist()]


def is_beyond(reach: float, unit: float) -> bool:
    """Whether rows lie so far out that they need a larger unit."""
    return reach > _FAR * unit


def rounding(terms: int, dtype: torch.dtype, device: torch.device) -> float:
    """e with |computed − true| ≤ e (‖a‖² + ‖b‖²) for tiles in `dtype` of rows of `terms` numbers."""
    e = (terms + _SLACK) * torch.finfo(dtype).eps / 2
    tf32 = dtype == torch.float32 and device.type == "cuda" and torch.backends.cuda.matmul.allow_tf32
    return e + _TF32 if tf32 else e


def rounded_tensors(exact: ExactTensors, centre: Any, unit: float, dtype: torch.dtype) -> RoundedTensors:
    """(x − centre) / unit in `dtype`, some rows at a time, so that float64 copies stay small."""
    rows = torch.empty(exact.rows.shape, dtype=dtype, device=exact.rows.device)
    norms = torch.empty(len(rows), dtype=dtype, device=rows.device)
    e = rounding(rows.shape[1], dtype, rows.device)
    for run in slices(len(rows), max(1, entries_on(rows) // max(1, 4 * rows.shape[1]))):
        part = exact.rows[run].double() * (1 / unit)
        rows[run] = part if centre is None else part.sub_(centre * (1 / unit))
        norms[run] = (1 - e) * (rows[run].double().square().sum(dim=1) + exact.extra[run])
    return RoundedTensors(rows, norms)


# --- candidates -----------------------------------------------------------------------------------------------


def least(keys: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` least keys of each row and their places, in no particular order.

    They lie in the `count` groups of columns whose own least keys are least, so most keys are read once. The columns of
    a group are far apart: neighbouring columns belong to neighbouring groups, so a GPU reads them together.
    """
    m, width = keys.shape
    if width < 4 * _GROUP * count:
        return keys.topk(min(count, width), dim=1, largest=False, sorted=False)
    if width % _GROUP:
        keys = torch.nn.functional.pad(keys, (0, -width % _GROUP), value=torch.inf)
    groups = keys.view(m, _GROUP, -1)
    chosen = groups.amin(dim=1).topk(count, dim=1, largest=False, sorted=False).indices
    some = groups.gather(2, chosen[:, None, :].expand(-1, _GROUP, -1)).view(m, -1)
    values, places = some.topk(count, dim=1, largest=False, sorted=False)
    return values, places // count * groups.shape[2] + chosen.gather(1, places % count)


def candidates(
    left: RoundedTensors, right: RoundedTensors, own: torch.Tensor, count: int, groups: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns (m, ≤ count) with the least bounds, and the floor (m,): no other column's squared distance is below it.

    own : (m,), the column that a row leaves out; −1 leaves out none. With `groups`, the group of each column, a row
        leaves out all columns of the group `own`
    """
    keys = places = None
    m, n = len(left.rows), len(right.rows)
    for tile in slices(n, max(_columns_on(left.rows), entries_on(left.rows) // (2 * m))):  # few rows get wide tiles
        found = torch.addmm(right.norms[tile], left.rows, right.rows[tile].T, alpha=-2)
        _leave_out(found, own, tile, None if groups is None else groups[tile])
        values, columns = least(found, count)
        columns = columns + tile.start
        if keys is None or places is None:
            keys, places = values, columns
            continue
        keys, places = torch.cat([keys, values], dim=1), torch.cat([places, columns], dim=1)
        if keys.shape[1] > count:
            keys, chosen = keys.topk(count, dim=1, largest=False, sorted=False)
            places = places.gather(1, chosen)
    assert keys is not None and places is not None
    floor = keys.amax(dim=1).double() + left.norms.double()
    if keys.shape[1] == n:  # every column is a candidate
        floor = torch.full_like(floor, torch.inf)
    return places, floor


def _leave_out(keys: torch.Tensor, own: torch.Tensor, tile: slice, groups: torch.Tensor | None) -> None:
    if groups is not None:
        keys.masked_fill_(own[:, None] == groups[None, :], torch.inf)
        return
    inside = (own >= tile.start) & (own < tile.stop)
    places = torch.where(inside, own - tile.start, 0)[:, None]
    keys.scatter_(1, places, torch.where(inside[:, None], torch.inf, keys.gather(1, places)))


def squares_of(left: ExactTensors, right: ExactTensors, columns: torch.Tensor, inverse: float) -> torch.Tensor:
    """‖x − y‖² · inverse² of each row and its columns (m, K), coordinate by coordinate in float64."""
    out = torch.empty(columns.shape, dtype=torch.float64, device=columns.device)
    d = max(1, left.rows.shape[1])
    for run in slices(len(columns), max(1, entries_on(columns) // (4 * d * max(1, columns.shape[1])))):
        apart = right.rows[columns[run]].double()
        if inverse != 1:
            apart.mul_(inverse)
        apart.sub_((left.rows[run].double() * inverse)[:, None, :])
        out[run] = apart.square_().sum(dim=2)
        out[run] += left.extra[run, None] + right.extra[columns[run]]
    return out


def pair_squares(left: ExactTensors, right: ExactTensors, i: Any, j: Any, inverse: float) -> torch.Tensor:
    """‖xᵢ − yⱼ‖² · inverse² of the pairs (i, j), (m,)."""
    out = torch.empty(len(i), dtype=torch.float64, device=left.rows.device)
    for run in slices(len(i), max(1, entries_on(out) // (4 * max(1, left.rows.shape[1])))):
        apart = left.rows[i[run]].double() * inverse - right.rows[j[run]].double() * inverse
        out[run] = apart.square_().sum(dim=1) + left.extra[i[run]] + right.extra[j[run]]
    return out


def all_squares(left: ExactTensors, right: ExactTensors, inverse: float) -> torch.Tensor:
    """‖x − y‖² · inverse² of all pairs, coordinate by coordinate in float64."""
    A, B = (part.rows.double() * inverse for part in (left, right))
    squares = torch.cdist(A, B, compute_mode="donot_use_mm_for_euclid_dist").square_()
    return squares.add_(left.extra[:, None]).add_(right.extra[None, :])


def in_order(columns: torch.Tensor, squares: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k nearest of each row in order; of equal distances the smaller column comes first."""
    columns, order = columns.sort(dim=1)
    squares, second = squares.gather(1, order).sort(dim=1, stable=True)
    return columns.gather(1, second[:, :k]), squares[:, :k].contiguous()


def nearest_by_bounds(
    left: ExactTensors,
    right: ExactTensors,
    rounded: tuple[RoundedTensors, RoundedTensors],
    own: torch.Tensor,
    k: int,
    count: int,
    inverse: float,
    groups: torch.Tensor | None = None,
) -> Found:
    """The k nearest of a block of rows, from `count` candidates."""
    places, floor = candidates(*rounded, own, count, groups)
    squares = squares_of(left, right, places, inverse)
    left_out = own[:, None] == (places if groups is None else groups[places])
    columns, squares = in_order(places, squares.masked_fill_(left_out, torch.inf), k)
    return Found(columns, squares, squares[:, -1] < floor)


def count_nearer(
    left: ExactTensors,
    right: ExactTensors,
    rounded: tuple[RoundedTensors, RoundedTensors],
    own: torch.Tensor,
    limits: torch.Tensor,
    inverse: float,
) -> torch.Tensor:
    """(m, k), how many columns other than `own` are nearer to each row than each of its limits, squared distances.

    A tile leaves an interval for every squared distance. Pairs whose interval holds a limit, few unless distances are
    equal, are computed again.
    """
    coarse, columns = rounded
    eps, e = torch.finfo(coarse.rows.dtype).eps, rounding(coarse.rows.shape[1], coarse.rows.dtype, coarse.rows.device)
    width = 1.001 * 2 * e / (1 - e) + 8 * eps  # with what rounds off below
    wide = coarse.norms.double()[:, None]
    reach, slack = limits - wide, 2 * eps * (limits + wide)
    surely, maybe = (part.to(coarse.rows.dtype) for part in (reach - slack, reach + slack))
    counts = torch.zeros(limits.shape, dtype=torch.int64, device=limits.device)
    m, n = len(left.rows), len(right.rows)
    for tile in slices(n, max(1, entries_on(left.rows) // (8 * m))):
        low = torch.addmm(columns.norms[tile], coarse.rows, columns.rows[tile].T, alpha=-2)
        _leave_out(low, own, tile, None)
        high = low + width * (coarse.norms[:, None] + columns.norms[tile])
        open_pairs = torch.zeros(low.shape, dtype=torch.bool, device=low.device)
        for s in range(limits.shape[1]):
            sure = high < surely[:, s : s + 1]
            counts[:, s] += sure.sum(dim=1)
            open_pairs |= (low <= maybe[:, s : s + 1]) & ~sure
        i, j = torch.nonzero(open_pairs, as_tuple=True)  # once per tile, because the host waits for it
        for run in slices(len(i), max(1, entries_on(left.rows) // (8 * limits.shape[1]))):
            row, column = i[run], j[run]
            squares = pair_squares(left, right, row, column + tile.start, inverse)
            undecided = (low[row, column, None] <= maybe[row]) & ~(high[row, column, None] < surely[row])
            counts.index_add_(0, row, (undecided & (squares[:, None] < limits[row])).to(counts.dtype))
    return counts


def smallest(D: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns and values of the k smallest entries of each row, in order; of equal values the first columns."""
    bound = D.topk(k, dim=1, largest=False).values[:, -1:]
    rows, columns = torch.nonzero(bound >= D, as_tuple=True)  # at least k per row, more if values are equal
    values, order = D[rows, columns].sort(stable=True)  # columns rise within a row already
    rows, columns = rows[order], columns[order]
    rows, order = rows.sort(stable=True)
    starts = torch.searchsorted(rows, torch.arange(len(D), device=D.device))
    chosen = order[starts[:, None] + torch.arange(k, device=D.device)]
    return columns[chosen], values[chosen]


# --- cells ----------------------------------------------------------------------------------------------------


def nearest_centre(rows: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
    """The nearest centre of each row, (n,)."""
    half = centres.square().sum(dim=1) / 2
    labels = torch.empty(len(rows), dtype=torch.int64, device=rows.device)
    for run in slices(len(rows), max(1, entries_on(rows) // len(centres))):
        labels[run] = torch.addmm(half, rows[run], centres.T, alpha=-1).argmin(dim=1)
    return labels


def means_of(rows: torch.Tensor, labels: torch.Tensor, fresh: torch.Tensor) -> torch.Tensor:
    """The mean of each cell, its rows added in order; a cell without rows takes the row of `fresh`."""
    counts = torch.bincount(labels, minlength=len(fresh))
    sums = torch.segment_reduce(rows[labels.argsort(stable=True)], "sum", lengths=counts, axis=0, unsafe=True)
    return torch.where((counts > 0)[:, None], sums / counts.clamp(min=1)[:, None].to(rows.dtype), fresh)


def cell_ranking(centres: torch.Tensor, cells: torch.Tensor, count: int) -> torch.Tensor:
    """For some cells the `count` nearest cells by their centres, nearest first, itself among them, (m, count)."""
    out = torch.empty((len(cells), count), dtype=torch.int64, device=centres.device)
    norms = centres.square().sum(dim=1)
    for run in slices(len(cells), max(1, entries_on(centres) // (4 * len(centres)))):
        D = torch.addmm(norms, centres[cells[run]], centres.T, alpha=-2)
        D.scatter_(1, cells[run][:, None], -torch.inf)
        out[run] = D.sort(dim=1, stable=True).indices[:, :count]
    return out


def joined_ranges(starts: torch.Tensor, sizes: torch.Tensor, total: int) -> torch.Tensor:
    """The numbers of several ranges one after another, (total,); `total` is the sum of the sizes."""
    ends = sizes.cumsum(0)
    offsets = torch.repeat_interleave(starts - (ends - sizes), sizes, output_size=total)
    return offsets + torch.arange(total, device=starts.device)


# --- graphs ---------------------------------------------------------------------------------------------------


def csr_tensor(starts: Any, columns: Any, values: Any, shape: tuple[int, int]) -> torch.Tensor:
    """A sparse CSR tensor, with 32-bit indices where they suffice."""
    kind = torch.int32 if len(values) < 2**31 and shape[1] < 2**31 else torch.int64
    with torch.sparse.check_sparse_tensor_invariants(False), warnings.catch_warnings():  # said so, or torch warns
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state", category=UserWarning)
        return torch.sparse_csr_tensor(starts.to(kind), columns.to(kind), values, shape, check_invariants=False)


def graph_of_neighbors(columns: torch.Tensor, distances: torch.Tensor, n: int) -> torch.Tensor:
    """The distances (m, k) as a sparse CSR tensor (m, n); a distance of zero is stored like any other."""
    m, k = columns.shape
    columns, order = columns.sort(dim=1)
    starts = torch.arange(0, m * k + 1, k, device=columns.device)
    return csr_tensor(starts, columns.reshape(-1), distances.gather(1, order).reshape(-1), (m, n))


def graph_of_runs(parts: list[tuple[Any, Any, Any]], shape: tuple[int, int], like: torch.Tensor) -> torch.Tensor:
    """The sparse CSR tensor of parts (rows, columns, distances). Each part is a run of rows, its pairs in any order."""
    counts = torch.zeros(shape[0], dtype=torch.int64, device=like.device)
    columns, values = [torch.empty(0, dtype=torch.int64, device=like.device)], [like.new_empty(0)]
    for rows, found, distances in parts:
        order = found.argsort(stable=True)
        order = order[rows[order].argsort(stable=True)]
        counts += torch.bincount(rows, minlength=shape[0])
        columns.append(found[order])
        values.append(distances[order].to(like.dtype))
    starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return csr_tensor(starts, torch.cat(columns), torch.cat(values), shape)


def row_blocks(m: int, n: int, like: torch.Tensor) -> Iterator[slice]:
    """Slices of m rows whose tiles, n columns wide or as wide as a tile gets, fit the memory of one."""
    width = min(n, _columns_on(like))
    return slices(m, max(1, entries_on(like) // max(1, width)))


def whole_rows(m: int, n: int, like: torch.Tensor) -> Iterator[slice]:
    """Slices of m rows whose distances to all n, in float64 and with a copy, fit the memory of a tile."""
    return slices(m, max(1, entries_on(like) // (4 * max(1, n))))


# --- checks ---------------------------------------------------------------------------------------------------


def checked_tensor(X: torch.Tensor, like: torch.Tensor | None = None) -> torch.Tensor:
    """X as a matrix of finite float32 or float64 without a gradient; as wide and as precise as `like`, and beside it.

    Half precision becomes float32, which holds every number of it. Integers become float64.
    """
    X = X.detach()
    if X.layout != torch.strided or X.is_complex():
        raise ValueError(f"Neighbours are searched in dense tensors of real numbers, not in {X.layout} of {X.dtype}.")
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: rows of samples are needed.")
    for count, what in zip(X.shape, ("sample", "feature"), strict=True):
        if count == 0:
            raise ValueError(f"Found array with 0 {what}(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    if like is not None:
        if X.device != like.device:
            raise ValueError(f"X is on {X.device}, but the indexed rows are on {like.device}. Move one of them.")
        if X.shape[1] != like.shape[1]:
            raise ValueError(f"X has {X.shape[1]} features, but the index was built on {like.shape[1]} features.")
    if X.dtype not in (torch.float32, torch.float64):
        X = X.to(torch.float32 if X.dtype in (torch.float16, torch.bfloat16) else torch.float64)
    X = X.contiguous() if like is None else X.to(like.dtype).contiguous()
    if not bool(torch.isfinite(X).all()):
        raise ValueError("Input X contains NaN or infinity.")
    return X
