"""Passes without MLIR's verifier, which takes two thirds of their time in Triton 3.7 to 3.9.

A pass manager verifies the module after each pass that changed it. Triton's Python has no switch for that,
but libtriton exports MLIR's own, `PassManager::enableVerifier`. It changes no result: it only rejects modules
that a pass has broken. So whoever leaves it out verifies the last module, and writes nothing into Triton's
cache.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import SimpleNamespace
from typing import Any

from irscope.toolchain.pass_proxies import compiler_modules
from irscope.toolchain.patching import patched

# The versions in which the address of a pass manager was checked to be where `_address` reads it.
_CHECKED = ("3.7.", "3.8.", "3.9.")
_ENABLE = "_ZN4mlir11PassManager14enableVerifierEb"  # void enableVerifier(bool)
_SIZE = "_ZNK4mlir13OpPassManager4sizeEv"  # size_t size() const
# A Python object begins with its reference count and type, of 8 bytes each.
_HEADER = 16


@contextmanager
def without_verifier(backend: Any) -> Iterator[None]:
    """Pass managers that Triton's `backend` creates within the block do not verify, if that is possible."""
    found = _disable()
    if found is None:
        yield
        return
    disable: Callable[[Any], None] = found
    with ExitStack() as stack:
        for compiler in compiler_modules(backend):

            class PassManager(compiler.ir.pass_manager):  # type: ignore[misc, name-defined]
                def __init__(self, context: Any) -> None:
                    super().__init__(context)
                    disable(self)

            names = vars(compiler.ir) | {"pass_manager": PassManager}
            stack.enter_context(patched(compiler, "ir", SimpleNamespace(**names)))
        yield


@cache
def _disable() -> Callable[[Any], None] | None:
    """Turns off the verifier of a pass manager; None if libtriton does not allow it."""
    import triton
    from triton._C import libtriton

    if not triton.__version__.startswith(_CHECKED):
        return None
    library = ctypes.CDLL(libtriton.__file__)
    try:
        enable, size = library[_ENABLE], library[_SIZE]
    except AttributeError:
        return None
    enable.argtypes, enable.restype = [ctypes.c_void_p, ctypes.c_bool], None
    size.argtypes, size.restype = [ctypes.c_void_p], ctypes.c_size_t
    if not _is_address(size):
        return None
    return lambda manager: enable(_address(manager), False)


def _is_address(size: Callable[[int], int]) -> bool:
    """Whether `_address` finds a pass manager: MLIR counts the passes that were added."""
    from triton._C.libtriton import ir, passes

    manager = ir.pass_manager(ir.context())
    for number in range(3):
        if size(_address(manager)) != number:
            return False
        passes.common.add_cse(manager)
    return True


def _address(manager: Any) -> int:
    """The address of the C++ object of a pass manager.

    pybind11 (3.6 to 3.8) has it after the header (`instance` in pybind11/detail/common.h), nanobind (3.9) its
    distance from the object (`nb_inst` in nanobind/src/nb_internals.h).
    """
    after = id(manager) + _HEADER
    if type(type(manager)).__name__ == "pybind11_type":
        return int(ctypes.c_uint64.from_address(after).value)
    return id(manager) + ctypes.c_int32.from_address(after).value
