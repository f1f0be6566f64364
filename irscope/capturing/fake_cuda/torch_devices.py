"""The devices, streams and generators that stand for CUDA's while CPU tensors pose as CUDA ones.

Imported only where torch is installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch

from irscope.backends import MAX_THREADS_PER_BLOCK, device_of, reference_device
from irscope.capturing.fake_cuda.tensor_tags import is_cuda
from irscope.model import Target


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
    board, limits = reference_device(target), device_of(target)
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


class FakeEvent:
    """A CUDA event that is over at once."""

    record = wait = synchronize = _nothing

    def __init__(self, *_: Any, **__: Any) -> None:
        """Takes whatever a CUDA event takes."""

    def query(self) -> bool:
        """It is over."""
        return True

    def elapsed_time(self, other: Any) -> float:
        """1 s: loops that repeat until so many ms are measured end at once."""
        return 1000.0


class FakeStream:
    """A CUDA stream on which nothing waits; also the context of `torch.cuda.stream` and `device`."""

    cuda_stream = 0
    device_index = 0
    wait_stream = wait_event = synchronize = _nothing

    def __init__(self, *_: Any, **__: Any) -> None:
        """Takes whatever a CUDA stream takes."""

    def __enter__(self) -> FakeStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was begun."""

    def record_event(self, event: FakeEvent | None = None) -> FakeEvent:
        """An event, over at once."""
        return event or FakeEvent()

    def query(self) -> bool:
        """Nothing is under way."""
        return True


class FakeGraph(FakeStream):
    """A CUDA graph: what is captured into it runs once, as it stands; a replay does nothing."""

    capture_begin = capture_end = replay = reset = _nothing


class FakeGenerator(torch.Generator):  # type: ignore[misc]
    """A generator of the CPU, which says that it is of the device it was asked for."""

    posed: torch.device

    def __new__(cls, device: Any = "cpu") -> FakeGenerator:
        """Every device's numbers are the CPU's."""
        made: FakeGenerator = super().__new__(cls, "cpu")
        made.posed = torch.device("cuda", 0) if is_cuda(device) else torch.device("cpu")
        return made

    @property
    def device(self) -> torch.device:
        """The device that was asked for."""
        return self.posed

    def get_state(self) -> torch.Tensor:
        """Of CUDA's generator, seed and offset as it gives them: 16 bytes."""
        if self.posed.type == "cpu":
            return super().get_state()
        return torch.tensor([self.initial_seed(), 0], dtype=torch.int64).view(torch.uint8)

    def set_state(self, state: torch.Tensor) -> FakeGenerator:
        """Of CUDA's generator nothing: it draws the CPU's numbers."""
        if self.posed.type == "cpu":
            super().set_state(state)
        return self
