"""How fine a grid must be: the error of the repulsion as a function of the spacing of its nodes, as measured.

Errors are ‖G − G_exact‖/‖G_exact‖ on the hardest maps that were tried: 2,000 to 3,000 points, uniform on a line of
length 300 and in a square of side 100 to 300, where near pairs dominate. Maps as t-SNE makes them have an error 3 to 10
times smaller, and the error of Z is below a tenth of G's. tests/embedding/test_repulsion.py measures them again.
"""

from __future__ import annotations

import numpy as np

from mercer.embedding.similarity import Similarity, Student

# the error of G, and the spacing that gives it where w changes over a length of 1
_ERRORS = np.array([1e-5, 1e-4, 1e-3, 1e-2, 1e-1])
_SPACINGS = np.array([0.138, 0.192, 0.27, 0.38, 0.62])
_SOFT_SPACINGS = np.array([0.29, 0.42, 0.57, 0.8, 1.3])  # of the smooth part of Student(1), times √T
FINEST, COARSEST = float(_ERRORS[0]), float(_ERRORS[-1])
_GAUSSIAN_LENGTH = 1.35
_IN_SPACE = 1.12  # in three dimensions near pairs are a smaller part of the sums, and a wider grid is as accurate


def length_of(similarity: Similarity) -> float:
    """The length ℓ over which w changes, as the error sees it: errors at a spacing of h ℓ are those of Student(1) at h.

    Student's spectrum falls as exp(−√ν |ω|) while ν is small, and as that of a Gaussian when it is large.
    """
    return (0.3 + 0.7 / similarity.dof) ** -0.5 if isinstance(similarity, Student) else _GAUSSIAN_LENGTH


def spacing_for(error: float, similarity: Similarity, n_components: int) -> float:
    """The spacing at which G has this relative error.

    >>> from mercer.embedding.similarity import Student
    >>> round(spacing_for(1e-3, Student(), 2), 3)
    0.27
    """
    return _unit(similarity, n_components) * float(np.exp(np.interp(np.log(error), np.log(_ERRORS), np.log(_SPACINGS))))


def error_at(spacing: float, similarity: Similarity, n_components: int) -> float:
    """The relative error of G at a spacing; 1 where the grid is so coarse that nothing is promised."""
    h = spacing / _unit(similarity, n_components)
    if h > _SPACINGS[-1]:
        return 1.0
    return float(np.exp(np.interp(np.log(h), np.log(_SPACINGS), np.log(_ERRORS))))


def soft_spacing(error: float, softness: float) -> float:
    """The spacing for the part of Student(1) that is smooth over 1/√softness, in two or three dimensions."""
    return float(np.exp(np.interp(np.log(error), np.log(_ERRORS), np.log(_SOFT_SPACINGS))) / np.sqrt(softness))


def _unit(similarity: Similarity, n_components: int) -> float:
    """What the table's spacings are multiples of."""
    return length_of(similarity) * (_IN_SPACE if n_components == 3 else 1.0)
