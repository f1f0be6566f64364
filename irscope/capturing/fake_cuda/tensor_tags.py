"""What is noted of a tensor, at its storage: where the program has it, and whether its values are known.

Imported only where torch is installed.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

# Why a storage's values are unknown: they depend on a kernel, or nothing was written to it.
_COMPUTED, _EMPTY = "computed", "empty"
# What a CUDA allocation is aligned to at least (CUDA Programming Guide, "Device Memory Accesses").
_ALIGNMENT = 256


def is_cuda(device: Any) -> bool:
    """Whether a device argument, in any of torch's spellings, means a GPU."""
    if isinstance(device, torch.device):
        return str(device.type) == "cuda"
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


def _storage(tensor: torch.Tensor) -> Any:
    """Where the tensor's values lie, which is where it is noted what they are; of a sparse one, its own."""
    if tensor.layout is torch.sparse_coo:
        tensor = tensor._values()
    elif tensor.layout is not torch.strided:
        tensor = tensor.values()
    return tensor.untyped_storage()


def on_cpu(tensor: torch.Tensor) -> bool:
    """Whether the program itself would have this tensor on the CPU. Unknown ones pose as CUDA."""
    return bool(getattr(_storage(tensor), "irscope_cpu", False))


def set_on_cpu(value: Any, cpu: bool) -> None:
    """Says for every tensor in `value` where the program has it."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            _storage(leaf).irscope_cpu = cpu


def unknown(tensor: torch.Tensor) -> bool:
    """Whether the tensor's values depend on what a kernel would have computed.

    So do those of a CUDA tensor that was allocated and into which nothing but a kernel can have written.
    """
    why = getattr(_storage(tensor), "irscope_unknown", None)
    return why == _COMPUTED or (why == _EMPTY and not on_cpu(tensor))


def set_unknown(value: Any) -> None:
    """Says that no tensor in `value` has the values that the program would see."""
    _note(value, _COMPUTED)


def set_empty(value: Any) -> None:
    """Says that the tensors in `value` were allocated and nothing was written to them."""
    _note(value, _EMPTY)


def set_filled(value: Any) -> None:
    """Says that the program itself wrote to the tensors in `value`."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and getattr(_storage(leaf), "irscope_unknown", None) == _EMPTY:
            _note(leaf, None)


def _note(value: Any, why: str | None) -> None:
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            _storage(leaf).irscope_unknown = why


def posed_pointer(tensor: torch.Tensor) -> int:
    """The address as specialization sees it: storages lie as CUDA's allocator lays them."""
    base, address = int(tensor.untyped_storage().data_ptr()), int(tensor.data_ptr())
    return address if address == 0 else -(-base // _ALIGNMENT) * _ALIGNMENT + address - base
