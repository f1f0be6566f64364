"""The values of a kernel's parameters in a launch, as far as the capture has them.

Pointers are not recorded. Each gets an address of its own, far from the others, which is as aligned as the
specialization says: to 256 bytes (as every allocation of CUDA is) if it is divisible by 16, otherwise only to
the size of an element.

The addresses of the blocks that the TMA unit copies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import chain
from math import prod

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.counting.lanes import Array, Value
from irscope.estimating.counting.memory_requests import SECTOR
from irscope.estimating.counting.ptx_program import Parameter
from irscope.estimating.counting.translate import TensorCopy
from irscope.facts.accesses.launch_values import recorded_integer
from irscope.languages.control_flow import NONE
from irscope.model import Argument, Launch, Variant
from irscope.model.integer_values import decoded_integers
from irscope.model.records import frozen, frozen_with_dict

# The distance between the addresses of two parameters: no tensor is larger.
SPACING_BITS = 42
# Descriptors are in the memory of parameters, whose addresses have 32 bits.
_DESCRIPTORS, _DESCRIPTOR_BYTES = 1 << 30, 128
# How large indices in data are taken to be if no tensor has rows, and at most.
_ROWS, _MOST_ROWS = 1 << 15, 1 << 20
_TENSOR = re.compile(
    r"(?:tensordesc )?(\w+)\[([\d, ]*)\](?: strides \[([\d, ]*)\])?(?: in blocks of \[([\d, ]*)\])?"
)
_BITS = re.compile(r"(?:float|bfloat|int|uint|complex)(\d+)|float8_\w+|bool")
_BLOCK = re.compile(r"tensordesc<(\w+)\[([\d, ]*)\]")


@frozen
class TensorArgument:
    """An argument in global memory: its address in the model, shape and strides (in elements).

    `bytes` is what its elements span (None: unknown), `size` the bytes of an element, `block` the shape of
    the blocks of a tensor descriptor in elements, as the TMA unit copies them. `values` are its integers, if
    the launch has them.
    """

    name: str
    address: int
    size: int
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    bytes: int | None = None
    block: tuple[int, ...] = ()
    values: Array | None = field(default=None, compare=False)

    def integers(self, address: Array, size: int) -> Array | None:
        """Return the values at these addresses, of elements of `size` bytes; None if they are not known."""
        if self.values is None or size != self.size:
            return None
        places = (address - self.address) // size
        found: Array = self.values[np.clip(places, 0, len(self.values) - 1)]
        return found


@frozen_with_dict
class LaunchArguments:
    """The values of PTX parameters by name, the tensors by their number in the address, and what is missing.

    The tensor of an address is `tensors[address >> SPACING_BITS]`.
    """

    values: Mapping[str, int]
    tensors: Mapping[int, TensorArgument]
    missing: tuple[str, ...]

    @property
    def has_values(self) -> bool:
        """Check whether the launch has the integers of any tensor."""
        return any(tensor.values is not None for tensor in self.tensors.values())

    @cached_property
    def rows(self) -> int:
        """Return the rows of the tensor with most: indices in data are likely below this."""
        row_counts = [tensor.shape[0] for tensor in self.tensors.values() if len(tensor.shape) > 1]
        return max(1, min(max(row_counts, default=_ROWS), _MOST_ROWS))

    def tensor(self, address: int) -> TensorArgument | None:
        """Return the tensor that an address is in, or that the descriptor at this address describes."""
        described = address - _DESCRIPTORS
        if 0 <= described < len(self.tensors) * _DESCRIPTOR_BYTES + _DESCRIPTOR_BYTES:
            return self.tensors.get(described // _DESCRIPTOR_BYTES)
        return self.tensors.get(address >> SPACING_BITS)


def launch_arguments(variant: Variant, launch: Launch, parameters: Sequence[Parameter]) -> LaunchArguments:
    """Return the values of `parameters` in a launch of `variant`."""
    return _ArgumentReader(variant, launch, parameters).read()


class _ArgumentReader:
    def __init__(self, variant: Variant, launch: Launch, parameters: Sequence[Parameter]) -> None:
        self._arguments = [argument for argument in variant.specialization if argument.type != "constexpr"]
        self._recorded = dict(launch.arguments)
        self._integers = dict(launch.values)
        self._parameters: Iterator[Parameter] = iter(parameters)
        self._values: dict[str, int] = {}
        self._tensors: dict[int, TensorArgument] = {}
        self._missing: list[str] = []
        meta = variant.metadata.get("tensordesc_meta")
        self._boxes = iter(meta if isinstance(meta, (list, tuple)) else ())

    def read(self) -> LaunchArguments:
        # A kernel may have fewer parameters than arguments: those that are not used are left out.
        for argument, parameter in zip(self._arguments, self._parameters, strict=False):
            self._argument(argument, parameter)
        for parameter in self._parameters:  # the scratch memory that Triton adds
            self._pointer(TensorArgument(parameter.name, 0, 1, bytes=0), parameter)
        return LaunchArguments(self._values, self._tensors, tuple(self._missing))

    def _argument(self, argument: Argument, parameter: Parameter) -> None:
        recorded = self._recorded.get(argument.name, "")
        if argument.type.startswith("tensordesc"):
            self._descriptor(tensor_of(argument.name, recorded, argument.type), parameter)
        elif argument.type.startswith("*"):
            tensor = tensor_of(argument.name, recorded, argument.type)
            self._pointer(tensor, parameter, aligned="D" in (argument.key or ""))
        elif (number := recorded_integer(recorded)) is not None:
            self._values[parameter.name] = number
        elif not argument.type.startswith(("fp", "bf", "f")):
            self._missing.append(argument.name)

    def _pointer(self, tensor: TensorArgument, parameter: Parameter, aligned: bool = True) -> int:
        number = len(self._tensors) + 1
        address = (number << SPACING_BITS) + (1 << (SPACING_BITS - 1)) + (0 if aligned else tensor.size)
        values = decoded_integers(self._integers.get(tensor.name, ""))
        self._tensors[number] = replace(tensor, address=address, values=values)
        self._values[parameter.name] = address
        return number

    def _descriptor(self, tensor: TensorArgument, parameter: Parameter) -> None:
        """Read the address of a descriptor (without TMA: a pointer), then its shape, then its strides."""
        box = next(self._boxes, None)
        if isinstance(box, Mapping) and isinstance(box.get("block_size"), (list, tuple)):
            size = box.get("elem_size")
            tensor = replace(
                tensor,
                size=size if isinstance(size, int) else tensor.size,
                block=tuple(int(length) for length in box["block_size"]),
            )
        number = self._pointer(tensor, parameter)
        described = (*tensor.shape, *tensor.strides)
        if parameter.size == _DESCRIPTOR_BYTES:
            self._values[parameter.name] = _DESCRIPTORS + number * _DESCRIPTOR_BYTES
        else:
            # Without TMA: the shape and strides in 64 bits, then what fills places outside, then both again.
            for length, following in zip(described, self._parameters, strict=False):
                self._values[following.name] = length
            shape = next(self._parameters, None)
            while shape is not None and shape.size == 1:
                self._values[shape.name] = 0
                shape = next(self._parameters, None)
            if shape is not None:
                self._parameters = chain([shape], self._parameters)
        for length, following in zip(described, self._parameters, strict=False):
            self._values[following.name] = length


def tensor_of(name: str, recorded: str, kind: str) -> TensorArgument:
    """Parse a recorded argument, `float16[512, 64] strides [128, 1]`; `kind` is Triton's type."""
    match = _TENSOR.match(recorded)
    if match is None:
        block = _BLOCK.match(kind)
        rank = block[2].count(",") + 1 if block else 0
        return TensorArgument(name, 0, 4, (1,) * rank, (1,) * rank)
    bits = _BITS.fullmatch(match[1])
    size = int(bits[1]) // 8 if bits and bits[1] else 1
    shape = _integers(match[2])
    strides = (
        _integers(match[3]) if match[3] else tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    )
    reach = sum((length - 1) * stride for length, stride in zip(shape, strides, strict=False)) + 1
    spanned = reach * size if all(shape) else 0
    return TensorArgument(name, 0, size, shape, strides, spanned, _integers(match[4] or ""))


def _integers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part.strip())


def copied_tensor(
    copy: TensorCopy, registers: Sequence[Value], arguments: LaunchArguments
) -> TensorArgument | None:
    """Return the tensor of a copy's descriptor, or None if it is not known."""
    descriptor = registers[copy.descriptor] if copy.descriptor != NONE else None
    tensor = None if descriptor is None else arguments.tensor(int(descriptor.flat[0]))
    return tensor if tensor and tensor.block else None


def tensor_address(copy: TensorCopy, registers: Sequence[Value], arguments: LaunchArguments) -> Array | None:
    """Return the address of a block's first element, or None if it is not known.

    The coordinates of the copy come innermost first.
    """
    tensor = copied_tensor(copy, registers, arguments)
    if tensor is None or len(copy.coordinates) != len(tensor.strides):
        return None
    address: Array = np.full((1, 1), tensor.address, np.int64)
    for register, stride in zip(copy.coordinates, reversed(tensor.strides), strict=True):
        value = registers[register]
        if value is None:
            return None
        address = address + value.astype(np.int64) * (stride * tensor.size)
    return address


def block_offsets(tensor: TensorArgument) -> NDArray[np.int64]:
    """Return the offsets of a block's sectors from its first element, in bytes."""
    inner = max(1, tensor.block[-1] * tensor.size // SECTOR)
    offsets: NDArray[np.int64] = np.arange(inner, dtype=np.int64) * SECTOR
    for length, stride in zip(reversed(tensor.block[:-1]), reversed(tensor.strides[:-1]), strict=False):
        offsets = (np.arange(length, dtype=np.int64)[:, None] * (stride * tensor.size) + offsets).ravel()
    return offsets
