"""Rows that need not fit in memory: sources of numbered chunks, from files and from objects.

open_rows   a source from a file, a folder, a pattern, an array, a frame, a dask array, an iterable
write_rows  a source into a parquet, Arrow or npy file, chunk by chunk
RowSource   the protocol: n_features, dtype, feature_names, lengths, chunk(i)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.streams.opening import open_rows
    from mercer.streams.row_source import ArraySource, ListSource, RowSource
    from mercer.streams.row_writer import write_rows

__all__ = ["ArraySource", "ListSource", "RowSource", "open_rows", "write_rows"]

_HOMES = {"open_rows": "opening", "write_rows": "row_writer"}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: readers load pyarrow."""
    if name in __all__:
        return getattr(import_module(f"mercer.streams.{_HOMES.get(name, 'row_source')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
