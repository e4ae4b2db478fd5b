"""What `random_state` means, in every estimator and function of the package.

    None                     a fixed seed, the same as 0: the same data gives the same bits in every run
    a whole number           a seed
    RandomState, Generator   the next numbers of that generator: each call gives other ones

scikit-learn takes None to mean fresh randomness. Here randomness starts a descent, speeds up a computation whose answer
does not depend on it to the stated accuracy, or samples rows for an estimate with a stated error. A result that changed
from run to run would be harder to trust and to test. Pass other seeds to see how much a result depends on chance.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

_STREAM = 0x6D6572636572  # "mercer" in ASCII


def generator_from(random_state: Any) -> np.random.Generator:
    """A Generator from None, a seed, a Generator or a RandomState.

    A seed gives a different stream than default_rng(seed). Data is often drawn from that one, and a start block that
    equals the data is a poor one.

    >>> bool(generator_from(None).integers(100) == generator_from(0).integers(100))
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    seed = seed_from(random_state)
    return np.random.default_rng([_STREAM, 0 if seed is None else seed])


def legacy_generator_from(random_state: Any) -> np.random.RandomState:
    """A RandomState from None, a seed or a RandomState: with the same seed the numbers that scikit-learn draws."""
    if isinstance(random_state, np.random.RandomState):
        return random_state
    return np.random.RandomState(seed_from(random_state) or 0)


def seed_from(random_state: Any) -> int | None:
    """A seed drawn from a generator, so that several computations can share it; None and seeds pass unchanged."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if random_state is None:
        return None
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    raise ValueError(f"random_state={random_state!r} must be None, a whole number ≥ 0, a Generator or a RandomState.")
