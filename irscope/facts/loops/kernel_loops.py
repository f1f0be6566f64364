"""The loops of a kernel in one stage: position, trip count, and instructions and spills per iteration.

The instructions of an assembly stage by kind and region: before, per iteration of, and after each loop.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from irscope.facts.loops.loop_regions import OUTSIDE, KernelLoop, LoopRegions, Region, Where, unroll_factor
from irscope.facts.loops.pipelines import pipelines
from irscope.facts.loops.scf import (
    Chain,
    ScfLoop,
    TripCount,
    location_chain,
    region_ends,
    scf_loops,
    trip_counts,
)
from irscope.facts.source.map import SourcePlace
from irscope.languages.document import Document
from irscope.model import Variant
from irscope.model.records import frozen
from irscope.targets import backend_with_assembly, backend_with_machine_code, instructions_of
from irscope.targets.instructions import InstructionKind, scan

Counts = Mapping[InstructionKind, int]
RegionCounts = Mapping[Region, Counts]


class LoopMix:
    """The instructions of one stage by region. Without TTGIR, or with unknown loops, all are OUTSIDE."""

    def __init__(self, document: Document, stage: str, ttgir: Document | None) -> None:
        self._document = document
        self.stage = stage
        all_regions = LoopRegions(document, ttgir) if ttgir is not None and document.operations else None
        self.regions = all_regions if all_regions is not None and all_regions.known else None
        self._factors: dict[Chain, int | None] = {}

    @cached_property
    def _kinds(self) -> Mapping[tuple[str, int], InstructionKind]:
        """Map each kind and line of the stage to the instruction on the line."""
        by_kind = classified(self._document, self.stage)
        return {(kind.kind, line): kind for kind, lines in by_kind.items() for line in lines}

    def counts(self, kind: str, lines: Iterable[int]) -> RegionCounts:
        """Count the instructions of a kind on some lines, by region.

        Those of a loop's remainder are left out: they are the same iterations.
        """
        by_region: dict[Region, Counter[InstructionKind]] = defaultdict(Counter)
        for line in lines:
            instruction = self._kinds.get((kind, line))
            region = self.region(line)
            if instruction is not None and region.where is not Where.REMAINDER:
                by_region[region][instruction] += 1
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
        by_statement: dict[tuple[Chain, InstructionKind], set[int]] = defaultdict(set)
        for (_, line), kind in self._kinds.items():
            index = self._document.operation_of_line.get(line)
            loop = None if self.regions is None or index is None else self.regions.loop_of(index)
            if loop and not loop.remainder:
                by_statement[loop.chain, kind].add(loop.natural)
        return by_statement

    def iterations(self, chain: Chain) -> int:
        """Count the iterations that one pass through the loop runs, as far as is known."""
        return self.unrolled(chain) or 1

    def unrolled(self, chain: Chain) -> int | None:
        """Return the factor by which a loop is unrolled, or None if that is not known."""
        if self.regions and chain not in self._factors:
            instructions = ((line, kind) for (_, line), kind in self._kinds.items())
            by_line = backend_with_assembly(self.stage) is not None
            self._factors[chain] = unroll_factor(self.regions, chain, instructions, by_line)
        return self._factors.get(chain)

    def depth(self, chain: Chain) -> int:
        """Count the iterations of a loop that are in flight at once; 1 if it is not pipelined."""
        return max((self._depths[loop.scf] for loop in self._mains(chain)), default=1)

    @cached_property
    def _depths(self) -> Sequence[int]:
        return pipeline_depths(self.regions.ttgir, self.regions.scf) if self.regions else ()

    def _mains(self, chain: Chain) -> Sequence[KernelLoop]:
        return self.regions.main(chain) if self.regions else ()

    def copies_before(self, chain: Chain) -> int | None:
        """Count the iterations of a loop's loads that run before it; None if its loads differ in that."""
        by_load: dict[tuple[str, Chain], Counter[Where]] = defaultdict(Counter)
        for kind, line in self.lines("global load", "async copy"):
            region = self.region(line)
            if region.loop == chain:
                by_load[kind, location_chain(self._document.location_at(line))][region.where] += 1
        factor = self.iterations(chain)
        copies = {
            counts[Where.BEFORE] * factor / counts[Where.IN]
            for counts in by_load.values()
            if counts[Where.IN]
        }
        if len(copies) != 1 or not (number := next(iter(copies))).is_integer():
            return None
        return int(number)

    def per_iteration(self, counts: RegionCounts) -> RegionCounts:
        """Divide counts in loops to those of one iteration of the statement, if its factor divides them."""
        return {region: self._shared(region, own)[1] for region, own in counts.items()}

    def passes(self, region: Region, counts: Counts) -> int:
        """Return the iterations that `per_iteration` of a region's counts covers: 1, or all of a pass."""
        return self._shared(region, counts)[0]

    def _shared(self, region: Region, counts: Counts) -> tuple[int, Counts]:
        factor = self.iterations(region.loop) if region.where is Where.IN else 1
        if any(number % factor for number in counts.values()):
            return factor, counts
        return 1, {kind: number // factor for kind, number in counts.items()}


def classified(document: Document, stage: str) -> Mapping[InstructionKind, Sequence[int]]:
    """Return the lines of an assembly stage by what the instruction on them does."""
    instructions = instructions_of(stage)
    return scan(document.text, instructions).lines if instructions else {}


@frozen
class Loop:
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
    hot = _hottest(mix, regions)
    loops = []
    for loop in regions.loops:
        chain, remainder = loop.chain, loop.remainder
        header = regions.tree.graph.blocks[regions.tree.loops[loop.natural].header].start
        loops.append(
            Loop(
                place=chain[0],
                chain=chain,
                depth=regions.scf[loop.scf].depth,
                header=regions.document.operations[header].line,
                lines=_lines_of(regions, [loop]),
                instructions=regions.sizes[loop.natural],
                unrolled=None if remainder else mix.unrolled(chain),
                remainder=remainder,
                pipelined=mix.depth(chain),
                trip_count=trips.get(chain),
                spill_loads=0 if remainder else spills[chain, "load"],
                spill_stores=0 if remainder else spills[chain, "store"],
                hot=loop is hot,
            )
        )
    return tuple(loops)


def loop_lines(document: Document, ttgir: Document, chain: Chain) -> tuple[range, ...]:
    """Return the lines of one statement's loops in LLVM IR or assembly; none if loops are unknown."""
    regions = LoopRegions(document, ttgir)
    # In LLVM IR, a blank line precedes each label.
    return _lines_of(regions, regions.main(chain), between=2) if regions.known else ()


def _lines_of(regions: LoopRegions, loops: Sequence[KernelLoop], between: int = 1) -> tuple[range, ...]:
    """Return the ranges of lines of some loops. Blocks are separated by the lines of labels."""
    blocks, operations = regions.tree.graph.blocks, regions.document.operations
    merged: list[tuple[int, int]] = []
    for block in sorted({block for loop in loops for block in regions.tree.body(loop.natural)}):
        start, end = operations[blocks[block].start].line, operations[blocks[block].end - 1].end
        if merged and start <= merged[-1][1] + between:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return tuple(range(start, end) for start, end in merged)


def _spills(mix: LoopMix) -> Counter[tuple[Chain, str]]:
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
        return loop.natural in matrix, regions.scf[loop.scf].depth, regions.sizes[loop.natural]

    return max(mains, key=work, default=None)


def mlir_loops(document: Document, trips: Mapping[Chain, TripCount]) -> tuple[Loop, ...]:
    """Return the loops of TTIR or TTGIR; `instructions` counts operations."""
    scf = scf_loops(document)
    depths = pipeline_depths(document, scf)
    ends = region_ends(document.operations)
    return tuple(
        Loop(
            place=loop.chain[0],
            chain=loop.chain,
            depth=loop.depth,
            header=document.operations[loop.operation].line,
            lines=(range(document.operations[loop.operation].line, document.operations[loop.operation].end),),
            instructions=ends[loop.operation] - loop.operation,
            pipelined=depth,
            trip_count=trips.get(loop.chain),
        )
        for loop, depth in zip(scf, depths, strict=True)
        if loop.chain
    )


def pipeline_depths(document: Document, loops: Sequence[ScfLoop]) -> Sequence[int]:
    """Return the depth of each TTGIR loop. A loop around a pipelined one is not pipelined itself."""
    depths = {pipeline.line: pipeline.depth for pipeline in pipelines(document.text)}
    around = {loop.parent for loop in loops}
    return [
        1 if index in around else depths.get(document.operations[loop.operation].line, 1)
        for index, loop in enumerate(loops)
    ]
