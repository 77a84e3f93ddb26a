"""What a program says of itself while it is recorded: which part of the run counts, and what its phases are called."""
from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any, Optional


def _set(on: int) -> None:
    function = getattr(ctypes.CDLL(None), "sonde__set_range", None)
    if function:
        function(on)


def start() -> None:
    """Record from here on, under `sonde record --start-off`. Without Sonde it does nothing."""
    _set(1)


def stop() -> None:
    """Record nothing from here on."""
    _set(0)


class _Nvtx:
    """What a header of NVTX does in a C program: at the first call it gives the tool of NVTX_INJECTION64_PATH, if there is one, a
    table of functions to fill, which are empty without one. The interface: nvToolsExt.h and nvtxDetail/nvtxTypes.h of NVTX 3."""

    _CORE, _SIZES = 1, {1: 16, 2: 16, 3: 16, 4: 16, 5: 16, 6: 16}
    _PUSH, _POP, _MARK = 9, 11, 2

    def __init__(self) -> None:
        self.push = self.pop = self.mark = None
        tool = os.environ.get("NVTX_INJECTION64_PATH")
        if not tool:
            return
        self._slots = {module: [ctypes.c_void_p() for _ in range(size)] for module, size in self._SIZES.items()}
        self._tables = {module: (ctypes.c_void_p * (len(slots) + 1))(*(ctypes.addressof(slot) for slot in slots), None)
                        for module, slots in self._slots.items()}
        self._module_table = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))(self._give)
        self._callbacks = (ctypes.c_size_t * 2)(2 * ctypes.sizeof(ctypes.c_size_t), ctypes.cast(self._module_table, ctypes.c_void_p).value or 0)
        self._export = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(lambda number: ctypes.addressof(self._callbacks) if number == 1 else None)
        try:
            if not ctypes.CDLL(tool).InitializeInjectionNvtx2(self._export):
                return
        except (OSError, AttributeError):
            return
        core = self._slots[self._CORE]
        # Their calls hold the interpreter's lock: they are short, and the stack is this thread's.
        self.push = self._function(core[self._PUSH].value, ctypes.c_char_p)
        self.pop = self._function(core[self._POP].value)
        self.mark = self._function(core[self._MARK].value, ctypes.c_char_p)

    @staticmethod
    def _function(address: Optional[int], *arguments: Any) -> Any:
        return ctypes.PYFUNCTYPE(ctypes.c_int, *arguments)(address) if address else None

    def _give(self, module: int, table: Any, entries: Any) -> int:
        if module not in self._tables:
            return 0
        table[0] = ctypes.addressof(self._tables[module])
        entries[0] = len(self._slots[module])
        return 1


_nvtx: Optional[_Nvtx] = None


def _tool() -> _Nvtx:
    global _nvtx
    if _nvtx is None:
        _nvtx = _Nvtx()
    return _nvtx


class Range(contextlib.ContextDecorator):
    """`with sonde.range("step"):` names a phase: it stands in the call paths of what is done within, and on the time line. Also a
    decorator. An NVTX range: without a tool that listens it does nothing, and other tools for NVTX see it, too."""

    __slots__ = ("_name", "_tool")

    def __init__(self, name: str) -> None:
        self._name, self._tool = name.encode("utf-8", "replace"), _tool()

    def __enter__(self) -> Range:
        if self._tool.push is not None:
            self._tool.push(self._name)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._tool.pop is not None:
            self._tool.pop()


def mark(name: str) -> None:
    """An instant with a name."""
    tool = _tool()
    if tool.mark is not None:
        tool.mark(name.encode("utf-8", "replace"))
