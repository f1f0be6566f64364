"""Tensors whose shape the text determines: `torch.empty(...)`, what is made like one, and its attributes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import prod
from typing import Any

from irscope.model.records import frozen

# Factories of torch whose arguments are a shape, and those that take a tensor.
_SHAPED = ("empty", "zeros", "ones", "rand", "randn")
_LIKE = ("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "full_like")
_DTYPES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "int": "int32",
    "long": "int64",
    **{name: name for name in ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16")},
    **{name: name for name in ("int32", "int64", "bool")},
}


@frozen
class TensorValue:
    """A tensor: its shape, its strides in elements, and its dtype without "torch." ("" if unknown)."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


@frozen
class DtypeValue:
    """A dtype of torch, without "torch."."""

    name: str


def dtype_named(name: str) -> DtypeValue | None:
    """Return the dtype that a full name such as "torch.float16" stands for, or None."""
    package, _, short = name.rpartition(".")
    return DtypeValue(_DTYPES[short]) if package == "torch" and short in _DTYPES else None


def made_tensor(
    name: str, arguments: Sequence[Any], keywords: Mapping[str, Any], unknown: object
) -> TensorValue | None:
    """Return what a call of torch makes, or None if it is no such call or the shape is unknown."""
    package, _, short = name.rpartition(".")
    if package != "torch":
        return None
    dtype = keywords.get("dtype")
    if short in _LIKE and arguments and isinstance(arguments[0], TensorValue):
        like = arguments[0]
        return replace(like, dtype=dtype.name) if isinstance(dtype, DtypeValue) else like
    if short == "full":
        sizes: Sequence[Any] = arguments[:1]
    elif short in ("randint", "randperm", "arange"):
        sizes = [item for item in arguments if isinstance(item, list | tuple)]
        if short != "randint":
            sizes = arguments[:1] if len(arguments) == 1 else []
    elif short in _SHAPED:
        sizes = arguments or [keywords.get("size", unknown)]
    else:
        return None
    shape = shape_of(sizes)
    if not shape:
        return None
    default = "int64" if short in ("randint", "randperm", "arange") else "float32"
    type_name = default if dtype is None else dtype.name if isinstance(dtype, DtypeValue) else ""
    return contiguous(shape, type_name)


def shape_of(sizes: Sequence[Any]) -> tuple[int, ...]:
    """Return the sizes, given one by one or as one sequence; () if any is unknown."""
    listed = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], list | tuple) else sizes
    known = [size for size in listed if isinstance(size, int) and not isinstance(size, bool)]
    return tuple(known) if len(known) == len(listed) else ()


def contiguous(shape: tuple[int, ...], dtype: str) -> TensorValue:
    """Return a contiguous tensor."""
    strides = [*accumulate(reversed(shape[1:]), operator.mul, initial=1)]
    return TensorValue(shape, tuple(reversed(strides)), dtype)


def tensor_attribute(tensor: TensorValue, name: str) -> Any:
    """Return an attribute of a tensor. Raises AttributeError if it is not known."""
    if name in ("T", "mT") and len(tensor.shape) == 2:
        return _transposed(tensor, 0, 1)
    if name == "dtype" and tensor.dtype:
        return DtypeValue(tensor.dtype)
    if name == "shape":
        return tensor.shape
    if name == "ndim":
        return len(tensor.shape)
    raise AttributeError(name)


def tensor_method(tensor: TensorValue, name: str, arguments: Sequence[Any]) -> Any:
    """Return what a method of a tensor returns. Raises AttributeError or another error if it is not known."""
    return _METHODS[name](tensor, *arguments)


def _transposed(tensor: TensorValue, first: int, second: int) -> TensorValue:
    order = list(range(len(tensor.shape)))
    order[first], order[second] = order[second], order[first]
    return replace(
        tensor,
        shape=tuple(tensor.shape[axis] for axis in order),
        strides=tuple(tensor.strides[axis] for axis in order),
    )


def _reshaped(tensor: TensorValue, *sizes: Any) -> TensorValue:
    shape = shape_of(sizes)
    count = prod(tensor.shape)
    if -1 in shape:
        shape = tuple(count // -prod(shape) if size == -1 else size for size in shape)
    if not shape or prod(shape) != count or tensor != contiguous(tensor.shape, tensor.dtype):
        raise ValueError("a shape that is not known")
    return contiguous(shape, tensor.dtype)


def _made_by_method(sizes: Sequence[Any]) -> TensorValue:
    shape = shape_of(sizes)
    if not shape:
        raise ValueError("a shape that is not known")
    return contiguous(shape, "")


_METHODS: Mapping[str, Callable[..., Any]] = {
    "numel": lambda tensor: prod(tensor.shape),
    "nelement": lambda tensor: prod(tensor.shape),
    "dim": lambda tensor: len(tensor.shape),
    "size": lambda tensor, *axis: tensor.shape[axis[0]] if axis else tensor.shape,
    "stride": lambda tensor, *axis: tensor.strides[axis[0]] if axis else tensor.strides,
    "t": lambda tensor: _transposed(tensor, 0, 1),
    "transpose": _transposed,
    "view": _reshaped,
    "reshape": _reshaped,
    "flatten": lambda tensor: _reshaped(tensor, -1),
    "contiguous": lambda tensor: contiguous(tensor.shape, tensor.dtype),
    "clone": lambda tensor: tensor,
    "cuda": lambda tensor: tensor,
    "half": lambda tensor: replace(tensor, dtype="float16"),
    "bfloat16": lambda tensor: replace(tensor, dtype="bfloat16"),
    "float": lambda tensor: replace(tensor, dtype="float32"),
    "double": lambda tensor: replace(tensor, dtype="float64"),
    "requires_grad_": lambda tensor, *_: tensor,
    "detach": lambda tensor: tensor,
    "to": lambda tensor, to: replace(tensor, dtype=to.name) if isinstance(to, DtypeValue) else tensor,
    "new_empty": lambda tensor, *sizes: _made_by_method(sizes),
    "new_zeros": lambda tensor, *sizes: _made_by_method(sizes),
}
