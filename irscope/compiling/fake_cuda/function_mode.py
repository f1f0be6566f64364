"""Makes CPU tensors look like CUDA tensors to the program: devices it names, and questions about tensors.

A function mode of torch replaces "cuda" by "cpu" in calls and answers as a CUDA tensor would;
dispatch_mode.py handles the computation. Needs torch.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _pop_mode_temporarily
from torch.utils import _device
from torch.utils._device import _device_constructors

from irscope.compiling.fake_cuda.tensor_tags import (
    fake_pointer,
    is_cuda,
    is_tracing,
    leaves,
    on_cpu,
    set_on_cpu,
    set_unknown,
    unknown,
)
from irscope.compiling.fake_cuda.unknown_value import (
    Assumptions,
    UnknownValue,
    in_negated_assert,
    passing_truth,
    unknown_value,
)
from irscope.compiling.toolchain.stub_driver import NeedsGpuError

_tensor = torch.Tensor
_CHECKS = frozenset([torch.allclose, torch.equal, _tensor.allclose, _tensor.equal])
_TEXTS = frozenset([_tensor.__repr__, _tensor.__format__])
_SCALARS: dict[Any, Callable[[Any], Any]] = {
    _tensor.__bool__: bool,
    _tensor.__int__: int,
    _tensor.__index__: int,
    _tensor.__float__: float,
}
_ARRAYS = frozenset([_tensor.numpy, _tensor.__array__])


class FakeCudaFunctionMode(TorchFunctionMode):  # type: ignore[misc]
    """Translates the devices in calls, and answers questions about tensors."""

    def __init__(self, assumed: Assumptions) -> None:
        super().__init__()
        self._assumed = assumed

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Answers for the GPU, or else computes on the CPU."""
        if is_tracing(args):
            return func(*args, **(kwargs or {}))
        answer = _ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **(kwargs or {}))
        argument_leaves = leaves(*args, *kwargs.values()) if kwargs else leaves(*args)
        tensors = [leaf for leaf in argument_leaves if isinstance(leaf, torch.Tensor)]
        for leaf in argument_leaves:
            if isinstance(leaf, UnknownValue):
                raise NeedsGpuError(read_at=leaf.read_at)
        if any(map(unknown, tensors)):
            answer = _answer_without_values(func, tensors[0], self._assumed)
            if answer is not None:
                return answer
        if func in _CHECKS:
            with suppress(NeedsGpuError):  # of large tensors, which are not compared
                return _compute(func, tensors, args, dict(kwargs or {}))
            return _answer_without_values(func, tensors[0], self._assumed)
        return _compute(func, tensors, args, dict(kwargs or {}))


def _answer_without_values(func: Any, tensor: torch.Tensor, assumed: Assumptions) -> Any:
    """Answer a question about the values of a tensor that are unknown.

    Returns None if `func` does not ask for values. Raises NeedsGpuError if it cannot be answered.
    """
    if func in _SCALARS and tensor.numel() == 1 and (value := assumed.value()) is not None:
        return _SCALARS[func](value)
    if func in _CHECKS and in_negated_assert():
        raise NeedsGpuError
    if func in _CHECKS:
        return True
    if func is _tensor.__bool__:
        return passing_truth()
    if func in _TEXTS:
        return f"tensor(not computed without a GPU, size={tuple(tensor.shape)})"
    if func is _tensor.tolist or (func is _tensor.item and tensor.numel() == 1):
        value = assumed.value()
        shape = tuple(tensor.shape) if func is _tensor.tolist else ()
        return _nested(shape, unknown_value() if value is None else value)
    if func in _ARRAYS:
        raise NeedsGpuError
    return None


def _nested(shape: tuple[int, ...], value: Any) -> Any:
    return [_nested(shape[1:], value) for _ in range(shape[0])] if shape else value


def _compute(func: Any, tensors: list[torch.Tensor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call `func` on the CPU and tags the result with the device that the program asked for."""
    device = kwargs.get("device")
    if device is None and func is _tensor.to and len(args) > 1 and _is_device(args[1]):
        device = args[1]
    if device is None and _device.CURRENT_DEVICE is not None and func in _device_constructors():
        device = kwargs["device"] = _device.CURRENT_DEVICE
    if device is not None and is_cuda(device):
        args = (args[0], "cpu", *args[2:]) if len(args) > 1 and args[1] is device else args
        kwargs |= {"device": "cpu"} if "device" in kwargs else {}
    kwargs.pop("pin_memory", None)
    if func is _tensor.to and device is not None and on_cpu(tensors[0]) is is_cuda(device):
        kwargs["copy"] = True  # the device changes, so the program expects a copy
    result = func(*args, **kwargs)
    if not isinstance(result, torch.Tensor | tuple | list):
        return result
    if device is not None:
        set_on_cpu(result, not is_cuda(device))
    elif all(map(on_cpu, tensors)):
        set_on_cpu(result, True)
    return result


def _is_device(value: Any) -> bool:
    return is_cuda(value) or isinstance(value, str | torch.device)


def _moved(tensor: torch.Tensor, cpu: bool) -> torch.Tensor:
    """Return the tensor on the CPU or the GPU: itself if it is there already, else a copy."""
    if on_cpu(tensor) is cpu:
        return tensor
    moved = tensor.clone()
    if unknown(tensor):
        set_unknown(moved)
    set_on_cpu(moved, cpu)
    return moved


def _type(tensor: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`Tensor.type`: the type's name, such as "torch.cuda.HalfTensor", or a conversion to it."""
    if dtype is None:
        return tensor.type() if on_cpu(tensor) else tensor.type().replace("torch.", "torch.cuda.")
    if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
        return _moved(tensor, cpu=False).type(dtype.replace("torch.cuda.", "torch."), *args, **kwargs)
    converted = tensor.type(dtype, *args, **kwargs)
    set_on_cpu(converted, on_cpu(tensor))
    return converted


_ANSWERS: dict[Any, Callable[..., Any]] = {
    _tensor.device.__get__: lambda t: torch.device("cpu") if on_cpu(t) else torch.device("cuda", 0),
    _tensor.is_cuda.__get__: lambda t: not on_cpu(t),
    _tensor.is_cpu.__get__: on_cpu,
    _tensor.get_device: lambda t: -1 if on_cpu(t) else 0,
    torch.get_device: lambda t: -1 if on_cpu(t) else 0,
    _tensor.data_ptr: lambda t: t.data_ptr() if on_cpu(t) else fake_pointer(t),
    _tensor.cuda: lambda t, *_, **__: _moved(t, cpu=False),
    _tensor.cpu: lambda t, *_, **__: _moved(t, cpu=True),
    _tensor.type: _type,
    _tensor.pin_memory: lambda t, *_, **__: t,
    _tensor.is_pinned: lambda t, *_, **__: True,
}


@contextmanager
def without_function_mode() -> Iterator[None]:
    """Turn the mode off within the block, where "cpu" is irscope's choice and not the program's.

    Autograd's engine computes with the function mode on.
    """
    if not _on_top():
        yield
        return
    with _pop_mode_temporarily():
        yield


def _on_top() -> bool:
    depth = torch._C._len_torch_function_stack()
    top = torch._C._get_function_stack_at(depth - 1) if depth else None
    return isinstance(top, FakeCudaFunctionMode)


def is_function_mode_on() -> bool:
    """Return True if the mode is on in this thread. It is off while torch traces or compiles."""
    depth = torch._C._len_torch_function_stack()
    return any(isinstance(torch._C._get_function_stack_at(i), FakeCudaFunctionMode) for i in range(depth))


class _Compiler(threading.local):
    """Whether torch traces or compiles in this thread, for which it computes without values."""

    at_work = False


_compiler = _Compiler()


@contextmanager
def compiler_at_work() -> Iterator[None]:
    """Within the block, `function_mode` leaves the mode off."""
    before, _compiler.at_work = _compiler.at_work, True
    try:
        yield
    finally:
        _compiler.at_work = before


@contextmanager
def function_mode(assumed: Assumptions) -> Iterator[None]:
    """Turn the mode on within the block, unless it is on already or torch compiles."""
    if _compiler.at_work or is_function_mode_on():
        yield  # a second mode would take the first one's "cpu" for the program's
        return
    with FakeCudaFunctionMode(assumed):
        yield


def with_function_mode(function: Callable[..., Any], assumed: Assumptions) -> Callable[..., Any]:
    """Return `function` with the mode on, even if torch's C++ calls it with the program's modes off."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with function_mode(assumed):
            return function(*args, **kwargs)

    return call
