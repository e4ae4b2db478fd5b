"""What a t-SNE step computes besides transforms, as single Triton kernels: `torch_maps` on a card.

    attract   the pull along the edges of a CSR tensor: 8 bytes an edge, nothing written but the sums
    spread    points to the nodes of a grid, in whole numbers, whose atomic sums do not depend on their order
    gather    the field and its gradient from the nodes back to the points
    step      the gradient, the gains and the new positions: twenty small operations, whose launches would take longer

Every other sum has a fixed order, so the same tensors on the same card give the same bits in every run.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

_ROWS, _WIDE = 16, 32  # rows of a program, and edges of each that it reads at a time: 128 bytes
_NUMBERS = 512  # coordinates of a program that takes a step
_POINTS = 128  # of a program that spreads or gathers; no program waits for another


@triton.jit(do_not_specialize=["n"])
def _attract(
    STARTS, COLUMNS, P, A, Y, OUT, n, a, b, s, C: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    live = rows < n
    first = tl.load(STARTS + rows, mask=live, other=0)
    last = tl.load(STARTS + rows + 1, mask=live, other=0)
    longest = tl.max(last - first, axis=0)
    lane = tl.arange(0, WIDE)
    x = tl.load(A + rows * C, mask=live, other=0.0)
    sum_x = tl.zeros((ROWS, WIDE), tl.float32)
    if C > 1:
        y = tl.load(A + rows * C + 1, mask=live, other=0.0)
        sum_y = tl.zeros((ROWS, WIDE), tl.float32)
    if C > 2:
        z = tl.load(A + rows * C + 2, mask=live, other=0.0)
        sum_z = tl.zeros((ROWS, WIDE), tl.float32)
    for edge in range(0, longest, WIDE):
        at = first[:, None] + (edge + lane)[None, :]
        inside = at < last[:, None]
        j = tl.load(COLUMNS + at, mask=inside, other=0) * C
        p = tl.load(P + at, mask=inside, other=0.0)
        dx = x[:, None] - tl.load(Y + j, mask=inside, other=0.0)
        d2 = dx * dx
        if C > 1:
            dy = y[:, None] - tl.load(Y + j + 1, mask=inside, other=0.0)
            d2 += dy * dy
        if C > 2:
            dz = z[:, None] - tl.load(Y + j + 2, mask=inside, other=0.0)
            d2 += dz * dz
        strength = p * a / (b + s * d2)
        sum_x += strength * dx
        if C > 1:
            sum_y += strength * dy
        if C > 2:
            sum_z += strength * dz
    tl.store(OUT + rows * C, tl.sum(sum_x, axis=1), mask=live)
    if C > 1:
        tl.store(OUT + rows * C + 1, tl.sum(sum_y, axis=1), mask=live)
    if C > 2:
        tl.store(OUT + rows * C + 2, tl.sum(sum_z, axis=1), mask=live)


@triton.jit
def _weight(t, NODE: tl.constexpr):
    """The weight of a node, the NODE-th that a point at fraction t of its cell reaches: a B-spline of order 6."""
    if NODE == 0:
        u = 1.0 - t
        w = u * u * u * u * u
    elif NODE == 1:
        w = ((((5.0 * t - 20.0) * t + 20.0) * t + 20.0) * t - 50.0) * t + 26.0
    elif NODE == 2:
        w = ((-10.0 * t + 30.0) * t * t - 60.0) * t * t + 66.0
    elif NODE == 3:
        w = ((((10.0 * t - 20.0) * t - 20.0) * t + 20.0) * t + 50.0) * t + 26.0
    elif NODE == 4:
        w = ((((-5.0 * t + 5.0) * t + 10.0) * t + 10.0) * t + 5.0) * t + 1.0
    else:
        w = t * t * t * t * t
    return w * (1.0 / 120.0)


@triton.jit
def _slope(t, NODE: tl.constexpr):
    """The derivative of `_weight` by t."""
    if NODE == 0:
        u = 1.0 - t
        w = -u * u * u * u
    elif NODE == 1:
        w = (((5.0 * t - 16.0) * t + 12.0) * t + 8.0) * t - 10.0
    elif NODE == 2:
        w = ((-10.0 * t + 24.0) * t * t - 24.0) * t
    elif NODE == 3:
        w = (((10.0 * t - 16.0) * t - 12.0) * t + 8.0) * t + 10.0
    elif NODE == 4:
        w = (((-5.0 * t + 4.0) * t + 6.0) * t + 4.0) * t + 1.0
    else:
        w = t * t * t * t
    return w * (1.0 / 24.0)


@triton.jit
def _cell(Y, LOW, points, live, scale, nodes, C: tl.constexpr, AXIS: tl.constexpr):
    """The cell of a coordinate, and its fraction of the cell. Points beyond the grid are taken to its edge."""
    x = (tl.load(Y + points * C + AXIS, mask=live, other=0.0) - tl.load(LOW + AXIS)) * scale
    x = tl.minimum(tl.maximum(x, 0.0), nodes - 6 + 0.999)
    cell = x.to(tl.int32)
    return cell, x - cell.to(tl.float32)


@triton.jit(do_not_specialize=["n", "nodes0", "nodes1", "nodes2"])  # a growing map has many sizes
def _spread(Y, LOW, GRID, n, scale, nodes0, nodes1, nodes2, C: tl.constexpr, POINTS: tl.constexpr):
    points = tl.program_id(0) * POINTS + tl.arange(0, POINTS)
    live = points < n
    c0, t0 = _cell(Y, LOW, points, live, scale, nodes0, C, 0)
    if C == 1:
        for i in tl.static_range(6):
            share = (_weight(t0, i) * 4294967296.0).to(tl.int64)
            tl.atomic_add(GRID + c0 + i, share, mask=live, sem="relaxed")
    if C == 2:
        c1, t1 = _cell(Y, LOW, points, live, scale, nodes1, C, 1)
        at = c0.to(tl.int64) * nodes1 + c1
        for i in tl.static_range(6):
            w = _weight(t0, i) * 4294967296.0
            for j in tl.static_range(6):
                share = (w * _weight(t1, j)).to(tl.int64)
                tl.atomic_add(GRID + at + (i * nodes1 + j), share, mask=live, sem="relaxed")
    if C == 3:
        c1, t1 = _cell(Y, LOW, points, live, scale, nodes1, C, 1)
        c2, t2 = _cell(Y, LOW, points, live, scale, nodes2, C, 2)
        at = (c0.to(tl.int64) * nodes1 + c1) * nodes2 + c2
        for i in tl.static_range(6):
            for j in tl.static_range(6):
                w = _weight(t0, i) * _weight(t1, j) * 4294967296.0
                for k in tl.static_range(6):
                    share = (w * _weight(t2, k)).to(tl.int64)
                    tl.atomic_add(GRID + at + ((i * nodes1 + j) * nodes2 + k), share, mask=live, sem="relaxed")


@triton.jit
def _looked_up(TABLE, t, steps):
    """A table over [0, 1) at t, by linear interpolation."""
    x = t * steps
    m = tl.minimum(x.to(tl.int32), steps - 1)
    below = tl.load(TABLE + m)
    return below + (x - m.to(tl.float32)) * (tl.load(TABLE + m + 1) - below)


@triton.jit(do_not_specialize=["n", "nodes0", "nodes1", "nodes2", "stride0", "stride1", "steps"])
def _gather(
    Y, LOW, FIELD, OWN, OWN_SLOPE, G, Z, n, scale, nodes0, nodes1, nodes2, stride0, stride1, steps,
    HAS_OWN: tl.constexpr, C: tl.constexpr, POINTS: tl.constexpr,
):  # fmt: skip
    points = tl.program_id(0) * POINTS + tl.arange(0, POINTS)
    live = points < n
    half = -0.5 * scale
    value = tl.zeros((POINTS,), tl.float32)
    g0 = tl.zeros((POINTS,), tl.float32)
    c0, t0 = _cell(Y, LOW, points, live, scale, nodes0, C, 0)
    if C == 1:
        for i in tl.static_range(6):
            f = tl.load(FIELD + c0 + i, mask=live, other=0.0)
            value += _weight(t0, i) * f
            g0 += _slope(t0, i) * f
    if C > 1:
        g1 = tl.zeros((POINTS,), tl.float32)
        c1, t1 = _cell(Y, LOW, points, live, scale, nodes1, C, 1)
    if C == 2:
        at = c0.to(tl.int64) * stride0 + c1
        for i in tl.static_range(6):
            along = tl.zeros((POINTS,), tl.float32)
            across = tl.zeros((POINTS,), tl.float32)
            for j in tl.static_range(6):
                f = tl.load(FIELD + at + (i * stride0 + j), mask=live, other=0.0)
                along += _weight(t1, j) * f
                across += _slope(t1, j) * f
            value += _weight(t0, i) * along
            g0 += _slope(t0, i) * along
            g1 += _weight(t0, i) * across
    if C == 3:
        g2 = tl.zeros((POINTS,), tl.float32)
        c2, t2 = _cell(Y, LOW, points, live, scale, nodes2, C, 2)
        at = c0.to(tl.int64) * stride0 + c1 * stride1 + c2
        for i in tl.static_range(6):
            for j in tl.static_range(6):
                along = tl.zeros((POINTS,), tl.float32)
                across = tl.zeros((POINTS,), tl.float32)
                for k in tl.static_range(6):
                    f = tl.load(FIELD + at + (i * stride0 + j * stride1 + k), mask=live, other=0.0)
                    along += _weight(t2, k) * f
                    across += _slope(t2, k) * f
                value += _weight(t0, i) * _weight(t1, j) * along
                g0 += _slope(t0, i) * _weight(t1, j) * along
                g1 += _weight(t0, i) * _slope(t1, j) * along
                g2 += _weight(t0, i) * _weight(t1, j) * across
    if HAS_OWN:
        value -= _looked_up(OWN, t0, steps)
        g0 -= _looked_up(OWN_SLOPE, t0, steps)
        if C > 1:
            value -= _looked_up(OWN, t1, steps)
            g1 -= _looked_up(OWN_SLOPE, t1, steps)
        if C > 2:
            value -= _looked_up(OWN, t2, steps)
            g2 -= _looked_up(OWN_SLOPE, t2, steps)
    tl.store(Z + points, value, mask=live)
    tl.store(G + points * C, g0 * half, mask=live)
    if C > 1:
        tl.store(G + points * C + 1, g1 * half, mask=live)
    if C > 2:
        tl.store(G + points * C + 2, g2 * half, mask=live)


@triton.jit(do_not_specialize=["count"])
def _step(
    Y, UPDATE, GAINS, PULL, PUSH, WEIGHTS, FREE, SQUARES, count, strength, rate, momentum, longest, grow, shrink, least,
    C: tl.constexpr, EACH: tl.constexpr, HAS_FREE: tl.constexpr, NUMBERS: tl.constexpr,
):  # fmt: skip
    at = tl.program_id(0) * NUMBERS + tl.arange(0, NUMBERS)
    live = at < count
    row = at // C
    weight = tl.load(WEIGHTS + row * EACH, mask=live, other=0.0)
    slope = strength * tl.load(PULL + at, mask=live, other=0.0) - weight * tl.load(PUSH + at, mask=live, other=0.0)
    moves = live
    if HAS_FREE:
        moves = live & (tl.load(FREE + row, mask=live, other=0) != 0)
        slope = tl.where(moves, slope, 0.0)
    update = tl.load(UPDATE + at, mask=live, other=0.0)
    gain = tl.load(GAINS + at, mask=live, other=0.0)
    gain = tl.where((slope > 0) != (update > 0), gain + grow, tl.maximum(gain * shrink, least))
    new = momentum * update - rate * gain * slope
    new = tl.where(new != new, new, tl.minimum(tl.maximum(new, -longest), longest))  # NaN stays NaN, to be noticed
    tl.store(Y + at, tl.load(Y + at, mask=live, other=0.0) + new, mask=moves)
    tl.store(UPDATE + at, new, mask=moves)
    tl.store(GAINS + at, gain, mask=moves)
    wide = slope.to(tl.float64)
    tl.store(SQUARES + tl.program_id(0), tl.sum(wide * wide, axis=0))


def attract(P: torch.Tensor, A: torch.Tensor, Y: torch.Tensor, a: float, b: float, s: float) -> torch.Tensor:
    """Σⱼ pᵢⱼ a / (b + s d²ᵢⱼ) (aᵢ − yⱼ) for each row of a CSR tensor, (m, c), in float32."""
    pull = torch.empty_like(A)
    with torch.cuda.device_of(A):
        _attract[(triton.cdiv(len(A), _ROWS),)](
            P.crow_indices(), P.col_indices(), P.values(), A, Y, pull, len(A), a, b, s, A.shape[1], _ROWS, _WIDE
        )
    return pull


def spread(Y: torch.Tensor, low: torch.Tensor, scale: float, nodes: tuple[int, ...]) -> torch.Tensor:
    """How much of the points each node has, as whole numbers of 2⁻³², (nodes)."""
    grid = torch.zeros(nodes, dtype=torch.int64, device=Y.device)
    with torch.cuda.device_of(Y):
        _spread[(triton.cdiv(len(Y), _POINTS),)](Y, low, grid, len(Y), scale, *_three(nodes), Y.shape[1], _POINTS)
    return grid


def gather(
    Y: torch.Tensor, low: torch.Tensor, scale: float, field: torch.Tensor, own: Any, own_slope: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """−½∇Φ (m, c) and Φ (m,), in float32; `own` and `own_slope` as in `torch_maps.gather`."""
    if field.stride(-1) != 1:
        field = field.contiguous()
    G, Z = torch.empty_like(Y), Y.new_empty(len(Y))
    own, own_slope, steps = (Z, Z, 0) if own is None else (own, own_slope, len(own) - 1)
    sizes = *_three(tuple(field.shape)), *(*field.stride()[:-1], 0, 0)[:2], steps
    with torch.cuda.device_of(Y):
        _gather[(triton.cdiv(len(Y), _POINTS),)](
            Y, low, field, own, own_slope, G, Z, len(Y), scale, *sizes, steps > 0, Y.shape[1], _POINTS
        )
    return G, Z


def step(
    Y: torch.Tensor,
    update: torch.Tensor,
    gains: torch.Tensor,
    pull: torch.Tensor,
    push: torch.Tensor,
    strength: float,
    weights: torch.Tensor,
    motion: tuple[float, float, float],
    gain_rule: tuple[float, float, float],
    free: torch.Tensor | None,
) -> torch.Tensor:
    """As `torch_maps.step`. motion : rate, momentum, longest step; gain_rule : growth, shrinkage, least gain"""
    count, c = Y.numel(), Y.shape[1]
    programs = triton.cdiv(count, _NUMBERS)
    squares = torch.empty(programs, dtype=torch.float64, device=Y.device)
    held = Y if free is None else free.to(torch.uint8)
    with torch.cuda.device_of(Y):
        _step[(programs,)](
            Y, update, gains, pull.contiguous(), push.contiguous(), weights.contiguous(), held, squares, count,
            strength, *motion, *gain_rule, c, int(weights.numel() > 1), free is not None, _NUMBERS,
        )  # fmt: skip
    return squares.sum()


def _three(nodes: tuple[int, ...]) -> tuple[int, ...]:
    return (*nodes, 1, 1)[:3]
