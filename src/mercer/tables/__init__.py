"""Tables: reading a file into X with names, ids and labels, preparing it, and writing columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer.deferred_names import deferred_names

if TYPE_CHECKING:
    from mercer.tables.preparation import Choice, Preparation
    from mercer.tables.source import TableError
    from mercer.tables.table import Table, read_columns, read_table
    from mercer.tables.writing import table_writer, write_table

__all__ = ["Choice", "Preparation", "Table", "TableError", "read_columns", "read_table", "table_writer", "write_table"]

_HOMES = {
    "Choice": "preparation",
    "Preparation": "preparation",
    "Table": "table",
    "TableError": "source",
    "read_columns": "table",
    "read_table": "table",
    "table_writer": "writing",
    "write_table": "writing",
}

__getattr__, __dir__ = deferred_names(__name__, _HOMES)
