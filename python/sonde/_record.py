"""Recording: a program from outside, and within a program what is recorded and what its phases are called."""
from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from typing import Any, Iterator, Optional, Sequence, Union

from . import _library as c
from ._measurement import Measurement


def run(*words: str) -> str:
    """What a command of sonde prints; SondeError with what it says when it fails."""
    done = subprocess.run([c.command(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    if done.returncode:
        lines = [line for line in done.stderr.strip().splitlines() if line]
        said = lines[-1] if lines else f"status {done.returncode}"
        raise c.SondeError(said[len("sonde: "):] if said.startswith("sonde: ") else said)
    return done.stdout


def record(command: Sequence[Union[str, os.PathLike]], output: Optional[Union[str, os.PathLike]] = None, *, check: bool = True,
           env: Optional[dict[str, str]] = None, cwd: Optional[Union[str, os.PathLike]] = None, **options: Any) -> Measurement:
    """Run a program under `sonde record` and open what was measured.

    output: the measurement's folder; else that of the command's name. options: those of `sonde record`, an underscore for each
    dash: `cpu=100`, `values=True`, `force=True`. check: CalledProcessError when the program fails, after it was recorded; without
    it, what was recorded is opened all the same.
    """
    words = [os.fspath(word) for word in command]
    if isinstance(command, (str, bytes)) or not words:
        raise TypeError("command is a sequence: the program, then its arguments")
    folder = os.fspath(output) if output is not None else os.path.basename(words[0]) + ".sonde"
    line = [c.command(), "record", "--quiet", "--output", os.path.abspath(folder)]
    for key, value in options.items():
        option = "--" + key.rstrip("_").replace("_", "-")
        line += [] if value is None or value is False else [option] if value is True else [f"{option}={value}"]
    done = subprocess.run([*line, "--", *words], env=env, cwd=cwd, check=False)
    if done.returncode and check:
        raise subprocess.CalledProcessError(done.returncode, words)
    return Measurement(folder)


# ---- in the program -------------------------------------------------------------------------------


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
        self._push = self._pop = self._mark = None
        tool = os.environ.get("NVTX_INJECTION64_PATH")
        if not tool:
            return
        self._slots = {module: [ctypes.c_void_p() for _ in range(size)] for module, size in self._SIZES.items()}
        self._tables = {module: (ctypes.c_void_p * (len(slots) + 1))(*(ctypes.addressof(slot) for slot in slots), None)
                        for module, slots in self._slots.items()}
        self._module_table = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_uint))(self._give)
        self._callbacks = (ctypes.c_size_t * 2)(2 * ctypes.sizeof(ctypes.c_size_t), ctypes.cast(self._module_table, ctypes.c_void_p).value)
        self._export = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(lambda number: ctypes.addressof(self._callbacks) if number == 1 else None)
        try:
            if not ctypes.CDLL(tool).InitializeInjectionNvtx2(self._export):
                return
        except (OSError, AttributeError):
            return
        core = self._slots[self._CORE]
        # Their calls hold the interpreter's lock: they are short, and the stack is this thread's.
        self._push = self._function(core[self._PUSH].value, ctypes.c_char_p)
        self._pop = self._function(core[self._POP].value)
        self._mark = self._function(core[self._MARK].value, ctypes.c_char_p)

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


@contextlib.contextmanager
def range(name: str) -> Iterator[None]:  # noqa: A001 (what it is called in this field)
    """`with sonde.range("step"):` names a phase: it stands in the call paths of what is done within, and on the time line. Also a
    decorator. An NVTX range: without a tool that listens it does nothing, and other tools for NVTX see it, too."""
    tool = _tool()
    if tool._push is None or tool._pop is None:
        yield
        return
    tool._push(name.encode())
    try:
        yield
    finally:
        tool._pop()


def mark(name: str) -> None:
    """An instant with a name."""
    tool = _tool()
    if tool._mark is not None:
        tool._mark(name.encode())
