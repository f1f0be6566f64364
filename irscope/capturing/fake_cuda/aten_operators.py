"""Properties of torch's operators: which tensors they write, create or return. Needs torch."""

from __future__ import annotations

import functools
from typing import Any

import torch

from irscope.capturing.fake_cuda.tensor_tags import tensors_in

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
    """The operator's name without its overload, and without the namespace of ATen."""
    return str(func._schema.name.removeprefix("aten::"))


@functools.cache
def returns_views(func: Any) -> bool:
    """Whether a result shares its values with an argument: views, and arguments that are written."""
    return any(returned.alias_info is not None for returned in func._schema.returns)


def shaped_by_values(func: Any, tensors: list[torch.Tensor]) -> bool:
    """Whether the shape of the result depends on values: nonzero, a boolean mask, ..."""
    if torch.Tag.dynamic_output_shape not in func.tags:
        return False
    return func._schema.name != "aten::index" or any(t.dtype is torch.bool for t in tensors[1:])


@functools.cache
def has_cpu_kernel(func: Any) -> bool:
    """Whether the CPU implements the operator: it does not for flash attention, for example."""
    has_kernel = torch._C._dispatch_has_computed_kernel_for_dispatch_key
    return any(has_kernel(func.name(), key) for key in ("CPU", "SparseCPU", "SparseCsrCPU"))


def written_tensors(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors that the operator writes to: in-place arguments, `out`, all arguments of a collective."""
    if func.namespace == _COLLECTIVES:
        return tensors_in(args, None)
    if not func._schema.is_mutable:
        return []
    given = zip(func._schema.arguments, args, strict=False)
    named = ((argument, kwargs.get(argument.name)) for argument in func._schema.arguments)
    values = [v for argument, v in (*given, *named) if argument.alias_info and argument.alias_info.is_write]
    return tensors_in(values, None)


def is_filled(func: Any, tensor: torch.Tensor, written: list[torch.Tensor]) -> bool:
    """Whether the operator writes the tensor without reading it."""
    fills = short_name(func) in FILLING or func.namespace == _COLLECTIVES
    fills = fills or any(argument.is_out for argument in func._schema.arguments)
    return fills and any(tensor is other for other in written)
