"""Where a fit of the command computes: the processor, or a card to which the table is moved."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mercer.backends import backend_of, card, on_device
from mercer.cli.errors import unsuitable
from mercer.cli.methods import FitMethod
from mercer.memory import available_bytes, format_bytes

CPU, CUDA = "cpu", "cuda"
STREAMED_ON_DEVICE = ("pca", "kpca", "kda")  # methods whose sums over chunks a card can take


def chosen_device(asked: str, method: FitMethod, arguments: tuple[Any, ...] = ()) -> str:
    """The device of a fit. Fails if a card is asked for that is missing, or that the fit has no use for.

    arguments : what the method is fitted to, in which all matrices must be dense
    """
    if asked == CPU:
        return CPU
    hindrance, found = _hindrance(method, arguments), card()
    if hindrance is None and found is not None:
        return found
    if asked == CUDA:
        raise unsuitable(f"--device cuda: {hindrance} Take --device cpu, or auto.")
    return CPU


def _hindrance(method: FitMethod, arguments: tuple[Any, ...]) -> str | None:
    if not method.takes_tensors:
        return f"{method.title} computes on the processor alone."
    if any(hasattr(part, "indptr") for part in arguments):
        return "the table is sparse, and only dense rows are computed on a card."
    return None if card() is not None else "torch is not installed here, or sees no NVIDIA GPU."


def placed(arguments: tuple[Any, ...], device: str) -> tuple[Any, ...]:
    """The matrices among the arguments of a fit on the device; labels stay as they are."""
    if device == CPU:
        return arguments
    return tuple(on_device(part, device) if _is_matrix(part) else part for part in arguments)


def free_on(device: str, arguments: tuple[Any, ...]) -> str:
    """How much memory is free where a fit computes, in words."""
    if device == CPU:
        return f"{format_bytes(available_bytes())} are free"
    return f"{format_bytes(backend_of(arguments[0]).free_bytes(arguments[0]))} are free on {device}"


def _is_matrix(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.ndim == 2 and part.dtype.kind == "f"


def on_host(estimator: Any) -> Any:
    """A fitted estimator with NumPy arrays in place of tensors: what its model file holds."""
    from mercer.models.registry import load_model

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.mercer"
        estimator.save(path)
        return load_model(path)[0]
