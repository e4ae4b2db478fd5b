"""Checks that model files make of kernels in fields, in the vocabulary of `mercer.models.fields`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from mercer.models.fields import (
    Mismatch,
    Scope,
    declaration_of,
    either,
    instance_of,
    number,
    optional,
    require,
    text,
)

KERNEL = instance_of("kernel")


def per_column(value: Any, scope: Scope) -> None:
    """Check that `value` holds numbers, as many as it likes: the width of the data is not known here."""
    require(isinstance(value, list | tuple | np.ndarray), f"must be numbers, not {type(value).__name__}")
    for entry in value:
        number(entry, scope)


# gamma or length_scale: a number, a rule such as "median" that `bind` turns into one, or one number per column.
WIDTH = optional(either(number, text, per_column))
_WIDTHS = ("gamma", "length_scale")
_METRIC_PARAMETERS = ("p", "V", "VI", "w")


def bound_kernel(value: Any, scope: Scope) -> None:
    """Check that `value` is a kernel whose widths are all numbers, not rules."""
    KERNEL(value, scope)
    for kernel in _parts(value):
        for name in _WIDTHS:
            if hasattr(kernel, name):
                try:
                    number(getattr(kernel, name), scope)
                except Mismatch as mismatch:
                    raise Mismatch(f"has a {name} that {mismatch}") from mismatch


def _parts(kernel: Any) -> Iterator[Any]:
    """Yield a kernel and all kernels that it is made of."""
    yield kernel
    if is_dataclass(kernel):
        for field in fields(kernel):
            part = getattr(kernel, field.name)
            if hasattr(part, "tile") and hasattr(part, "accepts"):  # tensors have `tile` too
                yield from _parts(part)


def refuse_unsuited(kernel: Any, samples: Any, coefs: Any = None) -> None:
    """Raise Mismatch unless the kernel can compare these samples and the coefficients have the samples' precision."""
    is_text = samples.dtype.kind == "O"
    for part in _parts(kernel):
        if (part.accepts == "strings") != is_text:
            raise Mismatch("the kernel cannot compare samples of this kind")
        declared = declaration_of(part)
        if declared is not None and declared.name == "kernel.HalfSquaredDistance":
            refuse_metric_parameters(part.params, samples.shape[1])
    shift = getattr(kernel, "shift", None)
    if shift is not None and len(shift) != samples.shape[1]:
        raise Mismatch("the kernel's shift has a different number of columns than the samples")
    if coefs is not None and not is_text and coefs.dtype != samples.dtype:
        raise Mismatch(f"samples of {samples.dtype} have coefficients of {coefs.dtype}")


def refuse_metric_parameters(params: Any, width: int) -> None:
    """Raise Mismatch unless a metric's parameters have the shapes that rows of this width need.

    SciPy's compiled distances read one variance and one weight per column without checking how many there are.
    """
    if not isinstance(params, dict) or set(params) - set(_METRIC_PARAMETERS):
        raise Mismatch(f"a metric can only have the parameters {', '.join(_METRIC_PARAMETERS)}")
    for name, value in params.items():
        shape = {"p": (), "V": (width,), "w": (width,), "VI": (width, width)}[name]
        given = np.asarray(value)
        if given.shape != shape or given.dtype.kind not in "fiu" or not np.isfinite(given).all():
            raise Mismatch(f"{name} of a metric on {width} columns must hold finite numbers in the shape {shape}")
