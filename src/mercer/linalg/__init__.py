"""Linear algebra on data and operators that may not fit in memory.

Operators         Operator (abstract), Dense, LowRank, Gram (a kernel matrix in tiles), Packed (half of a matrix),
                  Centered, WeightedCentered
top_eigenpairs    the largest eigenvalues of an operator, with residuals and error bounds
shifted_solve     (A + μI) X = B by block conjugate gradients
rpcholesky        F with F Fᵀ ≈ A by randomly pivoted Cholesky; nystroem, complete_cholesky
"""

from typing import TYPE_CHECKING

from mercer.deferred_names import deferred_names

if TYPE_CHECKING:
    from mercer.linalg.cholesky import complete_cholesky
    from mercer.linalg.eigen import Eigenpairs, top_eigenpairs
    from mercer.linalg.gram import Gram
    from mercer.linalg.lowrank import Factor, nystroem, rpcholesky
    from mercer.linalg.operators import Centered, Dense, LowRank, Operator
    from mercer.linalg.solve import Solution, shifted_solve
    from mercer.linalg.tiled import Packed
    from mercer.linalg.weighted import WeightedCentered

__all__ = [
    "Centered",
    "Dense",
    "Eigenpairs",
    "Factor",
    "Gram",
    "LowRank",
    "Operator",
    "Packed",
    "Solution",
    "WeightedCentered",
    "complete_cholesky",
    "nystroem",
    "rpcholesky",
    "shifted_solve",
    "top_eigenpairs",
]

_HOMES = {
    "Centered": "operators",
    "Dense": "operators",
    "Eigenpairs": "eigen",
    "Factor": "lowrank",
    "Gram": "gram",
    "LowRank": "operators",
    "Operator": "operators",
    "Packed": "tiled",
    "Solution": "solve",
    "WeightedCentered": "weighted",
    "complete_cholesky": "cholesky",
    "nystroem": "lowrank",
    "rpcholesky": "lowrank",
    "shifted_solve": "solve",
    "top_eigenpairs": "eigen",
}

__getattr__, __dir__ = deferred_names(__name__, _HOMES)
