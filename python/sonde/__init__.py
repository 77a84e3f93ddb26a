"""Sonde from Python: measurements of GPU programs as data frames, and what is recorded of a program.

    import sonde

    m = sonde.open("train.sonde")
    m.kernels().pandas()                        # a view of `sonde report`
    m.operations(["name", "start_ns", "duration_ns"], begin=0, end=10**9).pandas()
    m.tree().text()

    with sonde.range("step"):                   # in the program: a phase has a name
        ...
    sonde.names(model)                          # and what lies in its memory

docs/library.md is the guide.
"""
from ._library import SondeError, command
from ._magic import load_ipython_extension
from ._measurement import ColumnInfo, Many, Measurement, TableInfo, ViewInfo, columns, open, open_many, views  # noqa: A004
from ._program import Range as range  # noqa: A004
from ._program import mark, name, names, start, stop
from ._record import record
from ._table import Table
from ._tree import Node, Tree

__all__ = ["ColumnInfo", "Many", "Measurement", "Node", "SondeError", "Table", "TableInfo", "Tree", "ViewInfo", "columns", "command",
           "load_ipython_extension", "mark", "name", "names", "open", "open_many", "range", "record", "start", "stop", "version", "views"]


def version() -> str:
    """Version of the library."""
    from ._library import library
    return library().sonde_read_version().decode()
