"""Errors and warnings by name. An error stops a run before work starts; a warning comes with a usable answer."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
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
    """The computation would need more memory than its limit. Nothing was allocated.

    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> try:
    ...     KernelPCA(2, eigen_solver="dense", memory_limit="1MB").fit(np.zeros((5000, 2)))
    ... except MemoryLimitError:
    ...     print("refused")
    refused
    """


class ModelFileError(ValueError):
    """A model cannot be saved, or a file does not hold a model that this version can read.

    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> import mercer
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "x.mercer").write_bytes(b"nothing")
    ...     try:
    ...         mercer.load(f"{folder}/x.mercer")
    ...     except ModelFileError:
    ...         print("refused")
    refused
    """


class MercerWarning(UserWarning):
    """The base class of every Mercer warning: filter on it to silence them all, or to turn them into errors.

    >>> from mercer.exceptions import NotConvergedWarning
    >>> issubclass(NotConvergedWarning, MercerWarning)
    True
    """


class NotConvergedWarning(MercerWarning):
    """The largest residual is above the tolerance. The answer and its residuals are still returned.

    >>> import warnings
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> rows = np.random.default_rng(0).standard_normal((200, 5))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelPCA(3, kernel="rbf", eigen_solver="power", max_iter=1).fit(rows)
    >>> caught[0].category.__name__
    'NotConvergedWarning'
    """


class IndefiniteKernelWarning(MercerWarning):
    """The kernel has significant negative eigenvalues, so it is not an inner product in any space.

    >>> import warnings
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> rows = np.random.default_rng(0).standard_normal((40, 3))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelPCA(2, kernel="sigmoid", gamma=1.0, coef0=-1.0).fit(rows)
    >>> caught[0].category.__name__
    'IndefiniteKernelWarning'
    """


class AsymmetricKernelWarning(MercerWarning):
    """A precomputed kernel matrix is not symmetric after centring. Its symmetric part was used.

    >>> import warnings
    >>> import numpy as np
    >>> from mercer import KernelPCA
    >>> K = np.eye(5)
    >>> K[0, 1] = 0.5
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelPCA(1, kernel="precomputed").fit(K)
    >>> caught[0].category.__name__
    'AsymmetricKernelWarning'
    """


class DegenerateDataWarning(MercerWarning):
    """The data varies in fewer directions than you asked for.

    >>> import warnings
    >>> import numpy as np
    >>> from mercer import PCA
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = PCA(1).fit(np.ones((5, 2)))
    >>> caught[0].category.__name__
    'DegenerateDataWarning'
    """


class UncertainScoresWarning(MercerWarning):
    """Rounding, or a residual, blurs the scores of some components: `transform_error_` says by how much."""


class MiscompiledWarning(MercerWarning):
    """The GPU compiler produced wrong code for a kernel. Mercer does not use that kernel.

    >>> issubclass(MiscompiledWarning, MercerWarning)  # a filter on the base class covers it
    True
    """


class ForcedCorrelationWarning(MercerWarning):
    """Two views correlate perfectly only because they have more directions than there are samples.

    >>> import warnings
    >>> import numpy as np
    >>> from mercer import KernelCCA
    >>> one, two = np.random.default_rng(0).standard_normal((2, 20, 3))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = KernelCCA(1, kernel="rbf", gamma=1.0, reg=0).fit(one, two)
    >>> caught[0].category.__name__
    'ForcedCorrelationWarning'
    """


class FailedCandidateWarning(MercerWarning):
    """A candidate kernel cannot be used on this data. The others were compared without it.

    >>> import warnings
    >>> import numpy as np
    >>> from mercer.selection import select_kernel
    >>> rows = np.random.default_rng(0).standard_normal((30, 2))  # negative entries, which χ² refuses
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     best = select_kernel(rows, rows[:, 0], ["chi2", "linear"]).best
    >>> caught[0].category.__name__, best
    ('FailedCandidateWarning', Linear())
    """


class DisconnectedGraphError(RuntimeError, ValueError):
    """The graph of neighbours falls into parts, and the distance between parts is unknown.

    >>> import numpy as np
    >>> from mercer import Isomap
    >>> far = np.vstack([np.arange(10.0)[:, None], 1000 + np.arange(10.0)[:, None]])
    >>> try:
    ...     Isomap(n_neighbors=2, disconnected="error").fit(far)
    ... except DisconnectedGraphError:
    ...     print("refused")
    refused
    """


class DisconnectedGraphWarning(MercerWarning):
    """The graph of neighbours fell into parts. They were joined, or only the largest was used.

    >>> import warnings
    >>> import numpy as np
    >>> from mercer import Isomap
    >>> far = np.vstack([np.arange(10.0)[:, None], 1000 + np.arange(10.0)[:, None]])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = Isomap(n_neighbors=2, n_components=1).fit(far)
    >>> caught[0].category.__name__
    'DisconnectedGraphWarning'
    """


class _Collected(local):
    """The warnings that a thread collects, instead of giving them; None if it gives them."""

    messages: list[str] | None = None


_collected = _Collected()


@contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the messages of the warnings of this thread, instead of giving them.

    `warnings.catch_warnings` would collect those of all threads, also of cells that run beside a live map.
    """
    before, _collected.messages = _collected.messages, []
    try:
        yield _collected.messages
    finally:
        _collected.messages = before


def warn(message: str, category: type[Warning]) -> None:
    """Warn, and point at the line that called Mercer: frames of Mercer and scikit-learn are skipped."""
    if _collected.messages is not None:
        _collected.messages.append(message)
        return
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("mercer", "sklearn"):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
