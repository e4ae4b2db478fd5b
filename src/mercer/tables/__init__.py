"""Tables: reading a file into X with names, ids and labels, preparing it, and writing columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mercer.tables.preparation import Choice, Preparation
    from mercer.tables.source import TableError
    from mercer.tables.table import Table, read_columns, read_table
    from mercer.tables.writing import table_writer, write_table

__all__ = ["Choice", "Preparation", "Table", "TableError", "read_columns", "read_table", "table_writer", "write_table"]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: readers load pyarrow."""
    if name in __all__:
        from mercer.tables import table

        return getattr(table, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
