"""Results of operators that are not computed: tensors of the right shape, without memory. Needs torch."""

from __future__ import annotations

import math
import mmap
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

# Tensors of more bytes than this are mapped: a GPU may have more memory than this machine.
_LARGEST_ALLOCATED = 1 << 26
_MAP_NORESERVE = 0x4000  # Linux, asm-generic/mman.h; in Python's mmap from 3.13 on


def uninitialized(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator's results without their values; None if only computing them gives their shapes."""
    try:
        given, named = tree_map_only(torch.Tensor, _as_meta, (args, dict(kwargs)))
        if named.get("device") is not None:
            named["device"] = "meta"
        shaped = func(*given, **named)
    except (NotImplementedError, RuntimeError):
        return None
    return tree_map_only(torch.Tensor, _as_cpu, shaped)


def created_elements(args: tuple[Any, ...]) -> int:
    """The elements that `empty(size)`, `empty_like(tensor)` or `new_empty(tensor, size)` creates."""
    if not isinstance(args[0], torch.Tensor):
        return math.prod(args[0])
    size = args[1] if len(args) > 1 and isinstance(args[1], list | tuple) else args[0].shape
    return math.prod(size)


def _as_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def _as_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """A CPU tensor like this one. A large one is zero, and takes memory only where it is written."""
    size, stride = tensor.size(), tensor.stride()
    if tensor.untyped_storage().nbytes() <= _LARGEST_ALLOCATED:
        return torch.empty_strided(size, stride, dtype=tensor.dtype, device="cpu")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    memory = mmap.mmap(-1, tensor.untyped_storage().nbytes(), flags=flags)
    storage = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    return torch.empty(0, dtype=tensor.dtype, device="cpu").set_(storage, 0, size, stride)
