"""The arguments of a recorded launch as objects that Triton's launch code takes, without a GPU.

Triton asks a tensor for its type and whether its address is divisible by 16; heuristics and prune functions
also for its shape and strides. Runs in processes that have Triton.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
from collections.abc import Sequence
from typing import Any

from irscope.model import UserError
from irscope.model.element_types import torch_name

_SIZES = r"\[([\d, ]*)\]"
# How a launch describes a tensor and a tensor descriptor (capturing/record/launches.py).
TENSOR = re.compile(rf"(\w+){_SIZES}(?: strides \[(-?[\d, -]*)\])?")
DESCRIPTOR = re.compile(rf"tensordesc (.+) in blocks of {_SIZES}")
_BITS = re.compile(r"\d+")


class UnknownDtype:
    """An element type for processes without torch, with the text and size of torch's."""

    def __init__(self, name: str) -> None:
        self._name = name
        bits = _BITS.search(name)
        self.itemsize = 1 if bits is None else max(1, int(bits[0]) // 8)
        self.is_floating_point = "float" in name

    def __str__(self) -> str:
        return f"torch.{self._name}"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class ReplayedTensor:
    """A tensor without memory. Its methods have torch's names and meanings."""

    is_cuda = True
    requires_grad = False

    def __init__(self, dtype: Any, shape: Sequence[int], strides: Sequence[int], aligned: bool) -> None:
        self.dtype, self.shape, self._strides, self._aligned = dtype, tuple(shape), tuple(strides), aligned
        self.ndim = len(self.shape)

    def data_ptr(self) -> int:
        """An address that is divisible by 256, or by none of 2, 4, 8 and 16."""
        return 0x7F0000000000 + (0 if self._aligned else 1)

    def ptr_range(self) -> int:
        """The size in bytes, which AMD's backend compares with 2 GiB."""
        return self.numel() * self.element_size()

    def stride(self, dim: int | None = None) -> Any:
        """The strides in elements, or one of them."""
        return self._strides if dim is None else self._strides[dim]

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one of its sizes."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def element_size(self) -> int:
        """Bytes per element."""
        return int(self.dtype.itemsize)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    def is_contiguous(self) -> bool:
        """Whether the strides are those of a new tensor."""
        return self._strides == contiguous(self.shape)

    @property
    def device(self) -> Any:
        """The first GPU."""
        try:
            return importlib.import_module("torch").device("cuda", 0)
        except ImportError:
            return "cuda:0"

    def clone(self) -> ReplayedTensor:
        """Itself: nothing is written."""
        return self

    def zero_(self) -> ReplayedTensor:
        """Itself: it has no memory."""
        return self

    def copy_(self, _: Any) -> ReplayedTensor:
        """Itself: it has no memory."""
        return self


def argument_object(name: str, text: str, aligned: bool) -> Any:
    """The object of an argument that a launch has as `text`. Raises UserError if the text does not say."""
    if text.startswith("*"):
        return ReplayedTensor(_dtype(torch_name(text)), (4096,), (1,), aligned)
    if match := DESCRIPTOR.fullmatch(text):
        return _descriptor(argument_object(name, match[1], True), integers(match[2]))
    if match := TENSOR.fullmatch(text):
        shape = integers(match[2])
        strides = contiguous(shape) if match[3] is None else integers(match[3])
        return ReplayedTensor(_dtype(match[1]), shape, strides, aligned)
    if text in ("inf", "-inf", "nan"):
        return float(text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = text
    if value is None or isinstance(value, int | float):
        return value
    raise UserError(f"argument {name}: the capture only has its type ({text[:60]}), no value to launch with")


def _descriptor(base: ReplayedTensor, block: Sequence[int]) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(base, list(base.shape), list(base.stride()), list(block))


def _dtype(name: str) -> Any:
    # The type of a descriptor that was never launched is Triton's.
    name = torch_name(name)
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return UnknownDtype(name)
    found = getattr(torch, name, None)
    return found if isinstance(found, torch.dtype) else UnknownDtype(name)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a new tensor, in elements."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides)) if shape else ()


def integers(text: str) -> tuple[int, ...]:
    """The numbers in "64, 32"."""
    return tuple(int(word) for word in text.split(",") if word.strip())
