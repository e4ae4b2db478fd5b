"""What can go wrong, by name. Errors stop before work starts; warnings leave a usable answer."""

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
    "NotConvergedWarning",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class MemoryLimitError(MemoryError, ValueError):
    """The run would take more memory than its limit; it was refused before allocating."""


class ModelFileError(ValueError):
    """A model cannot be saved, or a file does not hold a model that this version can read."""


class MercerWarning(UserWarning):
    """The base of every warning that Mercer raises: filter on it to silence or to promote them all."""


class NotConvergedWarning(MercerWarning):
    """The largest residual is above the tolerance; the answer and its residuals are still given."""


class IndefiniteKernelWarning(MercerWarning):
    """The kernel has significant negative eigenvalues, so it is no inner product in any space."""


class AsymmetricKernelWarning(MercerWarning):
    """A precomputed kernel differs from its transpose after centring; its symmetric part was used."""


class DegenerateDataWarning(MercerWarning):
    """The data has fewer directions of variation than were asked for."""


class UncertainScoresWarning(MercerWarning):
    """Rounding, or a residual, blurs the scores of some components: `transform_error_` says by how much."""


class ForcedCorrelationWarning(MercerWarning):
    """Two views correlate perfectly because they have more directions than there are samples, whatever the data."""


class FailedCandidateWarning(MercerWarning):
    """A kernel that was to be compared cannot be used on this data; the others were compared without it."""


class DisconnectedGraphError(RuntimeError, ValueError):
    """The graph of neighbours falls into parts, and nothing says how far apart they are."""


class DisconnectedGraphWarning(MercerWarning):
    """The graph of neighbours fell apart; its parts were joined, or the largest alone was used."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the line that called Mercer, through whatever wrappers of ours and of scikit-learn's."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("mercer", "sklearn"):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
