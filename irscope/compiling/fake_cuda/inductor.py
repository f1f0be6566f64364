"""Makes torch.compile work on fake CUDA tensors: Inductor's kernels are compiled for the target, not run.

Dynamo and Inductor run in the program's own process, and take fake CUDA tensors for tensors of cuda:0:

    torch.compile(f)(x)     Dynamo traces f (tracing.py), autograd the backward pass (device_guard.py),
                            attention becomes the operator that a GPU runs (attention.py)
                            Inductor writes kernels; it compiles its choices instead of timing them
                            (inductor_patches.py)
                            its code runs on the CPU tensors; Triton's stub driver ignores the launches

A function or graph that torch cannot compile so runs uncompiled; a line on stderr says which, and why.

Replacements in Inductor: it compiles kernels for the target, and neither runs nor times them.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from irscope.compiling.call_stack import user_place
from irscope.compiling.fake_cuda.device_guard import (
    UnsupportedTorchError,
    available_accelerator,
    ensure_device_guard,
)
from irscope.compiling.fake_cuda.function_mode import without_function_mode
from irscope.compiling.fake_cuda.tensor_tags import set_empty, set_on_cpu, set_unknown
from irscope.compiling.toolchain.patching import Replacement, patched
from irscope.model import Target
from irscope.model.errors import print_note
from irscope.targets import backend_of


class InductorSupport:
    """Prepares torch for `torch.compile`, at its first call because that imports all of Inductor.

    `stack` undoes it. `register` is torch's own `Library.impl`.
    """

    def __init__(self, target: Target, register: Callable[..., Any], stack: ExitStack) -> None:
        self._target, self._register, self._stack = target, register, stack
        self._ready: bool | None = None

    def ready(self) -> bool:
        """Prepare torch once; whether this build of torch can do it. If not, the first call says so."""
        if self._ready is None:
            try:
                _prepare(self._target, self._register, self._stack)
                self._ready = True
            except (UnsupportedTorchError, ImportError, AttributeError) as error:
                why = f"does not work without a GPU with torch {torch.__version__}: {error}"
                _report(why, "functions run")
                self._ready = False
        return self._ready

    def if_in_use(self) -> None:
        """Prepare torch now if the program may have functions that were compiled before."""
        if "torch._dynamo.convert_frame" in sys.modules:
            self.ready()

    def compile(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`torch.compile`, given torch's own. It returns functions as they are if it is not supported."""

        @functools.wraps(original)
        def compile_(model: Any = None, *args: Any, **options: Any) -> Any:
            if self.ready():
                return original(model, *args, **options)
            return (lambda function: function) if model is None else model

        return compile_


def _prepare(target: Target, register: Callable[..., Any], stack: ExitStack) -> None:
    """Replace parts of torch. Raises an error, having replaced nothing, if this build does not have them."""
    ensure_device_guard()
    with available_accelerator():
        pass
    from irscope.compiling.fake_cuda.attention import cuda_factories, fused_attention
    from irscope.compiling.fake_cuda.tracing import tracing_replacements

    replacements = [*tracing_replacements(_report), *inductor_replacements()]
    forget_devices()
    stack.callback(forget_devices)
    for owner, name, value in replacements:
        stack.enter_context(patched(owner, name, value))
    stack.enter_context(inductor_settings())
    stack.enter_context(cuda_factories(register))
    stack.enter_context(fused_attention(backend_of(target).capability(target.arch)))


def _report(why: str, what: str) -> None:
    """Says on stderr what runs uncompiled and why, with the line of the program."""
    location = user_place()
    print_note(f"{f'{location}: ' if location else ''}torch.compile {why}; {what} uncompiled")


# The time in ms of everything that a GPU would time. Of equals Inductor chooses the first; none is recorded.
_TIME = 1.0
# Functions of torch.cuda that Inductor's interface to CUDA binds when it is imported, by their names in it.
_INTERFACE = {
    "exchange_device": "_exchange_device",
    "maybe_exchange_device": "_maybe_exchange_device",
    **{
        name: name
        for name in (
            "current_device", "set_device", "device_count", "stream", "current_stream", "set_stream",
            "synchronize", "get_device_properties", "memory_allocated", "is_bf16_supported",
        )
    },
}  # fmt: skip


def inductor_replacements() -> Iterator[Replacement]:
    """Yield the replacements.

    Imports Inductor. Raises AttributeError if this version of torch lacks one.
    """
    yield from _device_replacements()
    yield from _timing_replacements()
    yield from _cache_replacements()
    from torch._C._dynamo import guards
    from torch._inductor import cudagraph_utils
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    for name in ("_empty_strided_cuda", "_empty_strided_cpu", "_empty_strided_cpu_pinned"):
        if hasattr(guards, name):
            yield guards, name, functools.partial(_empty_strided, "_cpu" in name)
    yield guards, "assert_size_stride", _checked_size(guards.assert_size_stride)
    yield cudagraph_utils, "check_lowering_disable_cudagraph", _no_cuda_graphs
    yield CachingAutotuner, "run", _marking_written(CachingAutotuner.run)


def forget_devices() -> None:
    """Make torch forget what it compiled and what it knows of devices, which change."""
    from torch._dynamo import device_interface
    from torch._inductor import utils
    from torch._inductor.codecache import CacheBase
    from torch._inductor.runtime import hints
    from torch.utils import _triton

    torch._dynamo.reset()
    for owner in (utils, _triton, hints.DeviceProperties, CacheBase):
        for name in vars(owner):
            clear = getattr(getattr(owner, name), "cache_clear", None)
            if clear is not None:
                clear()
    if hasattr(device_interface, "_device_initialized"):
        device_interface._device_initialized = False


@contextmanager
def inductor_settings() -> Iterator[None]:
    """Inductor's settings without a GPU.

    Its caches of graphs would keep them for later runs, with and without a GPU. Torch's own launcher loads
    binaries into the driver. Worker processes have no stub driver.
    """
    from torch._functorch import config as functorch_config
    from torch._inductor import config

    settings = {
        "fx_graph_cache": False, "fx_graph_remote_cache": False, "use_static_cuda_launcher": False,
        "compile_threads": 1,
    }  # fmt: skip
    with ExitStack() as stack:
        stack.enter_context(
            config.patch({name: value for name, value in settings.items() if hasattr(config, name)})
        )
        if hasattr(functorch_config, "enable_autograd_cache"):
            stack.enter_context(functorch_config.patch(enable_autograd_cache=False))
        yield


def _cache_replacements() -> Iterator[Replacement]:
    """Replace the caches of times: none is read, because it narrows configs, and none is written.

    The caches are not turned off, because kernels contain their settings.
    """
    from torch._inductor.codecache import CacheBase
    from torch._inductor.runtime.autotune_cache import AutotuneCache

    yield AutotuneCache, "create", staticmethod(_nothing)
    yield CacheBase, "get_local_cache", lambda _: {}
    yield CacheBase, "update_local_cache", _nothing


def _device_replacements() -> Iterator[Replacement]:
    from torch._dynamo import device_interface
    from torch._inductor.runtime import triton_helpers

    interface = device_interface.CudaInterface
    for name, original in _INTERFACE.items():
        yield interface, name, staticmethod(getattr(torch.cuda, original))
    yield interface, "device", torch.cuda.device
    yield interface, "get_raw_stream", staticmethod(torch._C._cuda_getCurrentRawStream)
    yield device_interface, "caching_worker_device_properties", {}
    yield triton_helpers, "set_driver_to_gpu", _nothing


def _timing_replacements() -> Iterator[Replacement]:
    from torch._inductor import select_algorithm
    from torch._inductor.codegen.triton import TritonScheduling
    from torch._inductor.runtime.benchmarking import Benchmarker, InductorBenchmarker, TritonBenchmarker
    from torch._inductor.runtime.triton_heuristics import CachingAutotuner

    AlgorithmSelectorCache = select_algorithm.AlgorithmSelectorCache  # noqa: N806
    yield AlgorithmSelectorCache, "make_benchmark_fn", _compile_choices
    yield AlgorithmSelectorCache, "log_results", _nothing
    if hasattr(select_algorithm, "_log_autotune_choices_stats"):
        yield select_algorithm, "_log_autotune_choices_stats", _nothing
    yield TritonScheduling, "benchmark_codegened_module", _compile_module
    yield CachingAutotuner, "bench", _time
    for benchmarker in (Benchmarker, TritonBenchmarker, InductorBenchmarker):
        for name in ("benchmark", "benchmark_gpu"):
            if name in vars(benchmarker):
                yield benchmarker, name, _time


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing: the stub driver stays active, and invented times are not printed."""


def _time(*_: Any, **__: Any) -> float:
    return _TIME


def _empty_strided(cpu: bool, size: Any, stride: Any, dtype: Any) -> torch.Tensor:
    """Create one of Inductor's buffers: a tensor on the CPU or a fake CUDA tensor."""
    with without_function_mode():
        buffer = torch.empty_strided(size, stride, dtype=dtype)
    set_empty(buffer)
    set_on_cpu(buffer, cpu)
    return buffer


def _checked_size(original: Callable[..., None]) -> Callable[..., None]:
    """Check only the size: operators of the CPU may lay results out otherwise, and no kernel reads them."""

    def assert_size_stride(tensor: torch.Tensor, size: Any, stride: Any, *name: Any) -> None:
        if tuple(tensor.size()) != tuple(size):
            original(tensor, size, stride, *name)

    return assert_size_stride


def _no_cuda_graphs(*_: Any, **__: Any) -> str:
    return "no GPU: irscope compiles kernels and does not run them"


def _marking_written(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a launch of one of Inductor's kernels: the values that it would write become unknown."""

    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        for name, value in zip(self.triton_meta["signature"], args, strict=False):
            if isinstance(value, torch.Tensor) and (name in self.mutated_arg_names or "out_ptr" in name):
                set_unknown(value)
        return result

    return run


def _compile_choices(choices: Any, *_: Any, **__: Any) -> Callable[[Iterable[Any]], dict[Any, float]]:
    """`make_benchmark_fn`: its result compiles all implementations among which Inductor chooses."""

    def time_all(choices: Iterable[Any]) -> dict[Any, float]:
        return {choice: _compiled(getattr(choice, "precompile", _nothing)) for choice in choices}

    return time_all


def _compile_module(self: Any, module: Any, *_: Any, **__: Any) -> tuple[float, str]:
    """Compiles a kernel that Inductor wrote to time a fusion."""
    return _compiled(module.triton_.precompile), module.__file__


def _compiled(compile_: Callable[[], Any]) -> float:
    """Return the time of what `compile_` compiles: infinite if that fails, as on a GPU."""
    try:
        compile_()
    except Exception:  # noqa: BLE001 - Inductor drops a choice that fails, whatever the error; the capture has it
        return math.inf
    return _TIME
