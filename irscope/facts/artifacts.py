"""The artifacts of one variant, each read and scanned at most once while its facts are measured."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

from irscope.facts.fact import Evidence, FactValue, Measured, ReadStage, evidence_at
from irscope.facts.loops.machine_loops import HotLoop, hot_loop
from irscope.facts.loops.pipelines import Pipeline, pipelines
from irscope.facts.occupancy import BlockUse, Occupancy, count, occupancy
from irscope.facts.partitions import partitions
from irscope.model import Variant
from irscope.model.records import frozen
from irscope.targets import backend_of, device_of, in_words_of, instructions_of
from irscope.targets.backend import Resources
from irscope.targets.instructions import InstructionKind, Scan, scan


class VariantArtifacts:
    """One variant and what its facts are measured from; an attribute is None if its artifact is missing."""

    def __init__(self, variant: Variant, read: ReadStage) -> None:
        self.variant = variant
        self._read = read
        self._backend = backend_of(variant.target)

    @cached_property
    def assembly(self) -> str | None:
        """Return the assembly text: PTX or AMDGCN."""
        return self.text(self._backend.assembly)

    @cached_property
    def binary(self) -> bytes | None:
        """Return the file that the device loads: a cubin or code object."""
        return self._read(self._backend.binary)

    @cached_property
    def resources(self) -> Resources:
        """Return the kernel's share of a multiprocessor's resources."""
        return self._backend.resources(self.variant, self.binary, self.assembly)

    @cached_property
    def scan(self) -> Scan | None:
        """Return the instructions of the assembly by kind."""
        return None if self.assembly is None else scan(self.assembly, self._backend.instruction_set())

    def loop_instructions(self) -> Measured:
        """Count the instructions of the hot loop in the assembly; 0 if there is no loop."""
        stage = self._backend.assembly
        return self._in_hot_loop(stage, self.assembly, self.scan, lambda loop: loop.instructions)

    def loop_spills(self) -> Measured:
        """Count the accesses of local memory in the machine code's hot loop, if it is stored as text."""
        stage = self._backend.machine_code
        text, instructions = self.text(stage), instructions_of(stage)
        scanned = scan(text, instructions) if text is not None and instructions else None
        return self._in_hot_loop(stage, text, scanned, lambda loop: loop.spills)

    def _in_hot_loop(
        self, stage: str, text: str | None, scanned: Scan | None, count: Callable[[HotLoop], int]
    ) -> Measured:
        loop = None if text is None or scanned is None else hot_loop(text, stage, scanned)
        if loop is None:
            return Measured(None)
        return Measured(count(loop), (Evidence(stage, loop.line),) if count(loop) else ())

    @cached_property
    def ttgir(self) -> TtgirScan | None:
        """Return the layouts, conversions and buffers of the TTGIR."""
        text = self.text("ttgir")
        return None if text is None else scan_ttgir(text)

    def warp_specialization(self) -> Measured:
        """Return the partitions of warps.

        For example "default: 4 warps, 2 loads; partition0: 4 warps, 232 registers, 1 MMA".
        """
        text = self.text("ttgir")
        if text is None:
            return Measured(None)
        warp_partitions = partitions(text, self.assembly)
        value = "; ".join(partition.text() for partition in warp_partitions) or "none"
        return Measured(value, evidence_at("ttgir", (partition.line for partition in warp_partitions)))

    @cached_property
    def occupancy(self) -> Occupancy | None:
        """Return the number of blocks that are resident at once."""
        variant, resources = self.variant, self.resources
        shared, warps = self.count("shared"), self.count("num_warps")
        device = device_of(variant.target, variant.metadata)
        if not device or not warps or shared is None or resources.registers is None:
            return None
        barriers = 1 if resources.barriers is None else resources.barriers
        use = BlockUse(warps, resources.registers, shared, barriers, resources.scalar_registers or 0)
        resident = occupancy(device, use)
        return replace(
            resident, limits=tuple(in_words_of(variant.target, limit) for limit in resident.limits)
        )

    def count(self, name: str) -> int | None:
        """Return a count in Triton's metadata."""
        return count(self.variant, name)

    def instructions_by_width(self, *kinds: str) -> Measured:
        """Count instructions of some kinds by width or name: "4 x 16 B, 1 x 4 B", "2 x wgmma.m64n64k16"."""
        return self._listed(lambda kind: kind.kind in kinds)

    def global_stores(self) -> Measured:
        """Return the global stores by width; a kernel that writes by atomics only does not write nothing."""
        stores, atomics = self.instructions_by_width("global store"), self._lines("global atomic")
        only = stores.value == "none" and atomics
        return Measured("none (atomics only)", self._proof(atomics)) if only else stores

    def atomics(self) -> Measured:
        """Return the atomics: "4 x red.add.f32 16 B gpu relaxed, 1 x atom.cas.b32 4 B ... (shared)"."""
        return self._listed(lambda kind: kind.kind.endswith("atomic"))

    def widest(self, kind: str) -> Measured:
        """Return the widest access of a kind in bytes, or 0 if there are none."""
        if self.scan is None:
            return Measured(None)
        candidates = [candidate for candidate in self.scan.lines if candidate.kind == kind]
        if not candidates:
            return Measured(0)
        widest = max(candidates, key=lambda candidate: candidate.width)
        return Measured(widest.width, self._proof(self.scan.lines[widest]))

    def number_named(self, name: str) -> Measured:
        """Count the instructions that have a name, with all their widths: "ldmatrix"."""
        if self.scan is None:
            return Measured(None)
        lines = [line for kind, lines in self.scan.lines.items() if kind.name == name for line in lines]
        return Measured(len(lines), self._proof(lines))

    def with_local_accesses(self, value: FactValue) -> Measured:
        """Add to `value` the loads and stores of local memory that the assembly shows (PTX: only arrays)."""
        return Measured(value, self._proof(self._lines("local")))

    def from_ttgir(self, pick: Callable[[TtgirScan], tuple[FactValue, Iterable[int]]]) -> Measured:
        """Return a value of the TTGIR with its lines."""
        if self.ttgir is None:
            return Measured(None)
        value, lines = pick(self.ttgir)
        return Measured(value, evidence_at("ttgir", sorted(lines)))

    def _lines(self, prefix: str) -> list[int]:
        """Return the lines of the instructions whose kind starts with `prefix`."""
        scanned = self.scan.lines.items() if self.scan else ()
        return [line for kind, lines in scanned if kind.kind.startswith(prefix) for line in lines]

    def _listed(self, matches: Callable[[InstructionKind], bool]) -> Measured:
        if self.scan is None:
            return Measured(None)
        scanned = self.scan.lines
        kinds = sorted(filter(matches, scanned), key=instruction_order)
        text = ", ".join(f"{len(scanned[kind])} x {instruction_text(kind)}" for kind in kinds)
        return Measured(text or "none", self._proof(line for kind in kinds for line in scanned[kind]))

    def _proof(self, lines: Iterable[int]) -> tuple[Evidence, ...]:
        return evidence_at(self._backend.assembly, sorted(lines))

    def text(self, stage: str) -> str | None:
        """Return a stage as text, or None if there is none."""
        content = self._read(stage)
        return None if content is None else content.decode("utf-8", "replace")


def instruction_order(kind: InstructionKind) -> tuple[int, str, str, str, str]:
    """Return a key that sorts the kinds of instructions in a text: wide accesses first."""
    return -kind.width, kind.kind, kind.name, kind.scope, kind.order


def instruction_text(kind: InstructionKind) -> str:
    """Return a kind of instruction in the value of a fact: "16 B", "red.add.f32 16 B gpu relaxed"."""
    return f"{kind.text()} (shared)" if kind.kind == "shared atomic" else kind.text()


_ALIAS = re.compile(r"^#\w+ = #(\w+)\.(\w+)<", re.M)
_CONVERSION = "ttg.convert_layout"


@frozen
class TtgirScan:
    """The contents of TTGIR text, with the lines (index from 0) that show it.

    `layouts` counts the layouts by kind ("blocked", "nvidia_mma"). `conversions` are the lines of
    `ttg.convert_layout`. `pipelines` are the loops that load tiles.
    """

    layouts: dict[str, int]
    layout_lines: list[int]
    conversions: list[int]
    pipelines: list[Pipeline]

    def depth(self) -> tuple[int, list[int]]:
        """Return the depth of the deepest pipeline (1 if there is none), and its loop's and loads' lines."""
        deepest = max(self.pipelines, key=lambda own: own.depth, default=None)
        if deepest is None or deepest.depth == 1:
            return 1, []
        return deepest.depth, [deepest.line, *deepest.loads]

    def buffers(self) -> tuple[int, list[int]]:
        """Return the most copies of a tile that a loop fills in turn, and the lines that select one."""
        pipelined = [own for own in self.pipelines if own.depth > 1]
        most = max(pipelined, key=lambda own: own.buffers, default=None)
        return (most.buffers, list(most.buffer_lines)) if most and most.buffers else (0, [])


def scan_ttgir(text: str) -> TtgirScan:
    """Find the layouts, conversions and pipelines in the TTGIR `text`."""
    layouts: Counter[str] = Counter()
    layout_lines, conversions = [], []
    for index, line in enumerate(text.split("\n")):
        if line.startswith("#") and (alias := _ALIAS.match(line)):
            layouts[alias[2]] += 1
            layout_lines.append(index)
        elif _CONVERSION in line:
            conversions.append(index)
    return TtgirScan(dict(layouts), layout_lines, conversions, pipelines(text))
