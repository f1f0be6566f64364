"""The loops of a kernel in one stage: position, trip count, and instructions and spills per iteration.

The instructions of an assembly stage by kind and region: before, per iteration of, and after each loop.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from irscope.facts.loops.machine_loops import (
    OUTSIDE,
    KernelLoop,
    LoopRegions,
    Region,
    Where,
    classified,
    unroll_factor,
)
from irscope.facts.loops.pipelines import pipelines
from irscope.facts.loops.scf import Chain, Evaluated, IntegerEvaluator, ScfLoop, location_chain, scf_loops
from irscope.facts.source.map import SourcePlace
from irscope.languages.document import Document
from irscope.model import Variant
from irscope.model.records import FrozenValue
from irscope.targets import backend_with_machine_code
from irscope.targets.instructions import InstructionKind

Counts = Mapping[InstructionKind, int]
RegionCounts = Mapping[Region, Counts]


class LoopMix:
    """The instructions of one stage by region. Without TTGIR, or with unknown loops, all are OUTSIDE."""

    def __init__(self, document: Document, stage: str, ttgir: Document | None) -> None:
        self._document = document
        self.stage = stage
        all_regions = LoopRegions(document, ttgir) if ttgir is not None and document.operations else None
        self.regions = all_regions if all_regions is not None and all_regions.known else None

    @cached_property
    def _kinds(self) -> Mapping[tuple[str, int], InstructionKind]:
        """Map each kind and line of the stage to the instruction on the line."""
        by_kind = classified(self._document, self.stage)
        return {(kind.kind, line): kind for kind, lines in by_kind.items() for line in lines}

    def counts(self, kind: str, lines: Iterable[int]) -> RegionCounts:
        """Count the instructions of a kind on some lines, by region.

        Those of a loop's remainder are left out: they are the same iterations.
        """
        by_region: dict[Region, dict[InstructionKind, int]] = {}
        for line in lines:
            instruction = self._kinds.get((kind, line))
            region = self.region(line)
            if instruction is not None and region.where is not Where.REMAINDER:
                counts = by_region.setdefault(region, {})
                counts[instruction] = counts.get(instruction, 0) + 1
        return by_region

    def lines(self, *kinds: str) -> Iterator[tuple[str, int]]:
        """Yield the kind and line of each instruction of some kinds."""
        return (key for key in self._kinds if key[0] in kinds)

    def region(self, line: int) -> Region:
        """Return the region of the instruction on a line of the stage."""
        index = self._document.operation_of_line.get(line)
        return OUTSIDE if self.regions is None or index is None else self.regions.region(index)

    def runs(self, chain: Chain) -> bool:
        """Return True if the stage has a loop of this statement."""
        return bool(self._mains(chain))

    def count(self, chain: Chain, kinds: Collection[InstructionKind]) -> int:
        """Return how many loops of this statement, without remainders, have instructions of some kinds.

        Of the groups of warps that each have the loop of a warp-specialized kernel, one loads.
        """
        return len(set().union(*(self._loops_with.get((chain, kind), ()) for kind in kinds)))

    @cached_property
    def _loops_with(self) -> Mapping[tuple[Chain, InstructionKind], set[int]]:
        """Map each statement and kind to the loops of the assembly that have such instructions."""
        by_statement: dict[tuple[Chain, InstructionKind], set[int]] = {}
        for (_, line), kind in self._kinds.items():
            index = self._document.operation_of_line.get(line)
            loop = None if self.regions is None or index is None else self.regions.loop_of(index)
            if loop and not loop.remainder:
                by_statement.setdefault((loop.chain, kind), set()).add(loop.natural)
        return by_statement

    def iterations(self, chain: Chain) -> int:
        """Count the iterations that one pass through the loop runs, as far as is known."""
        return self.unrolled(chain) or 1

    def unrolled(self, chain: Chain) -> int | None:
        """Return the factor by which a loop is unrolled, or None if that is not known."""
        if chain not in self._factors:
            regions = self.regions
            self._factors[chain] = unroll_factor(regions, chain, self.stage) if regions else None
        return self._factors[chain]

    def depth(self, chain: Chain) -> int:
        """Count the iterations of a loop that are in flight at once; 1 if it is not pipelined."""
        return max((self._depths[loop.scf] for loop in self._mains(chain)), default=1)

    @cached_property
    def _depths(self) -> Sequence[int]:
        """Return the depth of each TTGIR loop. A loop around a pipelined one is not pipelined itself."""
        if self.regions is None:
            return ()
        ttgir, scf = self.regions.ttgir, self.regions.scf
        depths = {pipeline.line: pipeline.depth for pipeline in pipelines(ttgir.text)}
        around = {loop.parent for loop in scf}
        return [
            1 if index in around else depths.get(ttgir.operations[loop.operation].line, 1)
            for index, loop in enumerate(scf)
        ]

    def _mains(self, chain: Chain) -> Sequence[KernelLoop]:
        return self.regions.main(chain) if self.regions else ()

    def copies_before(self, chain: Chain) -> int | None:
        """Count the iterations of a loop's loads that run before it; None if its loads differ in that."""
        by_load: dict[tuple[str, Chain], dict[Where, int]] = {}
        for kind, line in self.lines("global load", "async copy"):
            region = self.region(line)
            if region.loop == chain:
                index = self._document.operation_of_line[line]
                key = kind, location_chain(self._document.operations[index].location)
                counts = by_load.setdefault(key, {})
                counts[region.where] = counts.get(region.where, 0) + 1
        factor = self.iterations(chain)
        copies = {
            counts.get(Where.BEFORE, 0) * factor / counts[Where.IN]
            for counts in by_load.values()
            if Where.IN in counts
        }
        if len(copies) != 1 or not (number := next(iter(copies))).is_integer():
            return None
        return int(number)

    @cached_property
    def _factors(self) -> dict[Chain, int | None]:
        return {}

    def per_iteration(self, counts: RegionCounts) -> RegionCounts:
        """Divide counts in loops to those of one iteration of the statement, if its factor divides them."""
        return {region: self._shared(region, region_counts) for region, region_counts in counts.items()}

    def _shared(self, region: Region, counts: Counts) -> Counts:
        factor = self.iterations(region.loop) if region.where is Where.IN else 1
        if any(number % factor for number in counts.values()):
            return counts
        return {kind: number // factor for kind, number in counts.items()}

    def passes(self, region: Region, counts: Counts) -> int:
        """Return the iterations that `per_iteration` of a region's counts covers: 1, or all of a pass."""
        factor = self.iterations(region.loop) if region.where is Where.IN else 1
        return factor if any(number % factor for number in counts.values()) else 1


_INTEGER = re.compile(r"-?\d{1,19}")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TripCount(FrozenValue):
    """How often a loop runs, and the arguments of the launch that this follows from."""

    iterations: int
    arguments: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """Return `64 iterations for K=4096`."""
        arguments_text = ", ".join(f"{name}={value:,}".replace(",", "") for name, value in self.arguments)
        text = f"{self.iterations:,} iteration{'' if self.iterations == 1 else 's'}"
        return f"{text} for {arguments_text}" if arguments_text else text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Loop(FrozenValue):
    """A loop of the kernel in one stage.

    `place` is the line of its `for` or `while` statement, `chain` the same with the calls that it is inlined
    at. `depth` counts from 1. `header` is the index (from 0) of the stage's line at which a pass starts,
    `lines` are the ranges of lines that it consists of, those of inner loops included, and `instructions`
    their number of instructions. `unrolled` is the number of iterations per pass (None: unknown), `remainder`
    says that it runs what an unrolled loop leaves over. `pipelined` is the number of iterations in flight at
    once (1: not pipelined). `trip_count` is the number of iterations if it follows from constants and the
    launch (None: unknown). `spill_loads` and `spill_stores` are the accesses of local memory per pass. `hot`
    marks the loop with most of the work.
    """

    place: SourcePlace
    chain: Chain
    depth: int
    header: int
    lines: tuple[range, ...]
    instructions: int
    unrolled: int | None = None
    remainder: bool = False
    pipelined: int = 1
    trip_count: TripCount | None = None
    spill_loads: int = 0
    spill_stores: int = 0
    hot: bool = False


def kernel_loops(
    document: Document, stage: str, ttgir: Document, ttir: Document | None, variant: Variant | None = None
) -> tuple[Loop, ...]:
    """Return the loops of an assembly stage, outer ones first; none if they cannot be known.

    With TTIR and the variant, they have the trip counts that follow from constants and the first
    launch.
    """
    mix = LoopMix(document, stage, ttgir)
    return loops_of(mix, trip_counts(ttir, variant) if ttir else {}) if mix.regions else ()


def loops_of(mix: LoopMix, trips: Mapping[Chain, TripCount]) -> tuple[Loop, ...]:
    """Return the loops of a stage whose instructions were counted by region."""
    regions = mix.regions
    if regions is None:
        return ()
    spills = _spills(mix)
    found_loops = [_loop(mix, regions, loop, trips, spills) for loop in regions.loops]
    hot = _hottest(mix, regions)
    return tuple(
        replace(loop, hot=region_loop is hot)
        for loop, region_loop in zip(found_loops, regions.loops, strict=True)
    )


def _loop(
    mix: LoopMix,
    regions: LoopRegions,
    loop: KernelLoop,
    trips: Mapping[Chain, TripCount],
    spills: Mapping[tuple[Chain, str], int],
) -> Loop:
    scf = regions.scf[loop.scf]
    blocks, operations = regions.tree.graph.blocks, regions.document.operations
    body = sorted(regions.tree.body(loop.natural))
    lines = [(operations[blocks[block].start].line, operations[blocks[block].end - 1].end) for block in body]
    return Loop(
        place=loop.chain[0],
        chain=loop.chain,
        depth=scf.depth,
        header=operations[blocks[regions.tree.loops[loop.natural].header].start].line,
        lines=_joined(lines),
        instructions=regions.instructions(loop),
        unrolled=None if loop.remainder else mix.unrolled(loop.chain),
        remainder=loop.remainder,
        pipelined=mix.depth(loop.chain),
        trip_count=trips.get(loop.chain),
        spill_loads=0 if loop.remainder else spills.get((loop.chain, "load"), 0),
        spill_stores=0 if loop.remainder else spills.get((loop.chain, "store"), 0),
    )


def loop_lines(document: Document, ttgir: Document, chain: Chain) -> tuple[range, ...]:
    """Return the lines of one statement's loops in LLVM IR or assembly; none if loops are unknown."""
    regions = LoopRegions(document, ttgir)
    if not regions.known:
        return ()
    blocks, operations = regions.tree.graph.blocks, document.operations
    body = {block for loop in regions.main(chain) for block in regions.tree.body(loop.natural)}
    lines = [(operations[blocks[block].start].line, operations[blocks[block].end - 1].end) for block in body]
    # In LLVM IR, a blank line precedes each label.
    return _joined(lines, between=2)


def _joined(lines: Sequence[tuple[int, int]], between: int = 1) -> tuple[range, ...]:
    """Merge ranges of lines that touch. Blocks are separated by the lines of labels."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(lines):
        if merged and start <= merged[-1][1] + between:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(range(start, end) for start, end in merged)


def _spills(mix: LoopMix) -> Mapping[tuple[Chain, str], int]:
    """Count the loads and stores of local memory in each loop, without those of inner loops.

    In PTX, local memory holds arrays; the spills of ptxas are in SASS.
    """
    kinds = ("local load", "local store") if backend_with_machine_code(mix.stage) else ()
    return Counter(
        (region.loop, kind.partition(" ")[2])
        for kind, line in mix.lines(*kinds)
        if (region := mix.region(line)).where is Where.IN
    )


def _hottest(mix: LoopMix, regions: LoopRegions) -> KernelLoop | None:
    """Return the deepest loop with matrix instructions; without any, the longest of the deepest."""
    mains = [loop for loop in regions.loops if not loop.remainder]
    index_of = regions.document.operation_of_line
    matrix = {regions.tree.loop_of(index_of[line]) for _, line in mix.lines("matrix") if line in index_of}

    def work(loop: KernelLoop) -> tuple[bool, int, int]:
        return loop.natural in matrix, regions.scf[loop.scf].depth, regions.instructions(loop)

    return max(mains, key=work, default=None)


def mlir_loops(document: Document, trips: Mapping[Chain, TripCount]) -> tuple[Loop, ...]:
    """Return the loops of TTIR or TTGIR; `instructions` counts operations."""
    depths = {pipeline.line: pipeline.depth for pipeline in pipelines(document.text)}
    found_loops = []
    scf = scf_loops(document)
    ends = _region_ends(document)
    for index, loop in enumerate(scf):
        operation = document.operations[loop.operation]
        if not loop.chain:
            continue
        inner = any(candidate.parent == index for candidate in scf)
        found_loops.append(
            Loop(
                place=loop.chain[0],
                chain=loop.chain,
                depth=loop.depth,
                header=operation.line,
                lines=(range(operation.line, operation.end),),
                instructions=ends[loop.operation] - loop.operation - 1,
                pipelined=1 if inner else depths.get(operation.line, 1),
                trip_count=trips.get(loop.chain),
            )
        )
    return tuple(found_loops)


def _region_ends(document: Document) -> Sequence[int]:
    """Map each operation to the index after its last nested operation."""
    ends = [index + 1 for index in range(len(document.operations))]
    for index in range(len(ends) - 1, -1, -1):
        parent = document.operations[index].parent
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[index])
    return ends


def trip_counts(ttir: Document, variant: Variant | None) -> Mapping[Chain, TripCount]:
    """Return how often a kernel's loops run, as far as constants and the first launch determine it."""
    values = _values(variant) if variant else {}
    evaluator = IntegerEvaluator(ttir, values)
    by_chain: dict[Chain, list[ScfLoop]] = {}
    for loop in scf_loops(ttir):
        if loop.chain:
            by_chain.setdefault(loop.chain, []).append(loop)
    by_statement = {}
    for chain, loops in by_chain.items():
        count = _total(loops, evaluator.trip_count, evaluator)
        if count is not None:
            arguments = tuple((name, values[name]) for name in sorted(count.parameters))
            by_statement[chain] = TripCount(count.value, arguments)
    return by_statement


def _total(
    loops: Sequence[ScfLoop], count: Callable[[ScfLoop], Evaluated | None], evaluator: IntegerEvaluator
) -> Evaluated | None:
    """Return the iterations of a statement: one loop, or an unrolled one and what it leaves over."""
    counts = [count(loop) for loop in loops]
    known_counts = [evaluated for evaluated in counts if evaluated is not None]
    if len(known_counts) != len(loops) or len(loops) > 2:
        return None
    if len(loops) == 1:
        return known_counts[0]
    steps = [evaluator.integer(loop.step) for loop in loops]
    if loops[1].lower is None or loops[1].lower != loops[0].upper or not steps[0] or not steps[1]:
        return None
    factor = steps[0].value // max(1, steps[1].value)
    return Evaluated(
        known_counts[0].value * factor + known_counts[1].value,
        known_counts[0].parameters | known_counts[1].parameters,
    )


def _values(variant: Variant) -> Mapping[str, int]:
    """Return the integers of the first launch's arguments, and those that the variant specializes."""
    by_name = {
        argument.name: argument.value
        for argument in variant.specialization
        if isinstance(argument.value, int) and not isinstance(argument.value, bool)
    }
    for launch in variant.launches[:1]:
        for name, value in launch.arguments:
            if _INTEGER.fullmatch(value):
                by_name[name] = int(value)
    return by_name
