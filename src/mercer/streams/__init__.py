"""Rows that need not fit in memory: sources of numbered chunks, and the statistics that one pass over them sums up."""

from mercer.streams.checkpoints import checkpoints
from mercer.streams.chunk_statistics import ChunkWork
from mercer.streams.row_maps import LandmarkFeatures, ShiftedRows
from mercer.streams.row_source import ArraySource, ListSource, RowSource
from mercer.streams.sufficient_statistics import SufficientStatistics

__all__ = [
    "ArraySource",
    "ChunkWork",
    "LandmarkFeatures",
    "ListSource",
    "RowSource",
    "ShiftedRows",
    "SufficientStatistics",
    "checkpoints",
]


def __dir__() -> list[str]:
    return sorted(__all__)
