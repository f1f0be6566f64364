"""Fake CUDA device properties, streams, events, graphs and generators. Needs torch."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace, TracebackType
from typing import Any

import torch

from irscope.compiling.fake_cuda.tensor_tags import is_cuda
from irscope.compiling.toolchain.patching import answering
from irscope.model import Target
from irscope.targets import MAX_THREADS_PER_BLOCK, backend_of, device_of, reference_device


@dataclass(frozen=True)
class DeviceProperties:
    """The result of `torch.cuda.get_device_properties`; the fields have torch's names."""

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
    is_multi_gpu_board: bool = False
    uuid: str = "GPU-00000000-0000-0000-0000-000000000000"
    pci_bus_id: int = 0
    pci_device_id: int = 0
    pci_domain_id: int = 0


def device_properties(target: Target) -> DeviceProperties:
    """Return the properties of the reference device of `target`.

    Raises ValueError if its limits are unknown.
    """
    board, limits, backend = reference_device(target), device_of(target), backend_of(target)
    if limits is None:
        raise ValueError(f"the limits of {target} are unknown")
    major, minor = backend.capability(target.arch)
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
        shared_memory_per_block=backend.default_shared or limits.block_shared,
        shared_memory_per_block_optin=limits.block_shared,
        shared_memory_per_multiprocessor=limits.shared,
        L2_cache_size=board.l2,
        gcnArchName=target.arch,
    )


class FakeEvent:
    """A CUDA event that completes at once."""

    record = wait = synchronize = answering(None)
    query = answering(True)
    elapsed_time = answering(1000.0)  # in ms: loops that repeat for a minimum time end at once

    def __init__(self, *_: Any, **__: Any) -> None:
        """Accept the arguments of a CUDA event."""


class FakeStream:
    """A CUDA stream without work; also the context of `torch.cuda.stream` and `device`."""

    cuda_stream = stream_id = device_index = priority = 0
    device_type = 1  # c10::DeviceType::CUDA
    device = torch.device("cuda", 0)
    wait_stream = wait_event = synchronize = answering(None)
    query = answering(True)
    is_capturing = answering(False)  # a CUDA graph runs the code that it captures
    priority_range = staticmethod(answering((0, -5)))  # the lowest and the highest, as on an H100

    def __init__(self, *_: Any, **__: Any) -> None:
        """Accept the arguments of a CUDA stream."""

    def __enter__(self) -> FakeStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Do nothing."""

    def record_event(self, event: FakeEvent | None = None) -> FakeEvent:
        """Return a completed event."""
        return event or FakeEvent()


class FakeDevice(FakeStream):
    """`torch.cuda.device`, the context of the one device; the attributes have torch's names."""

    idx, prev_idx = 0, -1


class FakeGraph(FakeStream):
    """A CUDA graph: its capture runs the code once; a replay does nothing."""

    capture_begin = capture_end = replay = reset = answering(None)
    instantiate = enable_debug_mode = debug_dump = answering(None)
    pool = answering((0, 0))  # the handle of the graph's memory pool


class FakeRuntime:
    """`torch.cuda.cudart()`: each function of the CUDA runtime succeeds, and does nothing."""

    cudaError = SimpleNamespace(success=0)  # noqa: N815 - the runtime's name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return answering(0)


class FakeGenerator(torch.Generator):  # type: ignore[misc]
    """A CPU generator that reports the device it was requested for."""

    requested: torch.device

    def __new__(cls, device: Any = "cpu") -> FakeGenerator:
        """Create a CPU generator for any device."""
        generator: FakeGenerator = super().__new__(cls, "cpu")
        generator.requested = torch.device("cuda", 0) if is_cuda(device) else torch.device("cpu")
        return generator

    @property
    def device(self) -> torch.device:
        """Return the device that was requested."""
        return self.requested

    def get_state(self) -> torch.Tensor:
        """Return the state; for CUDA 16 bytes of seed and offset, as CUDA's generator returns."""
        if self.requested.type == "cpu":
            return super().get_state()
        return torch.tensor([self.initial_seed(), 0], dtype=torch.int64).view(torch.uint8)

    def clone_state(self) -> FakeGenerator:
        """Return another generator of the same device and seed."""
        generator = FakeGenerator(self.requested)
        generator.manual_seed(self.initial_seed())
        return generator

    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, state: FakeGenerator) -> FakeGenerator:
        """Take over the seed."""
        self.manual_seed(state.initial_seed())
        return self

    def set_state(self, state: torch.Tensor) -> FakeGenerator:
        """Set the state; ignored for CUDA, whose state does not fit the CPU generator."""
        if self.requested.type == "cpu":
            super().set_state(state)
        return self


# The tensor types of PyTorch before 0.4, which older programs still construct: torch.cuda.FloatTensor(3).
LEGACY_TYPES = (
    "FloatTensor", "DoubleTensor", "HalfTensor", "BFloat16Tensor", "ByteTensor", "CharTensor", "ShortTensor",
    "IntTensor", "LongTensor", "BoolTensor",
)  # fmt: skip


class _LegacyType(type):
    """The class of such a type: calling it creates a CPU tensor, which the program sees as a CUDA tensor."""

    def __call__(cls, *args: Any, **_: Any) -> torch.Tensor:
        return getattr(torch, cls.__name__)(*args)

    def __instancecheck__(cls, instance: Any) -> bool:
        cpu_type = getattr(torch, cls.__name__)
        return isinstance(instance, torch.Tensor) and instance.dtype is cpu_type.dtype and instance.is_cuda


def legacy_type(name: str) -> type:
    """Return the replacement of `torch.cuda.FloatTensor`, or another of LEGACY_TYPES."""
    return _LegacyType(name, (), {})
