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


def card_holds(asked: str, method: FitMethod, table_bytes: int) -> bool:
    """Whether the card that a fit would use has room for a table and as much again for the fit; True without a card."""
    if asked == CPU or _hindrance(method, ()) is not None:
        return True
    return _has_room(chosen_device(asked, method), table_bytes)


def fitting_device(asked: str, method: FitMethod, arguments: tuple[Any, ...]) -> tuple[str, str]:
    """The device of a fit of a whole table, and what to tell about it, if anything.

    Fails if a card is asked for that the table does not fit; if "auto" was asked for, the processor takes over.
    """
    device = chosen_device(asked, method, arguments)
    held = sum(part.nbytes for part in arguments if _is_matrix(part))
    if device == CPU or _has_room(device, held):
        return device, ""
    said = f"The table takes {format_bytes(held)}, and {format_bytes(free_bytes_on(device))} are free on {device}"
    if asked == CUDA:
        way_out = "Take"
        if method.name in STREAMED_ON_DEVICE:
            options = [f"--{name} {value}" for name, value in (method.streams_with or {}).items()]
            way_out = f"Add {' '.join([*options, '--stream'])}, so that rows pass through it in parts, or take"
        raise unsuitable(f"{said}. {way_out} --device cpu.")
    return CPU, f"{said}, so the processor computes."


def _has_room(device: str, table_bytes: int) -> bool:
    """Whether a device can hold a table, and as much again for a fit of it."""
    return 2 * table_bytes <= free_bytes_on(device)


def free_bytes_on(device: str) -> int:
    """The memory that is free on a device."""
    probe = on_device(np.empty(0), device)
    return int(backend_of(probe).free_bytes(probe))


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
