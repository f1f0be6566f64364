"""Computes on fake CUDA tensors: a dispatch mode of torch, and the program's own operators under it.

The mode skips arithmetic on large tensors and tracks which values depend on kernels that did not run.
Operators that the program registers for CUDA are registered for the CPU too. Needs torch.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch._ops import HigherOrderOperator
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from irscope.capturing.after_import import after_import
from irscope.capturing.fake_cuda.allocation import created_elements, uninitialized
from irscope.capturing.fake_cuda.function_mode import function_mode, without_function_mode
from irscope.capturing.fake_cuda.tensor_tags import (
    is_tracing,
    on_cpu,
    set_empty,
    set_filled,
    set_on_cpu,
    set_unknown,
    tensors_in,
    unknown,
)
from irscope.capturing.fake_cuda.unknown_value import Assumptions, unknown_value
from irscope.toolchain.stub_driver import NeedsGpuError

# Arithmetic on more elements than this is skipped: a matmul of two 8192 x 8192 takes minutes on a CPU.
LARGEST_COMPUTED = 1 << 20
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
        """True: Dynamo compiles functions although the mode is on."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Computes an operator of ATen, or returns an uninitialized result of the right shape."""
        kwargs = kwargs or {}
        if is_tracing(args):
            return func(*args, **kwargs)
        if isinstance(func, HigherOrderOperator):
            return self._call_higher_order(func, args, kwargs)
        with torch._C.DisableTorchFunction():  # quick, and no mode of the program sees what is asked here
            tensors = tensors_in(args, kwargs)
            written = _written(func, args, kwargs)
            tainted = any(unknown(tensor) for tensor in tensors if not _is_filled(func, tensor, written))
            if tainted:
                _check_answerable(func, tensors)
            result = self._not_computed(func, args, kwargs, tensors, written, tainted)
        if result is not _COMPUTED:
            return result
        with without_function_mode():
            result = func(*args, **kwargs)
        with torch._C.DisableTorchFunction():
            _tag_values(func, result, written, tainted)
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
        """The result of an operator that is skipped; _COMPUTED if it is not."""
        if func is torch.ops.aten.equal.default and tainted:
            return True
        if _is_created_unfilled(func, args):
            result = uninitialized(func, args, kwargs)
            if _name(func) not in _ZEROS:
                (set_empty if _name(func) in _ALLOCATING else set_unknown)(result)
            return result
        if written and (_skipped_in_place(func, args) or self._skips_update(func, args, kwargs, written)):
            set_unknown(written)
            returned = written[: len(func._schema.returns)]
            return returned[0] if len(returned) == 1 else tuple(returned) or None
        skipped = not _returns_views(func) and (_large(tensors) or not _has_cpu_kernel(func))
        skipped = skipped and not self.operators.implements(func)
        skipped = skipped and not (_name(func) in _CREATING or (_name(func) in _COPYING and not tainted))
        if skipped and (result := uninitialized(func, args, kwargs)) is not None:
            set_unknown(result)
            return result
        return _COMPUTED

    def _skips_update(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], written: list[torch.Tensor]
    ) -> bool:
        """Whether this is in-place arithmetic on large tensors, such as an optimizer's, or has an `out`."""
        if _name(func) in _FILLING or func.namespace != "aten" or self.operators.implements(func):
            return False
        if not (_large(tensors_in(args, kwargs)) and all(tensor.is_floating_point() for tensor in written)):
            return False
        if any(argument.is_out for argument in func._schema.arguments):
            results = tree_leaves(uninitialized(func, args, kwargs))  # an `out` of another shape is resized
            return [getattr(result, "shape", None) for result in results] == [out.shape for out in written]
        return all(r.alias_info is not None and r.alias_info.is_write for r in func._schema.returns)

    def _call_higher_order(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls an operator that calls functions, such as flex_attention."""
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
    """Raises NeedsGpuError if the operator needs a value that is unknown."""
    if func is torch.ops.aten._local_scalar_dense.default:
        raise NeedsGpuError(read_at=unknown_value().read_at)
    if _shaped_by_values(func, tensors):
        raise NeedsGpuError


@functools.cache
def _returns_views(func: Any) -> bool:
    """Whether a result shares its values with an argument: views, and arguments that are written."""
    return any(returned.alias_info is not None for returned in func._schema.returns)


def _shaped_by_values(func: Any, tensors: list[torch.Tensor]) -> bool:
    """Whether the shape of the result depends on values: nonzero, a boolean mask, ..."""
    if torch.Tag.dynamic_output_shape not in func.tags:
        return False
    return func._schema.name != "aten::index" or any(t.dtype is torch.bool for t in tensors[1:])


def _large(tensors: Iterable[torch.Tensor]) -> bool:
    return any(tensor.numel() > LARGEST_COMPUTED for tensor in tensors)


@functools.cache
def _has_cpu_kernel(func: Any) -> bool:
    """Whether the CPU implements the operator: it does not for flash attention, for example."""
    has_kernel = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    return any(has_kernel(func.name(), key) for key in ("CPU", "SparseCPU", "SparseCsrCPU"))


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors that the operator writes to: in-place arguments, `out`, all arguments of a collective."""
    if func.namespace == _COLLECTIVES:
        return tensors_in(args, None)
    if not func._schema.is_mutable:
        return []
    given = zip(func._schema.arguments, args, strict=False)
    named = ((argument, kwargs.get(argument.name)) for argument in func._schema.arguments)
    values = [v for argument, v in (*given, *named) if argument.alias_info and argument.alias_info.is_write]
    return tensors_in(values, None)


def _is_filled(func: Any, tensor: torch.Tensor, written: list[torch.Tensor]) -> bool:
    """Whether the operator writes the tensor without reading it."""
    fills = _name(func) in _FILLING or func.namespace == _COLLECTIVES
    fills = fills or any(argument.is_out for argument in func._schema.arguments)
    return fills and any(tensor is other for other in written)


def _tag_values(func: Any, result: Any, written: list[torch.Tensor], tainted: bool) -> None:
    """Tags the tensors whose values are unknown, empty or known after an operator."""
    name = _name(func)
    if name == "set_":
        return  # the tensor takes another storage, which has its own tags
    if name in _ALLOCATING:
        set_empty(result)
    elif tainted and name not in _VALUE_FREE:
        set_unknown(result)
    else:
        set_filled(written)


@functools.cache
def _name(func: Any) -> str:
    return str(func._schema.name.removeprefix("aten::"))


_COLLECTIVES = "c10d"
_ALLOCATING = frozenset(["empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided"])
# Operators whose results do not depend on the values of their arguments.
_VALUE_FREE = frozenset(
    ["zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_full"]
)
# Operators that draw every element at random: skipped on large tensors, except integers, used as indices.
_DRAWN = frozenset(["normal_", "uniform_", "exponential_", "log_normal_"])
_DRAWN_NEW = frozenset(["rand", "randn"])
_ZEROS = frozenset(["zeros", "zeros_like", "new_zeros"])
_CREATING = _ALLOCATING | _VALUE_FREE | _ZEROS | _DRAWN_NEW | {"ones", "full"}
_FILLING = _DRAWN | {"zero_", "fill_", "copy_", "random_", "bernoulli_", "geometric_", "cauchy_"}


def _skipped_in_place(func: Any, args: tuple[Any, ...]) -> bool:
    name = _name(func)
    if name in ("zero_", "fill_"):
        return bool(args[0].numel() > _LARGEST_FILLED)
    if name == "copy_" and _large(args[:1]) and args[0].is_floating_point():
        return unknown(args[1])
    return name in _DRAWN and args[0].numel() > LARGEST_COMPUTED and args[0].is_floating_point()


# Operators that copy, which takes no longer than the allocation: computed if the values are known.
_COPYING = frozenset(["clone", "_to_copy", "cat", "stack", "contiguous"])


def _is_created_unfilled(func: Any, args: tuple[Any, ...]) -> bool:
    """Whether the operator creates a large tensor, which then need not be filled."""
    name = _name(func)
    if name not in _CREATING:
        return False
    return created_elements(args) > (LARGEST_COMPUTED if name in _DRAWN_NEW else _LARGEST_FILLED)


@contextmanager
def fake_cuda_modes(operators: ProgramOperators) -> Iterator[None]:
    """Both modes of fake CUDA tensors are on within the block, in this thread."""
    with FakeCudaDispatchMode(operators), function_mode(operators.assumed):
        yield


_WRAP = "torch._higher_order_ops.triton_kernel_wrap"


@functools.cache
def support_wrapped_kernels() -> None:
    """Makes `torch.library.wrap_triton` launch kernels in the mode, outside of the program's operators."""
    if _WRAP in sys.modules:
        _register_wrapped_kernels()
    else:
        after_import((_WRAP,), _register_wrapped_kernels)


def _register_wrapped_kernels() -> None:
    wrap = sys.modules[_WRAP]

    def launch(mode: FakeCudaDispatchMode, **kwargs: Any) -> None:
        with fake_cuda_modes(mode.operators):
            wrap.triton_kernel_wrapper_mutation_dense(**kwargs)

    wrap.triton_kernel_wrapper_mutation.py_impl(FakeCudaDispatchMode)(launch)


# The module of torch that registers functions of the program; its other modules register torch's own.
_CUSTOM_OPS = "torch._library.custom_ops"
_DEFAULT = "CompositeExplicitAutograd"


class ProgramOperators:
    """The operators that the program implements in Python, its own and torch's that it overrides.

    CUDA implementations are registered for the CPU too, where the tensors are. If an operator has one for
    each device, the device that the program sees decides.
    """

    def __init__(self, assumed: Assumptions) -> None:
        self.assumed = assumed
        self._implementations: dict[tuple[str, str], dict[str, Callable[..., Any]]] = {}

    def implements(self, func: Any) -> bool:
        """Whether the program implements this overload."""
        return (func.namespace, _operator_name(func)) in self._implementations

    def registering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`Library.impl`, which also registers CUDA implementations for the CPU."""

        @functools.wraps(original)
        def impl(library: Any, name: Any, function: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
            key = dispatch_key or library.dispatch_key
            if key not in ("CPU", "CUDA", _DEFAULT) or not callable(function) or _is_torch_function(function):
                return original(library, name, function, dispatch_key, **kwargs)
            known = self._implementations.setdefault((library.ns, _operator_name(name)), {})
            known[key] = self._with_modes(function, key)
            if key == _DEFAULT:
                return original(library, name, known[key], key, **kwargs)
            with (
                warnings.catch_warnings(),
                suppress(RuntimeError),
            ):  # the other device's is registered already
                warnings.simplefilter("ignore", UserWarning)  # this overrides torch's own for the CPU
                original(library, name, functools.partial(_call, known), "CPU", **kwargs)
            return None

        return impl

    def _with_modes(self, function: Callable[..., Any], key: str) -> Callable[..., Any]:
        """An implementation with the modes on, because torch turns them off for it."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with fake_cuda_modes(self):
                result = function(*args, **kwargs)
            if key == "CUDA":
                set_on_cpu(result, False)
            return result

        return call


def _operator_name(name: Any) -> str:
    """An operator's name without its namespace, but with its overload if it has one."""
    if isinstance(name, str):
        return name.rpartition("::")[2].removesuffix(".default")
    overload = name._schema.overload_name
    return f"{name._schema.name.rpartition('::')[2]}{f'.{overload}' if overload else ''}"


def _call(implementations: Mapping[str, Callable[..., Any]], *args: Any, **kwargs: Any) -> Any:
    """Calls the implementation for the device that the tensors have in the program's view."""
    tensors = tensors_in(args, kwargs)
    keys = ("CPU", "CUDA") if tensors and all(map(on_cpu, tensors)) else ("CUDA", _DEFAULT, "CPU")
    return next(implementations[key] for key in keys if key in implementations)(*args, **kwargs)


def _is_torch_function(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return module.startswith("torch.") and module != _CUSTOM_OPS
