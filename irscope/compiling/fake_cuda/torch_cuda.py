"""Replaces `torch.cuda` and related functions while CPU tensors replace CUDA tensors. Needs torch.

Triton's benchmark functions without a GPU: each benchmarked function is called once and not timed.

Triton's native handles without a GPU: its cuBLAS and hipBLAS, and its profiler Proton. Needs torch.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch

from irscope.compiling.call_stack import short_path, user_frame
from irscope.compiling.fake_cuda.device_guard import CUDNN_VERSION
from irscope.compiling.fake_cuda.dispatch_mode import fake_cuda_modes, support_wrapped_kernels
from irscope.compiling.fake_cuda.function_mode import is_function_mode_on, with_function_mode
from irscope.compiling.fake_cuda.inductor import InductorSupport
from irscope.compiling.fake_cuda.program_operators import ProgramOperators
from irscope.compiling.fake_cuda.tensor_tags import is_cuda, set_unknown, unknown
from irscope.compiling.fake_cuda.torch_devices import (
    LEGACY_TYPES,
    FakeDevice,
    FakeEvent,
    FakeGenerator,
    FakeGraph,
    FakeRuntime,
    FakeStream,
    device_properties,
    legacy_type,
)
from irscope.compiling.fake_cuda.unknown_value import NO_ASSUMPTIONS, Assumptions
from irscope.compiling.toolchain.patching import Replacement, answering, patched
from irscope.compiling.toolchain.stub_driver import NeedsGpuError, call_once
from irscope.model import Target
from irscope.model.errors import print_note
from irscope.targets import CUDA, backend_of


def benchmark_replacements() -> Iterator[Replacement]:
    """Yield the replacements in Triton. No autotuner caches unmeasured times."""
    import triton.testing
    from triton.runtime.autotuner import Autotuner

    @functools.wraps(Autotuner.check_disk_cache)
    def check_disk_cache(self: Any, key: Any, configs: Any, bench: Callable[[], None]) -> bool:
        bench()
        return False

    for name in ("do_bench", "do_bench_cudagraph", "do_bench_cudagraph_proton"):
        if hasattr(triton.testing, name):
            yield triton.testing, name, _do_bench
    yield triton.testing.Mark, "run", _run_marked
    yield Autotuner, "check_disk_cache", check_disk_cache


def _do_bench(
    fn: Callable[[], Any], *_: Any, quantiles: Any = None, return_mode: str = "mean", **__: Any
) -> Any:
    """Return the invented times in the form of Triton's `_summarize_statistics`."""
    times = call_once(fn, quantiles or (0.5,))
    return times if len(times) > 1 or (return_mode == "all" and not quantiles) else times[0]


def _run_marked(
    self: Any,
    show_plots: bool = False,
    print_data: bool = False,
    save_path: str = "",
    return_df: bool = False,
    **kwargs: Any,
) -> Any:
    """`Mark.run`, which a function decorated with `triton.testing.perf_report` has.

    Calls the function for every size and line, as on a GPU, because each may launch other variants. There is
    nothing to print or plot; a table that the program asks for has no times.
    """
    _say_untimed()
    single = not isinstance(self.benchmarks, list | tuple)
    tables = [
        _run_benchmark(self.fn, bench, return_df, kwargs)
        for bench in ([self.benchmarks] if single else self.benchmarks)
    ]
    if not return_df:
        return None
    return tables[0] if single else tables


def _run_benchmark(fn: Callable[..., Any], bench: Any, table: bool, kwargs: dict[str, Any]) -> Any:
    """Call `fn` for each size and line of `bench`; a table of the sizes without times if `table` is set."""
    names = list(bench.x_names)
    rows = []
    for x in bench.x_vals:
        sizes = list(x) if isinstance(x, list | tuple) else [x] * len(names)
        if len(sizes) != len(names):
            raise ValueError(f"Expected {len(names)} values, got {x}")  # as Triton
        for line in bench.line_vals:
            fn(**dict(zip(names, sizes, strict=True)), **{bench.line_arg: line}, **bench.args, **kwargs)
        rows.append([*sizes, *[math.nan] * len(bench.line_names)])
    if not table:
        return None
    import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]

    return pd.DataFrame(rows, columns=names + [f"{name} ({bench.ylabel})" for name in bench.line_names])


@functools.cache
def _say_untimed() -> None:
    """Says once, with the program's line, that no benchmark prints its times."""
    frame = user_frame()
    location = f"{short_path(frame.f_code.co_filename)}:{frame.f_lineno}: " if frame else ""
    note = "benchmarks call each function once and print no times without a GPU"
    print_note(f"{location}{note}")


class FakeBlas:
    """`CublasLt` or `HipblasLt` of libtriton, which programs compare their matmuls with: it computes nothing.

    Each method's third argument is the result (`declare_blas` in Triton's nvidia and amd triton_*.cc), or for
    `gemm` the fourth; their values become unknown.
    """

    def __init__(self, workspace: Any) -> None:
        """Accept the workspace."""

    def matmul(self, a: Any, b: Any, result: Any, *scales: Any) -> None:
        """Compute the product of a and b^T, for some names both in blocks with scales."""
        set_unknown(result)

    def gemm(self, a: Any, b: Any, c: Any, result: Any, alpha: float, beta: float) -> None:
        """Compute the sum of alpha a b and beta c."""
        set_unknown(result)

    block_scaled_matmul_mxfp8 = block_scaled_matmul_nvfp4 = matmul


_PROTON = (
    "start", "activate", "activate_all", "deactivate", "deactivate_all", "finalize", "finalize_all",
    "record_scope", "enter_scope", "exit_scope", "enter_state", "exit_state", "add_metrics",
    "set_metric_kernels",
)  # fmt: skip


def native_replacements() -> Iterator[Replacement]:
    """Yield the replacements in Triton, if this version has them."""
    from triton._C import libtriton

    for backend, library, name in (("nvidia", "cublas", "CublasLt"), ("amd", "hipblas", "HipblasLt")):
        owner = getattr(getattr(libtriton, backend, None), library, None)
        if hasattr(owner, name):
            yield owner, name, FakeBlas
    with suppress(ImportError):
        from triton._C.libproton import proton

        for name in _PROTON:
            if hasattr(proton, name):
                yield proton, name, answering(0)  # the number of a session that records nothing


_NO_OPS = (
    "synchronize", "set_device", "empty_cache", "init", "_lazy_init", "manual_seed", "manual_seed_all",
    "seed", "seed_all", "reset_peak_memory_stats", "reset_max_memory_allocated", "ipc_collect", "set_stream",
    "set_rng_state", "set_rng_state_all", "set_per_process_memory_fraction",
)  # fmt: skip
_ZERO = (
    "current_device", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
    "_exchange_device", "_maybe_exchange_device", "utilization",
)  # fmt: skip
_ACCELERATOR_NO_OPS = ("synchronize", "set_device_index", "set_device_idx", "set_stream", "empty_cache")
_NVTX = ("range_push", "range_pop", "range_start", "range_end", "mark")
_STREAMS = ("Stream", "stream", "StreamContext")


def _cuda_replacements(target: Target) -> Iterator[Replacement]:
    """Yield the replacements in `torch.cuda`.

    torch._dynamo needs each function to be a distinct object.
    """
    cuda, properties = torch.cuda, device_properties(target)
    answers = dict.fromkeys(_NO_OPS) | dict.fromkeys(_ZERO, 0) | {
        "is_available": True,
        "is_initialized": True,
        "is_bf16_supported": backend_of(target).has_bf16(target.arch),
        "is_current_stream_capturing": False,
        "device_count": _devices(),
        "get_device_properties": properties,
        "get_device_capability": (properties.major, properties.minor),
        "get_device_name": properties.name,
        "mem_get_info": (properties.total_memory, properties.total_memory),
        "cudart": FakeRuntime(),
        "can_device_access_peer": False,
        "graph_pool_handle": (0, 0),
        "memory_summary": "",
        "current_stream": FakeStream(),
        "default_stream": FakeStream(),
    }  # fmt: skip
    objects = {
        "memory_stats": lambda *_, **__: defaultdict(int),
        "make_graphed_callables": lambda callables, *_, **__: callables,
        "get_rng_state": lambda *_: FakeGenerator("cuda").get_state(),
        "get_rng_state_all": lambda *_: [FakeGenerator("cuda").get_state()],
        "initial_seed": lambda *_: torch.initial_seed(),
        "default_generators": (FakeGenerator("cuda"),),
        "Event": FakeEvent,
        "CUDAGraph": FakeGraph,
        **{name: type(name, (FakeStream,), {}) for name in (*_STREAMS, "graph")},
        **{name: type(name, (FakeDevice,), {}) for name in ("device", "device_of")},
        **{name: legacy_type(name) for name in LEGACY_TYPES},
    }
    yield from ((cuda, name, answering(value)) for name, value in answers.items())
    yield from ((cuda, name, value) for name, value in objects.items())
    for name in _NVTX:
        yield cuda.nvtx, name, answering(0)
    for name in ("start", "stop"):
        yield cuda.profiler, name, answering(None)
    yield torch._C, "_cuda_getCurrentRawStream", answering(0)
    if target.backend == CUDA.name and not torch._C._has_cudnn:
        yield torch.backends.cudnn, "is_available", answering(True)
        yield torch.backends.cudnn, "version", answering(CUDNN_VERSION)
    yield torch.version, target.backend, "13.0"


def _torch_replacements(operators: ProgramOperators, assumed: Assumptions) -> Iterator[Replacement]:
    """Yield the replacements in the rest of torch."""
    yield torch, "Stream", type("Stream", (FakeStream,), {})
    yield torch, "Event", type("Event", (FakeEvent,), {})
    yield torch, "Generator", FakeGenerator
    yield torch.Tensor, "record_stream", answering(None)  # would reject a fake stream
    yield torch, "set_autocast_enabled", _for_cpu_too(torch.set_autocast_enabled)
    yield torch, "set_autocast_dtype", _for_cpu_too(torch.set_autocast_dtype)
    profile = torch.autograd.profiler.profile
    yield profile, "__init__", _without_device(profile.__init__)
    restore = torch.serialization.default_restore_location
    yield torch.serialization, "default_restore_location", _restoring(restore)
    yield torch.testing, "assert_close", _assert_close(torch.testing.assert_close)
    yield torch.library.Library, "impl", operators.registering(torch.library.Library.impl)
    engine = with_function_mode(torch.autograd.graph._engine_run_backward, assumed)
    for module in (torch.autograd, torch.autograd.graph):
        yield module, "_engine_run_backward", engine
    hooks = torch.autograd.graph.saved_tensors_hooks
    yield hooks, "__init__", _hooks_with_mode(hooks.__init__, assumed)
    if hasattr(torch, "accelerator"):
        accelerator = {
            **dict.fromkeys(_ACCELERATOR_NO_OPS),
            "current_device_index": 0,
            "current_device_idx": 0,
            "memory_allocated": 0,
            "is_available": True,
            "device_count": _devices(),
            "current_accelerator": torch.device("cuda"),
            "current_stream": FakeStream(),
        }
        yield from ((torch.accelerator, name, answering(value)) for name, value in accelerator.items())
        yield torch.accelerator, "device_index", type("device_index", (FakeStream,), {})
    yield threading.Thread, "start", _thread_with_modes(threading.Thread.start, operators)
    if torch.distributed.is_available():
        for module in (torch.distributed, torch.distributed.distributed_c10d):
            yield module, "is_nccl_available", answering(True)
            for name in ("init_process_group", "new_group", "barrier"):
                yield module, name, _on_gloo(getattr(module, name))


def _devices() -> int:
    """Count one device per process that torchrun started here: each uses the device of its rank."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _for_cpu_too(original: Callable[..., None]) -> Callable[..., None]:
    """Apply an autocast setting for CUDA to the CPU too, where tensors are, unless torch compiles."""

    @functools.wraps(original)
    def set_(*args: Any) -> None:
        if args[0] == "cuda" and is_function_mode_on():
            original("cpu", *args[1:])
        original(*args)

    return set_


def _without_device(init: Callable[..., None]) -> Callable[..., None]:
    """Restrict the profiler's constructor to the CPU: without a GPU it prints a trace per operator."""

    @functools.wraps(init)
    def init_for_cpu(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **{k: v for k, v in kwargs.items() if k not in ("use_cuda", "use_device")})

    return init_for_cpu


def _restoring(original: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Wrap the function by which `torch.load` moves a storage to its device or to map_location."""

    @functools.wraps(original)
    def restore(storage: Any, location: str) -> Any:
        restored = original(storage, "cpu" if is_cuda(location) else location)
        restored.irscope_cpu = not is_cuda(location)
        return restored

    return restore


def _hooks_with_mode(init: Callable[..., None], assumed: Assumptions) -> Callable[..., None]:
    """Wrap the hooks of saved tensors, such as checkpointing's, so that the function mode is on."""

    @functools.wraps(init)
    def init_with_mode(self: Any, pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
        init(self, with_function_mode(pack, assumed), with_function_mode(unpack, assumed))

    return init_with_mode


def _thread_with_modes(start: Callable[..., None], operators: ProgramOperators) -> Callable[..., None]:
    """Turn the modes on in the threads that the program starts: torch keeps them per thread."""

    @functools.wraps(start)
    def start_with_modes(thread: threading.Thread) -> None:
        run = thread.run

        def run_with_modes() -> None:
            with fake_cuda_modes(operators):
                run()

        thread.run = run_with_modes  # type: ignore[method-assign]
        start(thread)

    return start_with_modes


def _on_gloo(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a call of torch.distributed to use gloo in place of nccl, which rejects CPU tensors."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in ("device_id", "device_ids"):
            kwargs.pop(name, None)
        args = tuple("gloo" if isinstance(value, str) and "nccl" in value else value for value in args)
        if "nccl" in str(kwargs.get("backend")):
            kwargs["backend"] = "gloo"
        return original(*args, **kwargs)

    return call


def _assert_close(original: Callable[..., None]) -> Callable[..., None]:
    """`torch.testing.assert_close`, which checks nothing if it needs values that are not computed."""

    @functools.wraps(original)
    def assert_close(*args: Any, **kwargs: Any) -> None:
        with suppress(NeedsGpuError):
            leaves = torch.utils._pytree.tree_leaves((args, kwargs))
            if not any(isinstance(leaf, torch.Tensor) and unknown(leaf) for leaf in leaves):
                original(*args, **kwargs)

    return assert_close


def _owners(owner: Any, name: str) -> Iterator[Any]:
    """Yield the module of `torch.cuda` that defines a function of the owner, and the owner.

    Such a module is torch.cuda.memory, for example.
    """
    original = getattr(owner, name, None)
    home = sys.modules.get(getattr(original, "__module__", None) or "")
    if owner is torch.cuda and home not in (None, owner) and getattr(home, name, None) is original:
        yield home
    yield owner


@contextmanager
def fake_cuda(target: Target, assumed: Assumptions = NO_ASSUMPTIONS) -> Iterator[None]:
    """Within the block, torch and Triton's benchmarks behave as on the reference device of `target`."""
    operators = ProgramOperators(assumed)
    register = torch.library.Library.impl
    support_wrapped_kernels()
    replacements = (
        *_cuda_replacements(target),
        *_torch_replacements(operators, assumed),
        *benchmark_replacements(),
        *native_replacements(),
    )
    with ExitStack() as stack:
        support = InductorSupport(target, register, stack)
        stack.enter_context(patched(torch, "compile", support.compile(torch.compile)))
        for owner, name, value in replacements:
            for module in _owners(owner, name):
                stack.enter_context(patched(module, name, value))
        stack.enter_context(fake_cuda_modes(operators))
        support.if_in_use()
        yield
