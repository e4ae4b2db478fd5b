"""Maps for the tests of the repulsion, the sums by their definition, and measures of the error."""

from __future__ import annotations

import numpy as np

from mercer.embedding.exact_repulsion import pair_sums
from mercer.embedding.similarity import Gaussian, Student

SIMILARITIES = [Student(), Student(0.5), Student(2), Student(10), Gaussian()]


def by_definition(similarity, new, fixed):
    difference = new[:, None].astype(float) - fixed[None].astype(float)
    d2 = np.square(difference).sum(axis=2)
    return (similarity.slope(d2)[:, :, None] * difference).sum(axis=1), similarity.weight(d2)


def exact(similarity, Y):
    G, rows = pair_sums(similarity, Y.astype(float), Y.astype(float), same=True)
    return G, rows.sum()


def points(layout, n, c, size, seed=0):
    """Points in a cube of side `size`: uniform, or in clusters a thirtieth of it wide."""
    random = np.random.default_rng(seed)
    if layout == "uniform":
        return size * random.uniform(-0.5, 0.5, (n, c))
    centres = random.uniform(-0.4, 0.4, (15, c))
    return size * (centres[random.integers(0, 15, n)] + random.standard_normal((n, c)) / 30)


def relative(G, reference):
    return np.linalg.norm(G - reference) / np.linalg.norm(reference)


def worst_row(G, reference):
    """The largest error of a row, in units of the root mean square of the rows."""
    return np.linalg.norm(G - reference, axis=1).max() / np.sqrt(np.square(reference).sum(axis=1).mean())


def close(Z, reference, tolerance):
    return abs(Z - reference) <= tolerance * abs(reference)
