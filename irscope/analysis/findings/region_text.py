"""Words for how the instructions of a line changed in each region of the kernel.

in the loop of line 12: 4 x 16-byte -> 8 x 16-byte per iteration; before the loop: none -> 16 x 16-byte
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from irscope.analysis.findings.finding import PairContext
from irscope.analysis.loop_mix import Counts, LoopMix, RegionCounts
from irscope.analysis.loop_regions import OUTSIDE, Region, Where
from irscope.analysis.scf_loops import Chain
from irscope.analysis.source_map import SourcePlace
from irscope.backends import backend_of
from irscope.backends.instructions import InstructionKind
from irscope.facts.artifacts import instruction_order

_AROUND = (Where.BEFORE, Where.AFTER)
_ORDER = (Where.IN, *_AROUND, Where.REMAINDER, Where.OUTSIDE)


def loop_mixes(pair: PairContext) -> tuple[LoopMix, LoopMix]:
    """The instructions of the assembly of A and B by region. Raises KeyError if it was not compared."""
    return _mixes(pair, backend_of(pair.b.target).assembly)


def machine_mixes(pair: PairContext) -> tuple[LoopMix, LoopMix] | None:
    """The instructions of the machine code of A and B by region, if it was compared.

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
    """`the loop of line 12`; `... (called in line 92)` if a helper's loop is inlined several times.

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


def change_text(was: RegionCounts, now: RegionCounts, mixes: tuple[LoopMix, LoopMix]) -> str:
    """How the instructions of a line changed. The counts are those of a pass of each loop."""
    if all(region == OUTSIDE for region in (*was, *now)):
        return f"{counts_text(was.get(OUTSIDE, {}))} -> {counts_text(now.get(OUTSIDE, {}))}"
    chains = dict.fromkeys(region.loop for region in (*now, *was) if region.loop)
    if any(_vanished(chain, mixes) for chain in chains):
        return " -> ".join(_side(counts, mix, mixes) for counts, mix in zip((was, now), mixes, strict=True))
    parts = [part for chain in chains for part in _of_loop(chain, was, now, mixes)]
    a, b = was.get(OUTSIDE, {}), now.get(OUTSIDE, {})
    if a != b:
        parts.append(f"outside of loops: {counts_text(a)} -> {counts_text(b)}")
    return "; ".join(parts)


def _vanished(chain: Chain, mixes: tuple[LoopMix, LoopMix]) -> bool:
    """Whether only one side has a loop of the statement."""
    return mixes[0].runs(chain) != mixes[1].runs(chain)


def _of_loop(
    chain: Chain, was: RegionCounts, now: RegionCounts, mixes: tuple[LoopMix, LoopMix]
) -> Iterator[str]:
    """The parts about a loop that both sides have: in it, before it, after it."""
    name = loop_text(chain, mixes)
    inside = Region(Where.IN, chain)
    if inside in was or inside in now:
        yield f"in {name}: {_in_loop(inside, was, now, mixes)}"
        name = "the loop"
    for region in _next_to(chain, was, now):
        a, b = was.get(region, {}), now.get(region, {})
        if a != b:
            place = f"{region.where.value} {name}{_repeated(region, mixes)}"
            yield f"{place}: {counts_text(a)} -> {counts_text(b)}"


def _next_to(chain: Chain, was: RegionCounts, now: RegionCounts) -> list[Region]:
    """Return the regions before the loop, then those after it."""
    regions = [region for region in dict.fromkeys((*was, *now)) if region.loop == chain]
    return [region for where in _AROUND for region in regions if region.where is where]


def _repeated(region: Region, mixes: tuple[LoopMix, LoopMix]) -> str:
    """Return `, per iteration of the loop of line 8` for a part of an outer loop; "" if it runs once."""
    return f", per iteration of {loop_text(region.around, mixes)}" if region.around else ""


def _side(counts: RegionCounts, mix: LoopMix, mixes: tuple[LoopMix, LoopMix]) -> str:
    """All instructions of one side by region, for sides with other loops, whose regions do not correspond."""
    if counts and not any(region.loop for region in counts):
        return f"{_plain(counts)} without a loop"
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


def _plain(counts: RegionCounts) -> str:
    total: dict[InstructionKind, int] = {}
    for own in counts.values():
        for kind, number in own.items():
            total[kind] = total.get(kind, 0) + number
    return counts_text(total)


def _in_loop(region: Region, was: RegionCounts, now: RegionCounts, mixes: tuple[LoopMix, LoopMix]) -> str:
    sides = []
    for counts, mix in zip((was, now), mixes, strict=True):
        own: Counts = counts.get(region, {})
        unit = _unit(mix.passes(region, own), mix.count(region.loop, own))
        sides.append((counts_text(mix.per_iteration(counts).get(region, {})), unit))
    (a, unit_a), (b, unit_b) = sides
    if (a, unit_a) == (b, unit_b):
        return f"{a} {unit_a} in both"
    if "none" in (a, b):  # the loops of a side without any do not matter
        return " -> ".join(one if one == "none" else f"{one} {unit}" for one, unit in sides)
    return f"{a} -> {b} {unit_b}" if unit_a == unit_b else f"{a} {unit_a} -> {b} {unit_b}"


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
