"""The marks of the lines of a stage: the hot loop, matrix instructions, spills, register pressure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from irscope.facts.occupancy import count
from irscope.model import Variant
from irscope.model.records import frozen_with_dict
from irscope.targets import (
    backend_of,
    backend_with_assembly,
    backend_with_machine_code,
    device_of,
    instructions_of,
)
from irscope.targets.instructions import scan
from irscope.workspace.variant_texts import PYTHON

if TYPE_CHECKING:
    from irscope.facts.loops.kernel_loops import Loop
    from irscope.languages.document import Document
    from irscope.workspace.workspace import Workspace


@frozen_with_dict
class Pressure:
    """The registers that are occupied per thread, by line (from 0) of an assembly stage.

    `peak_line` is the line that needs most. `limit` is what a thread can have at most. `estimate` says that
    the registers are virtual, as in PTX.
    """

    by_line: Mapping[int, float]
    peak_line: int
    limit: int
    allocated: int | None
    estimate: bool


@frozen_with_dict
class LineMarks:
    """The marks of one stage of a variant; lines are counted from 0.

    `hot` are the ranges of lines of the loop with most of the work.
    `matrix` and `spills` are the lines of matrix instructions and of accesses to spilled values, in order.
    `python` maps the lines of operations to the numbers of the kernel's lines that they come from. `runs`
    maps those in loops to how often they run (0: unknown), `shares` the kernel's lines to their share of all
    operations that run; empty if it is unknown how often a loop runs.
    """

    hot: Sequence[range] = ()
    matrix: Sequence[int] = ()
    spills: Sequence[int] = ()
    pressure: Pressure | None = None
    python: Mapping[int, int] = field(default_factory=dict)
    runs: Mapping[int, int] = field(default_factory=dict)
    shares: Mapping[int, float] = field(default_factory=dict)

    @cached_property
    def longest_python(self) -> int:
        """Return the number of digits of the longest number of a line of Python; 0 if there is none."""
        return len(str(max(self.python.values()))) if self.python else 0


NO_MARKS = LineMarks()

# The instructions that multiply matrices, in the stages whose instructions are not classified.
_MLIR_MATRIX = re.compile(r"(?:tt|ttng|amdg)\.(?:dot|warp_group_dot|tc_gen5_mma)(?:_scaled)?$")
_LLVM_MATRIX = re.compile(
    r"asm (?:wgmma\.mma|mma\.|tcgen05\.mma)|@llvm\.(?:amdgcn\.\w*(?:mfma|wmma)|nvvm\.\w*mma)"
)
# Loops with the lines that they consist of.
_LoopLines: TypeAlias = "Sequence[tuple[Loop, Sequence[range]]]"
# Parsing a longer stage for its marks would take minutes.
_MOST_LINES = 200_000


def line_marks(workspace: Workspace, variant: Variant, stage: str) -> LineMarks:
    """Return the marks of a stage, as far as they can be known; none above 200,000 lines.

    Takes 10 to 100 ms, and seconds for 50,000 lines. Raises UserError if the capture is damaged.
    """
    if (
        stage == PYTHON
        or not workspace.contents.key(variant, stage)
        or not workspace.contents.available(variant, stage)
    ):
        return NO_MARKS
    if len(workspace.lines(variant, stage)) > _MOST_LINES:
        return NO_MARKS
    document = workspace.document(variant, stage)
    hot = _hot_loop(workspace, variant, stage)
    python = {o.line: o.location.outermost.line for o in document.operations if o.location}
    loops = _loop_lines(workspace, variant, stage, document)
    runs = _runs(loops, document)
    matrix, spills = _instructions(document, stage)
    return LineMarks(
        _hot_lines(loops, hot) if hot else (),
        matrix,
        spills,
        _pressure(workspace, variant, stage),
        python,
        runs,
        _shares(python, runs) if runs and all(runs.values()) else {},
    )


def _runs(loops: _LoopLines, document: Document) -> Mapping[int, int]:
    """Return how often the operations in loops run, by line; 0 if that is unknown.

    What the prologue of a pipelined loop did counts again in the loop.
    """
    runs: dict[int, int] = {}
    operations = sorted({operation.line for operation in document.operations})
    for loop, ranges in loops:
        trips = loop.trip_count.iterations if loop.trip_count else 0
        passes = 1 if loop.remainder else -(-trips // (loop.unrolled or 1))
        for lines in ranges:
            first, end = (bisect_left(operations, edge) for edge in (lines.start, lines.stop))
            runs |= {line: runs.get(line, 1) * passes for line in operations[first:end]}
    return runs


def _shares(python: Mapping[int, int], runs: Mapping[int, int]) -> Mapping[int, float]:
    """Return the share of each line of Python in all operations that run."""
    shares: Counter[int] = Counter()
    for line, number in python.items():
        shares[number] += runs.get(line, 1)
    return {number: count / shares.total() for number, count in shares.items()}


def _hot_loop(workspace: Workspace, variant: Variant, stage: str) -> Loop | None:
    """Return the loop with most of the work, which the machine code or assembly says best."""
    backend = backend_of(variant.target)
    is_assembly = stage in (backend.machine_code, backend.assembly)
    measured = stage if is_assembly else backend.assembly
    if workspace.contents.key(variant, measured) and workspace.contents.available(variant, measured):
        return next((loop for loop in workspace.loops(variant, measured) if loop.hot), None)
    if stage not in ("ttir", "ttgir"):
        return None
    document = workspace.document(variant, stage)
    matrix, _ = _instructions(document, stage)

    def work(loop: Loop) -> tuple[bool, int, int]:
        return any(line in lines for lines in loop.lines for line in matrix), loop.depth, loop.instructions

    return max(workspace.loops(variant, stage), key=work, default=None)


def _loop_lines(workspace: Workspace, variant: Variant, stage: str, document: Document) -> _LoopLines:
    """Return the loops of a stage with their lines; LLVM IR has those of TTGIR."""
    if document.language != "llvm" or not workspace.contents.key(variant, "ttgir"):
        return [(loop, loop.lines) for loop in workspace.loops(variant, stage)]
    from irscope.facts.loops.kernel_loops import loop_lines  # the app opens without marks

    ttgir = workspace.document(variant, "ttgir")
    by_chain = {loop.chain: loop for loop in workspace.loops(variant, "ttgir")}
    return [(loop, loop_lines(document, ttgir, chain)) for chain, loop in by_chain.items()]


def _hot_lines(loops: _LoopLines, hot: Loop) -> Sequence[range]:
    """Return the lines of the hot loop in a stage."""
    ranges = {lines for loop, own in loops for lines in own if loop.chain == hot.chain and not loop.remainder}
    return sorted(ranges, key=lambda lines: lines.start)


def _instructions(document: Document, stage: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return the lines of matrix instructions and of accesses to spilled values."""
    instructions = instructions_of(stage)
    if instructions is None:
        pattern = {"mlir": _MLIR_MATRIX, "llvm": _LLVM_MATRIX}.get(document.language)
        operations = document.operations if pattern else ()
        return [
            operation.line for operation in operations if pattern and pattern.search(operation.opcode)
        ], ()
    matrix: list[int] = []
    spills: list[int] = []
    for kind, lines in scan(document.text, instructions).lines.items():
        if kind.kind == "matrix":
            matrix += lines
        # In PTX, local memory holds arrays; the spills of ptxas are in SASS.
        elif kind.kind in ("local load", "local store") and backend_with_machine_code(stage):
            spills += lines
    return sorted(matrix), sorted(spills)


def _pressure(workspace: Workspace, variant: Variant, stage: str) -> Pressure | None:
    """Return the register pressure of an assembly stage; None for other stages, or if unknown."""
    if not (backend_with_machine_code(stage) or backend_with_assembly(stage)):
        return None
    report = workspace.registers(variant, stage)
    if report.pressure is None:
        return None
    limit = _limit(variant)
    if limit is None:
        limit = max(report.allocated or 0, round(report.peak or 0), 1)
    return Pressure(report.pressure, report.stage_line, limit, report.allocated, report.estimate)


def _limit(variant: Variant) -> int | None:
    """Return the most registers a thread can have: by instruction set, maxnreg, and a large block.

    A partition of a multiprocessor has `lane_registers` registers per lane for the warps of a
    block in it. None if the limits of the target are unknown.
    """
    device = device_of(variant.target, variant.metadata)
    if device is None:
        return None
    lanes = device.lane_registers
    limits = [device.thread_registers]
    warps, requested = count(variant, "num_warps"), count(variant, "maxnreg")
    if warps:
        share = lanes // -(-warps // device.partitions)
        limits.append(share // device.register_unit * device.register_unit)
    return min([*limits, requested] if requested else limits)
