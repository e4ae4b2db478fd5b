"""Alignment brings a map as near to the one before as its group of motions allows, and changes no distance."""

import numpy as np
from scipy.spatial.distance import pdist

from mercer.live.map_alignment import mirrored_onto, turned_onto


def maps(seed=0, n=40, k=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.normal(size=(n, k))


def test_distances_stay():
    A, B = maps()
    for align in (mirrored_onto, turned_onto):
        assert np.allclose(pdist(align(A, B)), pdist(B), rtol=1e-12)


def test_no_mirroring_is_nearer():
    A, B = maps(1)
    found = mirrored_onto(A, B)
    A0 = A - A.mean(axis=0)

    def distance(M):
        return np.linalg.norm(A0 - (M - M.mean(axis=0)))

    signs = [np.array([a, b, c]) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    assert distance(found) <= min(distance(B * s) for s in signs) * (1 + 1e-12)


def test_no_turn_is_nearer():
    A, B = maps(2)
    A0, found = A - A.mean(axis=0), turned_onto(A, B)
    rng = np.random.default_rng(3)
    B0 = B - B.mean(axis=0)
    best = np.linalg.norm(A0 - (found - found.mean(axis=0)))
    turns = [np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(200)]
    assert best <= min(np.linalg.norm(A0 - B0 @ turn) for turn in turns) * (1 + 1e-12)


def test_other_shapes_stay_as_they_are():
    A, B = maps(4)
    assert turned_onto(A[:, :2], B) is B and turned_onto(None, B) is B and mirrored_onto(A[:-1], B) is B
    assert mirrored_onto(A[:, :2], B).shape == B.shape
