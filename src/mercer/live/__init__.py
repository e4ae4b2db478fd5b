"""Maps that follow their settings: a local server for one table, and the computations behind its sliders."""

__all__ = ["LiveTable", "Session"]

from mercer.live.live_table import LiveTable
from mercer.live.session import Session


def __dir__() -> list[str]:
    return sorted(__all__)
