"""Shortest paths on a GPU: a program relaxes one cell of vertices for a few sources, only where something may fall.

Each pair of a cell and a group of sources has a flag. A program whose flag is up relaxes the edges of its cell until
nothing in it falls, or for some rounds, and then raises the flags of the cells beside it. So a front of falling
distances moves by a cell per launch, and cells that it has not reached, or has left behind, cost a read of their flag.
Programs read what others are writing. That is harmless: every distance is the length of some path, and a cell beside
one that changed is looked at again in the next launch, when all that was written can be seen.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from mercer.backends import torch_paths
from mercer.backends.torch_paths import Edges

LANES_AT_MOST = 16  # sources of a program at most
ROUNDS = 16  # over a cell per launch: it is about ten edges across
BURST = 8  # launches before the host looks whether any flag is up


def relax(edges: Edges, D: torch.Tensor, changed: torch.Tensor) -> None:
    """As `torch_paths.relax`."""
    cells, m = len(edges.cells) - 1, D.shape[1]
    lanes = min(LANES_AT_MOST, triton.next_power_of_2(m))
    groups = -(-m // lanes)
    flags, others = (torch.zeros((cells, groups), dtype=torch.int32, device=D.device) for _ in range(2))
    _raise_around(edges, changed, m, lanes, flags)
    parts = edges.ptr, edges.nodes, edges.weights, edges.cells, edges.beside_ptr, edges.beside
    while True:
        for _ in range(BURST):
            _relax_cells[cells * groups,](
                D, *parts, flags, others, m, groups, ROUNDS, ROWS=torch_paths.CELL, LANES=lanes, num_warps=4
            )
            flags, others = others, flags
        if not bool(flags.any()):
            return


def _raise_around(edges: Edges, changed: torch.Tensor, m: int, lanes: int, flags: torch.Tensor) -> None:
    """Raise the flags of the cells in and beside which distances were set.

    changed : places, the same number for each of the m sources; or some for the only one
    """
    own = torch.searchsorted(edges.cells, changed.to(edges.cells.dtype), right=True) - 1
    group = torch.arange(m, device=own.device).repeat_interleave(len(own) // m) // lanes
    near = edges.beside_ptr.long()
    counts = near.diff()[own]
    first = torch.repeat_interleave(near[own] - (counts.cumsum(0) - counts), counts)
    beside = edges.beside[first + torch.arange(len(first), device=own.device)]
    flags[own, group] = 1
    flags[beside.long(), torch.repeat_interleave(group, counts)] = 1


@triton.jit(do_not_specialize=["m", "groups", "rounds"])
def _relax_cells(
    D,
    ptr,
    nodes,
    weights,
    cells,
    beside_ptr,
    beside,
    flags,
    others,
    m,
    groups,
    rounds,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
):
    cell = tl.program_id(0) // groups
    group = tl.program_id(0) % groups
    up = tl.load(flags + cell * groups + group)
    # Every thread reads the flag, and one lowers it: a warp that came late would leave the others alone at a barrier.
    tl.debug_barrier()
    if up != 0:
        tl.store(flags + cell * groups + group, 0)
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
        fell = 1
        fallen = 0
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
            fell = tl.max(tl.max((best < before).to(tl.int32), 1), 0)
            if fell > 0:
                tl.store(at, best, mask=both)
            tl.debug_barrier()
            fallen += fell
            turn += 1
        if fell > 0:
            tl.store(others + cell * groups + group, 1)
        if fallen > 0:
            for j in range(tl.load(beside_ptr + cell), tl.load(beside_ptr + cell + 1)):
                tl.store(others + tl.load(beside + j) * groups + group, 1)
