"""An answer as columns: NumPy arrays, a pandas data frame, an Arrow table or plain Python, of the same memory.

The memory is the library's. Whatever was made of it (an array, a view of an array, a data frame) keeps it; the measurement may be
closed and the table forgotten before.
"""
from __future__ import annotations

import ctypes
import weakref
from ctypes import byref, c_char, c_void_p
from typing import TYPE_CHECKING, Any, Iterator, Optional

from . import _library as c

if TYPE_CHECKING: # by names that no method has
    from numpy.typing import NDArray
    from pandas import DataFrame
    from pyarrow import Table as ArrowTable

_NUMBERS = {"l": ("<i8", 8), "L": ("<u8", 8), "I": ("<u4", 4), "i": ("<i4", 4), "g": ("<f8", 8)}


class _Memory:
    """Owns an answer; released with the last that refers to it."""

    def __init__(self, schema: c.ArrowSchema, array: c.ArrowArray):
        self.schema, self.array = schema, array
        weakref.finalize(self, c.release, schema, array).atexit = False


class _Column:
    """One column of the answer, or one within another."""

    def __init__(self, memory: _Memory, schema: c.ArrowSchema, array: c.ArrowArray):
        self.memory, self.schema, self.array = memory, schema, array
        self.format = schema.format.decode()
        self.name = schema.name.decode("utf-8", "replace")
        self.length = array.length
        self.children = [_Column(memory, schema.children[i].contents, array.children[i].contents) for i in range(schema.n_children)]
        self.dictionary = _Column(memory, schema.dictionary.contents, array.dictionary.contents) if schema.dictionary else None

    @property
    def nullable(self) -> bool:
        return bool(self.schema.flags & 2)

    def metadata(self) -> dict[str, str]:
        """As the C data interface lays it out: int32 pairs, then for each its length and bytes."""
        at: int = self.schema.metadata
        out: dict[str, str] = {}
        if not at:
            return out

        def number() -> int:
            nonlocal at
            at += 4
            return ctypes.c_int32.from_address(at - 4).value

        def text() -> str:
            nonlocal at
            length = number()
            at += length
            return ctypes.string_at(at - length, length).decode("utf-8", "replace")

        for _ in range(number()):
            key = text()
            out[key] = text()
        return out

    def _buffer(self, index: int, size: int) -> memoryview:
        """Bytes that keep the answer alive."""
        address = self.array.buffers[index]
        if not address or not size:
            return memoryview(b"")
        room = (c_char * size).from_address(address)
        room._memory = self.memory  # type: ignore[attr-defined]
        return memoryview(room).cast("B").toreadonly()

    def _numbers(self) -> memoryview:
        kind: Any = {"l": "q", "L": "Q", "I": "I", "i": "i", "g": "d"}[self.format]
        return self._buffer(1, self.length * _NUMBERS[self.format][1]).cast(kind)

    def _bits(self, index: int) -> list[bool]:
        bits = self._buffer(index, (self.length + 7) // 8)
        return [bool(bits[i >> 3] >> (i & 7) & 1) for i in range(self.length)]

    def _texts(self) -> list[str]:
        offsets = self._buffer(1, (self.length + 1) * 8).cast("q")
        text = bytes(self._buffer(2, offsets[self.length] if self.length else 0))
        return [text[offsets[i]:offsets[i + 1]].decode() for i in range(self.length)]

    def python(self) -> list[Any]:
        """Plain values; None is unknown."""
        if self.dictionary:
            texts = self.dictionary.python()
            values: list[Any] = [texts[code] if texts else None for code in self._numbers()]
        elif self.format in _NUMBERS:
            values = self._numbers().tolist()
        elif self.format == "b":
            values = self._bits(1)
        elif self.format == "U":
            values = self._texts()
        elif self.format == "n":
            values = [None] * self.length
        elif self.format == "+s":
            columns = [(child.name, child.python()) for child in self.children]
            values = [{name: column[i] for name, column in columns} for i in range(self.length)]
        else:
            values = self._lists()
        if self.array.null_count:
            values = [value if known else None for value, known in zip(values, self._bits(0))]
        return values

    def _lists(self) -> list[Any]:
        wide = self.format == "+L"
        offsets = self._buffer(1, (self.length + 1) * (8 if wide else 4)).cast("q" if wide else "i")
        items = self.children[0].python()
        parts = [items[offsets[i]:offsets[i + 1]] for i in range(self.length)]
        return parts if wide else [{entry["key"]: entry["value"] for entry in part} for part in parts]

    # ---- NumPy -------------------------------------------------------------------------------------

    def values(self):
        """NumPy array of the numbers, without a copy; of unknown ones it says nothing."""
        import numpy
        if self.format == "b":
            bits = numpy.frombuffer(self._buffer(1, (self.length + 7) // 8), dtype=numpy.uint8)
            return numpy.unpackbits(bits, count=self.length, bitorder="little").view(numpy.bool_)
        if self.format in _NUMBERS:
            dtype, size = _NUMBERS[self.format]
            return numpy.frombuffer(self._buffer(1, self.length * size), dtype=dtype)
        out = numpy.empty(self.length, dtype=object)
        out[:] = self.python()
        return out

    def unknown(self):
        """NumPy array: which are unknown; None: none is."""
        import numpy
        if not self.array.null_count:
            return None
        bits = numpy.frombuffer(self._buffer(0, (self.length + 7) // 8), dtype=numpy.uint8)
        return numpy.unpackbits(bits, count=self.length, bitorder="little") == 0

    def codes(self):
        """NumPy arrays: of a column of texts the number of each, and -1 for unknown ones."""
        import numpy
        codes, unknown = self.values(), self.unknown()
        return codes if unknown is None else numpy.where(unknown, numpy.int32(-1), codes)

    def numpy(self):
        import numpy
        if self.dictionary:
            texts = numpy.array([*self.dictionary.python(), None], dtype=object)
            return texts[self.codes()]
        unknown = self.unknown()
        values = self.values()
        if unknown is None or values.dtype == object:
            return values
        return numpy.ma.MaskedArray(values, mask=unknown)

    # ---- pandas ------------------------------------------------------------------------------------

    def pandas(self):
        import numpy
        import pandas
        if self.dictionary:
            return pandas.Categorical.from_codes(self.codes(), categories=self.dictionary.python())
        if self.format not in _NUMBERS and self.format != "b":
            return self.python()
        values = self.values()
        if not self.nullable:
            return values
        unknown = self.unknown()
        mask = numpy.zeros(self.length, dtype=numpy.bool_) if unknown is None else unknown
        kind = {"f": pandas.arrays.FloatingArray, "b": pandas.arrays.BooleanArray}.get(values.dtype.kind, pandas.arrays.IntegerArray)
        return kind(values, mask)


class Table:
    """Rows of typed columns.

    `table["start_ns"]` is a NumPy array (masked where something is unknown), `table.pandas()` a data frame, `table.arrow()` a
    pyarrow.Table, `table.rows()` a list of dicts. Libraries that know Arrow's PyCapsule interface take the table itself:
    `polars.DataFrame(table)`, `pyarrow.table(table)`, `duckdb.sql("select * from table")`.
    """

    def __init__(self, name: str, root: _Column) -> None:
        self.name = name
        self._root = root
        self._columns = {column.name: column for column in self._root.children}

    def __len__(self) -> int:
        return self._root.length

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, column: object) -> bool:
        return column in self._columns

    def __repr__(self) -> str:
        return f"<sonde.Table {self.name}: {len(self):,} rows, {len(self._columns)} columns>"

    def _repr_html_(self) -> Optional[str]:
        try:
            return self.pandas()._repr_html_()
        except ImportError: # a notebook shows the line above then
            return None

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            raise KeyError(f"{self.name} has no column {name!r}; it has {', '.join(self._columns)}")
        return self._columns[name]

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    def definition(self, column: str) -> str:
        """What a column means."""
        return self._column(column).metadata().get("definition", "")

    def __getitem__(self, column: str) -> NDArray[Any]:
        """A column as a NumPy array, without a copy but for texts, booleans and what nests."""
        return self._column(column).numpy()

    def numpy(self) -> dict[str, NDArray[Any]]:
        """All columns as NumPy arrays."""
        return {name: column.numpy() for name, column in self._columns.items()}

    def pandas(self) -> DataFrame:
        """A pandas.DataFrame. Numbers are not copied; columns that may have unknown values are nullable (Int64), texts that repeat
        are categories."""
        import pandas
        index = pandas.RangeIndex(len(self))
        series = {name: pandas.Series(column.pandas(), index=index, copy=False) for name, column in self._columns.items()}
        return pandas.DataFrame(series, index=index, copy=False)

    def arrow(self) -> ArrowTable:
        """A pyarrow.Table, without a copy."""
        import pyarrow
        return pyarrow.Table.from_batches([pyarrow.record_batch(self)])

    def rows(self) -> list[dict[str, Any]]:
        """A dict for each row; None is unknown."""
        return self._root.python()

    def row(self) -> dict[str, Any]:
        """The one row of a table that has one: of views such as the summary."""
        if len(self) != 1:
            raise ValueError(f"{self.name} has {len(self)} rows, not one")
        return self.rows()[0]

    def inner(self, column: str) -> Table:
        """What nests in a column, of all rows one after the other, as a table: `m.view("profile").inner("rows")`."""
        nested = self._column(column)
        while nested.format != "+s" and nested.children:
            nested = nested.children[0]
        if nested.format != "+s":
            raise ValueError(f"nothing nests in the column {column} of {self.name}")
        return Table(f"{self.name}.{column}", nested)

    # ---- Arrow's PyCapsule interface -----------------------------------------------------------------

    def __arrow_c_schema__(self) -> Any:
        schema, array = self._share()
        c.release(c.ArrowSchema(), array)
        return _capsule(schema, b"arrow_schema")

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        schema, array = self._share()
        return _capsule(schema, b"arrow_schema"), _capsule(array, b"arrow_array")

    def _share(self) -> tuple[c.ArrowSchema, c.ArrowArray]:
        schema, array = c.ArrowSchema(), c.ArrowArray()
        if c.library().sonde_read_share(byref(self._root.schema), byref(self._root.array), byref(schema), byref(array)):
            raise MemoryError
        return schema, array


def answer(name: str, schema: c.ArrowSchema, array: c.ArrowArray) -> Table:
    """The table of an answer, which it owns from here on."""
    return Table(name, _Column(_Memory(schema, array), schema, array))


# What a capsule points to lives until the capsule goes, which releases it unless who took it has.
_given: dict[int, Any] = {}
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = [c_void_p, ctypes.c_char_p, c_void_p], ctypes.py_object
_name = ctypes.pythonapi.PyCapsule_GetName
_name.argtypes, _name.restype = [c_void_p], ctypes.c_char_p
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [c_void_p, ctypes.c_char_p], c_void_p


def _forget(capsule: int) -> None:
    given = _given.pop(_pointer(capsule, _name(capsule)), None)
    if given is not None and given.release:
        function = c.RELEASE_SCHEMA if isinstance(given, c.ArrowSchema) else c.RELEASE_ARRAY
        ctypes.cast(given.release, function)(byref(given))


_destructor = _DESTRUCTOR(_forget)


def _capsule(given: Any, name: bytes):
    address = ctypes.addressof(given)
    _given[address] = given
    return _new(address, _CAPSULE_NAMES[name], ctypes.cast(_destructor, c_void_p))


_CAPSULE_NAMES = {name: ctypes.create_string_buffer(name) for name in (b"arrow_schema", b"arrow_array")}
