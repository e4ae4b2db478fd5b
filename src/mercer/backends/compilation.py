"""How the loops of this package are compiled, so that the same input gives the same bits in every process.

Code without fast-math flags has the same bits however it is optimised. Code that may reorder or fuse operations has
those of one compilation, and numba compiles a function that another one calls twice: by itself, and again as a part of
its caller. A process that has just compiled both runs the first copy, and a process that reads them from numba's cache
runs the second. A function with flags that compiled code calls is therefore `inlined`: there is no copy to choose from.

Options are always given, because numba hands down those that are not: a function would take the flags of whichever
caller is compiled first.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

from numba import njit

STRICT: frozenset[str] = frozenset()
# No NaN, and fused multiply-add is allowed, but nothing is reordered: `compiled_math.exp` subtracts ln 2 in two parts.
FLAGS = frozenset({"contract", "nsz", "nnan", "ninf"})
SUMS = FLAGS | {"reassoc"}  # for loops that only add: their terms may be reordered
RATIOS = SUMS | {"arcp"}  # and a division may become a product with the reciprocal


def options(flags: Set[str] = STRICT, *, inline: bool = False) -> Any:
    """The options of numba's compiler that decide about bits.

    Divisions follow error_model="numpy": a test for zero in a loop would keep it from becoming vector code.
    """
    return {"fastmath": set(flags) or False, "error_model": "numpy", "forceinline": inline}


def compiled(flags: Set[str] = STRICT) -> Callable[[Callable], Any]:
    """Compile a function at its first call and cache it on disk. It releases the GIL and runs in one thread."""
    return njit(nogil=True, cache=True, **options(flags))


def inlined(flags: Set[str] = STRICT) -> Callable[[Callable], Any]:
    """The same for a step of a loop, which becomes part of every compiled function that calls it."""
    return njit(nogil=True, cache=True, **options(flags, inline=True))
