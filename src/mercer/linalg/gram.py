"""The kernel matrix as an operator: streamed in symmetric tiles, kept as far as memory allows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mercer.backends import namespace, placement
from mercer.kernels.discrete import backend_for
from mercer.kernels.fused_products import WIDEST, Product, fused_product
from mercer.kernels.kernel import Kernel
from mercer.linalg.eigen_bounds import column_norms
from mercer.linalg.operators import Array, Operator
from mercer.linalg.tiled import Tiled
from mercer.progress import in_phase, phase

WIDE = 32  # columns that a fused product multiplies in about a fifth more time than 16
_WIDE_FROM = 2**17  # rows from which on passes take longer than the arithmetic on blocks of vectors
_SAMPLED = 1024  # rows on which a coarse product is compared: its error is then known to a few percent


class Gram(Tiled):
    """The matrix Kᵢⱼ = k(xᵢ, xⱼ), computed in tiles on and above the diagonal. A tile also serves as its mirror image.

    Cost of a product K V with b vectors: n²/2 kernel entries and 2 n² b flops, in memory for a few tiles.

    From pass number `keep_from` on, as many tiles are kept as fit into `keep_bytes`. The others are computed again in
    every pass. `precision` is the dtype of the tiles. Products are summed in float64 in any case.

    On a GPU a product of a large matrix is fused: no tile is written to memory, and none is kept. `arithmetic` is then
    "half", "single" or "double". If a step has an `exact` matrix behind it, its first product is compared with that
    matrix on some rows, which gives `noise`.

    With `compress`, the coarse level of the ladder keeps tiles as 16-bit codes if `keep_bytes` does not hold all of
    them in float32. An entry of a kept tile is then off by up to 2⁻¹⁷ of the range of the tile. So the coarse level
    stands for a slightly different matrix, which is still symmetric. Residuals must come from this operator.

    >>> from mercer.kernels import Linear
    >>> Gram(Linear(), np.array([[1.0], [2.0]])).matmat(np.eye(2)).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        *,
        precision: Any = None,
        keep_bytes: int = 0,
        keep_from: int = 0,
        tile: int | None = None,
        n_jobs: int | None = None,
        arithmetic: str = "",
        exact: Gram | None = None,
        compress: bool = False,
    ) -> None:
        self.kernel, self.X, self.compress = kernel, X, compress
        self.points = kernel.points(X, precision)
        self.backend = backend_for(self.points)
        self.n = len(self.points)
        like = self.kernel.diagonal(self.points[:1])
        self.xp, self.precision = namespace(like), like.dtype
        self.dtype = self.xp.float64
        self._device = placement(like)
        self._like = like
        self._keep_bytes, self._keep_from = keep_bytes, keep_from
        self.n_jobs, self.tile = n_jobs, tile
        self._cut(min(tile or self._tile_size(), self.n))
        self._coded = False
        self._store: Array = None
        self._kept: dict[tuple[int, int], Array] = {}
        self.arithmetic = arithmetic or ("double" if self.precision == self.dtype else "single")
        self._exact = exact
        self._noise: Any = None
        self._scales: dict[tuple[int, int], tuple[float, float]] = {}
        self._places = self._plan_store(self.xp.finfo(self.precision).bits // 8)

    def _tile_size(self) -> int:
        """The backend's choice; a quarter of a small n, so that symmetry halves the work and every thread gets some."""
        # Calls for tiles of fewer than 256 rows cost as much as their arithmetic.
        return self.backend.TILE if self.n > 2 * self.backend.TILE else max(256, -(-self.n // 4))

    def _plan_store(self, itemsize: int) -> dict[tuple[int, int], slice]:
        """Where each kept tile lies in one long store: the first tiles, as many as fit."""
        places, used = {}, 0
        room = self._keep_bytes // itemsize
        for place in self._tiles:
            m, n = self._shape(place)
            if used + m * n > room:
                break
            places[place] = slice(used, used + m * n)
            used += m * n
        return places

    def placement(self) -> dict[str, Any]:
        return self._device

    @property
    def kept_bytes(self) -> int:
        if self._store is None:
            return 0
        return self._store.shape[0] * (2 if self._coded else self.xp.finfo(self.precision).bits // 8)

    @property
    def code_noise(self) -> float:
        """The norm of what the codes of the kept tiles round off, or 0 if they are kept as they are.

        The errors are uniform over a step and behave as if drawn at random. So the norm is that of a random symmetric
        matrix: 2√n times their spread.
        """
        if not self._scales:
            return 0.0
        sizes = np.array([np.prod(self._shape(place)) * (1 if place[0] == place[1] else 2) for place in self._scales])
        steps = np.array([step for _, step in self._scales.values()], np.float64)
        return 2 * float(np.sqrt(np.sum(sizes * steps**2) / 12 / self.n))

    def _code_tiles(self) -> None:
        """Keep tiles as codes from now on, if not all of them would fit as they are."""
        if len(self._places) < len(self._tiles) and self._keep_bytes and hasattr(self.backend, "encode"):
            self._coded, self._places = True, self._plan_store(2)

    def ladder(self, tol: float) -> list[Operator]:
        """float32 tiles first, at half the memory and a third of the time; then tiles of this operator's precision.

        Fused products begin in half precision, and go on with sums of two halves, which are as right as float32.
        """
        single = self.xp.float32
        if self.precision == single or self.n < 2 * self.backend.TILE:
            return [self]
        coarse = self._coarse("single")
        if self.compress and coarse.fused is None:
            coarse._code_tiles()
        usable = coarse.points.is_finite() and bool(self.xp.all(self.xp.isfinite(coarse.diagonal())))
        if not usable:
            return [self]
        return [coarse, self] if coarse.fused is None else [self._coarse("half"), coarse, self]

    def _coarse(self, arithmetic: str) -> Gram:
        return Gram(
            self.kernel,
            self.X,
            precision=self.xp.float32,
            keep_bytes=self._keep_bytes,
            tile=self.tile,
            n_jobs=self.n_jobs,
            arithmetic=arithmetic,
            exact=self,
        )

    @cached_property
    def fused(self) -> Product | None:
        """The fused product, or None if tiles are computed."""
        return fused_product(self.kernel, self.points, None, self.arithmetic)

    @property
    def noise(self) -> Any:
        return self._noise

    @property
    def columns_at_once(self) -> int:
        return WIDE if self.n >= _WIDE_FROM and self.fused is not None else 1

    def keep(self) -> None:
        """Keep tiles from the next pass on."""
        self._keep_from = self.passes

    def forget(self) -> None:
        """Free the memory of the kept tiles."""
        self._kept, self._scales, self._store = {}, {}, None
        self.__dict__.pop("fused", None)  # with its copies of the rows

    def matmat(self, V: Array) -> Array:
        if V.shape[1] <= WIDEST and self.fused is not None:
            with phase(f"pass {self.passes + 1} over all pairs"):
                product = self.fused(self.xp.astype(V, self.dtype, copy=False))
            if product is not None:
                self.count(V)
                if self._noise is None and self._exact is not None:
                    self._noise = self._measured_noise(V, product)
                return product
            self.fused = None  # its range or the card is too small: tiles from here on
        if self._store is None and self._places and self.passes >= self._keep_from:
            entries = max(place.stop for place in self._places.values())
            like = np.empty(0, np.uint16) if self._coded else self._like
            self._store = self.backend.buffer(entries, 1, like)[:, 0]
        return super().matmat(V)

    def _measured_noise(self, V: Array, product: Array) -> np.ndarray:
        """‖(A − exact A) v‖/‖v‖ of each column, from evenly spaced rows."""
        index = np.linspace(0, self.n - 1, min(self.n, _SAMPLED)).astype(np.int64)
        places = self.xp.asarray(index, **self._device)
        strip, total = self._exact.strip(places), 0.0  # type: ignore[union-attr]
        for run in self.runs:
            total = total + strip(run) @ V[run, :]
        wrong = column_norms(self.xp.take(product, places, axis=0) - total, self.xp)
        sizes = column_norms(V, self.xp)
        return wrong / np.where(sizes > 0, sizes, 1.0) * (self.n / len(index)) ** 0.5

    def _buffers(self, slots: int) -> list[Array]:
        size = self.runs[0].stop
        return [self.backend.buffer(size * size, 1, self._like) for _ in range(slots)]

    def _tile(self, place: tuple[int, int], buffer: Array) -> Array:
        K = self._kept.get(place)
        if K is not None:
            return self._decoded(place, buffer) if self._coded else K
        keep = self._store is not None and place in self._places
        m, n = self._shape(place)
        out: Any = None
        if keep and self._coded:
            return self._encoded(place, buffer)
        if keep and self._store is not None:
            out = self.xp.reshape(self._store[self._places[place]], (m, n))
        elif buffer is not None:
            out = self.xp.reshape(buffer[: m * n, 0], (m, n))
        K = self._evaluate(place, out)
        if keep:
            if out is not K:
                out[...] = K
            self._kept[place] = out
        return K

    def _encoded(self, place: tuple[int, int], buffer: Array) -> Array:
        """Compute a tile, keep its codes, and give what they stand for, so that every pass sees the same matrix."""
        shape = self._shape(place)
        codes = self._store[self._places[place]].reshape(shape)
        K = self._evaluate(place, buffer[: codes.size, 0].reshape(shape))
        self._scales[place] = self.backend.encode(K, codes)
        self._kept[place] = codes
        return self._decoded(place, buffer)

    def _decoded(self, place: tuple[int, int], buffer: Array) -> Array:
        codes = self._kept[place]
        out = buffer[: codes.size, 0].reshape(codes.shape)
        self.backend.decode(codes, self._scales[place], out)
        return out

    def _evaluate(self, place: tuple[int, int], out: Array = None) -> Array:
        I, J = self.runs[place[0]], self.runs[place[1]]
        return self.kernel.tile(self.points[I], None if I == J else self.points[J], out)

    def strip(self, index: Array) -> Callable[[slice], Array]:
        chosen = self.points.take(index)
        return lambda run: self.kernel.tile(chosen, self.points[run])

    def crossing(self, index: Array) -> Array:
        chosen = self.points.take(index)
        return self.kernel.tile(chosen, chosen)

    def rows(self, index: Array) -> Array:
        strip = self.strip(index)
        out = self.xp.empty((index.shape[0], self.n), dtype=self.precision, **self._device)

        def work(run: slice, slot: int) -> None:
            out[:, run] = strip(run)

        self.backend.for_each(self.runs, work, self.n_jobs)
        return out

    def diagonal(self) -> Array:
        return self.kernel.diagonal(self.points)

    @in_phase("all pairs")
    def to_dense(self) -> Array:
        if len(self.runs) == 1:
            return self._evaluate((0, 0))
        out = self.xp.empty((self.n, self.n), dtype=self.precision, **self._device)

        def work(place: tuple[int, int], slot: int) -> None:
            I, J = self.runs[place[0]], self.runs[place[1]]
            K = self._evaluate(place)
            out[I, J] = K
            if I != J:
                out[J, I] = K.T

        self.backend.for_each(self._tiles, work, self.n_jobs)
        return out
