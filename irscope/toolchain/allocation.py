"""Shared and tensor memory of a kernel before LLVM: the passes of a backend up to their allocation.

Triton's NVIDIA and AMD backends allocate shared memory, tensor memory and warps in the first passes of the
stage `llir` (`make_llir` in triton/backends/*/compiler.py of 3.6 to 3.9). Later passes change them only for
clusters and sanitizers, and none after `add_to_llvmir` does. So the stage can end there: LLVM and ptxas take
most of a compilation's time.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from irscope.model import UserError
from irscope.toolchain.coalescing import RunStage
from irscope.toolchain.patching import patched

# The stage that allocates, and the pass in it before which everything is allocated.
LLVM_STAGE = "llir"
_TO_LLVM = "add_to_llvmir"
# NVIDIA's pass that allocates last. Between it and the conversion are barriers and fences, which take as long
# as all passes before.
_LAST_ALLOCATION = "add_allocate_tensor_memory"


@dataclass(frozen=True, slots=True)
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
    """Runs the passes of the stage `run` (`llir`) on `module` until memory and warps are allocated.

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
    """Whether no pass after the last allocation allocates more: barriers of clusters, sanitizers."""
    return options.num_ctas == 1 and not getattr(options, "instrumentation_mode", "")


def _allocation(module: Any, options: Any) -> Allocation:
    """The module's attributes, as the end of `make_llir` reads them."""
    shared = module.get_int_attr("ttg.shared") or 0
    least = getattr(options, "min_shared_mem", None)  # 3.9 raises the amount to this after the conversion
    return Allocation(
        shared=max(shared, least or 0),
        tensor_memory=module.get_int_attr("ttg.tensor_memory_size"),
        warps=module.get_int_attr("ttg.total-num-warps") or options.num_warps,
    )


def _passes(backend: Any) -> Any:
    """The module of libtriton with the backend's own passes: `nvidia.passes` or `amd.passes`."""
    compiler = sys.modules[type(backend).__module__]
    for value in list(vars(compiler).values()):
        found = getattr(value, "passes", None)
        if isinstance(found, ModuleType) and hasattr(getattr(found, "ttgpuir", None), _TO_LLVM):
            return found
    raise UserError(f"Triton's {backend.target.backend} backend has no passes.ttgpuir.{_TO_LLVM}")
