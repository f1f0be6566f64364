"""What is computed of tensors that pose, backward passes included, and of which no values are known.

A dispatch mode of torch skips the arithmetic of large tensors, whose values nobody can use here, and keeps
count of what depends on kernels that did not run. Imported only where torch is installed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from irscope.capturing.fake_cuda.function_mode import function_mode, unposed
from irscope.capturing.fake_cuda.needs_gpu import NeedsGpuError
from irscope.capturing.fake_cuda.tensor_tags import set_empty, set_filled, set_unknown, unknown

# Arithmetic on more elements than this is skipped: a matmul of two 8192 x 8192 takes minutes on a CPU.
LARGEST_COMPUTED = 1 << 20
# And setting more than this to one value: benchmarks flush the cache so, over and over.
_LARGEST_FILLED = 1 << 24


class SkippingMode(TorchDispatchMode):  # type: ignore[misc]
    """What is computed: large arithmetic is skipped, and what depends on a kernel's output is unknown."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Computes an operator of ATen, or gives an uninitialised result of the right shape."""
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        written = _written(func, args, kwargs)
        tainted = any(unknown(tensor) for tensor in tensors if not _is_filled(func, tensor, written))
        if func is torch.ops.aten._local_scalar_dense.default and tainted:
            raise NeedsGpuError
        if func is torch.ops.aten.equal.default and tainted:
            return True
        if tainted and _shaped_by_values(func, tensors):
            raise NeedsGpuError
        views = any(returned.alias_info is not None for returned in func._schema.returns)
        if not views and _large(tensors) and (result := _uninitialised(func, args, kwargs)) is not None:
            set_unknown(result)
            return result
        if written and _skipped_in_place(func, args):
            set_unknown(args[0])
            return args[0]
        with unposed():
            result = func(*args, **kwargs)
        _note_values(func, result, written, tainted)
        return result


def _shaped_by_values(func: Any, tensors: list[torch.Tensor]) -> bool:
    """Whether the result is as large as the values say: nonzero, a boolean mask, ..."""
    if torch.Tag.dynamic_output_shape not in func.tags:
        return False
    return func._schema.name != "aten::index" or any(t.dtype is torch.bool for t in tensors[1:])


def _large(tensors: Iterable[torch.Tensor]) -> bool:
    return any(tensor.numel() > LARGEST_COMPUTED for tensor in tensors)


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors that the operator writes to: itself where it works in place, `out`; a collective's all."""
    if func.namespace == _COLLECTIVES:
        return [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    if not func._schema.is_mutable:
        return []
    given = zip(func._schema.arguments, args, strict=False)
    named = ((argument, kwargs.get(argument.name)) for argument in func._schema.arguments)
    values = [v for argument, v in (*given, *named) if argument.alias_info and argument.alias_info.is_write]
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _is_filled(func: Any, tensor: torch.Tensor, written: list[torch.Tensor]) -> bool:
    """Whether the operator writes the tensor without reading it."""
    fills = _name(func) in _FILLING or func.namespace == _COLLECTIVES
    fills = fills or any(argument.is_out for argument in func._schema.arguments)
    return fills and any(tensor is other for other in written)


def _note_values(func: Any, result: Any, written: list[torch.Tensor], tainted: bool) -> None:
    """Notes whose values are known after an operator."""
    name = _name(func)
    if name in _ALLOCATING:
        set_empty(result)
    elif tainted and name not in _VALUE_FREE:
        set_unknown(result)
    else:
        set_filled(written)


def _name(func: Any) -> str:
    return str(func._schema.name.removeprefix("aten::"))


_COLLECTIVES = "c10d"
_ALLOCATING = frozenset(["empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided"])
# What these give does not depend on the values that they are given.
_VALUE_FREE = frozenset(
    ["zeros_like", "ones_like", "full_like", "rand_like", "randn_like", "new_zeros", "new_ones", "new_full"]
)
# Operators that draw every element: skipped on large tensors. Drawn integers are indices, and stay.
_DRAWN = frozenset(["normal_", "uniform_", "exponential_", "log_normal_"])
_FILLING = _DRAWN | {"zero_", "fill_", "copy_", "random_", "bernoulli_", "geometric_", "cauchy_"}


def _skipped_in_place(func: Any, args: tuple[Any, ...]) -> bool:
    name = _name(func)
    if name in ("zero_", "fill_"):
        return bool(args[0].numel() > _LARGEST_FILLED)
    return name in _DRAWN and args[0].numel() > LARGEST_COMPUTED and args[0].is_floating_point()


def _uninitialised(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator's results without their values; None where only computing tells their shapes."""
    if _name(func) in _CHEAP:
        return None
    try:
        given, named = tree_map_only(torch.Tensor, _as_meta, (args, dict(kwargs)))
        if named.get("device") is not None:
            named["device"] = "meta"
        shaped = func(*given, **named)
    except (NotImplementedError, RuntimeError):
        return None
    return tree_map_only(torch.Tensor, _as_cpu, shaped)


# Operators that copy or fill: they take no longer than the allocation.
_CHEAP = _ALLOCATING | _VALUE_FREE | {"clone", "_to_copy", "cat", "stack", "contiguous"}


def _as_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def _as_cpu(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")


@contextmanager
def posing() -> Iterator[None]:
    """Tensors pose inside, in this thread, whatever was on before."""
    with SkippingMode(), function_mode():
        yield
