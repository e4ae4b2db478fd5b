"""Shortest paths on a GPU: a program relaxes one cell of vertices for a few sources, only where something may fall.

Each pair of a cell and a group of sources has a due: the least distance that has changed in or beside the cell since
the pair was last looked at, or infinity. A launch takes the pairs with the least dues, within a window. A program
relaxes the edges of its cell until nothing in it falls, or for some rounds, and then lowers the dues of the cells
beside it. So all sources grow their balls at one pace. Without that order distances along detours travel far ahead, and
have to be corrected again and again: 500 sources in a million points on a sheet took 17 s instead of 6 s.

Programs read what others are writing. That is harmless: every distance is the length of some path, and a cell beside
one that changed is looked at again in a later launch, when all that was written can be seen.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from mercer.backends import torch_paths
from mercer.backends.torch_paths import Edges

LANES_AT_MOST = 16  # sources of a program at most
ROUNDS = 16  # over a cell per launch: it is about ten edges across
WINDOW = 8.0  # edges of mean length between the least due and the largest that a launch takes: about a cell


def relax(edges: Edges, D: torch.Tensor, changed: torch.Tensor) -> None:
    """As `torch_paths.relax`."""
    cells, m = len(edges.cells) - 1, D.shape[1]
    lanes = min(LANES_AT_MOST, triton.next_power_of_2(m))
    groups = -(-m // lanes)
    due = torch.full((cells * groups,), torch.inf, dtype=torch.float32, device=D.device)
    _set_around(edges, D, changed, lanes, groups, due)
    # One group has little to correct, and would wait for the host more often than it computes.
    window = WINDOW * edges.weights.mean().float() if groups > 1 else torch.inf
    parts = edges.ptr, edges.nodes, edges.weights, edges.cells, edges.beside_ptr, edges.beside
    while True:
        pairs = torch.nonzero((due <= due.amin() + window) & torch.isfinite(due))[:, 0]
        if not len(pairs):
            return
        due[pairs] = torch.inf
        _relax_cells[len(pairs),](
            D, *parts, pairs, due, m, groups, ROUNDS, ROWS=torch_paths.CELL, LANES=lanes, num_warps=4
        )


def _set_around(
    edges: Edges, D: torch.Tensor, changed: torch.Tensor, lanes: int, groups: int, due: torch.Tensor
) -> None:
    """Set the dues of the cells in and beside which distances were set.

    changed : places, the same number for each of the m sources; or some for the only one
    """
    m = D.shape[1]
    source = torch.arange(m, device=D.device).repeat_interleave(len(changed) // m)
    least = D[changed, source]
    least = torch.where(torch.isfinite(least), least.clamp(max=3e38), torch.inf).float()
    own = torch.searchsorted(edges.cells, changed.to(edges.cells.dtype), right=True) - 1
    near = edges.beside_ptr.long()
    counts = near.diff()[own]
    first = torch.repeat_interleave(near[own] - (counts.cumsum(0) - counts), counts)
    beside = edges.beside[first + torch.arange(len(first), device=own.device)].long()
    due.scatter_reduce_(0, own * groups + source // lanes, least, "amin")
    group, least = (torch.repeat_interleave(part, counts) for part in (source // lanes, least))
    due.scatter_reduce_(0, beside * groups + group, least, "amin")


@triton.jit(do_not_specialize=["m", "groups", "rounds"])
def _relax_cells(
    D,
    ptr,
    nodes,
    weights,
    cells,
    beside_ptr,
    beside,
    pairs,
    due,
    m,
    groups,
    rounds,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    pair = tl.load(pairs + tl.program_id(0))
    cell = pair // groups
    group = pair % groups
    rows = tl.load(cells + cell) + tl.arange(0, ROWS)
    here = rows < tl.load(cells + cell + 1)
    lanes = group * LANES + tl.arange(0, LANES)
    inside = lanes < m
    first = tl.load(ptr + rows, mask=here, other=0)
    degree = (tl.load(ptr + rows + 1, mask=here, other=0) - first).to(tl.int32)
    most = tl.max(degree, 0)
    at = D + rows.to(tl.int64)[:, None] * m + lanes[None, :]
    both = here[:, None] & inside[None, :]
    best = tl.load(at, mask=both, other=float("inf"))
    least = float("inf")
    fell = 1
    turn = 0
    while (fell > 0) & (turn < rounds):
        before = best
        for s in range(most):
            has = here & (s < degree)
            node = tl.load(nodes + first + s, mask=has, other=0).to(tl.int64)
            length = tl.load(weights + first + s, mask=has, other=float("inf"))
            there = D + node[:, None] * m + lanes[None, :]
            over = tl.load(there, mask=has[:, None] & inside[None, :], other=float("inf"))
            best = tl.minimum(best, over + length[:, None])
        # A due is finite, however far the distance reaches beyond float32.
        due_here = tl.where(best < before, tl.minimum(best, 3e38), float("inf")).to(tl.float32)
        fallen = tl.min(tl.min(due_here, 1), 0)
        fell = (fallen < float("inf")).to(tl.int32)
        if fell > 0:
            tl.store(at, best, mask=both)
        tl.debug_barrier()
        least = tl.minimum(least, fallen)
        turn += 1
    if fell > 0:
        tl.atomic_min(due + pair, least, sem="relaxed")
    if least < float("inf"):
        for j in range(tl.load(beside_ptr + cell), tl.load(beside_ptr + cell + 1)):
            tl.atomic_min(due + tl.load(beside + j) * groups + group, least, sem="relaxed")
