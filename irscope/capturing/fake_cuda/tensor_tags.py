"""Tags on a tensor's storage: the device that the program sees, and whether values are known. Needs torch."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

# Why a storage's values are unknown: they depend on a kernel, or nothing was written to it.
_COMPUTED, _EMPTY = "computed", "empty"
# The minimum alignment of a CUDA allocation (CUDA Programming Guide, "Device Memory Accesses").
_ALIGNMENT = 256


def is_cuda(device: Any) -> bool:
    """Whether a device argument, in any of torch's spellings, is a GPU."""
    if isinstance(device, torch.device):
        return str(device.type) == "cuda"
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


def _storage(tensor: torch.Tensor) -> Any:
    """The storage of the tensor's values, which has the tags; for a sparse tensor, of its stored values.

    Within torch.func's transformations (grad, vmap), it is that of the tensor that they wrap.
    """
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    elif tensor.layout is not torch.strided:
        tensor = tensor.values()
    return tensor.untyped_storage()


def on_cpu(tensor: torch.Tensor) -> bool:
    """Whether the program sees this tensor on the CPU. A tensor without a tag is a CUDA tensor."""
    return bool(getattr(_storage(tensor), "irscope_cpu", False))


def set_on_cpu(value: Any, cpu: bool) -> None:
    """Tags every tensor in `value` with the device that the program sees."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            _storage(leaf).irscope_cpu = cpu


def unknown(tensor: torch.Tensor) -> bool:
    """Whether the tensor's values depend on what a kernel would have computed.

    This includes a CUDA tensor that was allocated but that only a kernel can have written to.
    """
    reason = getattr(_storage(tensor), "irscope_unknown", None)
    return reason == _COMPUTED or (reason == _EMPTY and not on_cpu(tensor))


def set_unknown(value: Any) -> None:
    """Tags the tensors in `value`: their values depend on a kernel."""
    _tag(value, _COMPUTED)


def set_empty(value: Any) -> None:
    """Tags the tensors in `value`: allocated but not written."""
    _tag(value, _EMPTY)


def set_filled(value: Any) -> None:
    """Removes the tag of empty tensors in `value`: the program itself wrote to them."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and getattr(_storage(leaf), "irscope_unknown", None) == _EMPTY:
            _tag(leaf, None)


def _tag(value: Any, reason: str | None) -> None:
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            _storage(leaf).irscope_unknown = reason


def fake_pointer(tensor: torch.Tensor) -> int:
    """The address that specialization sees: as if CUDA's allocator had aligned the storage."""
    base, address = int(tensor.untyped_storage().data_ptr()), int(tensor.data_ptr())
    return address if address == 0 else -(-base // _ALIGNMENT) * _ALIGNMENT + address - base
