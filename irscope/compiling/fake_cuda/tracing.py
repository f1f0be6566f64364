"""Replacements in Dynamo and AOTAutograd: fake CUDA tensors are traced as tensors of cuda:0.

The modes of fake CUDA tensors are off while something is traced or compiled, and on while compiled code runs.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._C import _len_torch_dispatch_stack, _pop_torch_dispatch_stack, _push_on_torch_dispatch_stack

from irscope.compiling.call_stack import is_own_code
from irscope.compiling.fake_cuda.device_guard import available_accelerator
from irscope.compiling.fake_cuda.dispatch_mode import FakeCudaDispatchMode
from irscope.compiling.fake_cuda.function_mode import (
    FakeCudaFunctionMode,
    compiler_at_work,
    without_function_mode,
)
from irscope.compiling.fake_cuda.tensor_tags import on_cpu
from irscope.compiling.toolchain.patching import Replacement, patched

_DEVICE = torch.device("cuda", 0)
_off = threading.local()


# Called with why torch.compile failed, and what runs uncompiled therefore: "this function runs".
Report = Callable[[str, str], None]


def tracing_replacements(report: Report) -> Iterator[Replacement]:
    """Yield the replacements.

    Imports Dynamo and Inductor. Raises AttributeError if this version of torch lacks one of them.
    """
    from torch._dynamo import convert_frame, guards
    from torch._dynamo.variables.torch_function import SymbolicTorchFunctionState
    from torch._subclasses.meta_utils import MetaTensorDescriber

    # Dynamo itself turns function modes off: its guards compare them.
    converter, compile_fx = convert_frame.CatchErrorsWrapper, _module("torch._inductor.compile_fx")
    yield converter, "__call__", _tracing_or_skipping(converter.__call__, report)
    yield compile_fx, "_compile_fx_inner", _compiling_or_interpreting(compile_fx._compile_fx_inner, report)
    checks = guards.CheckFunctionManager
    yield checks, "__init__", _with_modes_at_runtime(checks.__init__)
    builder = guards.GuardBuilder
    yield builder, "TENSOR_MATCH", _matching_devices(builder.TENSOR_MATCH)
    state = SymbolicTorchFunctionState
    yield state, "__init__", _without_our_function_mode(state.__init__)
    streams = getattr(_module("torch._dynamo.variables.streams"), "SymbolicStreamState", None)
    if streams is not None:
        yield streams, "__init__", _without_streams(streams.__init__)
    describer = MetaTensorDescriber
    yield describer, "describe_tensor", _on_cuda(describer.describe_tensor)


def _module(name: str) -> Any:
    import importlib

    return importlib.import_module(name)


@contextmanager
def _tracing() -> Iterator[None]:
    """Within the block, the dispatch mode of fake CUDA tensors is off, and torch sees an available GPU."""
    with _without_dispatch_mode(), compiler_at_work(), available_accelerator():
        yield


@contextmanager
def _compiling() -> Iterator[None]:
    """Like `_tracing`, with the function mode off too."""
    with _tracing(), without_function_mode():
        yield


def _tracing_or_skipping(original: Callable[..., Any], report: Report) -> Callable[..., Any]:
    """Dynamo's conversion of a function; one that it fails on, and irscope's own, run as they are."""
    from torch._dynamo.exc import BackendCompilerFailed, InternalTorchDynamoError
    from torch._dynamo.types import ConvertFrameReturn

    @functools.wraps(original)
    def convert(self: Any, frame: Any, *args: Any, **kwargs: Any) -> Any:
        if is_own_code(frame.f_code.co_filename):
            return ConvertFrameReturn()
        try:
            with _tracing():
                return original(self, frame, *args, **kwargs)
        except (BackendCompilerFailed, InternalTorchDynamoError) as error:
            report(_reason(error), "this function runs")
            return ConvertFrameReturn()

    return convert


def _compiling_or_interpreting(original: Callable[..., Any], report: Report) -> Callable[..., Any]:
    """Inductor's compilation of a graph; one that it fails on is interpreted."""

    @functools.wraps(original)
    def compile_(graph: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            with _compiling():
                return original(graph, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever it is, the program goes on
            report(_reason(error), "this graph runs")
            return torch._functorch.aot_autograd.make_boxed_func(graph.forward)

    return compile_


def _reason(error: Exception) -> str:
    """Return the first line of an error of torch.compile, without "backend='inductor' raised:"."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    while len(lines) > 1 and lines[0].endswith("raised:"):
        del lines[0]
    return f"failed: {lines[0] if lines else type(error).__name__}"


@contextmanager
def _without_dispatch_mode() -> Iterator[None]:
    """Turn the dispatch mode off within the block; other modes of torch stay on."""
    stack = _take_dispatch_modes()
    ours = any(isinstance(mode, FakeCudaDispatchMode) for mode in stack)
    before = getattr(_off, "stack", None)
    if ours:
        _off.stack = stack
    _put_dispatch_modes(mode for mode in stack if not isinstance(mode, FakeCudaDispatchMode))
    try:
        yield
    finally:
        _off.stack = before
        _take_dispatch_modes()
        _put_dispatch_modes(stack)


def _with_modes_at_runtime(original: Callable[..., Any]) -> Callable[..., Any]:
    """Build guards with the dispatch mode on: they compare the keys of tensors, and the mode adds one."""

    @functools.wraps(original)
    def build(*args: Any, **kwargs: Any) -> Any:
        stack = getattr(_off, "stack", None)
        if stack is None:
            return original(*args, **kwargs)
        current = _take_dispatch_modes()
        _put_dispatch_modes(stack)
        try:
            return original(*args, **kwargs)
        finally:
            _take_dispatch_modes()
            _put_dispatch_modes(current)

    return build


def _matching_devices(original: Callable[..., None]) -> Callable[..., None]:
    """Wrap the guard of a tensor to compare the device that the program sees: all are CPU tensors."""

    @functools.wraps(original)
    def tensor_match(self: Any, guard: Any, *args: Any, **kwargs: Any) -> None:
        original(self, guard, *args, **kwargs)
        tensor = self.get(guard)
        if isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu":
            expected = _seen_on_cpu(tensor)
            manager = self.get_guard_manager(guard)
            text = f"device is {'cpu' if expected else _DEVICE}"
            manager.add_lambda_guard(lambda now: _seen_on_cpu(now) is expected, [text], guard.user_stack)

    return tensor_match


def _seen_on_cpu(tensor: torch.Tensor) -> bool:
    with without_function_mode():
        return on_cpu(tensor)


def _take_dispatch_modes() -> list[Any]:
    """Turn all dispatch modes off and return them, the innermost last."""
    modes = [_pop_torch_dispatch_stack(None) for _ in range(_len_torch_dispatch_stack())]
    return modes[::-1]


def _put_dispatch_modes(modes: Iterable[Any]) -> None:
    for mode in modes:
        _push_on_torch_dispatch_stack(mode)


def _without_our_function_mode(original: Callable[..., None]) -> Callable[..., None]:
    """Dynamo's trace of the active function modes, without that of fake CUDA tensors."""

    @functools.wraps(original)
    def init(self: Any, modes: Iterable[Any], *args: Any, **kwargs: Any) -> None:
        traced = [mode for mode in modes if not isinstance(mode, FakeCudaFunctionMode)]
        original(self, traced, *args, **kwargs)

    return init


def _without_streams(original: Callable[..., None]) -> Callable[..., None]:
    """Dynamo's trace of the current stream: none, since a fake stream cannot be traced."""

    @functools.wraps(original)
    def init(self: Any) -> None:
        with patched(torch.accelerator, "is_available", lambda: False):
            original(self)

    return init


def _on_cuda(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the description of a tensor, from which torch makes the tensor to trace with: on cuda:0."""
    from torch._subclasses.fake_tensor import FakeTensor

    @functools.wraps(original)
    def describe_tensor(self: Any, tensor: torch.Tensor, **kwargs: Any) -> Any:
        description = original(self, tensor, **kwargs)
        if description.device.type != "cpu" or isinstance(tensor, FakeTensor) or on_cpu(tensor):
            return description
        return dataclasses.replace(description, device=_DEVICE)

    return describe_tensor
