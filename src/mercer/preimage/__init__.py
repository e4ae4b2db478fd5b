"""From scores back to data: rows whose features are near the point of feature space that the scores describe.

    Ridge         regression of the rows on their scores: any kernel, smooth, the fastest per row
    FixedPoint    the nearest φ(x), by an iteration that never gets worse (Mika et al. 1998)
    LocalMDS      the x at the right distances from its neighbours (Kwok & Tsang 2004)
    SklearnRidge  scikit-learn's regression, digit for digit

Scores z describe the point P(z) = μ + Σⱼ zⱼ wⱼ, which is hardly ever φ(x) for any x. Each method defines which x to
return instead.
"""

from mercer.preimage.fixed_point import FixedPoint, FixedPointAnswer
from mercer.preimage.inverse_method import InverseRequest, Method, PreImage
from mercer.preimage.local_mds import LocalMDS
from mercer.preimage.ridge import Ridge
from mercer.preimage.sklearn_ridge import SklearnRidge
from mercer.preimage.target import FittedComponents

__all__ = [
    "METHODS",
    "FittedComponents",
    "FixedPoint",
    "FixedPointAnswer",
    "InverseRequest",
    "LocalMDS",
    "Method",
    "PreImage",
    "Ridge",
    "SklearnRidge",
    "resolve_method",
]

#: The names that `inverse_method=` accepts, and their classes.
METHODS: dict[str, type[Method]] = {
    "ridge": Ridge,
    "fixed_point": FixedPoint,
    "mds": LocalMDS,
    "sklearn": SklearnRidge,
}


def resolve_method(method: str | Method) -> Method:
    """The method with this name; a method itself is returned unchanged.

    >>> resolve_method("mds")
    LocalMDS()
    """
    return METHODS[method]() if isinstance(method, str) else method


def __dir__() -> list[str]:
    return sorted(__all__)
