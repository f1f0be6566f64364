"""Tags on a tensor's storage: the device that the program sees, and whether values are known. Needs torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import tree_leaves

# Why a storage's values are unknown: they depend on a kernel, or nothing was written to it.
_COMPUTED, _EMPTY = "computed", "empty"
# The minimum alignment of a CUDA allocation (CUDA Programming Guide, "Device Memory Accesses").
_ALIGNMENT = 256


def is_cuda(device: Any) -> bool:
    """Return True if a device argument, in any of torch's spellings, is a GPU."""
    if isinstance(device, torch.device):
        return str(device.type) == "cuda"
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


def is_tracing(args: tuple[Any, ...]) -> bool:
    """Return True if a call belongs to a compiler that traces with tensors without values.

    Such tensors know their device. These are torch's FakeTensors, and the meta tensors inside of
    them. The program's own tensors answer as always while a compiler looks at them.
    """
    if args and isinstance(args[0], torch.Tensor):
        return isinstance(args[0], FakeTensor) or args[0].is_meta
    return torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None


def leaves(*values: Any) -> Sequence[Any]:
    """Return all leaves of the values.

    This is quick if none is a container, as in most of a program's calls.
    """
    if any(isinstance(value, tuple | list | dict) for value in values):
        return [leaf for value in values for leaf in tree_leaves(value)]
    return values


def tensors_in(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> list[torch.Tensor]:
    """Return the tensors in the arguments of a call."""
    values = leaves(*args, *kwargs.values()) if kwargs else leaves(*args)
    return [leaf for leaf in values if isinstance(leaf, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> Any:
    """Return the storage of the tensor's values, which has the tags.

    For a sparse tensor, it is that of its stored values. Within torch.func's transformations
    (grad, vmap), it is that of the tensor that they wrap.
    """
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    elif tensor.layout is not torch.strided:
        tensor = tensor.values()
    return tensor.untyped_storage()


def on_cpu(tensor: torch.Tensor) -> bool:
    """Return True if the program sees this tensor on the CPU.

    A tensor without a tag is a CUDA tensor.
    """
    return bool(getattr(_storage(tensor), "irscope_cpu", False))


def set_on_cpu(value: Any, cpu: bool) -> None:
    """Tags every tensor in `value` with the device that the program sees."""
    for leaf in leaves(value):
        if isinstance(leaf, torch.Tensor):
            _storage(leaf).irscope_cpu = cpu


def unknown(tensor: torch.Tensor) -> bool:
    """Return True if the tensor's values depend on what a kernel would have computed.

    This includes a CUDA tensor that was allocated but that only a kernel can have written to.
    """
    reason = getattr(_storage(tensor), "irscope_unknown", None)
    return reason == _COMPUTED or (reason == _EMPTY and not on_cpu(tensor))


def is_empty(tensor: torch.Tensor) -> bool:
    """Return True if nothing was written to the tensor's memory since it was allocated."""
    return bool(getattr(_storage(tensor), "irscope_empty", False))


def set_unknown(value: Any, written: bool = True) -> None:
    """Tags the tensors in `value`: their values depend on a kernel; not `written`: they are views."""
    for leaf in leaves(value):
        if isinstance(leaf, torch.Tensor):
            storage = _storage(leaf)
            storage.irscope_unknown = _COMPUTED
            storage.irscope_empty = not written and is_empty(leaf)


def set_empty(value: Any) -> None:
    """Tags the tensors in `value`: allocated but not written."""
    for leaf in leaves(value):
        if isinstance(leaf, torch.Tensor):
            storage = _storage(leaf)
            storage.irscope_unknown, storage.irscope_empty = _EMPTY, True


def set_filled(value: Any) -> None:
    """Remove the tag of empty tensors in `value`: the program itself wrote to them."""
    for leaf in leaves(value):
        if isinstance(leaf, torch.Tensor):
            storage = _storage(leaf)
            storage.irscope_empty = False
            if getattr(storage, "irscope_unknown", None) == _EMPTY:
                storage.irscope_unknown = None


def fake_pointer(tensor: torch.Tensor) -> int:
    """Return the address that specialization sees: as if CUDA's allocator had aligned the storage."""
    base, address = int(tensor.untyped_storage().data_ptr()), int(tensor.data_ptr())
    return address if address == 0 else -(-base // _ALIGNMENT) * _ALIGNMENT + address - base
