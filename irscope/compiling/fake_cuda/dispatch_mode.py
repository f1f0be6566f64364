"""Computes on fake CUDA tensors: a dispatch mode of torch.

The mode skips arithmetic on large tensors and tracks which values depend on kernels that did not run.
Needs torch.

Results of operators that are not computed: tensors of the right shape, without memory. Needs torch.

Properties of torch's operators: which tensors they write, create or return. Needs torch.
"""

from __future__ import annotations

import functools
import math
import mmap
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch._ops import HigherOrderOperator
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from irscope.compiling.fake_cuda.function_mode import function_mode, without_function_mode
from irscope.compiling.fake_cuda.tensor_tags import (
    is_tracing,
    set_empty,
    set_filled,
    set_unknown,
    tensors_in,
    unknown,
)
from irscope.compiling.fake_cuda.unknown_value import unknown_value
from irscope.compiling.toolchain.patching import once_imported
from irscope.compiling.toolchain.stub_driver import NeedsGpuError

if TYPE_CHECKING:
    from irscope.compiling.fake_cuda.program_operators import ProgramOperators


# Tensors of more bytes than this are mapped: a GPU may have more memory than this machine.
_LARGEST_ALLOCATED = 1 << 26
_MAP_NORESERVE = 0x4000  # Linux, asm-generic/mman.h; in Python's mmap from 3.13 on


def uninitialized(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the operator's results without their values.

    Returns None if only computing them gives their shapes.
    """
    try:
        meta_args, named = tree_map_only(torch.Tensor, _as_meta, (args, dict(kwargs)))
        if named.get("device") is not None:
            named["device"] = "meta"
        shaped = func(*meta_args, **named)
    except (NotImplementedError, RuntimeError):
        return None
    return tree_map_only(torch.Tensor, _as_cpu, shaped)


def created_elements(args: tuple[Any, ...]) -> int:
    """Count the elements that `empty(size)`, `empty_like(tensor)` or `new_empty(tensor, size)` make."""
    if not isinstance(args[0], torch.Tensor):
        return math.prod(args[0])
    size = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else args[0].shape
    return math.prod(size)


def _as_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def _as_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CPU tensor like this one.

    A large one is zero, and takes memory only where it is written.
    """
    size, stride = tensor.size(), tensor.stride()
    if tensor.untyped_storage().nbytes() <= _LARGEST_ALLOCATED:
        return torch.empty_strided(size, stride, dtype=tensor.dtype, device="cpu")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    memory = mmap.mmap(-1, tensor.untyped_storage().nbytes(), flags=flags)
    storage = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=tensor.dtype, device="cpu").set_(storage, 0, size, stride)


# The namespace of the collectives of torch.distributed.
_COLLECTIVES = "c10d"
ALLOCATING = frozenset(["empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided"])
# Operators whose results do not depend on the values of their arguments.
VALUE_FREE = frozenset(
    ["zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_full"]
)
# Operators that draw every element at random.
DRAWN = frozenset(["normal_", "uniform_", "exponential_", "log_normal_"])
DRAWN_NEW = frozenset(["rand", "randn"])
ZEROS = frozenset(["zeros", "zeros_like", "new_zeros"])
CREATING = ALLOCATING | VALUE_FREE | ZEROS | DRAWN_NEW | {"ones", "full"}
FILLING = DRAWN | {"zero_", "fill_", "copy_", "random_", "bernoulli_", "geometric_", "cauchy_"}
# Operators that copy, which takes no longer than the allocation.
COPYING = frozenset(["clone", "_to_copy", "cat", "stack", "contiguous"])


@functools.cache
def short_name(func: Any) -> str:
    """Return the operator's name without its overload, and without the namespace of ATen."""
    return str(func._schema.name.removeprefix("aten::"))


@functools.cache
def returns_views(func: Any) -> bool:
    """Return True if a result shares its values with an argument.

    That is true for views, and for arguments that are written.
    """
    return any(returned.alias_info is not None for returned in func._schema.returns)


def shaped_by_values(func: Any, tensors: list[torch.Tensor]) -> bool:
    """Return True if the shape of the result depends on values: nonzero, a boolean mask, ..."""
    if torch.Tag.dynamic_output_shape not in func.tags:
        return False
    return func._schema.name != "aten::index" or any(t.dtype is torch.bool for t in tensors[1:])


@functools.cache
def has_cpu_kernel(func: Any) -> bool:
    """Return True if the CPU implements the operator: not for flash attention, for example."""
    has_kernel = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    return any(has_kernel(func.name(), key) for key in ("CPU", "SparseCPU", "SparseCsrCPU"))


def written_tensors(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Return the tensors that the operator writes to.

    These are in-place arguments, `out`, and all arguments of a collective.
    """
    if func.namespace == _COLLECTIVES:
        return tensors_in(args, None)
    if not func._schema.is_mutable:
        return []
    positional = zip(func._schema.arguments, args, strict=False)
    named = ((argument, kwargs.get(argument.name)) for argument in func._schema.arguments)
    values = [
        v for argument, v in (*positional, *named) if argument.alias_info and argument.alias_info.is_write
    ]
    return tensors_in(values, None)


def is_filled(func: Any, tensor: torch.Tensor, written: list[torch.Tensor]) -> bool:
    """Return True if the operator writes the tensor without reading it."""
    fills = short_name(func) in FILLING or func.namespace == _COLLECTIVES
    fills = fills or any(argument.is_out for argument in func._schema.arguments)
    return fills and any(tensor is written_tensor for written_tensor in written)


# Arithmetic on more elements than this is skipped: a matmul of two 8192 x 8192 takes minutes on a CPU.
_LARGEST_COMPUTED = 1 << 20
# Filling more elements than this is skipped: benchmarks do so repeatedly to flush the cache.
_LARGEST_FILLED = 1 << 24


class FakeCudaDispatchMode(TorchDispatchMode):  # type: ignore[misc]
    """Skips large arithmetic of torch and marks what depends on a kernel's output as unknown.

    The program's own operators always run, whatever their size: they may launch kernels.
    """

    def __init__(self, operators: ProgramOperators) -> None:
        super().__init__()
        self.operators = operators

    # Dispatches flex_attention and the like too.
    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Return True: Dynamo compiles functions although the mode is on."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute an operator of ATen, or return an uninitialized result of the right shape."""
        kwargs = kwargs or {}
        if is_tracing(args):
            return func(*args, **kwargs)
        if isinstance(func, HigherOrderOperator):
            return self._call_higher_order(func, args, kwargs)
        with torch._C.DisableTorchFunction():  # quick, and no mode of the program sees what is asked here
            tensors = tensors_in(args, kwargs)
            mutated = written_tensors(func, args, kwargs)
            tainted = any(unknown(tensor) for tensor in tensors if not is_filled(func, tensor, mutated))
            if tainted:
                _check_answerable(func, tensors)
            result = self._not_computed(func, args, kwargs, tensors, mutated, tainted)
        if result is not _COMPUTED:
            return result
        with without_function_mode():
            result = func(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            _tag_values(func, result, mutated, tainted)
        return result

    def _not_computed(
        self,
        func: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        tensors: list[torch.Tensor],
        written: list[torch.Tensor],
        tainted: bool,
    ) -> Any:
        """Return the result of an operator that is skipped, or _COMPUTED if it is not."""
        if func is torch.ops.aten.equal.default and tainted:
            return True
        if _is_created_unfilled(func, args):
            result = uninitialized(func, args, kwargs)
            if short_name(func) not in ZEROS:
                (set_empty if short_name(func) in ALLOCATING else set_unknown)(result)
            return result
        if written and (_skipped_in_place(func, args) or self._skips_update(func, args, kwargs, written)):
            set_unknown(written)
            returned = written[: len(func._schema.returns)]
            return returned[0] if len(returned) == 1 else tuple(returned) or None
        skipped = not returns_views(func) and (_large(tensors) or not has_cpu_kernel(func))
        skipped = skipped and not self.operators.implements(func)
        name = short_name(func)
        skipped = skipped and not (name in CREATING or (name in COPYING and not tainted))
        if skipped and (result := uninitialized(func, args, kwargs)) is not None:
            set_unknown(result)
            return result
        return _COMPUTED

    def _skips_update(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], written: list[torch.Tensor]
    ) -> bool:
        """Return True for in-place arithmetic on large tensors, such as an optimizer's, or with an `out`."""
        if short_name(func) in FILLING or func.namespace != "aten" or self.operators.implements(func):
            return False
        if not (_large(tensors_in(args, kwargs)) and all(tensor.is_floating_point() for tensor in written)):
            return False
        if any(argument.is_out for argument in func._schema.arguments):
            results = tree_leaves(uninitialized(func, args, kwargs))  # an `out` of another shape is resized
            return [getattr(result, "shape", None) for result in results] == [out.shape for out in written]
        return all(r.alias_info is not None and r.alias_info.is_write for r in func._schema.returns)

    def _call_higher_order(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call an operator that calls functions, such as flex_attention."""
        if func.name() == "graphsafe_run_with_rng_state":  # it only sets the GPU's random state
            kwargs.pop("rng_state", None)
            with self:
                return args[0](*args[1:], **kwargs)
        with torch._C.DisableTorchFunction():
            tainted = any(map(unknown, tensors_in(args, kwargs)))
        result = func(*args, **kwargs)
        if tainted:
            set_unknown(result)
        return result


# In place of a result: the operator has to be computed.
_COMPUTED = object()


def _check_answerable(func: Any, tensors: list[torch.Tensor]) -> None:
    """Raise NeedsGpuError if the operator needs a value that is unknown."""
    if func is torch.ops.aten._local_scalar_dense.default:
        raise NeedsGpuError(read_at=unknown_value().read_at)
    if shaped_by_values(func, tensors):
        raise NeedsGpuError


def _large(tensors: Iterable[torch.Tensor]) -> bool:
    return any(tensor.numel() > _LARGEST_COMPUTED for tensor in tensors)


def _tag_values(func: Any, result: Any, written: list[torch.Tensor], tainted: bool) -> None:
    """Tags the tensors whose values are unknown, empty or known after an operator."""
    name = short_name(func)
    if name == "set_":
        return  # the tensor takes another storage, which has its own tags
    if name in ALLOCATING:
        set_empty(result)
    elif tainted and name not in VALUE_FREE:
        set_unknown(result, written=bool(written) or not returns_views(func))
    else:
        set_filled(written)


def _skipped_in_place(func: Any, args: tuple[Any, ...]) -> bool:
    """Return True if the operator fills a large tensor.

    Random integers are computed: they may be indices.
    """
    name = short_name(func)
    if name in ("zero_", "fill_"):
        return bool(args[0].numel() > _LARGEST_FILLED)
    if name == "copy_" and _large(args[:1]) and args[0].is_floating_point():
        return unknown(args[1])
    return name in DRAWN and args[0].numel() > _LARGEST_COMPUTED and args[0].is_floating_point()


def _is_created_unfilled(func: Any, args: tuple[Any, ...]) -> bool:
    """Return True if the operator creates a large tensor, which then need not be filled."""
    name = short_name(func)
    if name not in CREATING:
        return False
    return created_elements(args) > (_LARGEST_COMPUTED if name in DRAWN_NEW else _LARGEST_FILLED)


@contextmanager
def fake_cuda_modes(operators: ProgramOperators) -> Iterator[None]:
    """Both modes of fake CUDA tensors are on within the block, in this thread."""
    with FakeCudaDispatchMode(operators), function_mode(operators.assumed):
        yield


_WRAP = "torch._higher_order_ops.triton_kernel_wrap"


@functools.cache
def support_wrapped_kernels() -> None:
    """Make `torch.library.wrap_triton` launch kernels in the mode, outside of the program's operators."""

    def launch(mode: FakeCudaDispatchMode, **kwargs: Any) -> None:
        with fake_cuda_modes(mode.operators):
            sys.modules[_WRAP].triton_kernel_wrapper_mutation_dense(**kwargs)

    def register() -> None:
        sys.modules[_WRAP].triton_kernel_wrapper_mutation.py_impl(FakeCudaDispatchMode)(launch)

    once_imported(_WRAP, register)
