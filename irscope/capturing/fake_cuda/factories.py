"""Registers the operators that allocate CUDA tensors: they return CPU tensors, like all fake CUDA tensors.

Inductor allocates constants and the inputs of its benchmarks outside of the modes of fake CUDA tensors.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def cuda_factories(register: Callable[..., Any]) -> Iterator[None]:
    """Within the block, allocating on CUDA returns a CPU tensor. `register` is torch's own `Library.impl`."""
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a CUDA build has its own
        register(library, "empty.memory_format", _empty, "CUDA")
        register(library, "empty_strided", _empty_strided, "CUDA")
    try:
        yield
    finally:
        library._destroy()


def _empty(size: Any, *, memory_format: Any = None, **options: Any) -> torch.Tensor:
    return torch.ops.aten.empty.memory_format(size, memory_format=memory_format, **_on_cpu(options))


def _empty_strided(size: Any, stride: Any, **options: Any) -> torch.Tensor:
    return torch.ops.aten.empty_strided.default(size, stride, **_on_cpu(options))


def _on_cpu(options: dict[str, Any]) -> dict[str, Any]:
    return {**options, "device": torch.device("cpu"), "pin_memory": None}
