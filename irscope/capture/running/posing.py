"""CPU tensors that pose as CUDA ones: what they say of themselves, and what is computed of them.

Two modes of torch work together. The function mode sees what the program writes: it puts "cpu" where it
says "cuda" and answers as a GPU tensor would. The dispatch mode sees what is computed, backward passes
included: it skips the arithmetic of large tensors, whose values nobody can use here, and keeps count of
which storages hold values that no kernel has computed. Imported only where torch is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from irscope.capture.running.needs_gpu import NeedsGpuError

# Arithmetic on more elements than this is skipped: a matmul of two 8192 x 8192 takes minutes on a CPU.
LARGEST_COMPUTED = 1 << 20
# What a CUDA allocation is aligned to at least (CUDA Programming Guide, "Device Memory Accesses").
_ALIGNMENT = 256
_ASKS = "asks for a value that is not computed without a GPU"

_tensor = torch.Tensor
_CHECKS = frozenset([torch.allclose, torch.equal, _tensor.allclose, _tensor.equal])
_TEXTS = frozenset([_tensor.__repr__, _tensor.__format__])
_VALUES = frozenset([_tensor.tolist, _tensor.numpy, _tensor.__array__, _tensor.item])


def is_cuda(device: Any) -> bool:
    """Whether a device argument, in any of torch's spellings, means a GPU."""
    if isinstance(device, torch.device):
        return str(device.type) == "cuda"
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


def on_cpu(tensor: torch.Tensor) -> bool:
    """Whether the program itself would have this tensor on the CPU. Unknown ones pose as CUDA."""
    return bool(getattr(tensor.untyped_storage(), "irscope_cpu", False))


def set_on_cpu(value: Any, cpu: bool) -> None:
    """Says for every tensor in `value` where the program has it."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided:
            leaf.untyped_storage().irscope_cpu = cpu


def unknown(tensor: torch.Tensor) -> bool:
    """Whether the tensor's values depend on what a kernel would have computed."""
    return tensor.layout is torch.strided and getattr(tensor.untyped_storage(), "irscope_unknown", False)


def set_unknown(value: Any) -> None:
    """Says that no tensor in `value` has the values that the program would see."""
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided:
            leaf.untyped_storage().irscope_unknown = True


def posed_pointer(tensor: torch.Tensor) -> int:
    """The address as specialization sees it: storages lie as CUDA's allocator lays them."""
    base, address = int(tensor.untyped_storage().data_ptr()), int(tensor.data_ptr())
    return address if address == 0 else -(-base // _ALIGNMENT) * _ALIGNMENT + address - base


class PosingMode(TorchFunctionMode):  # type: ignore[misc]
    """What the program writes of devices, and asks of tensors."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Answers for the GPU where that is asked for; else computes on the CPU."""
        answer = _ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if any(map(unknown, tensors)):
            if func in _CHECKS:
                return True
            if func in _TEXTS:
                return f"tensor(not computed without a GPU, size={tuple(tensors[0].shape)})"
            if func in _VALUES:
                raise NeedsGpuError(_ASKS)
        return _computed(func, tensors, args, dict(kwargs or {}))


def _computed(func: Any, tensors: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the CPU makes of a call, as the program would have it where it says."""
    device = kwargs.get("device")
    if device is None and func is _tensor.to and len(args) > 1 and _is_device(args[1]):
        device = args[1]
    if device is not None and is_cuda(device):
        args = (args[0], "cpu", *args[2:]) if len(args) > 1 and args[1] is device else args
        kwargs |= {"device": "cpu"} if "device" in kwargs else {}
    kwargs.pop("pin_memory", None)
    moves = func is _tensor.to and device is not None and on_cpu(tensors[0]) is is_cuda(device)
    if moves:
        kwargs["copy"] = True
    result = func(*args, **kwargs)
    if not isinstance(result, torch.Tensor | tuple | list):
        return result
    if device is not None:
        set_on_cpu(result, not is_cuda(device))
    elif not tensors or (tensors and all(map(on_cpu, filter(_has_storage, tensors)))):
        set_on_cpu(result, True)
    return result


def _is_device(word: Any) -> bool:
    return is_cuda(word) or isinstance(word, str | torch.device)


def _has_storage(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided


def _moved(tensor: torch.Tensor, cpu: bool) -> torch.Tensor:
    """The tensor on the CPU or the GPU: itself where it is there already, a copy where it is not."""
    if on_cpu(tensor) is cpu:
        return tensor
    moved = tensor.clone()
    if unknown(tensor):
        set_unknown(moved)
    set_on_cpu(moved, cpu)
    return moved


_ANSWERS: dict[Any, Callable[..., Any]] = {
    _tensor.device.__get__: lambda t: torch.device("cpu") if on_cpu(t) else torch.device("cuda", 0),
    _tensor.is_cuda.__get__: lambda t: not on_cpu(t),
    _tensor.is_cpu.__get__: on_cpu,
    _tensor.get_device: lambda t: -1 if on_cpu(t) else 0,
    torch.get_device: lambda t: -1 if on_cpu(t) else 0,
    _tensor.data_ptr: lambda t: t.data_ptr() if on_cpu(t) else posed_pointer(t),
    _tensor.cuda: lambda t, *_, **__: _moved(t, cpu=False),
    _tensor.cpu: lambda t, *_, **__: _moved(t, cpu=True),
    _tensor.pin_memory: lambda t, *_, **__: t,
    _tensor.is_pinned: lambda t, *_, **__: True,
    _tensor.record_stream: lambda *_: None,
}


class SkippingMode(TorchDispatchMode):  # type: ignore[misc]
    """What is computed: large arithmetic is skipped, and what depends on a kernel's output is unknown."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Computes an operator of ATen, or gives an uninitialised result of the right shape."""
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        tainted = any(map(unknown, tensors))
        if func is torch.ops.aten._local_scalar_dense.default and tainted:
            raise NeedsGpuError(_ASKS)
        if func is torch.ops.aten.equal.default and tainted:
            return True
        views = any(returned.alias_info is not None for returned in func._schema.returns)
        if not views and _large(tensors) and (result := _uninitialised(func, args, kwargs)) is not None:
            set_unknown(result)
            return result
        if views and _skipped_in_place(func, args):
            set_unknown(args[0])
            return args[0]
        result = func(*args, **kwargs)
        if tainted and not _fills(func):
            set_unknown(result)
        return result


def _large(tensors: Iterable[torch.Tensor]) -> bool:
    return any(tensor.numel() > LARGEST_COMPUTED for tensor in tensors)


def _fills(func: Any) -> bool:
    """Whether the operator's result does not depend on the values that it is given."""
    return func._schema.name in ("aten::zero_", "aten::fill_", "aten::empty_like", "aten::zeros_like")


# Operators that draw every element: skipped on large tensors. Drawn integers are indices, and stay.
_DRAWN = frozenset(["normal_", "uniform_", "exponential_", "log_normal_"])


def _skipped_in_place(func: Any, args: tuple[Any, ...]) -> bool:
    name = func._schema.name.removeprefix("aten::")
    return name in _DRAWN and args[0].numel() > LARGEST_COMPUTED and args[0].is_floating_point()


def _uninitialised(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The operator's results without their values; None where only computing tells their shapes."""
    if func._schema.name in _CHEAP:
        return None
    try:
        given, named = tree_map_only(torch.Tensor, _as_meta, (args, dict(kwargs)))
        if named.get("device") is not None:
            named["device"] = "meta"
        shaped = func(*given, **named)
    except (NotImplementedError, RuntimeError):
        return None
    return tree_map_only(torch.Tensor, _as_cpu, shaped)


# Operators that copy or fill: they take no longer than the allocation.
_CHEAP = frozenset(
    f"aten::{name}"
    for name in (
        "clone", "_to_copy", "cat", "stack", "contiguous", "empty_like", "zeros_like", "ones_like",
        "full_like", "new_empty", "new_empty_strided", "new_zeros", "new_ones", "new_full",
    )
)  # fmt: skip


def _as_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def _as_cpu(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")


@contextmanager
def posing() -> Iterator[None]:
    """Tensors pose inside, in this thread, whatever was on before."""
    with SkippingMode(), _function_mode():
        yield


@contextmanager
def _function_mode() -> Iterator[None]:
    depth = torch._C._len_torch_function_stack()
    if any(isinstance(torch._C._get_function_stack_at(i), PosingMode) for i in range(depth)):
        yield  # twice on, the inner one would take the outer one's "cpu" for the program's
        return
    with PosingMode():
        yield


def engine_posing(run_backward: Callable[..., Any]) -> Callable[..., Any]:
    """Autograd's engine, under which a Function's backward sees what its forward saw."""

    def run(*args: Any, **kwargs: Any) -> Any:
        with _function_mode():
            return run_backward(*args, **kwargs)

    return run
