"""The resources that a variant uses, each with the limit of its target."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irscope.backends import MAX_THREADS_PER_BLOCK, Device, device_of
from irscope.facts.fact import FactKind, Facts, number_of
from irscope.facts.occupancy import TENSOR_MEMORY_COLUMNS
from irscope.facts.registry import REGISTERS, SHARED, STACK, TENSOR_MEMORY, THREADS
from irscope.facts.spills import spills
from irscope.model import Variant


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of a thread or block.

    `name` is "registers", "shared", "threads" or another one. `used` is how much of it the variant uses,
    `limit` the most that it may use (None: no limit is known). `unit` is what both count ("bytes", "threads
    per block").
    """

    name: str
    used: int
    limit: int | None
    unit: str

    @property
    def text(self) -> str:
        """`registers 255 of 255`, `shared 98,304 of 232,448 B`."""
        unit = " B" if self.unit == "bytes" else ""
        limit = "" if self.limit is None else f" of {self.limit:,}"
        return f"{self.name} {self.used:,}{limit}{unit}"


def resources(variant: Variant, facts: Facts) -> tuple[Resource, ...]:
    """The resources that are known; a stack and tensor memory only if they are used."""
    return tuple(_resources(variant, facts))


def register_limit(device: Device, warps: int) -> int:
    """The most registers that a thread may have so that one block of `warps` warps fits.

    Each partition holds a share of the warps; registers are allocated in units.
    """
    own = -(-max(warps, 1) // device.partitions)
    most = device.lane_registers // own // device.register_unit * device.register_unit
    return min(device.thread_registers, most)


def _resources(variant: Variant, facts: Facts) -> Iterator[Resource]:
    device = device_of(variant.target, variant.metadata)
    threads = _count(facts, THREADS)
    warps = None if threads is None else threads // variant.target.warp_size
    if (registers := _count(facts, REGISTERS)) is not None:
        limit = register_limit(device, warps) if device and warps else None
        yield Resource("registers", registers, limit, "registers per thread")
    if stack := _count(facts, STACK):
        name = "stack (spills)" if spills(facts) else "stack"
        yield Resource(name, stack, None, "bytes")
    if (shared := _count(facts, SHARED)) is not None:
        yield Resource("shared", shared, device.block_shared if device else None, "bytes")
    if threads is not None:
        yield Resource("threads", threads, MAX_THREADS_PER_BLOCK, "threads per block")
    if columns := _count(facts, TENSOR_MEMORY):
        yield Resource("tensor memory", columns, TENSOR_MEMORY_COLUMNS, "columns")


def _count(facts: Facts, kind: FactKind) -> int | None:
    number = number_of(facts, kind)
    return None if number is None else int(number)
