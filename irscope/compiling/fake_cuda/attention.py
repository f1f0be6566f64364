"""Traces `scaled_dot_product_attention` of CUDA tensors to the fused operator that a GPU would run.

Torch chooses the operator in C++, by the properties of the GPU; without one it takes the unfused path:

    scaled_dot_product_attention(q, k, v)       on a GPU: one call of _scaled_dot_product_flash_attention
                                                without one: matmul, softmax, matmul, ...

The conditions are those of torch's aten/src/ATen/native/transformers/cuda/sdp_utils.cpp and attention.cpp.

Registers the operators that allocate CUDA tensors: they return CPU tensors, like all fake CUDA tensors.

Inductor allocates constants and the inputs of its benchmarks outside of the modes of fake CUDA tensors.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch.nn import functional

_HALF = (torch.float16, torch.bfloat16)


class AttentionBackend(Enum):
    """The implementations of attention, with torch's numbers (torch.nn.attention.SDPBackend)."""

    MATH = 0
    FLASH = 1
    EFFICIENT = 2
    CUDNN = 3


# torch prefers cuDNN on devices of these major compute capabilities, from this version of cuDNN on.
_CUDNN_PREFERRED, _CUDNN_VERSION = (9, 10), 91500
_DEFAULT_ORDER = (
    AttentionBackend.FLASH,
    AttentionBackend.EFFICIENT,
    AttentionBackend.MATH,
    AttentionBackend.CUDNN,
)


@dataclass(frozen=True)
class Attention:
    """The arguments of a call of `scaled_dot_product_attention`."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None = None
    dropout: float = 0.0
    causal: bool = False
    scale: float | None = None
    grouped: bool = False

    @property
    def tensors(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Query, key and value."""
        return self.query, self.key, self.value

    @property
    def trained(self) -> bool:
        """Return True if a gradient is needed.

        Then the operator also returns the log of the softmax's sum.
        """
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in self.tensors)


@contextmanager
def fused_attention(capability: tuple[int, int]) -> Iterator[None]:
    """Within the block, attention of CUDA tensors is traced as on a GPU of this compute capability."""
    operator = torch.ops.aten.scaled_dot_product_attention.default
    key = torch._C.DispatchKey.CompositeImplicitAutograd

    def attention(
        query: Any, key_: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
        is_causal: bool = False, *, scale: float | None = None, enable_gqa: bool = False,
    ) -> Any:  # fmt: skip
        call = Attention(query, key_, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        if query.device.type == "cuda" and not query.is_nested:
            backend = chosen_backend(call, capability)
            if backend is not AttentionBackend.MATH:
                return _CALLS[backend](call)
        return operator._op_dk(
            key, query, key_, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )

    before = operator.py_kernels.get(key)
    operator.py_kernels[key] = attention
    operator._dispatch_cache.clear()
    try:
        yield
    finally:
        operator.py_kernels.pop(key)
        if before is not None:
            operator.py_kernels[key] = before
        operator._dispatch_cache.clear()


def chosen_backend(call: Attention, capability: tuple[int, int]) -> AttentionBackend:
    """Return the implementation that torch chooses on a GPU of this compute capability."""
    for backend in _order(capability):
        condition = _CONDITIONS.get(backend)
        if condition is None or (_fits(call, capability) and condition(call, capability)):
            return backend
    return AttentionBackend.MATH


def _order(capability: tuple[int, int]) -> tuple[AttentionBackend, ...]:
    chosen: list[int] = getattr(torch._C, "_get_sdp_priority_order", list)()
    order = tuple(
        AttentionBackend(number)
        for number in chosen
        if number in {backend.value for backend in AttentionBackend}
    )
    if order not in ((), _DEFAULT_ORDER):
        return order
    if _prefers_cudnn(capability):
        return (
            AttentionBackend.CUDNN,
            AttentionBackend.FLASH,
            AttentionBackend.EFFICIENT,
            AttentionBackend.MATH,
        )
    return _DEFAULT_ORDER


def _prefers_cudnn(capability: tuple[int, int]) -> bool:
    if torch.version.hip is not None or os.environ.get("TORCH_CUDNN_SDPA_DEPRIORITIZED") == "1":
        return False
    return capability[0] in _CUDNN_PREFERRED and (torch.backends.cudnn.version() or 0) > _CUDNN_VERSION


def _fits(call: Attention, capability: tuple[int, int]) -> bool:
    """Check the conditions of all fused implementations."""
    query, key, value = call.tensors
    if any(tensor.dim() != 4 or tensor.dtype != query.dtype for tensor in call.tensors):
        return False
    if capability[0] < 8 or 0 in (query.size(2), key.size(2)):
        return False
    heads, key_heads, value_heads = (tensor.size(1) for tensor in call.tensors)
    if query.size(0) != key.size(0) or query.size(0) != value.size(0):
        return False
    if call.grouped:
        return bool(key_heads == value_heads and heads % key_heads == 0)
    return bool(heads == key_heads == value_heads)


def _has_dense_rows(call: Attention) -> bool:
    return all(tensor.stride(-1) == 1 or tensor.size(-1) == 1 for tensor in call.tensors)


def _flash(call: Attention, capability: tuple[int, int]) -> bool:
    query, key, value = call.tensors
    return (
        torch.backends.cuda.flash_sdp_enabled()
        and call.mask is None
        and query.dtype in _HALF
        and query.size(-1) == key.size(-1) == value.size(-1) <= 256
        and not (call.causal and query.size(-2) != key.size(-2))
        and _has_dense_rows(call)
    )


def _efficient(call: Attention, capability: tuple[int, int]) -> bool:
    query, key, value = call.tensors
    alignment = 8 if query.dtype in _HALF else 4
    return (
        torch.backends.cuda.mem_efficient_sdp_enabled()
        and query.dtype in (*_HALF, torch.float32)
        and not call.grouped
        and query.size(-1) == key.size(-1)
        and query.size(-1) % alignment == value.size(-1) % alignment == 0
        and all(tensor.stride(-1) == 1 for tensor in call.tensors)
    )


def _cudnn(call: Attention, capability: tuple[int, int]) -> bool:
    query, key, value = call.tensors
    sizes = (query.size(-1), value.size(-1))
    limit = 256 if capability == (9, 0) else 192 if sizes == (192, 128) and capability[0] == 10 else 128
    return (
        torch.backends.cuda.cudnn_sdp_enabled()
        and query.dtype in _HALF
        and all(size <= limit and size % 8 == 0 for size in sizes)
        and ((call.dropout * 16).is_integer() or torch.__version__ < (2, 12))
        and key.size(2) != 1
        and not (call.dropout and query.size(2) == 1)
        and not torch.are_deterministic_algorithms_enabled()
        and _has_dense_rows(call)
    )


_CONDITIONS: dict[AttentionBackend, Callable[[Attention, tuple[int, int]], bool]] = {
    AttentionBackend.FLASH: _flash,
    AttentionBackend.EFFICIENT: _efficient,
    AttentionBackend.CUDNN: _cudnn,
}


def _call_flash(call: Attention) -> torch.Tensor:
    size = call.query.size(-1)
    padded = [functional.pad(t, [0, -size % 8]) if size % 8 else t for t in call.tensors]
    scale = call.scale if call.scale is not None else float(size) ** -0.5
    out = torch.ops.aten._scaled_dot_product_flash_attention(
        *padded, call.dropout, call.causal, False, scale=scale
    )[0]
    return out[..., :size] if size % 8 else out


def _call_efficient(call: Attention) -> torch.Tensor:
    mask = _additive(call, float("-inf"))
    if mask is not None:
        if mask.stride(-1) != 1 or any(stride % 8 for stride in mask.stride()[:-1]):
            last = mask.size(-1)
            mask = functional.pad(mask, [0, 8 - last % 8])[..., :last]
        mask = mask.expand(*call.query.shape[:3], call.key.size(2))
    return torch.ops.aten._scaled_dot_product_efficient_attention(
        *call.tensors, mask, call.trained, call.dropout, call.causal, scale=call.scale
    )[0]


def _call_cudnn(call: Attention) -> torch.Tensor:
    return torch.ops.aten._scaled_dot_product_cudnn_attention(
        *call.tensors,
        _additive(call, -65504.0),
        call.trained,
        call.dropout,
        call.causal,
        False,
        scale=call.scale,
    )[0]


def _additive(call: Attention, masked: float) -> torch.Tensor | None:
    """Return the mask as numbers to add: `masked` where a boolean mask is False."""
    mask = call.mask
    if mask is None or mask.dtype is not torch.bool:
        return mask
    return torch.where(mask, 0.0, torch.scalar_tensor(masked, dtype=call.query.dtype, device=mask.device))


_CALLS: dict[AttentionBackend, Callable[[Attention], torch.Tensor]] = {
    AttentionBackend.FLASH: _call_flash,
    AttentionBackend.EFFICIENT: _call_efficient,
    AttentionBackend.CUDNN: _call_cudnn,
}


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
