"""Warp specialization: which groups of warps a kernel has, and what each of them does.

    ttg.warp_specialize(%a, ...) attributes {requestedRegisters = array<i32: 24, 24>}
    default {                      the num_warps warps of the launch
      ...
    }
    partition0(%arg0: ...) num_warps(1) {
      ...ttng.tc_gen5_mma...       -> "partition0: 1 warp, 24 registers, 1 MMA"
    }

The registers of the partitions are requested in TTGIR; those of the default one are what remains, which only
`setmaxnreg` in PTX shows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from irscope.languages.mlir.parser import module_warps, opcode_of
from irscope.model.records import frozen
from irscope.model.text import pluralize

_ROLES = {
    "load": (
        "ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather", "ttg.async_copy_global_to_local",
        "amdg.buffer_load_to_local", "amdg.async_tdm_copy_global_to_local", "amdg.buffer_load", "tt.load",
        "tt.descriptor_load", "tt.descriptor_gather",
    ),
    "MMA": (
        "tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled",
    ),
    "reduction": ("tt.reduce", "tt.scan"),
    "exponential": ("math.exp", "math.exp2"),
    "tensor memory load": ("ttng.tmem_load",),
    "tensor memory store": ("ttng.tmem_store",),
    "store": (
        "ttng.async_tma_copy_local_to_global", "ttng.async_tma_scatter", "amdg.buffer_store", "tt.store",
        "tt.descriptor_store", "tt.descriptor_scatter",
    ),
    "atomic": ("tt.atomic_rmw", "tt.atomic_cas", "ttng.async_tma_reduce", "amdg.buffer_atomic_rmw"),
}  # fmt: skip
_ROLE_OF = {opcode: role for role, opcodes in _ROLES.items() for opcode in opcodes}

_START = re.compile(r"\s*(?:%[^\n=]{1,999} = )?ttg\.warp_specialize\b")
_REGISTERS = re.compile(r"\brequestedRegisters = array<i32: ([\d, ]{1,999})>")
_PARTITION = re.compile(r"\s*(partition\d{1,9}|default)\b")
_PARTITION_WARPS = re.compile(r" num_warps\((\d{1,9})\) \{\s*$")
# The default partition takes the registers that the others left, between two barriers.
_BARRIER = re.compile(r"[ \t]*(?:@!?%\w+[ \t]+)?barrier\.sync\b")
_TAKE = re.compile(r"[ \t]*setmaxnreg\.(?:inc|dec)\.sync\.aligned\.u32[ \t]+(\d{1,9});")
_INSTRUCTION = re.compile(r"[ \t]+@?[a-z]")


@frozen
class Partition:
    """A group of warps.

    `name` is MLIR's: "default", "partition0". `line` is the index (from 0) of its first line in TTGIR, `end`
    of the line after its last. `registers` is per thread, None if unknown. `roles` counts its operations:
    "load", "MMA", "reduction", "exponential", "tensor memory load", "tensor memory store", "store", "atomic".
    """

    name: str
    line: int
    end: int
    warps: int
    registers: int | None
    roles: tuple[tuple[str, int], ...]

    def text(self) -> str:
        """Return `partition0: 1 warp, 24 registers, 2 loads`."""
        registers = [] if self.registers is None else [pluralize(self.registers, "register")]
        roles = [pluralize(number, role) for role, number in self.roles] or ["no tile work"]
        return f"{self.name}: {', '.join([pluralize(self.warps, 'warp'), *registers, *roles])}"


@dataclass(slots=True)
class _Reading:
    """A partition that is being read; `depth` is the number of open regions around it."""

    name: str
    line: int
    depth: int
    warps: int
    roles: Counter[str] = field(default_factory=Counter)


def partitions(text: str, ptx: str | None = None) -> list[Partition]:
    """Return the partitions of the TTGIR `text`, in order; none without warp specialization.

    `ptx` shows the registers of the default partition. Takes linear time, and never fails.
    """
    if "ttg.warp_specialize" not in text:
        return []
    defaults = _default_registers(ptx or "")
    return list(_read(text, module_warps(text) or 0, defaults))


def _read(text: str, default_warps: int, defaults: Iterator[int]) -> Iterator[Partition]:
    depth = 0
    reading: _Reading | None = None
    requested: Iterator[int] = iter(())
    for index, line in enumerate(text.split("\n")):
        code = line.strip()
        if code.startswith("}"):
            depth -= 1
            if reading is not None and depth == reading.depth:
                registers = defaults if reading.name == "default" else requested
                yield _finished(reading, index + 1, next(registers, None))
                reading = None
        if _START.match(line):
            numbers = _REGISTERS.search(line)
            requested = map(int, re.findall(r"\d+", numbers[1])) if numbers else iter(())
        elif reading is None and code.endswith("{") and (start := _PARTITION.match(line)):
            warps_match = _PARTITION_WARPS.search(line)
            reading = _Reading(start[1], index, depth, int(warps_match[1]) if warps_match else default_warps)
        elif reading is not None and (role := _role(line)):
            reading.roles[role] += 1
        depth += code.endswith("{")


def _finished(reading: _Reading, end: int, registers: int | None) -> Partition:
    roles = tuple((role, reading.roles[role]) for role in _ROLES if reading.roles[role])
    return Partition(reading.name, reading.line, end, reading.warps, registers, roles)


def _role(line: str) -> str | None:
    role = _ROLE_OF.get(opcode_of(line))
    # Loads, stores and functions of scalars are no tile work.
    return role if role and ("tensor<" in line or "memdesc<" in line or '"tt.' in line) else None


def _default_registers(ptx: str) -> Iterator[int]:
    """Yield the registers that the default partition takes before each region, in the text's order."""
    if "setmaxnreg" not in ptx:
        return
    after_barrier, registers = False, 0
    for line in ptx.split("\n"):
        if _BARRIER.match(line):
            if registers:
                yield registers
            after_barrier, registers = True, 0
        elif take := _TAKE.match(line):
            registers = int(take[1]) if after_barrier else 0
            after_barrier = False
        elif _INSTRUCTION.match(line):
            after_barrier, registers = False, 0
