"""Findings about loops: unrolled, pipelined, removed, spilling, longer or shorter.

Words for how the instructions of a line changed in each region of the kernel.

in the loop of line 12: 4 x 16-byte -> 8 x 16-byte per iteration; before the loop: none -> 16 x 16-byte
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from irscope.facts.artifacts import instruction_order
from irscope.facts.fact import Evidence, evidence_at
from irscope.facts.loops.kernel_loops import Counts, Loop, LoopMix, RegionCounts, loops_of
from irscope.facts.loops.loop_regions import OUTSIDE, Region, Where
from irscope.facts.loops.scf import Chain, TripCount, trip_counts
from irscope.facts.registry import BUFFERS, PIPELINE_DEPTH
from irscope.facts.source.map import SourcePlace
from irscope.findings.finding import Finding, PairContext, Severity, ValueChange, effect
from irscope.model.records import frozen, grouped
from irscope.model.text import pluralize
from irscope.targets import backend_of
from irscope.targets.instructions import InstructionKind

_AROUND = (Where.BEFORE, Where.AFTER)
_ORDER = (Where.IN, *_AROUND, Where.REMAINDER, Where.OUTSIDE)
# A loop that is longer by less, 20 percent, is not worth a sentence of its own.
_SMALL = 0.263

# The instructions of A and B by region.
Mixes = tuple[LoopMix, LoopMix]
_Changes = Iterator[ValueChange | str]


def loop_mixes(pair: PairContext, stage: str) -> Mixes | None:
    """Return the instructions of both sides of an assembly stage, or None if it was not compared."""
    if stage not in pair.diffs:
        return None
    diff, ttgir = pair.diffs[stage], pair.diffs.get("ttgir")
    return (
        LoopMix(diff.left, stage, ttgir.left if ttgir else None),
        LoopMix(diff.right, stage, ttgir.right if ttgir else None),
    )


def _machine_mixes(pair: PairContext) -> Mixes | None:
    """Return the instructions of the machine code; None if the assembly is the machine code."""
    backend = backend_of(pair.b.target)
    return None if backend.machine_code == backend.assembly else loop_mixes(pair, backend.machine_code)


def counts_text(counts: Counts) -> str:
    """`4 x 16-byte, 1 x 4-byte`, wide ones first; "none"."""
    ordered = sorted(counts.items(), key=lambda item: instruction_order(item[0]))
    return ", ".join(f"{n} x {kind.text('{}-byte')}" for kind, n in ordered) or "none"


def sum_counts(counts: Iterable[Counts]) -> Counter[InstructionKind]:
    """Return how many instructions of each kind all of `counts` have together."""
    total: Counter[InstructionKind] = Counter()
    for part in counts:
        total.update(part)
    return total


def _loop_text(chain: Chain, mixes: Mixes, number: int = 1) -> str:
    """Return `the loop of line 12`; `... (called in line 92)` if a helper's loop is inlined several times.

    `number` is how many loops the stage has of this statement: `the 3 loops of line 12`.
    """
    loops = "the loop" if number < 2 else f"the {number} loops"
    chains = {other for mix in mixes if mix.regions for other in mix.regions.chains if other[0] == chain[0]}
    called = f" (called in {_line_text(chain[-1])})" if len(chains) > 1 else ""
    return f"{loops} of {_line_text(chain[0])}{called}"


def _line_text(place: SourcePlace) -> str:
    """`line 12`; `line 12 of A` if B does not have it."""
    return f"line {place.line} of A" if place.removed else f"line {place.line}"


@frozen
class RegionChange:
    """The instructions of one kind on a line of A and of B; the counts are those of a pass of each loop."""

    was: RegionCounts
    now: RegionCounts
    mixes: Mixes

    @property
    def work(self) -> tuple[RegionCounts, RegionCounts]:
        """Return the counts of one iteration of each loop."""
        return self.mixes[0].per_iteration(self.was), self.mixes[1].per_iteration(self.now)

    @property
    def changes(self) -> tuple[ValueChange | str, ...]:
        """Return how the instructions changed, by region."""
        if all(region == OUTSIDE for region in (*self.was, *self.now)):
            return (self._change(OUTSIDE),)
        chains = dict.fromkeys(region.loop for region in (*self.now, *self.was) if region.loop)
        if any(map(self._vanished, chains)):
            return (ValueChange(self._side_text(self.was, 0), self._side_text(self.now, 1)),)
        changes = [change for chain in chains for change in self._of_loop(chain)]
        if self._differs(OUTSIDE):
            changes.append(self._change(OUTSIDE, "outside of loops:"))
        return tuple(changes)

    def is_explained(self) -> bool:
        """Check whether a finding about a loop explains the whole change.

        The work of an iteration is the same, and there is more or less of it before and after a loop that is
        pipelined to another depth, or instead of a loop that is fully unrolled.
        """
        a, b = self.work
        chains = {region.loop for region in (*a, *b) if region.loop}
        if len(chains) != 1:
            return False
        (chain,) = chains
        inside = Region(Where.IN, chain)
        iteration = a.get(inside) or b.get(inside)
        if not iteration:
            return False
        if self._vanished(chain):
            return all(_is_multiple(counts, iteration) for side in (a, b) for counts in side.values())
        around = [counts for side in (a, b) for region, counts in side.items() if region.where in _AROUND]
        return (
            a.get(inside) == b.get(inside)
            and a.get(OUTSIDE) == b.get(OUTSIDE)
            and self.mixes[0].depth(chain) != self.mixes[1].depth(chain)
            and all(_is_multiple(counts, iteration) for counts in around)
        )

    def _differs(self, region: Region) -> bool:
        return self.was.get(region, {}) != self.now.get(region, {})

    def _change(self, region: Region, where: str = "") -> ValueChange:
        a, b = (counts_text(side.get(region, {})) for side in (self.was, self.now))
        return ValueChange(a, b, where)

    def _vanished(self, chain: Chain) -> bool:
        """Check whether only one side has a loop of the statement."""
        return self.mixes[0].runs(chain) != self.mixes[1].runs(chain)

    def _of_loop(self, chain: Chain) -> _Changes:
        """Yield the changes of a loop that both sides have: in it, then before it, then after it."""
        name, inside = _loop_text(chain, self.mixes), Region(Where.IN, chain)
        if inside in self.was or inside in self.now:
            yield self._in_loop(f"in {name}:", inside)
            name = "the loop"
        regions = [region for region in dict.fromkeys((*self.was, *self.now)) if region.loop == chain]
        for region in sorted(regions, key=lambda region: _ORDER.index(region.where)):
            if region.where in _AROUND and self._differs(region):
                yield self._change(region, f"{region.where.value} {name}{self._repeated(region)}:")

    def _repeated(self, region: Region) -> str:
        """Return `, per iteration of the loop of line 8` for a part of an outer loop; "" if it runs once."""
        return f", per iteration of {_loop_text(region.around, self.mixes)}" if region.around else ""

    def _side_text(self, counts: RegionCounts, side: int) -> str:
        """All instructions of one side by region, for sides with other loops, whose regions do not match."""
        mix, texts = self.mixes[side], []
        if counts and not any(region.loop for region in counts):
            return f"{counts_text(sum_counts(counts.values()))} without a loop"
        ordered = sorted(mix.per_iteration(counts).items(), key=lambda item: _ORDER.index(item[0].where))
        for region, work in ordered:
            where = "outside of loops"
            if region.where is Where.IN:
                loops = _loop_text(region.loop, self.mixes, mix.count(region.loop, work))
                where = f"{_per(mix.passes(region, counts[region]))} of {loops}"
            elif region != OUTSIDE:
                where = f"{region.where.value} {_loop_text(region.loop, self.mixes)}{self._repeated(region)}"
            texts.append(f"{counts_text(work)} {where}")
        return ", ".join(texts) or "none"

    def _in_loop(self, where: str, region: Region) -> ValueChange | str:
        texts, units = [], []
        for counts, mix in zip((self.was, self.now), self.mixes, strict=True):
            inside: Counts = counts.get(region, {})
            texts.append(counts_text(mix.per_iteration(counts).get(region, {})))
            # Groups of warps of a warp-specialized kernel can each have a loop of one statement.
            loops = mix.count(region.loop, inside)
            units.append(_per(mix.passes(region, inside)) + (f" of {loops} loops" if loops > 1 else ""))
        (a, b), (unit_a, unit_b) = texts, units
        if unit_a == unit_b and a == b:
            return f"{where} {a} {unit_a} in both"
        if unit_a == unit_b and "none" not in (a, b):
            return ValueChange(a, b, where, unit_b)
        # The loops of a side without any do not matter.
        a, b = (text if text == "none" else f"{text} {unit}" for text, unit in zip(texts, units, strict=True))
        return ValueChange(a, b, where)


def _is_multiple(counts: Counts, iteration: Counts) -> bool:
    """Check whether `counts` are those of an iteration a whole number of times."""
    times = {divmod(counts.get(kind, 0), number) for kind, number in iteration.items()}
    return counts.keys() == iteration.keys() and len(times) == 1 and all(not rest for _, rest in times)


def _per(passes: int) -> str:
    return "per iteration" if passes == 1 else f"per {passes} iterations"


@frozen
class _SideLoops:
    """The loops of one side: those of the assembly by statement, and the statements of TTIR."""

    letter: str
    mix: LoopMix
    loops: Mapping[Chain, list[Loop]]
    trips: Mapping[Chain, TripCount]

    @property
    def statements(self) -> set[Chain]:
        """Return the loop statements that the kernel has, in whatever form."""
        return set(self.mix.regions.chains) if self.mix.regions else set()

    def main(self, chain: Chain) -> Loop | None:
        """Return the loop of a statement; None if it has none, or runs in several groups of warps."""
        mains = [loop for loop in self.loops.get(chain, []) if not loop.remainder]
        return mains[0] if len(mains) == 1 else None

    @property
    def around(self) -> set[Chain]:
        """Return the statements with a loop inside."""
        scf = self.mix.regions.scf if self.mix.regions else ()
        return {scf[loop.parent].chain for loop in scf if loop.parent >= 0}

    def evidence(self, chain: Chain) -> tuple[Evidence, ...]:
        """Return the headers of the loops of a statement."""
        return evidence_at(self.mix.stage, (loop.header for loop in self.loops.get(chain, [])))

    def spills(self, chain: Chain) -> tuple[Evidence, ...]:
        """Return the accesses of spilled values in the loops of a statement."""
        lines = sorted(line for _, line in self.mix.lines("local load", "local store"))
        inside = Region(Where.IN, chain)
        return evidence_at(self.mix.stage, (line for line in lines if self.mix.region(line) == inside))


def _side_loops(pair: PairContext, mixes: Mixes) -> tuple[_SideLoops, _SideLoops]:
    sides = []
    for side, mix in zip(pair.sides, mixes, strict=True):
        ttir = side.document("ttir")
        trips = trip_counts(ttir, side.variant) if ttir else {}
        loops = grouped(loops_of(mix, trips), lambda loop: loop.chain)
        sides.append(_SideLoops(side.letter, mix, loops, trips))
    a, b = sides
    return a, b


def loop_findings(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each loop statement whose loop differs in the assembly."""
    assembly = pair.assembly
    mixes = loop_mixes(pair, assembly.stage) if assembly and not assembly.equal else None
    if mixes is None:
        return
    a, b = _side_loops(pair, mixes)
    if a.mix.regions is None or b.mix.regions is None:
        return
    sass = _machine_mixes(pair)
    for chain in dict.fromkeys([*b.mix.regions.chains, *a.mix.regions.chains]):
        if chain and (a.loops.get(chain) or b.loops.get(chain)):
            yield from _loop_finding(chain, a, b, sass)


def loop_spills(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each loop whose accesses of local memory per iteration differ.

    Those of ptxas are only in SASS.
    """
    assembly = pair.assembly
    mixes = (_machine_mixes(pair) or loop_mixes(pair, assembly.stage)) if assembly else None
    if mixes is None:
        return
    a, b = _side_loops(pair, mixes)
    for chain in dict.fromkeys([*b.loops, *a.loops]):
        was, now = _spill_text(a.loops.get(chain, [])), _spill_text(b.loops.get(chain, []))
        if was == now:
            continue
        hot = any(loop.hot for side in (a, b) for loop in side.loops.get(chain, []))
        yield Finding(
            f"Spills inside {'the hot loop, ' if hot else ''}{_loop_text(chain, mixes)}",
            Severity.LOOP_SPILLS.weight(),
            "loop spills",
            a.spills(chain),
            b.spills(chain),
            _line_text(chain[0]),
            changes=(ValueChange(was, now),),
        )


def _loop_finding(chain: Chain, a: _SideLoops, b: _SideLoops, sass: Mixes | None) -> Iterator[Finding]:
    name = _loop_text(chain, (a.mix, b.mix))
    what, severity, covers = name.capitalize(), Severity.LOOP, frozenset[str]()
    changes: list[ValueChange | str] = []
    was, now = a.main(chain), b.main(chain)
    if chain not in a.statements & b.statements:
        what = f"Only {'A' if chain in a.statements else 'B'} has {name}"
    elif gone := [side for side in (a, b) if not side.loops.get(chain)]:
        trip = gone[0].trips.get(chain)
        unrolled = f"fully unrolled in {gone[0].letter} ({trip})"
        changes = [unrolled if trip else f"the assembly of {gone[0].letter} has no loop"]
    elif was and now:
        pipelining = list(_pipelining(chain, a, b))
        unrolling = list(_unrolling(was.unrolled, now.unrolled))
        if sass and not unrolling:
            unrolling = list(_by_ptxas(chain, sass))
        structure = [*unrolling, *pipelining]
        length = _length(was, now) if chain not in a.around | b.around else []
        if not structure and not length:
            return
        changes = [*structure, *length, *trip_changes(was.trip_count, now.trip_count)]
        severity = Severity.LOOP if structure else Severity.COUNT
        covers = frozenset([PIPELINE_DEPTH.name, BUFFERS.name]) if pipelining else covers
    else:
        return
    weight = severity.weight(effect(was.instructions, now.instructions) if was and now else 0.0)
    evidence = a.evidence(chain), b.evidence(chain)
    yield Finding(what, weight, "loop", *evidence, _line_text(chain[0]), covers, changes=tuple(changes))


def _unrolling(a: int | None, b: int | None, by: str = "") -> _Changes:
    """Known on both sides only: an unknown factor says nothing about the other one."""
    if a is None or b is None or a == b:
        return
    if b == 1:
        yield f"no longer unrolled (A: x{a}){by}"
    else:
        yield f"unrolled x{b}{by}" if a == 1 else ValueChange(f"unrolled x{a}", f"x{b}{by}")


def _by_ptxas(chain: Chain, sass: Mixes) -> _Changes:
    """Yield the outcome in ptxas of a loop that is in the PTX of both sides."""
    a, b = sass
    if a.regions is None or b.regions is None:
        return
    if a.runs(chain) != b.runs(chain):
        yield f"fully unrolled by ptxas in {'B' if a.runs(chain) else 'A'}"
    else:
        yield from _unrolling(a.unrolled(chain), b.unrolled(chain), " by ptxas")


def _pipelining(chain: Chain, a: _SideLoops, b: _SideLoops) -> _Changes:
    was, now = a.mix.depth(chain), b.mix.depth(chain)
    if was == now:
        return
    if now == 1:
        yield f"no longer pipelined (A: {was} deep)"
        return
    copies = b.mix.copies_before(chain)
    loads = f", its prologue has {pluralize(copies, 'copy')} of the loads" if copies else ""
    if was == 1:
        yield f"pipelined, {now} deep (A: not pipelined){loads}"
    else:
        yield ValueChange(f"{was}", f"{now}", "pipelined,", f"deep{loads}")


def _length(was: Loop, now: Loop) -> list[ValueChange]:
    """Return the instructions per iteration, if they differ by more than a little."""
    a, b = was.instructions, now.instructions
    if was.unrolled == now.unrolled:
        unit = f"instructions per {_iterations(now.unrolled)}"
        return [ValueChange(f"{a:,}", f"{b:,}", unit=unit)] if effect(a, b) > _SMALL else []
    if was.unrolled is None or now.unrolled is None:
        return []
    first, second = (f"{loop.instructions:,} per {_iterations(loop.unrolled)}" for loop in (was, now))
    return [ValueChange(f"instructions {first}", second)]


def _iterations(number: int | None) -> str:
    return "iteration" if number in (None, 1) else f"{number} iterations"


def trip_changes(a: TripCount | None, b: TripCount | None) -> _Changes:
    """Return `32 -> 16 iterations for K=512`, `16 iterations` if equal; nothing if one is unknown."""
    if a is not None and b is not None:
        # Each side has the arguments of its own first launch.
        before = f"{a.iterations:,}" if a.arguments == b.arguments else f"{a}"
        yield str(b) if a == b else ValueChange(before, str(b))


def _spill_text(loops: list[Loop]) -> str:
    """`12 loads and 4 stores per iteration`, `none`; the counts are those of the statement."""
    main = next((loop for loop in loops if not loop.remainder), None)
    if main is None:
        return "none"
    numbers = (main.spill_loads, "loads"), (main.spill_stores, "stores")
    parts = [f"{number:,} {what}" for number, what in numbers if number]
    return f"{' and '.join(parts)} per {_iterations(main.unrolled)}" if parts else "none"
