"""The machine in words: what the figures depend on, and nothing that names it."""

from __future__ import annotations

import os
import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

_PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "numba", "primme", "openTSNE", "pyarrow", "pandas", "polars")


def describe() -> dict[str, Any]:
    import_module("scipy.linalg")  # so that the BLAS of both is loaded
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": _memory(),
        "system": platform.system(),
        "python": platform.python_version(),
        "blas": ", ".join(sorted({_blas(pool) for pool in threadpool_info() if pool["user_api"] == "blas"})),
        "packages": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB"
    except (OSError, ValueError, AttributeError):
        return "unknown"


def _blas(pool: dict[str, Any]) -> str:
    kind = f" for {pool['architecture']}" if pool.get("architecture") else ""
    return f"{pool['internal_api']} {pool['version']}{kind}, {pool['num_threads']} threads"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
