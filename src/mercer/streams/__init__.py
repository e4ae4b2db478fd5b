"""Rows that need not fit in memory: sources of numbered chunks."""

from mercer.streams.row_source import ArraySource, ListSource, RowSource

__all__ = ["ArraySource", "ListSource", "RowSource"]


def __dir__() -> list[str]:
    return sorted(__all__)
