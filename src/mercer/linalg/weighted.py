"""Weighted centring: the Gram operator of features about their weighted mean."""

from __future__ import annotations

from typing import Any

from mercer.linalg.operators import Array, Operator


class WeightedCentered(Operator):
    """W^½ C K Cᵀ W^½ with C = I − 1wᵀ/n and W = diag(w), Σw = n: inner products of √wᵢ (φ(xᵢ) − Σ wⱼφ(xⱼ)/n).

    With w = 1 this is HKH. Its null vector is √w. A product costs O(nb) more than K's.

    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> A = WeightedCentered(Dense(np.eye(3)), np.array([1.0, 1.0, 1.0]))
    >>> A.matmat(np.ones((3, 1))).ravel().round(12).tolist()
    [0.0, 0.0, 0.0]
    """

    def __init__(self, K: Operator, weights: Array) -> None:
        self.K, self.weights = K, weights
        self.n, self.xp, self.dtype = K.n, K.xp, K.dtype
        self.roots = self.xp.sqrt(weights)[:, None]
        self.even = bool(self.xp.all(weights == 1))  # plain centring: multiplications by one are skipped
        self._sums: Array = None

    def row_sums(self) -> Array:
        """Kw, (n,): the inner products of the samples with n times their weighted mean."""
        if self._sums is None:
            self._sums = self.K.matmat(self.weights[:, None])[:, 0]
        return self._sums

    def matmat(self, V: Array) -> Array:
        """The first product carries w along, so that Kw needs no pass of its own."""
        self.count(V)
        right = self.coefficients(V)
        if self._sums is None:
            both = self.K.matmat(self.xp.concat([right, self.weights[:, None]], axis=1))
            self._sums, product = self.xp.asarray(both[:, -1], copy=True), both[:, :-1]
        else:
            product = self.K.matmat(right)
        if self.even:
            return product - self.xp.mean(product, axis=0)
        return self.roots * (product - self.xp.sum(self.weights[:, None] * product, axis=0) / self.n)

    def coefficients(self, V: Array) -> Array:
        """Cᵀ W^½ V: coefficients on φ(xᵢ) of the combination V of the centred features."""
        if self.even:
            return V - self.xp.mean(V, axis=0)
        V = self.roots * V
        return V - self.weights[:, None] * (self.xp.sum(V, axis=0) / self.n)

    def rows(self, index: Array) -> Array:
        means = self.row_sums() / self.n
        block = self.xp.astype(self.K.rows(index), self.dtype, copy=False)
        centred = block - means[None, :] - self.xp.take(means, index)[:, None] + self._mean_norm()
        return self.xp.take(self.roots, index, axis=0) * centred * self.roots.T

    def diagonal(self) -> Array:
        means = self.row_sums() / self.n
        return self.weights * (self.xp.astype(self.K.diagonal(), self.dtype) - 2 * means + self._mean_norm())

    def _mean_norm(self) -> Any:
        return self.xp.sum(self.weights * self.row_sums()) / self.n**2

    def trace(self) -> float:
        """n times the total variance about the weighted mean."""
        return float(self.xp.sum(self.diagonal()))

    def placement(self) -> dict[str, Any]:
        return self.K.placement()

    @property
    def kept_bytes(self) -> int:
        return self.K.kept_bytes
