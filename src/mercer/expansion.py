"""f(x) = Σᵢ αᵢ k(xᵢ, x) − c: the map of new points that all spectral methods share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import namespace, on_device, placement, to_numpy
from mercer.kernels.discrete import backend_for
from mercer.kernels.fused_products import WIDEST, fused_product
from mercer.kernels.gradients import gradient_sum, refuse_kinks
from mercer.kernels.kernel import Kernel, Points
from mercer.kernels.kernel_fields import bound_kernel, refuse_unsuited
from mercer.models.fields import THREADS, SavedRecord, floats, samples
from mercer.progress import phase


class KernelExpansion:
    """x ↦ k(x, anchors) @ coefs − offset, in tiles: memory is one tile per thread, whatever the number of rows.

    kernel : a bound Kernel
    anchors : the samples xᵢ, (n, d)
    coefs : (n, k); the kernel is evaluated in their precision, which may be wider than that of the anchors
    offset : (k,)

    Cost of a call on m rows: m · n entries of the kernel and 2 m n k flops.
    """

    _saved = SavedRecord(
        "KernelExpansion",
        {
            "kernel": bound_kernel,
            "anchors": samples("n", "d"),
            "coefs": floats("n", "k"),
            "offset": floats("k"),
            "n_jobs": THREADS,
        },
        also=lambda parts: refuse_unsuited(parts.kernel, parts.anchors, parts.coefs),
        shared=True,
    )

    def __init__(self, kernel: Kernel, anchors: Any, coefs: Any, offset: Any, n_jobs: int | None = None) -> None:
        self.kernel, self.anchors, self.coefs, self.offset, self.n_jobs = (
            kernel,
            anchors,
            coefs,
            offset,
            n_jobs,
        )
        self._points: Points | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_points": None}  # prepared again from the anchors when they are needed

    def anchor_points(self) -> Points:
        if self._points is None:
            self._points = self.kernel.points(self.anchors, self._precision())
        return self._points

    def on_device(self, device: Any) -> KernelExpansion:
        """The same map of tensors on a device. The anchors are dense arrays."""
        anchors, coefs, offset = (on_device(part, device) for part in (self.anchors, self.coefs, self.offset))
        return KernelExpansion(self.kernel, anchors, coefs, offset, self.n_jobs)

    def _precision(self) -> Any:
        """The precision in which points are prepared; None means that of the anchors."""
        return None if self.anchors.ndim != 2 or self.anchors.dtype == self.coefs.dtype else self.coefs.dtype

    def new_points(self, X: Any) -> Points:
        """The rows of X, ready to be compared with the anchors."""
        return self.kernel.points(X, self._precision(), like=self.anchor_points())

    def __call__(self, X: Any) -> Any:
        """f at rows, in the precision of the anchors."""
        out, wider = self.on_points(self.new_points(X)), self._precision() is not None
        return namespace(out).astype(out, self.anchors.dtype) if wider else out

    def on_points(self, new: Points) -> Any:
        """f at prepared points, in the precision of the coefficients."""
        old = self.anchor_points()
        backend = backend_for(old)
        xp = namespace(self.coefs)
        fused = self._fused(new, old)
        if fused is not None:
            return fused
        out = xp.empty((len(new), self.coefs.shape[1]), dtype=self.coefs.dtype, **placement(self.coefs))
        rows, columns = self._runs(len(new), backend), _runs(len(old), backend.TILE)
        largest = max((r.stop - r.start for r in rows), default=0) * max((c.stop - c.start for c in columns), default=0)
        slots = min(backend.workers(self.n_jobs), len(rows))
        room = [backend.buffer(largest, 1, self.coefs) for _ in range(slots)]

        def work(run: slice, slot: int) -> None:
            part, total = new[run], -self.offset
            for column in columns:
                size = (len(part), column.stop - column.start)
                buffer = room[slot]
                if buffer is not None:
                    buffer = xp.reshape(buffer[: size[0] * size[1], 0], size)
                with np.errstate(over="ignore", invalid="ignore"):  # judged once, below
                    total = total + self.kernel.tile(part, old[column], buffer) @ self.coefs[column, :]
            out[run, :] = total

        with phase("placing rows"):
            backend.for_each(rows, work, self.n_jobs)
        if not bool(xp.all(xp.isfinite(out))):
            raise ValueError(
                f"{self.kernel!r} overflows between some of these rows and the fitted ones. Scale them as the fitted "
                "data was scaled."
            )
        return out

    def _fused(self, new: Points, old: Points) -> Any:
        """f at prepared points without tiles, or None if no fused product is available."""
        if self.coefs.shape[1] > WIDEST:
            return None
        xp = namespace(self.coefs)
        product = fused_product(self.kernel, new, old, "single" if self.coefs.dtype == xp.float32 else "double")
        if product is None:
            return None
        with phase("placing rows"):
            out = product(xp.astype(self.coefs, xp.float64))
        if out is None or not bool(xp.all(xp.isfinite(out))):
            return None  # the tiles say what is wrong
        return xp.astype(out - self.offset, self.coefs.dtype)

    def rounding_error(self, largest: float, entry_error: float = 0.0) -> np.ndarray:
        """How far f may be from its exact value because of rounding, (k,), at rows where |k(x, xᵢ)| ≤ `largest`.

        An entry of the kernel is wrong by `entry_error` plus a few units in the last place, and so are the
        coefficients. Adding n products loses about √n units more, because roundings partly cancel. So f is wrong by at
        most

            ‖α‖₁ (entry_error + (8 + √n) ε · largest).
        """
        xp = namespace(self.coefs)
        lengths = to_numpy(xp.sum(xp.abs(self.coefs), axis=0)).astype(np.float64)
        unit = float(xp.finfo(self.coefs.dtype).eps) * largest
        return lengths * (entry_error + (8 + self.coefs.shape[0] ** 0.5) * unit)

    def each_gradient(self, new: Points, d: int, use: Callable[[slice, Any], None], *, entries: int = 2**21) -> None:
        """Call use(run, G) for runs of the points, G[a, j] = ∂fⱼ/∂x at point a, (m, k, d); d is the data's width.

        A kernel without a gradient raises TypeError. Cost: m · n entries of the kernel and 2 m n k d flops. Each thread
        holds one G of at most `entries` numbers (16 MB by default, which a cache still helps) and a few tiles.
        """
        refuse_kinks(self.kernel)
        old = self.anchor_points()
        backend, xp = backend_for(old), namespace(self.coefs)
        room = max(1, entries // max(1, self.coefs.shape[1] * d))
        rows, columns = self._runs(len(new), backend, room), _runs(len(old), backend.TILE)

        def work(run: slice, slot: int) -> None:
            part, total = new[run], 0.0
            for column in columns:
                with np.errstate(over="ignore", invalid="ignore"):  # judged once, below
                    total = total + gradient_sum(self.kernel, part, old[column], self.coefs[column, :], d)
            if not bool(xp.all(xp.isfinite(total))):
                raise ValueError(f"The gradient of {self.kernel!r} overflows between some rows; scale the data.")
            use(run, total)

        backend.for_each(rows, work, self.n_jobs)

    def _runs(self, m: int, backend: Any, most: int | None = None) -> list[slice]:
        """Runs of rows no longer than a tile, and short enough that every thread gets one."""
        share = -(-m // backend.workers(self.n_jobs)) if m else 1
        return _runs(m, max(1, min(backend.TILE, share, most or share)))

    def columns(self, run: slice) -> KernelExpansion:
        """The expansion of some of the coordinates."""
        part = KernelExpansion(self.kernel, self.anchors, self.coefs[:, run], self.offset[run], self.n_jobs)
        part._points = self._points
        return part

    def column(self, i: int) -> Eigenfunction:
        """The i-th coordinate as a separate function."""
        k = self.coefs.shape[1]
        if not -k <= i < k:
            raise IndexError(f"There are {k} functions, so {i} is out of range.")
        return Eigenfunction(self.columns(slice(i % k, i % k + 1)))


@dataclass(frozen=True)
class Eigenfunction:
    """One coordinate of an expansion: rows in, a number per row out."""

    expansion: KernelExpansion

    def __call__(self, X: Any) -> Any:
        return self.expansion(X)[:, 0]


def _runs(n: int, size: int) -> list[slice]:
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]
