"""The instructions of an assembly stage by kind and region: before, per iteration of, and after each loop."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from irscope.analysis.loop_regions import OUTSIDE, KernelLoop, LoopRegions, Region, Where
from irscope.analysis.scf_loops import Chain, location_chain
from irscope.analysis.unrolling import classified, unroll_factor
from irscope.backends.instructions import InstructionKind
from irscope.facts.pipelines import pipelines
from irscope.languages.document import Document

Counts = Mapping[InstructionKind, int]
RegionCounts = Mapping[Region, Counts]


class LoopMix:
    """The instructions of one stage by region. Without TTGIR, or with unknown loops, all are OUTSIDE."""

    def __init__(self, document: Document, stage: str, ttgir: Document | None) -> None:
        self._document = document
        self.stage = stage
        found = LoopRegions(document, ttgir) if ttgir is not None and document.operations else None
        self.regions = found if found is not None and found.known else None

    @cached_property
    def _kinds(self) -> Mapping[tuple[str, int], InstructionKind]:
        """The instruction of a kind on each line of the stage."""
        found = classified(self._document, self.stage)
        return {(kind.kind, line): kind for kind, lines in found.items() for line in lines}

    def counts(self, kind: str, lines: Iterable[int]) -> RegionCounts:
        """The instructions of a kind on some lines, by region.

        Those of a loop's remainder are left out: they are the same iterations.
        """
        found: dict[Region, dict[InstructionKind, int]] = {}
        for line in lines:
            own = self._kinds.get((kind, line))
            region = self.region(line)
            if own is not None and region.where is not Where.REMAINDER:
                counts = found.setdefault(region, {})
                counts[own] = counts.get(own, 0) + 1
        return found

    def lines(self, *kinds: str) -> Iterator[tuple[str, int]]:
        """The instructions of some kinds: kind and line."""
        return (key for key in self._kinds if key[0] in kinds)

    def region(self, line: int) -> Region:
        """The region of the instruction on a line of the stage."""
        index = self._document.operation_of_line.get(line)
        return OUTSIDE if self.regions is None or index is None else self.regions.region(index)

    def runs(self, chain: Chain) -> bool:
        """Whether the stage has a loop of this statement."""
        return bool(self._mains(chain))

    def count(self, chain: Chain, kinds: Collection[InstructionKind]) -> int:
        """Return how many loops of this statement, without remainders, have instructions of some kinds.

        Of the groups of warps that each have the loop of a warp-specialized kernel, one loads.
        """
        return len(set().union(*(self._loops_with.get((chain, kind), ()) for kind in kinds)))

    @cached_property
    def _loops_with(self) -> Mapping[tuple[Chain, InstructionKind], set[int]]:
        """Map each statement and kind to the loops of the assembly that have such instructions."""
        found: dict[tuple[Chain, InstructionKind], set[int]] = {}
        for (_, line), kind in self._kinds.items():
            index = self._document.operation_of_line.get(line)
            loop = None if self.regions is None or index is None else self.regions.loop_of(index)
            if loop and not loop.remainder:
                found.setdefault((loop.chain, kind), set()).add(loop.natural)
        return found

    def iterations(self, chain: Chain) -> int:
        """How many iterations one pass through the loop runs, as far as is known."""
        return self.unrolled(chain) or 1

    def unrolled(self, chain: Chain) -> int | None:
        """The factor by which a loop is unrolled; None if that is not known."""
        if chain not in self._factors:
            regions = self.regions
            self._factors[chain] = unroll_factor(regions, chain, self.stage) if regions else None
        return self._factors[chain]

    def depth(self, chain: Chain) -> int:
        """How many iterations of a loop are in flight at once; 1 if it is not pipelined."""
        return max((self._depths[loop.scf] for loop in self._mains(chain)), default=1)

    @cached_property
    def _depths(self) -> Sequence[int]:
        """The depth of each loop of TTGIR. A loop around a pipelined one is not pipelined itself."""
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
        """How many iterations of a loop's loads run before it; None if its loads differ in that."""
        found: dict[tuple[str, Chain], dict[Where, int]] = {}
        for kind, line in self.lines("global load", "async copy"):
            region = self.region(line)
            if region.loop == chain:
                index = self._document.operation_of_line[line]
                key = kind, location_chain(self._document.operations[index].location)
                own = found.setdefault(key, {})
                own[region.where] = own.get(region.where, 0) + 1
        factor = self.iterations(chain)
        copies = {
            own.get(Where.BEFORE, 0) * factor / own[Where.IN] for own in found.values() if Where.IN in own
        }
        if len(copies) != 1 or not (one := next(iter(copies))).is_integer():
            return None
        return int(one)

    @cached_property
    def _factors(self) -> dict[Chain, int | None]:
        return {}

    def per_iteration(self, counts: RegionCounts) -> RegionCounts:
        """`counts` with those in loops per iteration of the statement, if its factor divides them."""
        return {region: self._shared(region, own) for region, own in counts.items()}

    def _shared(self, region: Region, counts: Counts) -> Counts:
        factor = self.iterations(region.loop) if region.where is Where.IN else 1
        if any(number % factor for number in counts.values()):
            return counts
        return {kind: number // factor for kind, number in counts.items()}

    def passes(self, region: Region, counts: Counts) -> int:
        """The iterations that `per_iteration` of a region's counts covers: 1, or all of a pass."""
        factor = self.iterations(region.loop) if region.where is Where.IN else 1
        return factor if any(number % factor for number in counts.values()) else 1
