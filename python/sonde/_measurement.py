"""A measurement, opened: its tables, its views, its tree of call paths."""
from __future__ import annotations

import glob as globbing
import os
import threading
import weakref
from ctypes import POINTER, byref, c_char_p, c_void_p, cast
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Union

from . import _library as c
from ._table import Table, answer
from ._tree import Tree

if TYPE_CHECKING: # by names that no method has
    from dask.dataframe import DataFrame as DaskFrame
    from pandas import DataFrame


class TableInfo(NamedTuple):
    """A table of a measurement, as `Measurement.tables()` lists them: what a row of it is, and how many there are."""
    name: str
    summary: str
    rows: Optional[int]  #: None: not counted before it is read
    timed: bool          #: rows have times: `begin` and `end` choose among them


class ColumnInfo(NamedTuple):
    """A column of a table, as `sonde.columns()` lists them: its type, and what it means."""
    name: str
    format: str          #: as in the Arrow C data interface
    definition: str
    unit: Optional[str]
    nullable: bool
    asked_for: bool      #: only there when `columns` names it


class ViewInfo(NamedTuple):
    """A view of `sonde report`, as `sonde.views()` lists them: what it answers."""
    name: str
    summary: str
    single: bool         #: its table has one row


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


class Measurement:
    """What `sonde record` wrote. Any thread may read it, several at once; with `with`, or by itself, it is closed in the end.

    Times are nanoseconds since the run began, as in `sonde report --from`. The column `origin_ns` of `processes()` leads to those
    of exports.
    """

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        self.path = os.fspath(path)
        self._reading = threading.Condition()
        self._readers = 0
        handle, error = c_void_p(), c.Error()
        c.check(c.library().sonde_read_open(os.fsencode(self.path), byref(handle), byref(error)), error)
        self._handle: Optional[c_void_p] = handle
        self._close = weakref.finalize(self, c.library().sonde_read_close, handle)
        self._close.atexit = False

    def close(self) -> None:
        """Close it; what was read stays. Waits for threads that read."""
        with self._reading:
            self._handle = None
            self._reading.wait_for(lambda: not self._readers)
            self._close()

    def __enter__(self) -> Measurement:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sonde.Measurement {self.path}>"

    def _begin(self) -> c_void_p:
        with self._reading:
            if self._handle is None:
                raise c.SondeError(f"the measurement {self.path} is closed")
            self._readers += 1
            return self._handle

    def _end(self) -> None:
        with self._reading:
            self._readers -= 1
            self._reading.notify_all()

    def _ask(self, function: Any, name: str, what: Any) -> Table:
        schema, array, error = c.ArrowSchema(), c.ArrowArray(), c.Error()
        handle = self._begin()
        try:
            c.check(function(handle, name.encode(), what, byref(schema), byref(array), byref(error)), error)
        finally:
            self._end()
        return answer(name, schema, array)

    # ---- what there is -----------------------------------------------------------------------------

    def tables(self) -> list[TableInfo]:
        """The tables that there are, also those without rows."""
        found: list[TableInfo] = []
        info = c.TableInfo(size=_size(c.TableInfo))
        handle = self._begin()
        try:
            while c.library().sonde_read_table(handle, len(found), byref(info)) == 0:
                found.append(TableInfo(_text(info.name), _text(info.summary), None if info.rows < 0 else info.rows, bool(info.timed)))
        finally:
            self._end()
        return found

    # ---- tables ------------------------------------------------------------------------------------

    def table(self, name: str, columns: Optional[Sequence[str]] = None, begin: Optional[int] = None, end: Optional[int] = None,
              process: Optional[int] = None, lane: Optional[int] = None) -> Table:
        """Rows of a table (`sonde.columns(name)` lists its columns).

        columns: these, in this order; else all that need not be asked for. begin, end: of timed tables only rows that overlap
        [begin, end), in nanoseconds since the run began. process: a row of `processes()`; lane: its `lane` in `lanes()`.
        """
        if isinstance(columns, str):
            raise TypeError("columns is a sequence of names, not one text")
        rows = c.Rows(size=_size(c.Rows), process=-1 if process is None else _number("process", process, 0, 2**31 - 1),
                      lane=0 if lane is None else _number("lane", lane, 1, 2**32 - 1))
        if begin is not None or end is not None:
            low, high = (-2**63 if begin is None else _instant(begin)), (2**63 - 1 if end is None else _instant(end))
            if low >= high: # of C both 0 are all
                raise c.SondeError(f"the time window is empty: it begins at {low} ns and ends at {high} ns")
            rows.from_ns, rows.to_ns = low, high
        if columns is not None:
            names = (c_char_p * (len(columns) + 1))(*(column.encode() for column in columns), None)
            rows.columns = cast(names, POINTER(c_char_p))
        return self._ask(c.library().sonde_read_rows, name, byref(rows))

    def operations(self, columns: Optional[Sequence[str]] = None, **which: Any) -> Table:
        """Kernels, copies and other operations of devices; `which` as in table()."""
        return self.table("operations", columns, **which)

    def calls(self, columns: Optional[Sequence[str]] = None, **which: Any) -> Table:
        """Calls of the runtime."""
        return self.table("calls", columns, **which)

    def ranges(self, columns: Optional[Sequence[str]] = None, **which: Any) -> Table:
        """Ranges and marks that the program named."""
        return self.table("ranges", columns, **which)

    def waits(self, columns: Optional[Sequence[str]] = None, **which: Any) -> Table:
        """What calls, and operations, waited for."""
        return self.table("waits", columns, **which)

    def samples(self, columns: Optional[Sequence[str]] = None, **which: Any) -> Table:
        """Samples of threads on the CPU."""
        return self.table("samples", columns, **which)

    def switches(self, columns: Optional[Sequence[str]] = None, **which: Any) -> Table:
        """Times that threads were off the CPU."""
        return self.table("switches", columns, **which)

    def sleeps(self, columns: Optional[Sequence[str]] = None, **which: Any) -> Table:
        """Waits in functions of the C library."""
        return self.table("sleeps", columns, **which)

    def messages(self, columns: Optional[Sequence[str]] = None, **which: Any) -> Table:
        """Messages between ranks (MPI), and calls of all ranks."""
        return self.table("messages", columns, **which)

    def processes(self) -> Table:
        """The program's processes."""
        return self.table("processes")

    def devices(self) -> Table:
        """Devices, as each process saw them."""
        return self.table("devices")

    def lanes(self) -> Table:
        """Queues and threads."""
        return self.table("lanes")

    def objects(self) -> Table:
        """Data objects."""
        return self.table("objects")

    def names(self) -> Table:
        """Names that the program gave to parts of data objects."""
        return self.table("names")

    def contexts(self) -> Table:
        """The calling context tree, a row for each frame; `tree()` has it as a tree."""
        return self.table("contexts")

    def tree(self) -> Tree:
        """The calling context tree of all processes, with metrics."""
        return Tree(self.contexts())

    def parquet(self, folder: Union[str, os.PathLike], table: str = "operations", columns: Optional[Sequence[str]] = None, *,
                force: bool = False, **which: Any) -> list[str]:
        """Write a table as Parquet in `folder`, which appears when it is complete: of a parallel job a file for each rank, with a
        column `rank`, else one for each process. Needs pyarrow. Returns the files; `which` as in table(), but for `process`."""
        from ._parquet import write
        return write(self, folder, table, columns, force, which)

    def dask(self, name: str = "operations", columns: Optional[Sequence[str]] = None, **which: Any) -> DaskFrame:
        """A table as a dask.dataframe, one partition for each process (each rank), whose rows are read where Dask works on it: it opens
        the measurement there, by its path. Texts are plain texts; `which` as in table()."""
        from ._dask import frame
        return frame([self.path], name, {"columns": columns, **which}, labelled=False)

    # ---- views --------------------------------------------------------------------------------------

    def view(self, name: str, **options: Any) -> Table:
        """A view of `sonde report`, with its options: `m.view("statistics", lane="queues", **{"from": "37%"})`; an underscore
        stands for a dash, one at the end is left out (`from_=`). missing() says what its figures lack."""
        return self._ask(c.library().sonde_read_view, name, _options(options))

    def missing(self, view: str = "summary", **options: Any) -> list[str]:
        """What the figures of a view lack, and why: a sentence each, which `sonde report` shows below them. It may take as long as
        reading the whole trace."""
        return [row["note"] for row in self._ask(c.library().sonde_read_missing, view, _options(options)).rows()]

    def kernels(self, **options: Any) -> Table:
        """A row for each kernel: how often it ran, and how long."""
        return self.view("kernels", **options)

    def copies(self, **options: Any) -> Table:
        """A row for each kind of copy."""
        return self.view("copies", **options)

    def api(self, **options: Any) -> Table:
        """A row for each function of the runtime."""
        return self.view("api", **options)

    def summary(self, **options: Any) -> dict[str, Any]:
        """What the run did and waited for, as `sonde report --json` has it."""
        return self.view("summary", **options).row()

    def text(self, view: str = "summary", *arguments: str) -> str:
        """What `sonde report` prints of a view."""
        from ._record import run
        return run("report", self.path, view, *arguments)

    def __str__(self) -> str:
        return self.text()


def _options(options: dict[str, Any]) -> Any:
    given = [(key.rstrip("_").replace("_", "-"), value) for key, value in options.items() if value is not None and value is not False]
    asked = (c.Option * (len(given) + 1))()
    for i, (key, value) in enumerate(given):
        asked[i] = c.Option(key.encode(), None if value is True else str(value).encode())
    return asked


def _instant(ns: int) -> int:
    return min(max(int(ns), -2**63), 2**63 - 1)


def _number(name: str, value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise c.SondeError(f"there is no {name} {value}")
    return int(value)


def _size(struct: Any) -> int:
    from ctypes import sizeof
    return sizeof(struct)


def open(path: Union[str, os.PathLike]) -> Measurement:  # noqa: A001 (as other readers call it)
    """Open a measurement. SondeError says why that cannot be."""
    return Measurement(path)


def columns(table: str) -> list[ColumnInfo]:
    """The columns of a table."""
    found: list[ColumnInfo] = []
    info = c.ColumnInfo(size=_size(c.ColumnInfo))
    while c.library().sonde_read_column(table.encode(), len(found), byref(info)) == 0:
        found.append(ColumnInfo(_text(info.name), _text(info.format), _text(info.definition), _text(info.unit) or None, bool(info.nullable),
                                bool(info.asked_for)))
    if not found:
        raise c.SondeError(f"there is no table '{table}'")
    return found


def views() -> list[ViewInfo]:
    """The views of `sonde report`."""
    found: list[ViewInfo] = []
    info = c.ViewInfo(size=_size(c.ViewInfo))
    while c.library().sonde_read_view_named(len(found), byref(info)) == 0:
        found.append(ViewInfo(_text(info.name), _text(info.summary), bool(info.single)))
    return found


class Many:
    """Several measurements, such as those of many ranks or runs; each is opened when it is read, and closed again."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = list(paths)

    def __len__(self) -> int:
        return len(self.paths)

    def __repr__(self) -> str:
        return f"<sonde.Many: {len(self.paths)} measurements>"

    def pandas(self, name: str = "operations", **which: Any) -> DataFrame:
        """A table of all of them as one data frame, with a column `measurement`."""
        import pandas
        from ._dask import plain
        frames: list[DataFrame] = []
        for path in self.paths:
            with Measurement(path) as measurement:
                frames.append(plain(measurement.table(name, **which), path))
        return pandas.concat(frames, ignore_index=True)

    def dask(self, name: str = "operations", **which: Any) -> DaskFrame:
        """The same as a dask.dataframe, one partition for each process of each, read where Dask works on it."""
        from ._dask import frame
        return frame(self.paths, name, which, labelled=True)


def open_many(paths: Union[str, Sequence[Union[str, os.PathLike]]]) -> Many:
    """Measurements by a pattern ("runs/*.sonde"), or by their paths."""
    found = sorted(globbing.glob(paths)) if isinstance(paths, str) else [os.fspath(path) for path in paths]
    if not found:
        raise c.SondeError(f"there is no measurement {paths!r}")
    return Many(found)
