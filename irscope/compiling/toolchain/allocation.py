"""Shared and tensor memory of a kernel before LLVM: the passes of a backend up to their allocation.

Triton's NVIDIA and AMD backends allocate shared memory, tensor memory and warps in the first passes of the
stage `llir` (`make_llir` in triton/backends/*/compiler.py of 3.6 to 3.9). Later passes change them only for
clusters and sanitizers, and none after `add_to_llvmir` does. So the stage can end there: LLVM and ptxas take
most of a compilation's time.

Passes without MLIR's verifier, which takes two thirds of their time in Triton 3.7 to 3.9.

A pass manager verifies the module after each pass that changed it. Triton's Python has no switch for that,
but libtriton exports MLIR's own, `PassManager::enableVerifier`. It changes no result: it only rejects modules
that a pass has broken. So whoever leaves it out verifies the last module, and writes nothing into Triton's
cache.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

from irscope.compiling.toolchain.pass_instrumentation import RunStage, compiler_modules
from irscope.compiling.toolchain.patching import patched
from irscope.model import UserError
from irscope.model.records import frozen

# The stage that allocates, and the pass in it before which everything is allocated.
LLVM_STAGE = "llir"
_TO_LLVM = "add_to_llvmir"
# NVIDIA's pass that allocates last. Between it and the conversion are barriers and fences, which take as long
# as all passes before.
_LAST_ALLOCATION = "add_allocate_tensor_memory"


@frozen
class Allocation:
    """The resources of one block of a kernel: bytes of `shared` memory, columns of `tensor_memory`, `warps`.

    `tensor_memory` is None if the target has none.
    """

    shared: int
    tensor_memory: int | None
    warps: int


class _Allocated(BaseException):
    """Ends the stage; a BaseException, so that no handler of the backend catches it."""


def allocate(run: RunStage, module: Any, backend: Any, options: Any) -> Allocation:
    """Run the passes of the stage `run` (`llir`) on `module` until memory and warps are allocated.

    Changes `module`. Raises whatever the passes raise; UserError for an unknown backend.
    """

    def stop(manager: Any, *_: Any) -> None:
        manager.run(module, "make_llir")
        raise _Allocated

    def allocate_last(manager: Any) -> None:
        add_last(manager)
        stop(manager)

    passes = _passes(backend)
    add_last: Any = getattr(getattr(passes, "ttnvgpuir", None), _LAST_ALLOCATION, None)
    with ExitStack() as stack:
        stack.enter_context(patched(passes.ttgpuir, _TO_LLVM, stop))
        if add_last is not None and _is_final(options):
            stack.enter_context(patched(passes.ttnvgpuir, _LAST_ALLOCATION, allocate_last))
        try:
            run(module, {})
        except _Allocated:
            return _allocation(module, options)
    raise UserError(f"Triton's {backend.target.backend} backend has no pass {_TO_LLVM} in stage {LLVM_STAGE}")


def _is_final(options: Any) -> bool:
    """Return True if no pass after the last allocation allocates more.

    Barriers of clusters and sanitizers do.
    """
    return options.num_ctas == 1 and not getattr(options, "instrumentation_mode", "")


def _allocation(module: Any, options: Any) -> Allocation:
    """Read the module's attributes as the end of `make_llir` does."""
    shared = module.get_int_attr("ttg.shared") or 0
    least = getattr(options, "min_shared_mem", None)  # 3.9 raises the amount to this after the conversion
    return Allocation(
        shared=max(shared, least or 0),
        tensor_memory=module.get_int_attr("ttg.tensor_memory_size"),
        warps=module.get_int_attr("ttg.total-num-warps") or options.num_warps,
    )


def _passes(backend: Any) -> Any:
    """Find libtriton's module with the backend's own passes: `nvidia.passes` or `amd.passes`."""
    compiler = sys.modules[type(backend).__module__]
    for value in list(vars(compiler).values()):
        pass_module = getattr(value, "passes", None)
        if isinstance(pass_module, ModuleType) and hasattr(getattr(pass_module, "ttgpuir", None), _TO_LLVM):
            return pass_module
    raise UserError(f"Triton's {backend.target.backend} backend has no passes.ttgpuir.{_TO_LLVM}")


# The versions in which the address of a pass manager was checked to be where `_address` reads it.
_CHECKED = ("3.7.", "3.8.", "3.9.")
_ENABLE = "_ZN4mlir11PassManager14enableVerifierEb"  # void enableVerifier(bool)
_SIZE = "_ZNK4mlir13OpPassManager4sizeEv"  # size_t size() const
# A Python object begins with its reference count and type, of 8 bytes each.
_HEADER = 16


@contextmanager
def without_verifier(backend: Any) -> Iterator[None]:
    """Pass managers that Triton's `backend` creates within the block do not verify, if that is possible."""
    disable_verifier = _disable()
    if disable_verifier is None:
        yield
        return
    disable: Callable[[Any], None] = disable_verifier
    with ExitStack() as stack:
        for compiler in compiler_modules(backend):

            class UnverifiedPassManager(compiler.ir.pass_manager):  # type: ignore[misc, name-defined]
                def __init__(self, context: Any) -> None:
                    super().__init__(context)
                    disable(self)

            names = vars(compiler.ir) | {"pass_manager": UnverifiedPassManager}
            stack.enter_context(patched(compiler, "ir", SimpleNamespace(**names)))
        yield


@cache
def _disable() -> Callable[[Any], None] | None:
    """Turn off the verifier of a pass manager; None if libtriton does not allow it."""
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
    """Return True if `_address` finds a pass manager: MLIR counts the passes that were added."""
    from triton._C.libtriton import ir, passes

    manager = ir.pass_manager(ir.context())
    for number in range(3):
        if size(_address(manager)) != number:
            return False
        passes.common.add_cse(manager)
    return True


def _address(manager: Any) -> int:
    """Return the address of the C++ object of a pass manager.

    pybind11 (3.6 to 3.8) has it after the header (`instance` in pybind11/detail/common.h),
    nanobind (3.9) its distance from the object (`nb_inst` in nanobind/src/nb_internals.h).
    """
    after = id(manager) + _HEADER
    if type(type(manager)).__name__ == "pybind11_type":
        return int(ctypes.c_uint64.from_address(after).value)
    return id(manager) + ctypes.c_int32.from_address(after).value
