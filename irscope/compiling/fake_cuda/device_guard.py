"""Lets torch trace CUDA tensors without a GPU: a device guard, and answers of its CUDA hooks.

Tracing a backward pass asks C++ code for the guard of CUDA devices, which a CPU build of torch does not have,
and for the accelerator, which no build has without a GPU. Both are objects with virtual methods, so this
module builds tables of such methods in memory (Itanium C++ ABI, "Virtual Table Layout"); the order of the
methods is read from the headers in torch's wheel. The methods are machine code that returns a constant: none
calls Python, not even while the process ends.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

# c10::DeviceType::CUDA (c10/core/DeviceType.h). As the two lowest bytes of a result it is the device cuda:0,
# and with zeros above that device's default stream.
_CUDA = 1
# The version of cuDNN that wheels of torch 2.11 for CUDA bring, for builds without one.
CUDNN_VERSION = 91900
_REGISTRY = "_ZN3c104impl26device_guard_impl_registryE"
_GET_HOOKS = "_ZN2at6detail12getCUDAHooksEv"
_GUARD_HEADER = "c10/core/impl/DeviceGuardImplInterface.h"
_HOOKS_HEADERS = ("ATen/detail/AcceleratorHooksInterface.h", "ATen/detail/CUDAHooksInterface.h")
_DEVICE_OR_STREAM = ("exchangeDevice", "getDevice", "getStream", "getDefaultStream", "exchangeStream")
# The results of the hooks. cuDNN's version decides about the memory format of convolutions.
_HOOKS = {
    "isBuilt": 1, "isAvailable": 1, "hasPrimaryContext": 1, "hasCUDA": 1, "compiledWithCuDNN": 1,
    "supportsDilatedConvolutionWithCuDNN": 1, "supportsDepthwiseConvolutionWithCuDNN": 1,
    "supportsBFloat16ConvolutionWithCuDNNv8": 1, "versionCuDNN": CUDNN_VERSION,
    "versionRuntimeCuDNN": CUDNN_VERSION, "batchnormMinEpsilonCuDNN": 0,
}  # fmt: skip
_NEEDED_HOOKS = ("isBuilt", "isAvailable", "hasPrimaryContext", "hasCUDA")


class UnsupportedTorchError(Exception):
    """A build of torch without something that is needed here; the text says what."""


def ensure_device_guard() -> None:
    """Give torch a guard for CUDA devices if it has none; it stays until the process ends.

    Raises UnsupportedTorchError.
    """
    registry = (ctypes.c_void_p * 2).from_address(_symbol("libc10.so", _REGISTRY))
    if not registry[_CUDA]:
        registry[_CUDA] = ctypes.addressof(_device_guard())
    set_guard = getattr(torch._C, "_ensureCUDADeviceGuardSet", None)
    if set_guard is None:
        raise UnsupportedTorchError("torch._C._ensureCUDADeviceGuardSet is missing")
    set_guard()


@functools.cache
def _device_guard() -> ctypes.Array[ctypes.c_void_p]:
    """Create a DeviceGuardImplInterface without devices: autograd starts no thread for them."""
    methods = _virtual_methods(_GUARD_HEADER)
    missing = {"deviceCount", *_DEVICE_OR_STREAM} - set(methods)
    if missing:
        raise UnsupportedTorchError(f"{_GUARD_HEADER} does not declare {', '.join(sorted(missing))}")
    returning_cuda = (*_DEVICE_OR_STREAM, "type")
    table = [_returning(_CUDA if name in returning_cuda else 0) for name in methods]
    return _object_with(_virtual_table([0, 0, *table]))


@contextmanager
def available_accelerator() -> Iterator[None]:
    """Within the block, torch's C++ code takes CUDA for an accelerator that is available.

    Raises UnsupportedTorchError.
    """
    hooks = ctypes.c_void_p.from_address(_hooks_address())
    before = hooks.value
    hooks.value = _available_hooks_table(before or 0)
    try:
        yield
    finally:
        hooks.value = before


@functools.cache
def _hooks_address() -> int:
    get_hooks = ctypes.CFUNCTYPE(ctypes.c_void_p)(_symbol("libtorch_cpu.so", _GET_HOOKS))
    address: int = get_hooks()
    return address


@functools.cache
def _available_hooks_table(table: int) -> int:
    """Copy a CUDAHooksInterface's table of virtual methods so that CUDA is available.

    Returns the address of the copy.
    """
    methods = _hooks_methods()
    slots = (ctypes.c_void_p * (len(methods) + 2)).from_address(table - 2 * _WORD)
    entries = [slot or 0 for slot in slots]
    for number, name in enumerate(methods):
        if name in _HOOKS:
            entries[2 + number] = _returning(_HOOKS[name])
    return ctypes.addressof(_virtual_table(entries)) + 2 * _WORD


def _hooks_methods() -> list[str]:
    base, derived = map(_virtual_methods, _HOOKS_HEADERS)
    methods = base + [name for name in derived if name not in base]
    missing = set(_NEEDED_HOOKS) - set(methods)
    if missing:
        raise UnsupportedTorchError(f"{_HOOKS_HEADERS[1]} does not declare {', '.join(sorted(missing))}")
    return methods


_WORD = ctypes.sizeof(ctypes.c_void_p)
# Everything that C++ objects point to, which must outlive them.
_kept: list[object] = []


def _virtual_table(entries: list[int]) -> ctypes.Array[ctypes.c_void_p]:
    """Create a table of virtual methods: the offset to the top, the type's description, the methods."""
    table = (ctypes.c_void_p * len(entries))(*entries)
    _kept.append(table)
    return table


def _object_with(table: ctypes.Array[ctypes.c_void_p]) -> ctypes.Array[ctypes.c_void_p]:
    """Create an object without fields, which starts with the address of its virtual methods."""
    instance = (ctypes.c_void_p * 1)(ctypes.addressof(table) + 2 * _WORD)
    _kept.append(instance)
    return instance


@functools.cache
def _returning(value: int) -> int:
    """Return the address of a function that returns `value` (31 bits).

    If the caller expects a double, the function returns 0.0. The second register of a result is 0.
    """
    low, high = value & 0xFFFF, value >> 16
    words = {
        # mov eax, value; xor edx, edx; xorps xmm0, xmm0; ret
        "x86_64": b"\xb8" + value.to_bytes(4, "little") + b"\x31\xd2\x0f\x57\xc0\xc3",
        # movz x0, low; movk x0, high, lsl 16; movz x1, 0; movi d0, 0; ret
        "aarch64": b"".join(
            word.to_bytes(4, "little")
            for word in (0xD2800000 | low << 5, 0xF2A00000 | high << 5, 0xD2800001, 0x2F00E400, 0xD65F03C0)
        ),
    }
    code = words.get(platform.machine())
    if code is None:
        raise UnsupportedTorchError(f"no machine code for {platform.machine()} processors")
    try:
        memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    except OSError as error:
        raise UnsupportedTorchError(f"no executable memory: {error.strerror}") from error
    memory.write(code)
    _kept.append(memory)
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _symbol(library: str, name: str) -> int:
    """Return the address of a symbol of one of torch's libraries, which are loaded already."""
    path = Path(torch.__file__).parent / "lib" / library
    try:
        loaded = ctypes.CDLL(str(path))
        return ctypes.addressof(ctypes.c_char.in_dll(loaded, name))
    except (OSError, ValueError) as error:
        raise UnsupportedTorchError(f"{library} does not have {name}") from error


def _virtual_methods(header: str) -> list[str]:
    """List the new virtual methods that the class in a header of torch declares, in table order.

    Methods only for ROCm are among them, so the table of another build is shorter. A destructor
    takes two entries (Itanium C++ ABI, "Virtual Table Layout").
    """
    try:
        text = (Path(torch.__file__).parent / "include" / header).read_text(encoding="utf-8")
    except OSError as error:
        raise UnsupportedTorchError(f"{header} is missing") from error
    code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    names: list[str] = []
    for name in re.findall(r"\bvirtual\s[^;{()]*?(~?\w+)\s*\(", code):
        names += [name, name] if name.startswith("~") else [name]
    return names
