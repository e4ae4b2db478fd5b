"""Gradients of kernels: the rules of calculus, one per kind of kernel.

    gradient_sum(kernel, A, B, coefs, d)[a, j] = Σ_b coefs[b, j] ∂k(x_a, x_b)/∂x_a

For a kernel of vectors ∂k/∂x = P y + Q x, where P and Q are numbers that depend on the pair. So the sum takes two
matrix products per column of `coefs`, and nothing of size m × n × d is ever formed. A composite asks its parts. If its
rule multiplies by the value of another kernel, it passes those values on as `weights`, one per pair.

Kernels with a kink (Laplacian, Intersection, Hamming, Chi2 at empty bins, Matern up to ν = 1, ArcCosine of order 0)
and kernels without a formula in x (functions, strings, a precomputed matrix) have no gradient here. To give your own
composite a gradient, use `gradient_sum.register` and `diagonal_gradient.register`.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import namespace, placement
from mercer.kernels.kernel import (
    Composite,
    Constant,
    Kernel,
    Normalized,
    OnColumns,
    Points,
    Power,
    Product,
    Scaled,
    Sum,
    WeightedColumns,
)
from mercer.kernels.vector import VectorKernel

WITH_GRADIENT = (
    "Linear, Polynomial, Sigmoid, RBF, RationalQuadratic, Matern with nu > 1, Cosine, ArcCosine of order 1 or 2, "
    "Tanimoto, and sums, products, powers, multiples, columns and normalisations of these"
)


def has_gradient(kernel: Kernel) -> bool:
    """Whether `gradient_sum` can differentiate this kernel.

    >>> from mercer.kernels import RBF, Laplacian
    >>> has_gradient(2.0 * RBF(gamma=0.5)), has_gradient(RBF(gamma=0.5) + Laplacian())
    (True, False)
    """
    return not _without(kernel)


def refuse_kinks(kernel: Kernel) -> None:
    """Raise TypeError if some part of the kernel has no gradient."""
    missing = _without(kernel)
    if missing:
        raise TypeError(
            f"{missing[0]!r} has no gradient: it has a kink, or no formula in terms of vectors. Kernels with a "
            f"gradient are {WITH_GRADIENT}."
        )


def _without(kernel: Kernel) -> list[Kernel]:
    """The simple kernels in `kernel` that have no gradient."""
    if isinstance(kernel, Composite):
        return [part for inner in kernel.inner_kernels() for part in _without(inner)]
    known = isinstance(kernel, Constant) or (isinstance(kernel, VectorKernel) and kernel.smooth)
    return [] if known else [kernel]


@singledispatch
def gradient_sum(kernel: Kernel, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    """Σ_b weights[a, b] coefs[b, j] ∂k(x_a, x_b)/∂x_a, (m, k, d), for points of a bound kernel.

    coefs : (n, k)
    d : number of columns of the data
    weights : (m, n); None means ones

    Cost: m n entries of the kernel, and m n (2 d + 1) k flops.
    """
    raise TypeError(f"{kernel!r} has no gradient. Kernels with a gradient are {WITH_GRADIENT}.")


@gradient_sum.register
def _(kernel: VectorKernel, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    P, Q = _pair_factors(kernel, A, B)
    P = P if weights is None else P * weights
    xp = namespace(P)
    if not coefs.shape[1]:
        return xp.zeros((len(A), 0, d), dtype=P.dtype, **placement(P))
    parts = [_times(P * coefs[:, j][None, :], B.rows) for j in range(coefs.shape[1])]
    G = xp.stack(parts, axis=1)
    if Q is None:
        return G
    Q = Q if weights is None else Q * weights
    return G + (Q @ coefs)[:, :, None] * _dense(A.rows)[:, None, :]


def _pair_factors(kernel: VectorKernel, A: Points, B: Points) -> tuple[Any, Any]:
    """P and Q with ∂k(x, y)/∂x = P y + Q x, (m, n) each; Q is None if it is zero."""
    xp, t = namespace(A.rows), kernel.reading(A, B)
    if kernel.reads == "dot+norms":
        along, norm = kernel.slope(t, xp, A.norms[:, None], B.norms[None, :])
        return along, 2 * norm
    slope = kernel.slope(t, xp)
    if kernel.reads == "dot":
        return slope, None
    if kernel.reads == "sqeuclidean":
        slope = 2 * slope
    return -slope, slope


def _times(M: Any, rows: Any) -> Any:
    return np.asarray((rows.T @ M.T).T) if sp.issparse(rows) else M @ rows


def _dense(rows: Any) -> Any:
    return rows.toarray() if sp.issparse(rows) else rows


@gradient_sum.register
def _(kernel: Constant, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    return namespace(coefs).zeros((len(A), coefs.shape[1], d), dtype=coefs.dtype, **placement(coefs))


@gradient_sum.register
def _(kernel: Sum, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    left = gradient_sum(kernel.left, A.parts[0], B.parts[0], coefs, d, weights)
    return left + gradient_sum(kernel.right, A.parts[1], B.parts[1], coefs, d, weights)


@gradient_sum.register
def _(kernel: Product, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    left, right = kernel.inner_tiles(A, B)
    if weights is not None:
        left, right = left * weights, right * weights
    first = gradient_sum(kernel.left, A.parts[0], B.parts[0], coefs, d, right)
    return first + gradient_sum(kernel.right, A.parts[1], B.parts[1], coefs, d, left)


@gradient_sum.register
def _(kernel: Scaled, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    return float(kernel.factor) * gradient_sum(kernel.kernel, A.parts[0], B.parts[0], coefs, d, weights)


@gradient_sum.register
def _(kernel: Power, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    p = kernel.whole_exponent()
    outer = p * kernel.inner_tiles(A, B)[0] ** (p - 1)
    outer = outer if weights is None else outer * weights
    return gradient_sum(kernel.kernel, A.parts[0], B.parts[0], coefs, d, outer)


@gradient_sum.register
def _(kernel: OnColumns, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    columns = _column_numbers(kernel, d)
    inner = gradient_sum(kernel.kernel, A.parts[0], B.parts[0], coefs, len(columns), weights)
    return _spread(inner, columns, d)


@gradient_sum.register
def _(kernel: WeightedColumns, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    inner = gradient_sum(kernel.kernel, A.parts[0], B.parts[0], coefs, d, weights)
    return inner * _weights_like(kernel, inner)


@gradient_sum.register
def _(kernel: Normalized, A: Points, B: Points, coefs: Any, d: int, weights: Any = None) -> Any:
    """∂(k/√(k(x,x) k(y,y)))/∂x = ∂k/∂x / √(k(x,x) k(y,y)) − ½ (k/√(k(x,x) k(y,y))) ∂k(x,x)/∂x / k(x,x)."""
    lengths = A.norms[:, None] * B.norms[None, :]
    value = kernel.tile(A, B)
    if weights is not None:
        lengths, value = lengths * weights, value * weights
    turned = gradient_sum(kernel.kernel, A.parts[0], B.parts[0], coefs, d, lengths)
    own = diagonal_gradient(kernel.kernel, A.parts[0], d) * (A.norms**2)[:, None]
    return turned - 0.5 * (value @ coefs)[:, :, None] * own[:, None, :]


@singledispatch
def diagonal_gradient(kernel: Kernel, A: Points, d: int) -> Any:
    """∂k(x, x)/∂x of each row, (m, d); normalised kernels need it."""
    raise TypeError(f"{kernel!r} has no gradient. Kernels with a gradient are {WITH_GRADIENT}.")


@diagonal_gradient.register
def _(kernel: VectorKernel, A: Points, d: int) -> Any:
    """Twice the gradient of k in x at y = x, because k is symmetric."""
    rows, xp = _dense(A.rows), namespace(A.rows)
    if kernel.reads == "dot":
        return 2 * kernel.slope(A.norms, xp)[:, None] * rows
    if kernel.reads == "dot+norms":
        along, norm = kernel.slope(A.norms, xp, A.norms, A.norms)
        return 2 * (along + 2 * norm)[:, None] * rows
    return xp.zeros_like(rows)


@diagonal_gradient.register
def _(kernel: Constant, A: Points, d: int) -> Any:
    return namespace(A.rows).zeros((len(A), d), dtype=A.rows.dtype, **placement(A.rows))


@diagonal_gradient.register
def _(kernel: Sum, A: Points, d: int) -> Any:
    return diagonal_gradient(kernel.left, A.parts[0], d) + diagonal_gradient(kernel.right, A.parts[1], d)


@diagonal_gradient.register
def _(kernel: Product, A: Points, d: int) -> Any:
    left, right = kernel.inner_diagonals(A)
    first = right[:, None] * diagonal_gradient(kernel.left, A.parts[0], d)
    return first + left[:, None] * diagonal_gradient(kernel.right, A.parts[1], d)


@diagonal_gradient.register
def _(kernel: Scaled, A: Points, d: int) -> Any:
    return float(kernel.factor) * diagonal_gradient(kernel.kernel, A.parts[0], d)


@diagonal_gradient.register
def _(kernel: Power, A: Points, d: int) -> Any:
    p = kernel.whole_exponent()
    return (p * kernel.inner_diagonals(A)[0] ** (p - 1))[:, None] * diagonal_gradient(kernel.kernel, A.parts[0], d)


@diagonal_gradient.register
def _(kernel: OnColumns, A: Points, d: int) -> Any:
    columns = _column_numbers(kernel, d)
    return _spread(diagonal_gradient(kernel.kernel, A.parts[0], len(columns)), columns, d)


@diagonal_gradient.register
def _(kernel: WeightedColumns, A: Points, d: int) -> Any:
    inner = diagonal_gradient(kernel.kernel, A.parts[0], d)
    return inner * _weights_like(kernel, inner)


@diagonal_gradient.register
def _(kernel: Normalized, A: Points, d: int) -> Any:
    inner = diagonal_gradient(kernel.kernel, A.parts[0], d)
    return namespace(inner).zeros_like(inner)  # the diagonal is one everywhere


def _weights_like(kernel: WeightedColumns, array: Any) -> Any:
    return namespace(array).asarray(list(kernel.weights), dtype=array.dtype, **placement(array))


def _column_numbers(kernel: OnColumns, d: int) -> np.ndarray:
    return np.atleast_1d(
        np.arange(d)[kernel.columns if isinstance(kernel.columns, slice) else np.asarray(kernel.columns)]
    )


def _spread(inner: Any, columns: np.ndarray, d: int) -> Any:
    """`inner` with its last axis put back into d columns; contributions to a column that is named twice add up."""
    xp = namespace(inner)
    out = xp.zeros((*inner.shape[:-1], d), dtype=inner.dtype, **placement(inner))
    for place, column in enumerate(columns.tolist()):
        out[..., column] += inner[..., place]
    return out
