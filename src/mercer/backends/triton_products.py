"""Products k(X, Y) V on a GPU in one kernel: distance, profile and product, with no tile in memory.

    FusedProduct(formula, arithmetic, largest)(V)

A program holds a block of rows x and walks over the rows y. For each block of those it computes the readings on matrix
units, the formula's statements in registers, and adds the product with V. The Triton code is generated from a `Formula`
(see `symbolic`), once for each structure: numbers such as gamma are arguments. There are three arithmetics.

    half    x, y, k and V rounded to half precision, sums of 16 blocks in float32, then float64
    single  x, y, k and V as sums of two halves, hi + lo, which hold 22 bits; products hi·hi + hi·lo + lo·hi, the sum of
            each block in float32, then float64. As right as float32, whose 24 bits lose more in long sums.
    double  float64 throughout

Half precision has the bits of TF32 at twice the rate, but a narrow range, so everything is scaled by powers of two:
the rows by their largest entry, columns of V by theirs, and k by the largest magnitude that is expected of it. An
entry that exceeds the range all the same makes the sum infinite, and then the answer is None: tiles take over.

All sums are taken in a fixed order, so the same card gives the same bits in every run.

Code from a compiler is tried before it is trusted: its first use multiplies a few rows, and must find what their matrix
gives. One version of NVIDIA's assembler was seen to lose the address of an operand, and every entry with it.
"""

from __future__ import annotations

import linecache
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import torch
import triton
import triton.language as tl
from triton.errors import TritonError

from mercer.backends.symbolic import Formula, Reading
from mercer.exceptions import MiscompiledWarning

WIDEST = 64  # columns of V in one launch: more would not fit into registers beside the block of k
PADDED = 128  # rows are padded to a multiple of this, which every block size divides
_WHOLE = 128  # coordinates up to which a block of rows stays in shared memory; beyond, rows are read in chunks
_ROWS_TO = 14  # the largest coordinate is scaled to 2**14: sums of squares stay in float32's range at any width
_SUMS_TO = 12  # the largest entries of V and of k: 16 times below where half precision ends
_PROGRAMS = 8  # programs per multiprocessor that keep it busy to the end


@dataclass(frozen=True)
class BlockSizes:
    """Sizes measured on an H200: rows x, rows y, warps, stages of the pipeline; in half precision, blocks per sum."""

    rows: int
    columns: int
    warps: int
    stages: int
    run: int = 1


BLOCKS = {
    "half": BlockSizes(64, 128, 4, 3, 16),
    "single": BlockSizes(128, 64, 4, 3),
    "double": BlockSizes(64, 32, 4, 2),
}
BLOCKS_OF_SEVERAL = {  # several readings, or sums over coordinates: smaller blocks leave registers for them
    "half": BlockSizes(64, 64, 4, 2, 16),
    "single": BlockSizes(64, 64, 4, 2),
    "double": BlockSizes(32, 32, 4, 2),
}

_TERMS = {
    "direct": "(a - b) * (a - b)",
    "manhattan": "tl.abs(a - b)",
    "intersection": "tl.minimum(a, b)",
    "matches": "tl.where(a == b, one, zero)",
    "chi2": "tl.where(a + b == 0, zero, (a - b) * (a - b) / tl.where(a + b == 0, one, a + b))",
}


class FusedProduct:
    """V ↦ k(X, Y) V for the formula of k(X, Y).

    arithmetic : "half", "single" or "double"
    largest : the largest |k| that is expected; entries up to 16 times as large are within range
    trial : the formula of some rows, their matrix, and how far an entry may be off, to try the compiled code with
    """

    def __init__(
        self,
        formula: Formula,
        arithmetic: str,
        largest: float = 1.0,
        trial: Callable[[], tuple[Formula, torch.Tensor, float]] | None = None,
    ) -> None:
        self.formula, self.arithmetic, self._largest, self._trial = formula, arithmetic, largest, trial
        self.m, self.n = _lengths(formula)
        self._real = torch.float64 if arithmetic == "double" else torch.float32
        plain = len(formula.readings) == 1 and formula.readings[0].by_product
        self._blocks = (BLOCKS if plain else BLOCKS_OF_SEVERAL)[arithmetic]
        self._unit = 1.0 if arithmetic == "double" else _power_of_two(largest, _SUMS_TO)
        constants = list(formula.constants)
        self._operands: list[Any] = []
        for reading, norms in zip(formula.readings, formula.norms, strict=True):
            constants.append(self._prepare(reading, norms))
        constants.append(self._unit)
        for vector in formula.vectors:
            self._operands.append(_padded(vector.values.to(self._real)))
        device = formula.readings[0].rows.device
        self._constants = torch.tensor(constants, dtype=torch.float64, device=device)
        self.programs = (
            _PROGRAMS * torch.cuda.get_device_properties(device).multi_processor_count if (device.type == "cuda") else 1
        )

    def _prepare(self, reading: Reading, norms: tuple[Any, Any]) -> float:
        """Append the operands of a reading; the factor that undoes their scaling."""
        sides, scale = (reading.rows, reading.columns), 1.0
        if reading.by_product:
            if _chunk(reading.rows.shape[1])[1] > 1:
                self._operands.append(math.prod(_chunk(reading.rows.shape[1])))
            for rows in sides:
                whole = _columns_padded(_padded(rows.to(self._real)))
                if self.arithmetic == "double":
                    self._operands.append(whole)
                    continue
                unit = _power_of_two(float(rows.abs().max()) if rows.numel() else 0.0, _ROWS_TO)
                self._operands += _halves(whole * unit)[: 1 if self.arithmetic == "half" else 2]
                scale /= unit
            if reading.name == "sqeuclidean":
                self._operands += [_padded(part.to(self._real)) for part in norms]
                scale *= 2
        if self._by_coordinates(reading):
            self._operands += [_padded(rows.to(self._real)).T.contiguous() for rows in sides]
        return scale

    def _by_coordinates(self, reading: Reading) -> bool:
        return not reading.by_product or (reading.near > 0 and self.arithmetic != "half")

    def __call__(self, V: torch.Tensor) -> torch.Tensor | None:
        """k(X, Y) V, (m, b) in float64; None if it leaves the range of half precision, or the card cannot run it."""
        parts = []
        try:
            for start in range(0, V.shape[1], WIDEST):
                part = V[:, start : start + WIDEST]
                if not self._is_proven(part.shape[1]):
                    return None
                parts.append(self._narrow(part))
        except TritonError:  # a formula or a size that this card cannot run
            return None
        out = parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)
        return out if self.arithmetic == "double" or bool(torch.isfinite(out).all()) else None

    def _is_proven(self, b: int) -> bool:
        """Whether the code for b columns gives what the matrix of a few rows gives."""
        if self._trial is None:
            return True
        code = code_of(self.key(_width(b))), str(self.formula.readings[0].rows.device)
        if code not in PROVEN:
            formula, K, allowed = self._trial()
            V = _few_rows(K.shape[1], b).to(K.device)
            found = FusedProduct(formula, self.arithmetic, self._largest)._narrow(V)
            if not bool(torch.isfinite(found).all()):
                return True  # beyond the range of the arithmetic, which decides nothing about the code
            PROVEN[code] = bool((abs(found - K @ V) <= allowed * abs(V).sum(dim=0)).all())
            if not PROVEN[code]:
                warnings.warn(
                    f"Triton {triton.__version__} made wrong GPU code for a product in {self.arithmetic} precision, so "
                    "matrices are computed in tiles, which takes longer. Another version of Triton may be right.",
                    MiscompiledWarning,
                    stacklevel=2,
                )
        return PROVEN[code]

    def _narrow(self, V: torch.Tensor) -> torch.Tensor:
        b, blocks = V.shape[1], self._blocks
        width = _width(b)
        block = torch.zeros((_up(self.n), width), dtype=torch.float64, device=V.device)
        block[: self.n, :b] = V
        if self.arithmetic == "double":
            factors, weights = None, [block, block]
        else:
            largest = block.abs().amax(dim=0)
            # 2 to a whole power, so that scaling rounds nothing; a column of zeros stays as it is.
            power = _SUMS_TO - torch.ceil(torch.log2(torch.where(largest > 0, largest, 1.0)))
            factors = torch.exp2(power.clamp(-1000, 1000))
            weights = _halves(block * factors)
        M, N = _up(self.m), _up(self.n)
        row_blocks, column_blocks = M // blocks.rows, N // blocks.columns
        splits = max(1, min(self.programs // row_blocks, column_blocks // 16))
        share = -(-column_blocks // splits)
        out = torch.empty((splits, M, width), dtype=torch.float64, device=V.device)
        code = code_of(self.key(width))
        # A launch's settings for the compiler; the interpreter, which tests use, ignores them.
        # 64 sums of two halves' products need more registers than the threads of four warps have.
        warps = 8 if width == WIDEST and self.arithmetic == "single" else blocks.warps
        settings = {"num_warps": warps, "num_stages": blocks.stages}
        _compiled(code)[(row_blocks, splits)](
            out, *weights, self._constants, column_blocks, share, M, N, *self._operands, **settings
        )
        total = out[0] if splits == 1 else out.sum(dim=0)
        total = total[: self.m, :b]
        return total if factors is None else total / (factors[:b] * self._unit)

    def key(self, width: int) -> _Key:
        formula = self.formula
        readings = tuple(
            (r.name, r.rows.shape[1], r.near if self._by_coordinates(r) and r.by_product else 0.0)
            for r in formula.readings
        )
        vectors = tuple(vector.by_row for vector in formula.vectors)
        statements = tuple((s.name, s.text, s.per, s.diagonal) for s in formula.statements)
        blocks, constants = self._blocks, len(formula.constants)
        return _Key(
            self.arithmetic, readings, vectors, statements, formula.result, constants, formula.symmetric, width, blocks
        )


PROVEN: dict[tuple[str, str], bool] = {}  # whether the code of a text gives the right sums on a device


def _width(b: int) -> int:
    """The columns that b columns are padded to."""
    return max(16, 1 << (b - 1).bit_length())


def _few_rows(n: int, b: int) -> torch.Tensor:
    """(n, b), random numbers in four rows of each column: an entry that is wrong is not lost among many."""
    places = torch.arange(4 * b).view(b, 4) * max(1, n // (4 * b)) % n
    values = torch.randn((b, 4), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return torch.zeros((b, n), dtype=torch.float64).scatter_add_(1, places, values).T


def _lengths(formula: Formula) -> tuple[int, int]:
    reading = formula.readings[0]
    return reading.rows.shape[0], reading.columns.shape[0]


def _up(n: int) -> int:
    return -(-n // PADDED) * PADDED


def _padded(A: torch.Tensor) -> torch.Tensor:
    """A with its last row repeated: entries that V's zeros multiply must still be finite."""
    missing = _up(A.shape[0]) - A.shape[0]
    return torch.cat([A, A[-1:].expand(missing, *A.shape[1:])]).contiguous() if missing else A.contiguous()


def _chunk(d: int) -> tuple[int, int]:
    """(coordinates read at a time, chunks) for rows of d coordinates."""
    if d <= _WHOLE:
        return max(16, 1 << (d - 1).bit_length()), 1
    return 64, -(-d // 64)


def _columns_padded(A: torch.Tensor) -> torch.Tensor:
    size, chunks = _chunk(A.shape[1])
    return torch.nn.functional.pad(A, (0, size * chunks - A.shape[1])).contiguous()


def _power_of_two(largest: float, to: int) -> float:
    """The power of two that scales `largest` to at most 2**to and at least half of it."""
    if not 0 < largest < math.inf:
        return 1.0
    return 2.0 ** max(-1000, min(1000, to - math.ceil(math.log2(largest))))


def _halves(A: torch.Tensor) -> list[torch.Tensor]:
    """A as a sum of two matrices in half precision: the second holds what the first leaves."""
    high = A.half()
    return [high, (A - high.to(A.dtype)).half()]


# --- the code ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Key:
    """Everything that the code depends on."""

    arithmetic: str
    readings: tuple[tuple[str, int, float], ...]  # name, coordinates, near
    vectors: tuple[bool, ...]
    statements: tuple[tuple[str, str, str, str], ...]
    result: str
    constants: int
    symmetric: bool
    width: int
    blocks: BlockSizes


def code_of(key: _Key) -> str:
    """The text of a Triton kernel."""
    real = "tl.float64" if key.arithmetic == "double" else "tl.float32"
    pointers, before = _operands_of(key)
    head = [
        f"def product(OUT, VH, VL, C, blocks, share, M, N, {', '.join(pointers)}):",
        f"    BM: tl.constexpr = {key.blocks.rows}",
        f"    BN: tl.constexpr = {key.blocks.columns}",
        f"    REAL: tl.constexpr = {real}",
        "    row_block = tl.program_id(0)",
        "    split = tl.program_id(1)",
        "    wide = tl.full((), BN, tl.int64)",  # offsets into large arrays exceed 32 bits
        "    top = tl.full((), BM, tl.int64) * row_block",
        "    ia, ja = tl.arange(0, BM), tl.arange(0, BN)",
        f"    kb = tl.arange(0, {key.width})",
        f"    at_v = ja[:, None] * {key.width} + kb[None, :]",
        "    tall = tl.full((), 1, tl.int64) * M",
        "    long = tl.full((), 1, tl.int64) * N",
        "    zero = tl.full((), 0, REAL)",
        "    one = tl.full((), 1, REAL)",
        *(f"    c{i} = tl.load(C + {i}).to(REAL)" for i in range(key.constants + len(key.readings))),
        f"    unit = tl.load(C + {key.constants + len(key.readings)}).to(REAL)",
        *before,
        *(f"    n{i} = tl.load(W{i} + top + ia)[:, None]" for i, by_row in enumerate(key.vectors) if by_row),
        *(f"    {name} = {text}" for name, text, per, _ in key.statements if per == "row"),
        f"    total = tl.zeros((BM, {key.width}), tl.float64)",
    ]
    if key.symmetric:  # the blocks that hold the diagonal come last, with its entries set
        head += [
            "    low = row_block * BM // BN",
            "    high = (row_block * BM + BM + BN - 1) // BN",
            "    blocks = blocks - (high - low)",
        ]
    head += [
        "    first = split * share",
        "    last = tl.minimum(first + share, blocks)",
    ]
    place = "        j = u + tl.where(u >= low, high - low, 0)" if key.symmetric else "        j = u"
    if key.arithmetic == "half":
        run = key.blocks.run
        loop = [
            f"    for s in range(first, last, {run}):",
            f"        acc = tl.zeros((BM, {key.width}), tl.float32)",
            f"        for u in range(s, tl.minimum(s + {run}, last)):",
            *_deeper([place, *_body(key, False), "        acc = tl.dot(high_k, vh, acc)"]),
            "        total += acc.to(tl.float64)",
        ]
    else:
        loop = ["    for u in range(first, last):", place, *_body(key, False), *_added(key)]
    end: list[str] = []
    if key.symmetric:
        end = [
            "    if split == 0:",
            "        for j in range(low, high):",
            *_deeper([*_body(key, True), *(_added(key))]),
        ]
    store = [
        f"    at = (tl.full((), 1, tl.int64) * split * M + top) * {key.width}",
        f"    tl.store(OUT + at + ia[:, None] * {key.width} + kb[None, :], total)",
    ]
    return "\n".join([*head, *loop, *end, *store]) + "\n"


def _deeper(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _added(key: _Key) -> list[str]:
    """The product with V, added to the sum in float64."""
    if key.arithmetic == "double":
        return ["        total += tl.dot(k, vh, out_dtype=tl.float64)"]
    lines = ["        acc = tl.dot(high_k, vh)"]
    if key.arithmetic == "single":
        lines += [
            "        low_k = (k - high_k.to(tl.float32)).to(tl.float16)",
            "        acc = tl.dot(low_k, vh, acc)",
            "        acc = tl.dot(high_k, vl, acc)",
        ]
    return [*lines, "        total += acc.to(tl.float64)"]


def _operands_of(key: _Key) -> tuple[list[str], list[str]]:
    """The names of the operands in the order of `FusedProduct`, and what is loaded or computed before the loop."""
    pointers, before = [], []
    for r, (name, d, near) in enumerate(key.readings):
        product = name in ("dot", "sqeuclidean")
        size, chunks = _chunk(d)
        if product:
            # An argument, not a number in the text: the compiler unrolls a loop whose end it knows, and then has too
            # few registers for the addresses of matrix operands.
            pointers += [f"L{r}"] * (chunks > 1)
            for side in "AB":
                pointers += [f"{side}{r}{part}" for part in _parts(key.arithmetic)]
            before += [
                f"    k{r} = tl.arange(0, {size})",
                f"    at_a{r} = ia[:, None] * {size * chunks} + k{r}[None, :]",
                f"    at_b{r} = ja[:, None] * {size * chunks} + k{r}[None, :]",
            ]
            if chunks == 1:
                before += [
                    f"    a{r}{part} = tl.load(A{r}{part} + top * {size} + at_a{r})" for part in _parts(key.arithmetic)
                ]
            if name == "sqeuclidean":
                pointers += [f"AA{r}", f"BB{r}"]
                before.append(f"    aa{r} = tl.load(AA{r} + top + ia)[:, None]")
        if near or not product:
            pointers += [f"TA{r}", f"TB{r}"]
    return [*pointers, *(f"W{i}" for i in range(len(key.vectors)))], before


def _parts(arithmetic: str) -> tuple[str, ...]:
    return ("h", "l") if arithmetic == "single" else ("h",)


def _body(key: _Key, diagonal: bool) -> list[str]:
    """The entries of a block, from its number j."""
    lines = ["    start = j * wide"]
    for r, (name, d, near) in enumerate(key.readings):
        lines += _reading(key, r, name, d, near)
    lines += [f"    n{i} = tl.load(W{i} + start + ja)[None, :]" for i, by_row in enumerate(key.vectors) if not by_row]
    if diagonal:
        lines.append("    same = (top + ia)[:, None] == (start + ja)[None, :]")
    for name, text, per, special in key.statements:
        if per != "row":
            lines.append(f"    {name} = {special if special and diagonal else text}")
    lines.append(f"    vh = tl.load(VH + start * {key.width} + at_v)")
    if key.arithmetic == "single":
        lines.append(f"    vl = tl.load(VL + start * {key.width} + at_v)")
    if key.arithmetic == "double":
        lines.append(f"    k = {key.result}")
    else:
        lines += [f"    k = {key.result} * unit", "    high_k = k.to(tl.float16)"]
    return _deeper(lines)


def _reading(key: _Key, r: int, name: str, d: int, near: float) -> list[str]:
    scale = f"c{key.constants + r}"
    lines: list[str] = []
    if name in ("dot", "sqeuclidean"):
        lines = _products(key, r, d)
        if name == "dot":
            return [*lines, f"    r{r} = s{r} * {scale}"]
        lines += [
            f"    bb{r} = tl.load(BB{r} + start + ja)[None, :]",
            f"    r{r} = tl.maximum(aa{r} + bb{r} - s{r} * {scale}, 0.0)",
        ]
        if not near:
            return lines
        return [
            *lines,
            f"    near{r} = r{r} < {near!r} * (aa{r} + bb{r})",
            f"    if tl.max(tl.max(near{r}.to(tl.int32), 1), 0) > 0:",
            *_deeper(_coordinates(r, "direct", d, f"exact{r}")),
            f"        r{r} = tl.where(near{r}, exact{r}, r{r})",
        ]
    return _coordinates(r, name, d, f"r{r}")


def _coordinates(r: int, name: str, d: int, into: str) -> list[str]:
    return [
        f"    {into} = tl.zeros((BM, BN), REAL)",
        f"    for c in range({d}):",
        f"        a = tl.load(TA{r} + c * tall + top + ia)[:, None]",
        f"        b = tl.load(TB{r} + c * long + start + ja)[None, :]",
        f"        {into} += {_TERMS[name]}",
    ]


def _products(key: _Key, r: int, d: int) -> list[str]:
    """s = ⟨a, b⟩, scaled as the halves are."""
    size, chunks = _chunk(d)
    parts = _parts(key.arithmetic)
    out = ", out_dtype=tl.float64" if key.arithmetic == "double" else ""
    if chunks == 1:
        lines = [f"    b{r}{p} = tl.load(B{r}{p} + start * {size} + at_b{r})" for p in parts]
        lines.append(f"    s{r} = tl.dot(a{r}h, tl.trans(b{r}h){out})")
        if key.arithmetic == "single":
            lines += [
                f"    s{r} = tl.dot(a{r}l, tl.trans(b{r}h), s{r})",
                f"    s{r} = tl.dot(a{r}h, tl.trans(b{r}l), s{r})",
            ]
        return lines
    length = size * chunks
    lines = [f"    s{r} = tl.zeros((BM, BN), REAL)", f"    for c in range(0, L{r}, {size}):"]
    for side, start in (("A", "top"), ("B", "start")):
        at = f"at_{side.lower()}{r}"
        lines += [
            f"        {side.lower()}{r}{p} = tl.load({side}{r}{p} + {start} * {length} + c + {at})" for p in parts
        ]
    lines.append(
        f"        s{r} += tl.dot(a{r}h, tl.trans(b{r}h){out})"
        if out
        else f"        s{r} = tl.dot(a{r}h, tl.trans(b{r}h), s{r})"
    )
    if key.arithmetic == "single":
        lines += [
            f"        s{r} = tl.dot(a{r}l, tl.trans(b{r}h), s{r})",
            f"        s{r} = tl.dot(a{r}h, tl.trans(b{r}l), s{r})",
        ]
    return lines


_numbers = count()


@cache
def _compiled(source: str) -> Any:
    """The Triton function of a text. Triton reads a function's text again, so it is put where `inspect` looks."""
    name = f"<mercer product {next(_numbers)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"tl": tl, "triton": triton}
    exec(compile(source, name, "exec"), space)
    return triton.jit(space["product"], do_not_specialize=["blocks", "share"])
