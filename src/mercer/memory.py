"""Sizes in bytes: reading them from text, printing them, and asking the machine what is free."""

from __future__ import annotations

import mmap
import os
import re
import time
from pathlib import Path
from typing import Any

import numpy as np

UNLIMITED = 2**62  # more bytes than any machine has
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BINARY = {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}


def parse_bytes(size: int | float | str) -> int:
    """The number of bytes in `size`: a number, or text such as "4GB", "512 MiB", "1.5G".

    >>> parse_bytes("4GB"), parse_bytes("1KiB"), parse_bytes(100)
    (4000000000, 1024, 100)
    """
    if isinstance(size, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([KMGT]?I?)B?\s*", size.upper())
        if match is None or match[2] == "I":
            raise ValueError(f"memory_limit={size!r} is not a size; give bytes or text such as '4GB' or '512MiB'.")
        factor = _BINARY[match[2]] if match[2] in _BINARY else _UNITS[match[2]]
        size = float(match[1]) * factor
    if not size > 0 or size != size or size == float("inf"):
        raise ValueError(f"memory_limit={size!r} must be a positive, finite number of bytes.")
    return int(size)


def format_bytes(size: float) -> str:
    """A size as text with three digits and a unit.

    >>> format_bytes(3_200_000_000), format_bytes(999), format_bytes(25_000)
    ('3.2 GB', '999 B', '25 kB')
    """
    for unit, factor in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}"
    return f"{int(size)} B"


_known: tuple[float, int] = (-1.0, 0)  # when the system was asked last, and what it said


def available_bytes() -> int:
    """Memory that can be taken now without swapping, as of the last second."""
    global _known
    now = time.monotonic()
    if not 0 <= now - _known[0] < 1:
        _known = now, _ask_system()
    return _known[1]


def _ask_system() -> int:
    """The free memory that the system reports; 4 GB, a guess, if it reports none."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return max(0, min(int(line.split()[1]) * 1024, cgroup_bytes(), address_bytes()))
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (OSError, ValueError, AttributeError):
        return 4 * 10**9


def cgroup_bytes(cgroup: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> int:
    """The bytes that the container or batch job of this process still allows; UNLIMITED if it has no limit.

    Control groups are nested, and the limits of all groups around this process apply.
    """
    try:
        lines = [line.split(":", 2) for line in cgroup.read_text().splitlines()]
    except OSError:
        return UNLIMITED
    groups = []
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if controllers == "":
            groups.append((root, path, "memory.max", "memory.current"))
        elif "memory" in controllers.split(","):
            groups.append((root / "memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes"))
    return min((_group_bytes(*group) for group in groups), default=UNLIMITED)


def _group_bytes(base: Path, path: str, most: str, used: str) -> int:
    """The least that the group at `path` and the groups around it leave free."""
    free, folder = UNLIMITED, base / path.strip("/")
    for group in [folder, *folder.parents]:
        try:
            left = int((group / most).read_text()) - int((group / used).read_text())
            stat = (group / "memory.stat").read_text().split()
            left += int(stat[stat.index("inactive_file") + 1])  # pages of files, which the system gives up at once
            free = min(free, left)
        except (OSError, ValueError):
            pass  # this group has no limit, or the container does not show it
        if group == base:
            break
    return free


def address_bytes() -> int:
    """Half of the addresses that RLIMIT_AS (`ulimit -v`) leaves to this process; UNLIMITED without such a limit.

    The other half is for things that use addresses but hardly any memory: thread stacks, libraries, malloc's reserves.
    """
    try:
        import resource
    except ImportError:  # there is no such limit on Windows
        return UNLIMITED
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return UNLIMITED
    try:
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    except (OSError, ValueError):
        return UNLIMITED
    return max(0, most - taken) // 2


def numbers_per_row(X: Any) -> int:
    """How many numbers a row of X holds in memory, rounded up: all of a dense row, the stored ones of a CSR row.

    The column index of a stored number counts as half a number more. Samples that are not vectors count as one.

    >>> numbers_per_row(np.zeros((5, 3)))
    3
    """
    if X.ndim != 2:
        return 1
    stored = getattr(X, "nnz", None) if hasattr(X, "indptr") else None
    return int(X.shape[1]) if stored is None else -(-3 * int(stored) // (2 * max(1, X.shape[0]))) + 1


def forget_pages(block: Any) -> None:
    """Unmap the pages of a file that a block of a memory map has read, so that a pass over it stays small.

    The file's contents are untouched: the system reads pages again when they are needed. A map in mode "c" may hold
    changes that are in no file, so it is left alone. So is everything that is not a memory map.
    """
    owner = block
    while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
        owner = owner.base
    file = getattr(owner, "_mmap", None)
    if file is None or getattr(owner, "mode", "c") == "c" or not hasattr(mmap, "MADV_DONTNEED"):
        return
    start, stop = np.lib.array_utils.byte_bounds(block)
    base = np.frombuffer(file, np.uint8).__array_interface__["data"][0]
    first = (start - base) // mmap.PAGESIZE * mmap.PAGESIZE
    file.madvise(mmap.MADV_DONTNEED, first, min(stop - base, len(file)) - first)
