"""Findings about loops: unrolled, pipelined, removed, spilling, longer or shorter.

Words for how the instructions of a line changed in each region of the kernel.

in the loop of line 12: 4 x 16-byte -> 8 x 16-byte per iteration; before the loop: none -> 16 x 16-byte
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from irscope.diff.rows import StageDiff
from irscope.facts.artifacts import instruction_order
from irscope.facts.fact import Evidence
from irscope.facts.loops.kernel_loops import Counts, Loop, LoopMix, RegionCounts, loops_of
from irscope.facts.loops.loop_regions import OUTSIDE, Region, Where
from irscope.facts.loops.scf import Chain, TripCount, trip_counts
from irscope.facts.registry import BUFFERS, PIPELINE_DEPTH
from irscope.facts.source.map import SourcePlace
from irscope.findings.finding import Finding, PairContext, Severity, ValueChange, assembly_diff, effect
from irscope.languages.document import Document
from irscope.model.records import FrozenValue
from irscope.targets import backend_of
from irscope.targets.instructions import InstructionKind

_AROUND = (Where.BEFORE, Where.AFTER)
_ORDER = (Where.IN, *_AROUND, Where.REMAINDER, Where.OUTSIDE)


def loop_mixes(pair: PairContext) -> tuple[LoopMix, LoopMix]:
    """Return the instructions of both assemblies by region. Raises KeyError if they were not compared."""
    return _mixes(pair, backend_of(pair.b.target).assembly)


def machine_mixes(pair: PairContext) -> tuple[LoopMix, LoopMix] | None:
    """Return the instructions of the machine code of A and B by region, if it was compared.

    None if the assembly is the machine code.
    """
    backend = backend_of(pair.b.target)
    stage = backend.machine_code
    return _mixes(pair, stage) if stage != backend.assembly and stage in pair.diffs else None


def _mixes(pair: PairContext, stage: str) -> tuple[LoopMix, LoopMix]:
    assembly, ttgir = pair.diffs[stage], pair.diffs.get("ttgir")
    return (
        LoopMix(assembly.left, stage, ttgir.left if ttgir else None),
        LoopMix(assembly.right, stage, ttgir.right if ttgir else None),
    )


def counts_text(counts: Mapping[InstructionKind, int]) -> str:
    """`4 x 16-byte, 1 x 4-byte`, wide ones first; "none"."""
    ordered = sorted(counts.items(), key=lambda item: instruction_order(item[0]))
    return ", ".join(f"{n} x {own.text('{}-byte')}" for own, n in ordered) or "none"


def loop_text(chain: Chain, mixes: tuple[LoopMix, LoopMix], number: int = 1) -> str:
    """Return `the loop of line 12`; `... (called in line 92)` if a helper's loop is inlined several times.

    `number` is how many loops the stage has of this statement: `the 3 loops of line 12`.
    """
    line = line_text(chain[0])
    loops = "the loop" if number < 2 else f"the {number} loops"
    known = {other for mix in mixes if mix.regions for other in mix.regions.chains}
    if len({other for other in known if other[0] == chain[0]}) > 1:
        return f"{loops} of {line} (called in {line_text(chain[-1])})"
    return f"{loops} of {line}"


def line_text(place: SourcePlace) -> str:
    """`line 12`; `line 12 of A` if B does not have it."""
    return f"line {place.line} of A" if place.removed else f"line {place.line}"


def region_changes(
    was: RegionCounts, now: RegionCounts, mixes: tuple[LoopMix, LoopMix]
) -> tuple[ValueChange | str, ...]:
    """How the instructions of a line changed. The counts are those of a pass of each loop."""
    a, b = was.get(OUTSIDE, {}), now.get(OUTSIDE, {})
    if all(region == OUTSIDE for region in (*was, *now)):
        return (_counts_change(a, b),)
    chains = dict.fromkeys(region.loop for region in (*now, *was) if region.loop)
    if any(_vanished(chain, mixes) for chain in chains):
        return (ValueChange(_side_text(was, mixes[0], mixes), _side_text(now, mixes[1], mixes)),)
    changes = [change for chain in chains for change in _of_loop(chain, was, now, mixes)]
    if a != b:
        changes.append(_counts_change(a, b, "outside of loops:"))
    return tuple(changes)


def _counts_change(a: Counts, b: Counts, where: str = "") -> ValueChange:
    return ValueChange(counts_text(a), counts_text(b), where)


def _vanished(chain: Chain, mixes: tuple[LoopMix, LoopMix]) -> bool:
    """Whether only one side has a loop of the statement."""
    return mixes[0].runs(chain) != mixes[1].runs(chain)


def _of_loop(
    chain: Chain, was: RegionCounts, now: RegionCounts, mixes: tuple[LoopMix, LoopMix]
) -> Iterator[ValueChange | str]:
    """Yield the changes of a loop that both sides have: in it, before it, after it."""
    name = loop_text(chain, mixes)
    inside = Region(Where.IN, chain)
    if inside in was or inside in now:
        yield _in_loop(f"in {name}:", inside, was, now, mixes)
        name = "the loop"
    for region in _next_to(chain, was, now):
        a, b = was.get(region, {}), now.get(region, {})
        if a != b:
            yield _counts_change(a, b, f"{region.where.value} {name}{_repeated(region, mixes)}:")


def _next_to(chain: Chain, was: RegionCounts, now: RegionCounts) -> list[Region]:
    """Return the regions before the loop, then those after it."""
    regions = [region for region in dict.fromkeys((*was, *now)) if region.loop == chain]
    return [region for where in _AROUND for region in regions if region.where is where]


def _repeated(region: Region, mixes: tuple[LoopMix, LoopMix]) -> str:
    """Return `, per iteration of the loop of line 8` for a part of an outer loop; "" if it runs once."""
    return f", per iteration of {loop_text(region.around, mixes)}" if region.around else ""


def _side_text(counts: RegionCounts, mix: LoopMix, mixes: tuple[LoopMix, LoopMix]) -> str:
    """All instructions of one side by region, for sides with other loops, whose regions do not correspond."""
    if counts and not any(region.loop for region in counts):
        return f"{counts_text(sum_counts(counts.values()))} without a loop"
    ordered = sorted(mix.per_iteration(counts).items(), key=lambda item: _ORDER.index(item[0].where))
    return ", ".join(_in_region(region, own, counts, mix, mixes) for region, own in ordered) or "none"


def _in_region(
    region: Region, own: Counts, counts: RegionCounts, mix: LoopMix, mixes: tuple[LoopMix, LoopMix]
) -> str:
    if region == OUTSIDE:
        return f"{counts_text(own)} outside of loops"
    if region.where is not Where.IN:
        loop = f"{loop_text(region.loop, mixes)}{_repeated(region, mixes)}"
        return f"{counts_text(own)} {region.where.value} {loop}"
    loops = loop_text(region.loop, mixes, mix.count(region.loop, own))
    return f"{counts_text(own)} {_per(mix.passes(region, counts[region]))} of {loops}"


def sum_counts(counts: Iterable[Counts]) -> dict[InstructionKind, int]:
    """Return how many instructions of each kind all of `counts` have together."""
    total: dict[InstructionKind, int] = {}
    for part in counts:
        for kind, number in part.items():
            total[kind] = total.get(kind, 0) + number
    return total


def _in_loop(
    where: str, region: Region, was: RegionCounts, now: RegionCounts, mixes: tuple[LoopMix, LoopMix]
) -> ValueChange | str:
    sides = []
    for counts, mix in zip((was, now), mixes, strict=True):
        own: Counts = counts.get(region, {})
        unit = _unit(mix.passes(region, own), mix.count(region.loop, own))
        sides.append((counts_text(mix.per_iteration(counts).get(region, {})), unit))
    (a, unit_a), (b, unit_b) = sides
    if (a, unit_a) == (b, unit_b):
        return f"{where} {a} {unit_a} in both"
    if unit_a == unit_b and "none" not in (a, b):
        return ValueChange(a, b, where, unit_b)
    # The loops of a side without any do not matter.
    a, b = (counts if counts == "none" else f"{counts} {unit}" for counts, unit in sides)
    return ValueChange(a, b, where)


def explained(was: RegionCounts, now: RegionCounts, mixes: tuple[LoopMix, LoopMix]) -> bool:
    """Whether a finding about a loop explains the whole change of a line.

    The work of an iteration is the same, and there is more or less of it before and after a loop that is
    pipelined to another depth, or instead of a loop that is fully unrolled.
    """
    sides = [mix.per_iteration(counts) for counts, mix in zip((was, now), mixes, strict=True)]
    chains = {region.loop for region in (*was, *now) if region.loop}
    if len(chains) != 1:
        return False
    (chain,) = chains
    inside = Region(Where.IN, chain)
    one = sides[0].get(inside) or sides[1].get(inside)
    if not one:
        return False
    if _vanished(chain, mixes):
        return all(_multiple(own, one) for side in sides for own in side.values())
    same = sides[0].get(inside) == sides[1].get(inside)
    around = [own for side in sides for region, own in side.items() if region.where in _AROUND]
    outside = sides[0].get(OUTSIDE) == sides[1].get(OUTSIDE)
    deeper = mixes[0].depth(chain) != mixes[1].depth(chain)
    return same and outside and deeper and all(_multiple(own, one) for own in around)


def _multiple(counts: Counts, one: Counts) -> bool:
    """Whether `counts` are those of `one` a whole number of times."""
    times = {divmod(counts.get(kind, 0), number) for kind, number in one.items()}
    return counts.keys() == one.keys() and len(times) == 1 and all(not rest for _, rest in times)


def _per(passes: int) -> str:
    return "per iteration" if passes == 1 else f"per {passes} iterations"


def _unit(passes: int, loops: int) -> str:
    """`per iteration`. Groups of warps of a warp-specialized kernel can each have a loop of one statement."""
    return _per(passes) if loops < 2 else f"{_per(passes)} of {loops} loops"


# A loop that is longer by less, 20 percent, is not worth a sentence of its own.
_SMALL = 0.263


@dataclass(frozen=True, eq=False, repr=False)
class _SideLoops(FrozenValue):
    """The loops of one side: those of the assembly by statement, and the statements of TTGIR."""

    mix: LoopMix
    loops: dict[Chain, list[Loop]]
    trips: dict[Chain, TripCount]

    def has(self, chain: Chain) -> bool:
        """Whether the kernel has the statement, in whatever form."""
        return self.mix.regions is not None and chain in self.mix.regions.chains

    def main(self, chain: Chain) -> Loop | None:
        """Return the loop of a statement; None if it has none, or runs in several groups of warps."""
        mains = [loop for loop in self.loops.get(chain, []) if not loop.remainder]
        return mains[0] if len(mains) == 1 else None

    @property
    def around(self) -> set[Chain]:
        """The statements with a loop inside."""
        regions = self.mix.regions
        return (
            {regions.scf[loop.parent].chain for loop in regions.scf if loop.parent >= 0} if regions else set()
        )

    def evidence(self, chain: Chain) -> tuple[Evidence, ...]:
        return tuple(Evidence(self.mix.stage, loop.header) for loop in self.loops.get(chain, []))


def loop_findings(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each loop statement whose loop differs in the assembly."""
    assembly = assembly_diff(pair)
    if assembly is None or assembly.equal:
        return
    a, b = _sides(pair, loop_mixes(pair))
    if a.mix.regions is None or b.mix.regions is None:
        return
    sass = machine_mixes(pair)
    for chain in dict.fromkeys([*b.mix.regions.chains, *a.mix.regions.chains]):
        if chain:
            yield from _loop_finding(chain, a, b, sass)


def loop_spills(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each loop whose accesses of local memory per iteration differ.

    Those of ptxas are only in SASS.
    """
    mixes = machine_mixes(pair) or loop_mixes(pair) if assembly_diff(pair) else None
    if mixes is None:
        return
    a, b = _sides(pair, mixes)
    for chain in dict.fromkeys([*b.loops, *a.loops]):
        was, now = _spill_text(a.loops.get(chain, [])), _spill_text(b.loops.get(chain, []))
        if was == now:
            continue
        name = loop_text(chain, mixes)
        hot = any(loop.hot for side in (a, b) for loop in side.loops.get(chain, []))
        yield Finding(
            f"Spills inside {'the hot loop, ' if hot else ''}{name}",
            Severity.LOOP_SPILLS.weight(),
            "loop spills",
            a.evidence(chain),
            b.evidence(chain),
            line_text(chain[0]),
            changes=(ValueChange(was, now),),
        )


def _sides(pair: PairContext, mixes: tuple[LoopMix, LoopMix]) -> tuple[_SideLoops, _SideLoops]:
    ttir = pair.diffs.get("ttir")
    a, b = (
        _side(mix, dict(trip_counts(document, variant)) if document else {})
        for mix, variant, document in zip(mixes, (pair.a, pair.b), _documents(ttir), strict=True)
    )
    return a, b


def _documents(diff: StageDiff | None) -> tuple[Document | None, Document | None]:
    return (diff.left, diff.right) if diff else (None, None)


def _side(mix: LoopMix, trips: dict[Chain, TripCount]) -> _SideLoops:
    loops: dict[Chain, list[Loop]] = {}
    for loop in loops_of(mix, trips):
        loops.setdefault(loop.chain, []).append(loop)
    return _SideLoops(mix, loops, trips)


def _loop_finding(
    chain: Chain, a: _SideLoops, b: _SideLoops, sass: tuple[LoopMix, LoopMix] | None
) -> Iterator[Finding]:
    name = loop_text(chain, (a.mix, b.mix))
    what, severity, covers = name.capitalize(), Severity.LOOP, frozenset[str]()
    changes: list[ValueChange | str] = []
    was, now = a.main(chain), b.main(chain)
    if not a.loops.get(chain) and not b.loops.get(chain):
        return
    if a.has(chain) != b.has(chain):
        what = f"Only {'A' if a.has(chain) else 'B'} has {name}"
    elif bool(a.loops.get(chain)) != bool(b.loops.get(chain)):
        gone, side = (b, "B") if a.loops.get(chain) else (a, "A")
        trip = gone.trips.get(chain)
        changes = [f"fully unrolled in {side} ({trip})" if trip else f"the assembly of {side} has no loop"]
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
    yield Finding(what, weight, "loop", *evidence, line_text(chain[0]), covers, changes=tuple(changes))


def _unrolling(a: int | None, b: int | None, by: str = "") -> Iterator[ValueChange | str]:
    """Known on both sides only: an unknown factor says nothing about the other one."""
    if a is None or b is None or a == b:
        return
    if b == 1:
        yield f"no longer unrolled (A: x{a}){by}"
    else:
        yield f"unrolled x{b}{by}" if a == 1 else ValueChange(f"unrolled x{a}", f"x{b}{by}")


def _by_ptxas(chain: Chain, sass: tuple[LoopMix, LoopMix]) -> Iterator[ValueChange | str]:
    """Yield the outcome in ptxas of a loop that is in the PTX of both sides."""
    a, b = sass
    if a.regions is None or b.regions is None:
        return
    if a.runs(chain) != b.runs(chain):
        yield f"fully unrolled by ptxas in {'B' if a.runs(chain) else 'A'}"
    else:
        yield from _unrolling(a.unrolled(chain), b.unrolled(chain), " by ptxas")


def _pipelining(chain: Chain, a: _SideLoops, b: _SideLoops) -> Iterator[ValueChange | str]:
    was, now = a.mix.depth(chain), b.mix.depth(chain)
    if was == now:
        return
    if now == 1:
        yield f"no longer pipelined (A: {was} deep)"
        return
    copies = b.mix.copies_before(chain)
    loads = (
        f", its prologue has {copies} {'copy' if copies == 1 else 'copies'} of the loads" if copies else ""
    )
    if was == 1:
        yield f"pipelined, {now} deep (A: not pipelined){loads}"
    else:
        yield ValueChange(f"{was}", f"{now}", "pipelined,", f"deep{loads}")


def _length(was: Loop, now: Loop) -> list[ValueChange]:
    """Return the instructions per iteration, if they differ by more than a little."""
    known = was.unrolled is not None and now.unrolled is not None
    same = was.unrolled == now.unrolled
    a, b = was.instructions, now.instructions
    if same:
        per = _iterations(now.unrolled)
        longer = ValueChange(f"{a:,}", f"{b:,}", unit=f"instructions per {per}")
        return [longer] if effect(a, b) > _SMALL else []
    if known:
        passes = [f"{own.instructions:,} per {_iterations(own.unrolled)}" for own in (was, now)]
        return [ValueChange(f"instructions {passes[0]}", passes[1])]
    return []


def _iterations(number: int | None) -> str:
    return "iteration" if number in (None, 1) else f"{number} iterations"


def trip_changes(a: TripCount | None, b: TripCount | None) -> Iterator[ValueChange | str]:
    """Return `32 -> 16 iterations for K=512`, `16 iterations` if equal; nothing if one is unknown."""
    if a is not None and b is not None:
        # Each side has the arguments of its own first launch.
        before = f"{a.iterations:,}" if a.arguments == b.arguments else f"{a}"
        yield str(b) if a == b else ValueChange(before, str(b))


def _spill_text(loops: list[Loop]) -> str:
    """`12 loads and 4 stores per iteration`, `none`."""
    mains = [loop for loop in loops if not loop.remainder]
    if not mains:
        return "none"
    # The counts are those of the statement.
    loads, stores, unrolled = mains[0].spill_loads, mains[0].spill_stores, mains[0].unrolled
    parts = [f"{number:,} {what}" for number, what in ((loads, "loads"), (stores, "stores")) if number]
    return f"{' and '.join(parts)} per {_iterations(unrolled)}" if parts else "none"
