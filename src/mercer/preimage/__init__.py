"""From coordinates back to data: rows whose features are near the point of feature space that the scores name.

    Ridge         regression of the rows on their scores: any kernel, the fastest map, smooth
    FixedPoint    the nearest φ(x), found by a fixed point that never gets worse (Mika et al. 1998)
    LocalMDS      the x at the right distances from its neighbours (Kwok & Tsang 2004)
    SklearnRidge  scikit-learn's regression, digit for digit

Scores z name the point P(z) = μ + Σⱼ zⱼ wⱼ. It is hardly ever the φ(x) of any x: each method says what stands in.
"""

from mercer.preimage.base import Fitted, Method, PreImage
from mercer.preimage.fixed_point import FixedPoint, FixedPointAnswer
from mercer.preimage.mds import LocalMDS
from mercer.preimage.ridge import Ridge
from mercer.preimage.sklearn_ridge import SklearnRidge

__all__ = [
    "METHODS",
    "Fitted",
    "FixedPoint",
    "FixedPointAnswer",
    "LocalMDS",
    "Method",
    "PreImage",
    "Ridge",
    "SklearnRidge",
    "resolve_method",
]

METHODS: dict[str, type[Method]] = {
    "ridge": Ridge,
    "fixed_point": FixedPoint,
    "mds": LocalMDS,
    "sklearn": SklearnRidge,
}


def resolve_method(method: str | Method) -> Method:
    """The method that a name or an object stands for.

    >>> resolve_method("mds")
    LocalMDS()
    """
    return METHODS[method]() if isinstance(method, str) else method


def __dir__() -> list[str]:
    return sorted(__all__)
