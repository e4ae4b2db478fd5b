"""Rows that need not fit in memory: sources of numbered chunks, and the statistics that one pass over them sums up.

open_rows             a source from a file, a folder, a pattern, an array, a frame, a dask array, an iterable
write_rows            a source into a parquet, Arrow or npy file, chunk by chunk
RowSource             the protocol: n_features, dtype, feature_names, lengths, chunk(i)
cluster               a context in which the workers of a dask cluster compute every pass
DeviceRows            rows that are moved to a device as they are read, and passes over them with them
ShardedRows           the rows of all processes of torch.distributed as one source
landmark_places       rows of a source that stand for all, for the landmarks of TSNE, SNE and Isomap
placement_quality     what a map of landmarks loses when the other rows are placed in it
checkpoints           a file from which a fit that was killed resumes
SufficientStatistics  what a pass sums up, and what merges; ChunkWork computes it for one chunk
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.deferred_names import deferred_names

if TYPE_CHECKING:
    from mercer.streams.checkpoint_file import checkpoints
    from mercer.streams.chunk_statistics import ChunkWork
    from mercer.streams.cluster_driver import cluster
    from mercer.streams.device_rows import DeviceRows
    from mercer.streams.opening import open_rows
    from mercer.streams.placement_scores import placement_quality
    from mercer.streams.row_maps import LandmarkFeatures, ShiftedRows
    from mercer.streams.row_source import ArraySource, ListSource, RowSource
    from mercer.streams.row_writer import write_rows
    from mercer.streams.sharded_rows import ShardedRows
    from mercer.streams.source_landmarks import landmark_places
    from mercer.streams.sufficient_statistics import SufficientStatistics

__all__ = [
    "ArraySource",
    "ChunkWork",
    "DeviceRows",
    "LandmarkFeatures",
    "ListSource",
    "RowSource",
    "ShardedRows",
    "ShiftedRows",
    "SufficientStatistics",
    "checkpoints",
    "cluster",
    "landmark_places",
    "open_rows",
    "placement_quality",
    "write_rows",
]

_HOMES = {
    "ArraySource": "row_source",
    "ListSource": "row_source",
    "RowSource": "row_source",
    "open_rows": "opening",
    "write_rows": "row_writer",
    "checkpoints": "checkpoint_file",
    "landmark_places": "source_landmarks",
    "placement_quality": "placement_scores",
    "ChunkWork": "chunk_statistics",
    "DeviceRows": "device_rows",
    "cluster": "cluster_driver",
    "LandmarkFeatures": "row_maps",
    "ShiftedRows": "row_maps",
    "ShardedRows": "sharded_rows",
    "SufficientStatistics": "sufficient_statistics",
}

__getattr__, __dir__ = deferred_names(__name__, _HOMES)
