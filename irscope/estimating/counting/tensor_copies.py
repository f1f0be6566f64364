"""The addresses of the blocks that the TMA unit copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.lanes import Array, Value
from irscope.estimating.counting.launch_arguments import LaunchArguments, Tensor
from irscope.estimating.counting.steps import TensorCopy
from irscope.estimating.counting.wavefronts import SECTOR
from irscope.languages.control_flow import NONE


def tensor_of(copy: TensorCopy, registers: Sequence[Value], arguments: LaunchArguments) -> Tensor | None:
    """The tensor of a copy's descriptor; None if it is not known."""
    descriptor = registers[copy.descriptor] if copy.descriptor != NONE else None
    tensor = None if descriptor is None else arguments.tensor(int(descriptor.flat[0]))
    return tensor if tensor and tensor.block else None


def tensor_address(copy: TensorCopy, registers: Sequence[Value], arguments: LaunchArguments) -> Array | None:
    """The address of the first element of a block; its coordinates come innermost first."""
    tensor = tensor_of(copy, registers, arguments)
    if tensor is None or len(copy.coordinates) != len(tensor.strides):
        return None
    address: Array = np.full((1, 1), tensor.address, np.int64)
    for register, stride in zip(copy.coordinates, reversed(tensor.strides), strict=True):
        value = registers[register]
        if value is None:
            return None
        address = address + value.astype(np.int64) * (stride * tensor.size)
    return address


def block_offsets(tensor: Tensor) -> NDArray[np.int64]:
    """The offsets of a block's sectors from its first element, in bytes."""
    inner = max(1, tensor.block[-1] * tensor.size // SECTOR)
    found: NDArray[np.int64] = np.arange(inner, dtype=np.int64) * SECTOR
    for length, stride in zip(reversed(tensor.block[:-1]), reversed(tensor.strides[:-1]), strict=False):
        found = (np.arange(length, dtype=np.int64)[:, None] * (stride * tensor.size) + found).ravel()
    return found
