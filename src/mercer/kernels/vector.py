"""Kernels of vectors: each is a profile of what it reads off two rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, is_foreign, namespace, to_numpy
from mercer.kernels.bandwidth import median_distance, resolve_gamma
from mercer.kernels.base import Kernel, Points
from mercer.memory import available_bytes, format_bytes

_DISTANCES = ("sqeuclidean", "euclidean")
_COARSE = {64: 1e-12, 32: 1e-4}  # an error of K's entries at which distances are taken coordinate by coordinate
_NEAR = 2e-6  # ‖x − y‖² relative to ‖x‖² + ‖y‖² below which its square root has lost half its digits


@dataclass(frozen=True)
class _Frame:
    """How distances are taken: rows less `shift`; coordinate by coordinate where the fast identity is too coarse."""

    shift: Any
    direct: bool
    rounding: float  # what the fast identity may add to an entry of K


class VectorKernel(Kernel):
    """A kernel k(x, y) = profile(t), t being what the kernel `reads` off two rows (abstract).

    reads : "dot" ⟨x, y⟩, "sqeuclidean" ‖x − y‖², "euclidean" ‖x − y‖, "manhattan" ‖x − y‖₁,
        "chi2" Σ (x − y)²/(x + y), "intersection" Σ min(x, y), "matches" the share of equal entries, or
        "dot+norms": the profile is then called with ⟨x, y⟩, ‖x‖² and ‖y‖².
    fused : the name of a sweep that a backend may have for distance and profile at once.
    non_negative : whether entries below zero are refused.
    """

    reads: ClassVar[str]
    fused: ClassVar[str | None] = None
    non_negative: ClassVar[bool] = False

    def profile(self, t: Any, xp: Any, *norms: Any) -> Any:
        """k as a function of what was read; `xp` is the array namespace to compute with."""
        raise NotImplementedError

    def sharpness(self) -> float:
        """How fast the profile changes with ‖x − y‖², at most; zero where rounding there does no harm."""
        return 0.0

    # --- points ----------------------------------------------------------------------------------------

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        xp = namespace(X)
        if self.non_negative and bool(xp.any((X.data if sp.issparse(X) else X) < 0)):
            raise ValueError(f"{type(self).__name__} needs entries ≥ 0, and the data has negative ones.")
        dtype = dtype or X.dtype
        if self.reads in _DISTANCES:
            return self._framed(X, dtype, like)
        rows = _cast(X, dtype)
        norms = squared_norms(X, dtype) if self.reads.startswith("dot") else None
        return Points(rows, norms)

    def _framed(self, X: Any, dtype: Any, like: Points | None) -> Points:
        """Rows about their mean: distances by the dot-product identity lose digits far from the origin."""
        shift = column_means(X) if like is None else like.context.shift
        if sp.issparse(X) and shift is not None:
            X = X.toarray()  # the rows to compare with are dense and shifted, so these must be too
        rows = X if shift is None else _shifted(X, shift, dtype)
        norms = squared_norms(rows, dtype)
        xp = namespace(norms)
        largest = float(xp.max(norms)) if norms.shape[0] else 0.0
        rounding = 4 * largest * self.sharpness() * float(xp.finfo(dtype).eps)
        direct = not rounding < _COARSE[xp.finfo(dtype).bits] or (like is not None and like.context.direct)
        return Points(_cast(rows, dtype), norms, context=_Frame(shift, direct, 0.0 if direct else rounding))

    def rounding(self, points: Points) -> float:
        return points.context.rounding if self.reads in _DISTANCES else 0.0

    # --- tiles -----------------------------------------------------------------------------------------

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        Q = A if B is None else B
        backend, xp = backend_of(A.rows), namespace(A.rows)
        direct = self.reads in _DISTANCES and (A.context.direct or Q.context.direct)
        if self.fused in backend.FUSED and not direct:
            K = backend.FUSED[self.fused](A.rows, A.norms, Q.rows, Q.norms, *self.fused_parameters(), out)
        else:
            K = self._profiled(self._read(backend, A, Q, direct, out), A, Q, xp)
        return backend.set_diagonal(K, self.diagonal(A)) if B is None else K

    def fused_parameters(self) -> tuple[float, ...]:
        return ()

    def _read(self, backend: Any, A: Points, Q: Points, direct: bool, out: Any) -> Any:
        if self.reads.startswith("dot"):
            return backend.dot(A.rows, Q.rows, out)
        if self.reads not in _DISTANCES:
            t = backend.coordinatewise(self.reads, A.rows, Q.rows, out)
            return t / A.rows.shape[1] if self.reads == "matches" else t
        D = (
            backend.sqeuclidean_direct(A.rows, Q.rows)
            if direct
            else backend.sqeuclidean(A.rows, A.norms, Q.rows, Q.norms, out)
        )
        if self.reads != "euclidean":
            return D
        D = D if direct else backend.refine_near(D, A.rows, A.norms, Q.rows, Q.norms, _NEAR)
        return namespace(D).sqrt(D)

    def _profiled(self, t: Any, A: Points, Q: Points, xp: Any) -> Any:
        if self.reads == "dot+norms":
            return self.profile(t, xp, A.norms[:, None], Q.norms[None, :])
        return self.profile(t, xp)

    def diagonal(self, A: Points) -> Any:
        xp = namespace(A.rows)
        with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN are looked for here, and refused
            if self.reads == "dot":
                return self.profile(A.norms, xp)
            if self.reads == "dot+norms":
                return self.profile(A.norms, xp, A.norms, A.norms)
            return self.profile(self._self_reading(A, xp), xp)

    def _self_reading(self, A: Points, xp: Any) -> Any:
        """What is read off a row and itself: no distance, every coordinate a match, the sum as intersection."""
        sums = A.rows.sum(axis=1) if sp.issparse(A.rows) else xp.sum(A.rows, axis=1)
        sums = np.asarray(sums).reshape(-1) if sp.issparse(A.rows) else sums
        if self.reads == "intersection":
            return sums
        return xp.full_like(sums, 1.0 if self.reads == "matches" else 0.0)

    def _bandwidth(self, X: Any, gamma: Any, default: float) -> float:
        return resolve_gamma(gamma, X, self._distances, default)

    def _distances(self, rows: np.ndarray) -> np.ndarray:
        """What the kernel reads, between all pairs of a few dense rows."""
        A = VectorKernel.points(self, rows)
        return self._read(backend_of(rows), A, A, True, None)


def _cast(X: Any, dtype: Any) -> Any:
    with np.errstate(over="ignore"):
        return _as_type(X, dtype)


def _as_type(X: Any, dtype: Any) -> Any:
    return X.astype(dtype) if sp.issparse(X) else namespace(X).astype(X, dtype, copy=False)


def _shifted(X: Any, shift: Any, dtype: Any) -> Any:
    """X − shift in the wider of X's precision and `dtype`, so that it is rounded once, after the shift."""
    wide = namespace(X).result_type(X.dtype, dtype)
    return _cast(X, wide) - _cast(shift, wide)


def column_means(X: Any) -> Any:
    """The mean row of dense X; None for CSR, whose rows are not shifted."""
    if sp.issparse(X):
        return None
    xp = namespace(X)
    with np.errstate(over="ignore", invalid="ignore"):
        means = xp.mean(X, axis=0)
    return xp.where(xp.isfinite(means), means, xp.zeros_like(means))


def squared_norms(X: Any, dtype: Any) -> Any:
    """‖x‖² of each row, summed in float64 and rounded once."""
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).reshape(-1).astype(dtype)
        if not is_foreign(X):
            return np.einsum("ij,ij->i", X, X, dtype=np.float64).astype(dtype)
        xp = namespace(X)
        return xp.astype(xp.sum(xp.astype(X, xp.float64) ** 2, axis=1), dtype)


@dataclass(repr=False)
class Linear(VectorKernel):
    """k(x, y) = ⟨x, y⟩.

    >>> Linear()([[1.0, 2.0], [0.0, 1.0]]).tolist()
    [[5.0, 2.0], [2.0, 1.0]]
    """

    reads = "dot"

    def profile(self, t: Any, xp: Any) -> Any:
        return t

    def centered_form(self, X: Any) -> Kernel:
        return self if sp.issparse(X) else LinearAbout(column_means(X))


@dataclass(repr=False)
class LinearAbout(VectorKernel):
    """k(x, y) = ⟨x − shift, y − shift⟩: what Linear is once centred, without its rounding far from the origin."""

    reads = "dot"

    shift: Any

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        return super().points(_shifted(X, self.shift, dtype or X.dtype), dtype, like)

    def profile(self, t: Any, xp: Any) -> Any:
        return t

    def __repr__(self) -> str:
        return "Linear()"


class _DotWithGamma(VectorKernel):
    """A profile of γ⟨x, y⟩ + coef0 (abstract)."""

    reads = "dot"
    gamma: Any
    coef0: float

    def bind(self, X: Any) -> Kernel:
        return replace(self, gamma=self._bandwidth(X, self.gamma, 1.0 / X.shape[1]))  # type: ignore[type-var]

    def _distances(self, rows: np.ndarray) -> np.ndarray:
        return np.abs(rows @ rows.T)


@dataclass(repr=False)
class Polynomial(_DotWithGamma):
    """k(x, y) = (γ⟨x, y⟩ + coef0)^degree; gamma=None is 1/d.

    >>> k = Polynomial(degree=2, gamma=1.0, coef0=0.0)
    >>> X = [[1.0, 2.0], [3.0, -1.0]]
    >>> Phi = k.feature_map(X)  # x₁², √2 x₁x₂, x₂²
    >>> bool(abs(Phi @ Phi.T - k(X)).max() < 1e-12)
    True
    """

    degree: float = 3
    gamma: Any = None
    coef0: float = 1.0

    def profile(self, t: Any, xp: Any) -> Any:
        return (self.gamma * t + float(self.coef0)) ** float(self.degree)

    def feature_map(self, X: Any) -> np.ndarray:
        """The explicit Φ(x) with Φ(x)ᵀΦ(y) = k(x, y), (n, C(d + p, p)) or (n, C(d + p − 1, p)) for coef0 = 0.

        One column for each way to write p = Σ kⱼ: √(p! / Πkⱼ!) Π zⱼ^kⱼ, z being √γ x and, where coef0 > 0, √coef0.
        """
        X = to_numpy(X.toarray() if sp.issparse(X) else X).astype(np.float64)
        p = self.degree
        if int(p) != p or p < 1 or self.coef0 < 0:
            raise ValueError(f"{self!r} has an explicit map only for a whole degree ≥ 1 and coef0 ≥ 0.")
        bound = self.bind(X)
        assert isinstance(bound, Polynomial)
        Z = math.sqrt(bound.gamma) * X
        if self.coef0 > 0:
            Z = np.column_stack([Z, np.full(len(Z), math.sqrt(self.coef0))])
        width = math.comb(Z.shape[1] + int(p) - 1, int(p))
        if 8 * width * len(Z) > available_bytes():
            raise ValueError(
                f"The explicit map has {width:,} columns, {format_bytes(8 * width * len(Z))} in all: "
                "use the kernel instead, that is what it is for."
            )
        return np.column_stack(
            [
                math.sqrt(_multinomial(powers)) * np.prod(Z[:, list(powers)], axis=1)
                for powers in combinations_with_replacement(range(Z.shape[1]), int(p))
            ]
        )


def _multinomial(factors: tuple[int, ...]) -> int:
    """In how many orders the factors can be multiplied: p! / Πkⱼ!."""
    counts = np.unique(factors, return_counts=True)[1]
    return math.factorial(len(factors)) // math.prod(math.factorial(int(c)) for c in counts)


@dataclass(repr=False)
class Sigmoid(_DotWithGamma):
    """k(x, y) = tanh(γ⟨x, y⟩ + coef0); gamma=None is 1/d. Indefinite for most data: no inner product."""

    gamma: Any = None
    coef0: float = 1.0

    def profile(self, t: Any, xp: Any) -> Any:
        return xp.tanh(self.gamma * t + float(self.coef0))

    def diagonal(self, A: Points) -> Any:
        """tanh hides an infinite ‖x‖², and with it products ⟨x, y⟩ that are no numbers: here it shows."""
        xp = namespace(A.norms)
        return xp.where(xp.isfinite(A.norms), super().diagonal(A), A.norms)


@dataclass(repr=False)
class RBF(VectorKernel):
    """k(x, y) = exp(−γ‖x − y‖²), the Gaussian; gamma is a number, "scale", "median" or None (1/d).

    >>> RBF(gamma=0.5)
    RBF(gamma=0.5)
    """

    reads = "sqeuclidean"
    fused = "rbf"

    gamma: Any = None

    def bind(self, X: Any) -> Kernel:
        return RBF(self._bandwidth(X, self.gamma, 1.0 / X.shape[1]))

    def profile(self, d2: Any, xp: Any) -> Any:
        return xp.exp(-self.gamma * d2)

    def sharpness(self) -> float:
        return self.gamma if isinstance(self.gamma, (int, float)) else 0.0

    def fused_parameters(self) -> tuple[float, ...]:
        return (self.gamma,)

    def frequencies(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Lengths ‖ω‖ / ‖z‖, z standard normal, of frequencies drawn from the kernel's spectral density."""
        return np.full(count, math.sqrt(2 * self.gamma))


@dataclass(repr=False)
class Laplacian(VectorKernel):
    """k(x, y) = exp(−γ‖x − y‖₁), as scikit-learn has it; gamma=None is 1/d."""

    reads = "manhattan"

    gamma: Any = None

    def bind(self, X: Any) -> Kernel:
        return Laplacian(self._bandwidth(X, self.gamma, 1.0 / X.shape[1]))

    def profile(self, d1: Any, xp: Any) -> Any:
        return xp.exp(-self.gamma * d1)


class _WithLength(VectorKernel):
    """A profile of ‖x − y‖ / length_scale (abstract)."""

    length_scale: Any

    def bind(self, X: Any) -> Kernel:
        length = self.length_scale
        if length == "median":
            length = median_distance(X, self._distances)
            length = math.sqrt(length) if self.reads == "sqeuclidean" else length
        if isinstance(length, str) or not 0 < length < float("inf"):
            raise ValueError(f"length_scale={length!r} must be a positive, finite number or 'median'.")
        return replace(self, length_scale=float(length))  # type: ignore[type-var]

    def sharpness(self) -> float:
        return 1.0 / self.length_scale**2 if isinstance(self.length_scale, (int, float)) else 0.0


@dataclass(repr=False)
class Matern(_WithLength):
    """k(x, y) = 2^(1−ν)/Γ(ν) · s^ν K_ν(s), s = √(2ν) ‖x − y‖ / length_scale.

    ν = 1/2 is exp(−‖x − y‖/ℓ), ν → ∞ the Gaussian exp(−‖x − y‖²/2ℓ²); 1/2, 3/2, 5/2 and ∞ run on every backend.
    """

    reads = "euclidean"

    nu: float = 1.5
    length_scale: Any = 1.0

    def profile(self, d: Any, xp: Any) -> Any:
        if not self.nu > 0:
            raise ValueError(f"nu={self.nu!r} must be positive.")
        if self.nu == float("inf"):
            return xp.exp(-0.5 * (d / self.length_scale) ** 2)
        s = xp.clip((math.sqrt(2 * self.nu) / self.length_scale) * d, 0.0, 1e4)  # k is 0 there, and s² still a number
        if self.nu == 0.5:
            return xp.exp(-s)
        if self.nu == 1.5:
            return (1 + s) * xp.exp(-s)
        if self.nu == 2.5:
            return (1 + s + s**2 / 3) * xp.exp(-s)
        if is_foreign(s):
            raise TypeError(
                f"Matern(nu={self.nu}) needs Bessel functions, which only NumPy data has; use 0.5, 1.5, 2.5."
            )
        return _general_matern(s, self.nu)

    def frequencies(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Lengths of Student-t frequencies with 2ν degrees of freedom, relative to normal ones."""
        if self.nu == float("inf"):
            return np.full(count, 1 / self.length_scale)
        return np.sqrt(2 * self.nu / rng.chisquare(2 * self.nu, count)) / self.length_scale


def _general_matern(s: np.ndarray, nu: float) -> np.ndarray:
    """In logarithms: s^ν overflows where K_ν underflows, and their product is the kernel."""
    from scipy.special import gammaln, kve

    x = np.maximum(s.astype(np.float64), 1e-290)  # K_ν is infinite at 0, where the kernel is 1
    if nu > 100:
        raise ValueError(f"nu={nu!r}: above 100 the Bessel functions overflow; nu=inf, the Gaussian, is next to it.")
    with np.errstate(over="ignore", divide="ignore"):
        bessel = kve(nu, x)
        logs = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(x) + np.log(bessel) - x
    near = 1.0 - x**2 / (4 * (nu - 1)) if nu > 1 else 1.0  # K_ν overflows next to 0 only, and there this is exact
    K = np.where(np.isfinite(bessel) & (s > 0), np.exp(np.minimum(logs, 0.0)), near)
    return K.astype(s.dtype)


@dataclass(repr=False)
class RationalQuadratic(_WithLength):
    """k(x, y) = (1 + ‖x − y‖² / (2 α ℓ²))^(−α): Gaussians of all widths at once."""

    reads = "sqeuclidean"

    length_scale: Any = 1.0
    alpha: float = 1.0

    def profile(self, d2: Any, xp: Any) -> Any:
        if not self.alpha > 0:
            raise ValueError(f"alpha={self.alpha!r} must be positive.")
        return (1 + d2 / float(2 * self.alpha * self.length_scale**2)) ** (-float(self.alpha))

    def frequencies(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Lengths of a Gamma mixture of normal frequencies."""
        return np.sqrt(rng.gamma(self.alpha, 1 / self.alpha, count)) / self.length_scale


@dataclass(repr=False)
class Cosine(VectorKernel):
    """k(x, y) = ⟨x, y⟩ / (‖x‖ ‖y‖); a zero row has k = 0 with everything."""

    reads = "dot+norms"

    def profile(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        return t * _inverse_sqrt(aa, xp) * _inverse_sqrt(bb, xp)


@dataclass(repr=False)
class ArcCosine(VectorKernel):
    """k(x, y) = ‖x‖ⁿ‖y‖ⁿ Jₙ(θ)/π, θ the angle between x and y: an infinitely wide layer of steps or ramps.

    J₀ = π − θ, J₁ = sin θ + (π − θ) cos θ, J₂ = 3 sin θ cos θ + (π − θ)(1 + 2 cos² θ).
    """

    reads = "dot+norms"

    order: int = 1

    def profile(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        cos = xp.clip(t * _inverse_sqrt(aa, xp) * _inverse_sqrt(bb, xp), -1.0, 1.0)
        rest = math.pi - xp.acos(cos)
        if self.order == 0:
            return rest / math.pi
        sin = xp.sqrt(1 - cos**2)
        if self.order == 1:
            return xp.sqrt(aa) * xp.sqrt(bb) * (sin + rest * cos) / math.pi
        if self.order == 2:
            return aa * bb * (3 * sin * cos + rest * (1 + 2 * cos**2)) / math.pi
        raise ValueError(f"order={self.order!r} must be 0, 1 or 2.")


@dataclass(repr=False)
class Tanimoto(VectorKernel):
    """k(x, y) = ⟨x, y⟩ / (‖x‖² + ‖y‖² − ⟨x, y⟩): shared over total, for fingerprints and sets; k(0, 0) = 1."""

    reads = "dot+norms"

    def profile(self, t: Any, xp: Any, aa: Any, bb: Any) -> Any:
        total = aa + bb - t
        empty = total <= 0
        return xp.where(empty, xp.ones_like(t), t / xp.where(empty, xp.ones_like(total), total))


def _inverse_sqrt(a: Any, xp: Any) -> Any:
    positive = a > 0
    return xp.where(positive, 1 / xp.sqrt(xp.where(positive, a, xp.ones_like(a))), xp.zeros_like(a))


@dataclass(repr=False)
class Chi2(VectorKernel):
    """k(x, y) = exp(−γ Σ (xⱼ − yⱼ)² / (xⱼ + yⱼ)), for histograms (entries ≥ 0); gamma=None is 1."""

    reads = "chi2"
    non_negative = True

    gamma: Any = None

    def bind(self, X: Any) -> Kernel:
        return Chi2(self._bandwidth(X, self.gamma, 1.0))

    def profile(self, t: Any, xp: Any) -> Any:
        return xp.exp(-self.gamma * t)


@dataclass(repr=False)
class AdditiveChi2(VectorKernel):
    """k(x, y) = −Σ (xⱼ − yⱼ)² / (xⱼ + yⱼ), for histograms: conditionally positive, and a kernel once centred."""

    reads = "chi2"
    non_negative = True

    def profile(self, t: Any, xp: Any) -> Any:
        return -t


@dataclass(repr=False)
class Intersection(VectorKernel):
    """k(x, y) = Σ min(xⱼ, yⱼ), the histogram intersection (entries ≥ 0)."""

    reads = "intersection"
    non_negative = True

    def profile(self, t: Any, xp: Any) -> Any:
        return t


@dataclass(repr=False)
class Hamming(VectorKernel):
    """k(x, y) = the share of coordinates in which x and y are equal, for codes and categories."""

    reads = "matches"

    def profile(self, t: Any, xp: Any) -> Any:
        return t
