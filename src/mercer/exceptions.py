"""Errors and warnings by name. An error stops a run before work starts; a warning comes with a usable answer."""

from __future__ import annotations

import sys
import warnings
from types import FrameType

__all__ = [
    "AsymmetricKernelWarning",
    "DegenerateDataWarning",
    "DisconnectedGraphError",
    "DisconnectedGraphWarning",
    "FailedCandidateWarning",
    "ForcedCorrelationWarning",
    "IndefiniteKernelWarning",
    "MemoryLimitError",
    "MercerWarning",
    "MiscompiledWarning",
    "NotConvergedWarning",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class MemoryLimitError(MemoryError, ValueError):
    """The run would need more memory than its limit. Nothing was allocated."""


class ModelFileError(ValueError):
    """A model cannot be saved, or a file does not hold a model that this version can read."""


class MercerWarning(UserWarning):
    """The base class of every Mercer warning: filter on it to silence them all, or to turn them into errors."""


class NotConvergedWarning(MercerWarning):
    """The largest residual is above the tolerance. The answer and its residuals are still returned."""


class IndefiniteKernelWarning(MercerWarning):
    """The kernel has significant negative eigenvalues, so it is not an inner product in any space."""


class AsymmetricKernelWarning(MercerWarning):
    """A precomputed kernel differs from its transpose after centring; its symmetric part was used."""


class DegenerateDataWarning(MercerWarning):
    """The data varies in fewer directions than you asked for."""


class UncertainScoresWarning(MercerWarning):
    """Rounding, or a residual, blurs the scores of some components: `transform_error_` says by how much."""


class MiscompiledWarning(MercerWarning):
    """The compiler of GPU code made a kernel that computes something else. It is not used."""


class ForcedCorrelationWarning(MercerWarning):
    """Two views correlate perfectly only because they have more directions than there are samples."""


class FailedCandidateWarning(MercerWarning):
    """A candidate kernel cannot be used on this data. The others were compared without it."""


class DisconnectedGraphError(RuntimeError, ValueError):
    """The graph of neighbours falls into parts, and the distance between parts is unknown."""


class DisconnectedGraphWarning(MercerWarning):
    """The graph of neighbours fell into parts. They were joined, or only the largest was used."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point at the line that called Mercer: frames of Mercer and scikit-learn are skipped."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("mercer", "sklearn"):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
