"""libsonde through ctypes: its structs and functions, as include/sonde/read.h declares them."""
from __future__ import annotations

import ctypes
import os
import shutil
from ctypes import POINTER, byref, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path
from typing import Iterator


class SondeError(Exception):
    """What went wrong, in one sentence; `code` is that of sonde/error.h (0: not the library's)."""

    def __init__(self, sentence: str, code: int = 0) -> None:
        super().__init__(sentence)
        self.code = code


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, POINTER(ArrowSchema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, POINTER(ArrowArray))
ArrowSchema._fields_ = [("format", c_char_p), ("name", c_char_p), ("metadata", c_void_p), ("flags", c_int64), ("n_children", c_int64),
                        ("children", POINTER(POINTER(ArrowSchema))), ("dictionary", POINTER(ArrowSchema)),
                        ("release", c_void_p), ("private_data", c_void_p)]
ArrowArray._fields_ = [("length", c_int64), ("null_count", c_int64), ("offset", c_int64), ("n_buffers", c_int64), ("n_children", c_int64),
                       ("buffers", POINTER(c_void_p)), ("children", POINTER(POINTER(ArrowArray))), ("dictionary", POINTER(ArrowArray)),
                       ("release", c_void_p), ("private_data", c_void_p)]


class Error(ctypes.Structure):
    _fields_ = [("code", c_int), ("sentence", c_char * 1020)]


class TableInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("summary", c_char_p), ("rows", c_int64), ("timed", c_int)]


class ColumnInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("format", c_char_p), ("definition", c_char_p), ("unit", c_char_p),
                ("nullable", c_int), ("asked_for", c_int)]


class ViewInfo(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("summary", c_char_p), ("single", c_int)]


class Rows(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("from_ns", c_int64), ("to_ns", c_int64), ("columns", POINTER(c_char_p)), ("process", c_int32),
                ("lane", c_uint32)]


class Option(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("value", c_char_p)]


def _trees() -> Iterator[Path]:
    """Where bin/sonde and lib/libsonde.so.1 may be: SONDE_PREFIX, within this package (a wheel), above it (an installation), and beside
    the command of the PATH."""
    if os.environ.get("SONDE_PREFIX"):
        yield Path(os.environ["SONDE_PREFIX"])
    here = Path(__file__).resolve()
    yield here.parent / "tree"
    if here.match("share/sonde/python/sonde/*.py"):
        yield here.parents[4]
    command = shutil.which("sonde")
    if command:
        yield Path(command).resolve().parent.parent


def command() -> str:
    """Path of the command `sonde` that belongs to this package."""
    for tree in _trees():
        if (tree / "bin" / "sonde").is_file():
            return str(tree / "bin" / "sonde")
    raise SondeError("the command sonde was not found; install it, or name its tree in SONDE_PREFIX")


def _load() -> ctypes.CDLL:
    for tree in _trees():
        if (tree / "lib" / "libsonde.so.1").is_file():
            return ctypes.CDLL(str(tree / "lib" / "libsonde.so.1"))
    try:
        return ctypes.CDLL("libsonde.so.1")
    except OSError as error:
        raise SondeError(f"libsonde.so.1 was not found ({error}); install Sonde, or name its tree in SONDE_PREFIX") from None


_library = None


def library() -> ctypes.CDLL:
    global _library
    if _library is None:
        lib = _load()
        lib.sonde_read_version.restype = c_char_p
        lib.sonde_read_open.argtypes = [c_char_p, POINTER(c_void_p), POINTER(Error)]
        lib.sonde_read_close.argtypes = [c_void_p]
        lib.sonde_read_close.restype = None
        lib.sonde_read_table.argtypes = [c_void_p, c_uint32, POINTER(TableInfo)]
        lib.sonde_read_column.argtypes = [c_char_p, c_uint32, POINTER(ColumnInfo)]
        lib.sonde_read_view_named.argtypes = [c_uint32, POINTER(ViewInfo)]
        lib.sonde_read_rows.argtypes = [c_void_p, c_char_p, POINTER(Rows), POINTER(ArrowSchema), POINTER(ArrowArray), POINTER(Error)]
        lib.sonde_read_view.argtypes = [c_void_p, c_char_p, POINTER(Option), POINTER(ArrowSchema), POINTER(ArrowArray), POINTER(Error)]
        lib.sonde_read_missing.argtypes = lib.sonde_read_view.argtypes
        lib.sonde_read_share.argtypes = [POINTER(ArrowSchema), POINTER(ArrowArray), POINTER(ArrowSchema), POINTER(ArrowArray)]
        _library = lib
    return _library


def check(code: int, error: Error) -> None:
    if code:
        raise SondeError(error.sentence.decode("utf-8", "replace"), code)


def release(schema: ArrowSchema, array: ArrowArray) -> None:
    if schema.release:
        ctypes.cast(schema.release, RELEASE_SCHEMA)(byref(schema))
    if array.release:
        ctypes.cast(array.release, RELEASE_ARRAY)(byref(array))
