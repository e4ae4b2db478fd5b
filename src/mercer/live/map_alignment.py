"""A new map turned onto the one before it, so that points move and do not jump.

    spectral maps     each axis keeps its meaning and may only be mirrored: min over signs s of ‖A − B diag(s)‖²
    neighbour maps    axes mean nothing, so the map may turn: min over orthogonal R of ‖A − B R‖² (Procrustes)

Neither changes a distance within the map, and neither scales it.
"""

from __future__ import annotations

import numpy as np


def mirrored_onto(earlier: np.ndarray | None, coordinates: np.ndarray) -> np.ndarray:
    """The map with each axis mirrored, if that brings it nearer to the earlier one.

    >>> A = np.array([[1.0, 2.0], [-1.0, 0.0], [0.0, -2.0]])
    >>> mirrored_onto(A, A * [-1, 1]).tolist() == A.tolist()
    True
    """
    if earlier is None or len(earlier) != len(coordinates):
        return coordinates
    k = min(earlier.shape[1], coordinates.shape[1])
    agreement = np.einsum("ij,ij->j", _centred(earlier[:, :k]), _centred(coordinates[:, :k]))
    signs = np.ones(coordinates.shape[1])
    signs[:k] = np.where(agreement < 0, -1.0, 1.0)
    return coordinates * signs.astype(coordinates.dtype)


def turned_onto(earlier: np.ndarray | None, coordinates: np.ndarray) -> np.ndarray:
    """The map turned and mirrored about its middle, as near to the earlier one as that brings it.

    >>> A = np.random.default_rng(0).normal(size=(20, 2))
    >>> turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> bool(np.abs(turned_onto(A - A.mean(axis=0), (A - A.mean(axis=0)) @ turn) - (A - A.mean(axis=0))).max() < 1e-12)
    True
    """
    if earlier is None or earlier.shape != coordinates.shape:
        return coordinates
    left, _, right = np.linalg.svd(_centred(coordinates).T @ _centred(earlier))
    middle = coordinates.mean(axis=0, dtype=np.float64)
    turned = (coordinates - middle) @ (left @ right) + middle
    return turned.astype(coordinates.dtype)


def _centred(values: np.ndarray) -> np.ndarray:
    values = values.astype(np.float64)
    return values - values.mean(axis=0)
