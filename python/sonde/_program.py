"""What a program says of itself while it is recorded: which part of the run counts, what its phases are called, and what lies in its memory."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple, Union


@functools.lru_cache(maxsize=None)
def _found(name: str, *arguments: Any) -> Any:
    """A function of the library that `sonde record` preloads; None without it."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function.restype, function.argtypes = None, arguments
    return function


def _set(on: int) -> None:
    function = _found("sonde__set_range", ctypes.c_int)
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


class _Layout(NamedTuple):
    """Where an array lies: the address of its first element, and the bytes of an element and from one to the next in each dimension."""

    address: int
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    element_bytes: int


def _packed(shape: Sequence[int], element_bytes: int) -> Tuple[int, ...]:
    """Strides of an array whose elements lie row after row."""
    strides = [element_bytes] * len(shape)
    for i in reversed(range(len(shape) - 1)):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)


def _tensor_layout(tensor: Any) -> Optional[_Layout]:
    """None: it has no memory that one could name, as tensors on PyTorch's device "meta" and sparse ones."""
    try:
        size = int(tensor.element_size())
        return _Layout(int(tensor.data_ptr()), tuple(tensor.shape), tuple(stride * size for stride in tensor.stride()), size)
    except RuntimeError:
        return None


def _layout(array: Any) -> Optional[_Layout]:
    if hasattr(array, "data_ptr"):
        return _tensor_layout(array)
    interface = getattr(array, "__cuda_array_interface__", None) or getattr(array, "__array_interface__", None)
    if not isinstance(interface, Mapping) or not interface.get("data"):
        raise TypeError(f"neither a tensor nor an array with __cuda_array_interface__: {type(array).__name__}")
    size, shape = int(re.findall(r"\d+", interface["typestr"])[0]), tuple(interface["shape"])
    return _Layout(int(interface["data"][0] or 0), shape, tuple(interface.get("strides") or _packed(shape, size)), size)


def name(array: Any, text: str) -> None:
    """Says what lies in an array's memory: in views, the data object in which it lies has this name beside it, and `comm --by element` shows
    the array by itself, with its shape. `array` is a tensor of PyTorch, or has `__cuda_array_interface__` (CuPy, Numba) or `__array_interface__`.
    A new name for the same memory takes the place of the old one. Without Sonde it does nothing."""
    tell = _found("sonde__name_memory", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_size_t)
    layout = _layout(array)
    if tell is None or layout is None or not layout.address or 0 in layout.shape:
        return
    reach = [(count - 1) * stride for count, stride in zip(layout.shape, layout.strides)]
    first = layout.address + sum(step for step in reach if step < 0)
    size = sum(map(abs, reach)) + layout.element_bytes
    wanted = _packed(layout.shape, layout.element_bytes)
    packed = all(count == 1 or stride == step for count, stride, step in zip(layout.shape, layout.strides, wanted))
    columns = (layout.shape or (1,))[-1] if packed else 0
    rows = size // (columns * layout.element_bytes) if packed else 0
    tell(first, size, text.encode("utf-8", "replace"), rows, columns, layout.element_bytes)


def _named(arrays: Any) -> Iterator[Tuple[str, Any]]:
    if isinstance(arrays, Mapping):
        yield from arrays.items()
        return
    for key, parameter in arrays.named_parameters():
        yield key, parameter
        if getattr(parameter, "grad", None) is not None:
            yield f"{key}.grad", parameter.grad
    yield from arrays.named_buffers()


def names(arrays: Union[Mapping[str, Any], Any], prefix: str = "") -> None:
    """The same for all parameters (with the gradients that they have by now) and buffers of a module of PyTorch, or for a mapping from names to
    arrays. After the model was moved to its device, and again when its memory has changed; `prefix` comes before each name."""
    for key, array in _named(arrays):
        name(array, prefix + key)
