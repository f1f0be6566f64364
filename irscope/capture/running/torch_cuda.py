"""What `torch.cuda` and its neighbours answer while CPU tensors pose as CUDA ones.

Imported only where torch is installed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch

from irscope.capture.running.patching import replaced
from irscope.capture.running.posing import engine_posing, posing, set_on_cpu, unknown
from irscope.capture.standin import call_once
from irscope.model import Target
from irscope.model.boards import board_of
from irscope.model.devices import MAX_THREADS_PER_BLOCK, device_of


@dataclass(frozen=True)
class DeviceProperties:
    """What `torch.cuda.get_device_properties` answers, by torch's names."""

    name: str
    major: int
    minor: int
    total_memory: int
    multi_processor_count: int
    warp_size: int
    max_threads_per_block: int
    max_threads_per_multi_processor: int
    regs_per_multiprocessor: int
    shared_memory_per_block: int
    shared_memory_per_block_optin: int
    shared_memory_per_multiprocessor: int
    L2_cache_size: int
    gcnArchName: str  # noqa: N815 - torch's name
    is_integrated: bool = False


def device_properties(target: Target) -> DeviceProperties:
    """The properties of the device that stands for `target`."""
    board, limits = board_of(target), device_of(target)
    if limits is None:
        raise ValueError(f"no limits are known of {target}")
    major, minor = capability(target)
    return DeviceProperties(
        name=board.name,
        major=major,
        minor=minor,
        total_memory=board.memory,
        multi_processor_count=board.multiprocessors,
        warp_size=target.warp_size,
        max_threads_per_block=MAX_THREADS_PER_BLOCK,
        max_threads_per_multi_processor=limits.warps * target.warp_size,
        regs_per_multiprocessor=limits.partitions * limits.lane_registers * 32,
        shared_memory_per_block=48 * 1024 if target.backend == "cuda" else limits.block_shared,
        shared_memory_per_block_optin=limits.block_shared,
        shared_memory_per_multiprocessor=limits.shared,
        L2_cache_size=board.l2,
        gcnArchName=target.arch,
    )


def capability(target: Target) -> tuple[int, int]:
    """(9, 0) for cuda:90; for gfx942 what HIP answers: (9, 4)."""
    digits = target.arch.removeprefix("gfx")
    if target.backend == "cuda":
        return int(digits) // 10, int(digits) % 10
    return int(digits[:-2]), int(digits[-2])


def _nothing(*_: Any, **__: Any) -> None:
    """What a stream, an event or a graph has to do here."""


class Event:
    """A CUDA event that is over at once."""

    record = wait = synchronize = _nothing

    def __init__(self, *_: Any, **__: Any) -> None:
        """Takes whatever a CUDA event takes."""

    def query(self) -> bool:
        """It is over."""
        return True

    def elapsed_time(self, other: Any) -> float:
        """1 ms, as every time here."""
        return 1.0


class Stream:
    """A CUDA stream on which nothing waits; also the context of `torch.cuda.stream` and `device`."""

    cuda_stream = 0
    device_index = 0
    wait_stream = wait_event = synchronize = _nothing

    def __init__(self, *_: Any, **__: Any) -> None:
        """Takes whatever a CUDA stream takes."""

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was begun."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event, over at once."""
        return event or Event()

    def query(self) -> bool:
        """Nothing is under way."""
        return True


class Graph(Stream):
    """A CUDA graph: what is captured into it runs once, as it stands; a replay does nothing."""

    capture_begin = capture_end = replay = reset = _nothing


class Generator(torch.Generator):  # type: ignore[misc]
    """A generator of the CPU, whatever device it is asked for."""

    def __new__(cls, device: Any = "cpu") -> Generator:
        """The device is not looked at."""
        made: Generator = super().__new__(cls, "cpu")
        return made


def _constant(value: Any) -> Callable[..., Any]:
    def answer(*_: Any, **__: Any) -> Any:
        return value

    return answer


_DOING_NOTHING = (
    "synchronize", "set_device", "empty_cache", "init", "_lazy_init", "manual_seed", "manual_seed_all",
    "seed", "seed_all", "reset_peak_memory_stats", "ipc_collect", "set_stream",
)  # fmt: skip
_ZERO = (
    "current_device", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
    "_exchange_device", "_maybe_exchange_device",
)  # fmt: skip


def _answers(target: Target) -> Iterator[tuple[Any, str, Any]]:
    """Each (module, name, stand-in); torch._dynamo wants each to be a function object of its own."""
    cuda, properties = torch.cuda, device_properties(target)
    for name in _DOING_NOTHING:
        yield cuda, name, _constant(None)
    for name in _ZERO:
        yield cuda, name, _constant(0)
    for name in ("is_available", "is_initialized"):
        yield cuda, name, _constant(True)
    yield cuda, "is_bf16_supported", _constant(target.backend == "hip" or capability(target) >= (8, 0))
    yield cuda, "is_current_stream_capturing", _constant(False)
    yield cuda, "device_count", _constant(1)
    yield cuda, "get_device_properties", _constant(properties)
    yield cuda, "get_device_capability", _constant((properties.major, properties.minor))
    yield cuda, "get_device_name", _constant(properties.name)
    yield cuda, "mem_get_info", _constant((properties.total_memory, properties.total_memory))
    yield cuda, "current_stream", _constant(Stream())
    yield cuda, "default_stream", _constant(Stream())
    for name in ("Stream", "stream", "StreamContext", "device", "device_of"):
        yield cuda, name, type(name, (Stream,), {})
    yield cuda, "Event", Event
    yield cuda, "CUDAGraph", Graph
    yield cuda, "graph", type("graph", (Stream,), {})
    yield torch, "Generator", Generator
    yield torch, "compile", _not_compiled
    yield torch.version, "cuda" if target.backend == "cuda" else "hip", "13.0"
    yield torch.testing, "assert_close", _assert_close(torch.testing.assert_close)
    yield torch.library.Library, "impl", _mirrored(torch.library.Library.impl)
    engine = engine_posing(torch.autograd.graph._engine_run_backward)
    yield torch.autograd.graph, "_engine_run_backward", engine
    yield torch.autograd, "_engine_run_backward", engine


def _not_compiled(model: Any = None, **_: Any) -> Any:
    """`torch.compile` without compiling: its kernels are made for the device that there is not."""
    return (lambda function: function) if model is None else model


def _assert_close(original: Callable[..., None]) -> Callable[..., None]:
    def assert_close(actual: Any, expected: Any, *args: Any, **kwargs: Any) -> None:
        leaves = torch.utils._pytree.tree_leaves((actual, expected))
        if not any(isinstance(leaf, torch.Tensor) and unknown(leaf) for leaf in leaves):
            original(actual, expected, *args, **kwargs)

    return assert_close


def _mirrored(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Library.impl` that gives the CPU what is meant for CUDA: the tensors lie there."""

    def impl(self: Any, name: Any, function: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
        if dispatch_key != "CUDA" or getattr(function, "__module__", "").startswith("torch."):
            return original(self, name, function, dispatch_key, **kwargs)

        def posed(*args: Any, **named: Any) -> Any:
            with posing():
                result = function(*args, **named)
            set_on_cpu(result, False)
            return result

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # it may have one for the CPU, which is not wanted
            return original(self, name, posed, "CPU", **kwargs)

    return impl


def _benchmarks() -> Iterator[tuple[Any, str, Any]]:
    """Triton's benchmarks call once and measure nothing, and no autotuner keeps what they made up."""
    import triton.testing
    from triton.runtime.autotuner import Autotuner

    def check_disk_cache(self: Any, key: Any, configs: Any, bench: Callable[[], None]) -> bool:
        bench()
        return False

    def do_bench(fn: Callable[[], Any], *_: Any, quantiles: Any = None, **__: Any) -> Any:
        times = call_once(fn, quantiles or (0.5,))
        return times if quantiles and len(times) > 1 else times[0]

    def do_bench_cudagraph(fn: Callable[[], Any], *_: Any, quantiles: Any = None, **__: Any) -> Any:
        return do_bench(fn, quantiles=quantiles)

    yield triton.testing, "do_bench", do_bench
    yield triton.testing, "do_bench_cudagraph", do_bench_cudagraph
    yield triton.testing.Mark, "run", _constant(None)
    yield Autotuner, "check_disk_cache", check_disk_cache


@contextmanager
def posing_as(target: Target) -> Iterator[None]:
    """Has torch and Triton's benchmarks answer as on the device that stands for `target`; tensors pose."""
    with ExitStack() as stack:
        for owner, name, value in (*_answers(target), *_benchmarks()):
            stack.enter_context(replaced(owner, name, value))
        stack.enter_context(posing())
        yield
