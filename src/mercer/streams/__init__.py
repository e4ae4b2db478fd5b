"""Rows that need not fit in memory: sources of numbered chunks, and the statistics that one pass over them sums up.

open_rows             a source from a file, a folder, a pattern, an array, a frame, a dask array, an iterable
write_rows            a source into a parquet, Arrow or npy file, chunk by chunk
RowSource             the protocol: n_features, dtype, feature_names, lengths, chunk(i)
cluster               a context in which the workers of a dask cluster compute every pass
ShardedRows           the rows of all processes of torch.distributed as one source
checkpoints           a file from which a fit that was killed resumes
SufficientStatistics  what a pass sums up, and what merges; ChunkWork computes it for one chunk
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.streams.checkpoint_file import checkpoints
    from mercer.streams.chunk_statistics import ChunkWork
    from mercer.streams.cluster_driver import cluster
    from mercer.streams.opening import open_rows
    from mercer.streams.row_maps import LandmarkFeatures, ShiftedRows
    from mercer.streams.row_source import ArraySource, ListSource, RowSource
    from mercer.streams.row_writer import write_rows
    from mercer.streams.sharded_rows import ShardedRows
    from mercer.streams.sufficient_statistics import SufficientStatistics

__all__ = [
    "ArraySource",
    "ChunkWork",
    "LandmarkFeatures",
    "ListSource",
    "RowSource",
    "ShardedRows",
    "ShiftedRows",
    "SufficientStatistics",
    "checkpoints",
    "cluster",
    "open_rows",
    "write_rows",
]

_HOMES = {
    "open_rows": "opening",
    "write_rows": "row_writer",
    "checkpoints": "checkpoint_file",
    "ChunkWork": "chunk_statistics",
    "cluster": "cluster_driver",
    "LandmarkFeatures": "row_maps",
    "ShiftedRows": "row_maps",
    "ShardedRows": "sharded_rows",
    "SufficientStatistics": "sufficient_statistics",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: readers load pyarrow."""
    if name in __all__:
        return getattr(import_module(f"mercer.streams.{_HOMES.get(name, 'row_source')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
