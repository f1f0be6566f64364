"""Findings about loops: unrolled, pipelined, removed, spilling, longer or shorter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irscope.analysis.findings.finding import Finding, PairContext, assembly_diff
from irscope.analysis.findings.region_text import line_text, loop_mixes, loop_text, machine_mixes
from irscope.analysis.findings.severity import Severity, effect
from irscope.analysis.kernel_loops import Loop, TripCount, loops_of, trip_counts
from irscope.analysis.loop_mix import LoopMix
from irscope.analysis.scf_loops import Chain
from irscope.diff.rows import StageDiff
from irscope.facts.fact import Evidence
from irscope.facts.registry import BUFFERS, PIPELINE_DEPTH
from irscope.languages.document import Document
from irscope.model.frozen_value import FrozenValue

# A loop that is longer by less, 20 percent, is not worth a sentence of its own.
_SMALL = 0.263


@dataclass(frozen=True, eq=False, repr=False)
class _Side(FrozenValue):
    """The loops of one side: those of the assembly by statement, and the statements of TTGIR."""

    mix: LoopMix
    loops: dict[Chain, list[Loop]]
    trips: dict[Chain, TripCount]

    def has(self, chain: Chain) -> bool:
        """Whether the kernel has the statement, in whatever form."""
        return self.mix.regions is not None and chain in self.mix.regions.chains

    def main(self, chain: Chain) -> Loop | None:
        """The loop of a statement; None if it has none, or runs in several groups of warps."""
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
    """A finding for each loop statement whose loop differs in the assembly."""
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
    """A finding for each loop whose accesses of local memory per iteration differ.

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
        text = f"Spills inside {'the hot loop, ' if hot else ''}{name}: {was} -> {now}"
        subject = line_text(chain[0])
        weight = Severity.LOOP_SPILLS.weight()
        yield Finding(text, weight, "loop spills", a.evidence(chain), b.evidence(chain), subject)


def _sides(pair: PairContext, mixes: tuple[LoopMix, LoopMix]) -> tuple[_Side, _Side]:
    ttir = pair.diffs.get("ttir")
    a, b = (
        _side(mix, dict(trip_counts(document, variant)) if document else {})
        for mix, variant, document in zip(mixes, (pair.a, pair.b), _documents(ttir), strict=True)
    )
    return a, b


def _documents(diff: StageDiff | None) -> tuple[Document | None, Document | None]:
    return (diff.left, diff.right) if diff else (None, None)


def _side(mix: LoopMix, trips: dict[Chain, TripCount]) -> _Side:
    loops: dict[Chain, list[Loop]] = {}
    for loop in loops_of(mix, trips):
        loops.setdefault(loop.chain, []).append(loop)
    return _Side(mix, loops, trips)


def _loop_finding(
    chain: Chain, a: _Side, b: _Side, sass: tuple[LoopMix, LoopMix] | None
) -> Iterator[Finding]:
    name = loop_text(chain, (a.mix, b.mix))
    text, severity, covers = "", Severity.LOOP, frozenset[str]()
    was, now = a.main(chain), b.main(chain)
    if not a.loops.get(chain) and not b.loops.get(chain):
        return
    if a.has(chain) != b.has(chain):
        text = f"Only {'A' if a.has(chain) else 'B'} has {name}"
    elif bool(a.loops.get(chain)) != bool(b.loops.get(chain)):
        gone, side = (b, "B") if a.loops.get(chain) else (a, "A")
        trip = gone.trips.get(chain)
        how = f"fully unrolled in {side} ({trip})" if trip else f"the assembly of {side} has no loop"
        text = f"{name.capitalize()}: {how}"
    elif was and now:
        pipelining = list(_pipelining(chain, a, b))
        unrolling = list(_unrolling(was.unrolled, now.unrolled))
        if sass and not unrolling:
            unrolling = list(_by_ptxas(chain, sass))
        structure = [*unrolling, *pipelining]
        length = _length(was, now) if chain not in a.around | b.around else []
        if structure or length:
            trips = trip_text(was.trip_count, now.trip_count)
            parts = [*structure, *length, *([trips] if trips else [])]
            text = f"{name.capitalize()}: {'; '.join(parts)}"
        severity = Severity.LOOP if structure else Severity.COUNT
        covers = frozenset([PIPELINE_DEPTH.name, BUFFERS.name]) if pipelining else covers
    if text:
        weight = severity.weight(effect(was.instructions, now.instructions) if was and now else 0.0)
        evidence = a.evidence(chain), b.evidence(chain)
        yield Finding(text, weight, "loop", *evidence, line_text(chain[0]), covers)


def _unrolling(a: int | None, b: int | None) -> Iterator[str]:
    """Known on both sides only: an unknown factor says nothing about the other one."""
    if a is None or b is None or a == b:
        return
    if b == 1:
        yield f"no longer unrolled (A: x{a})"
    else:
        yield f"unrolled x{b}" if a == 1 else f"unrolled x{a} -> x{b}"


def _by_ptxas(chain: Chain, sass: tuple[LoopMix, LoopMix]) -> Iterator[str]:
    """The outcome in ptxas of a loop that is in the PTX of both sides."""
    a, b = sass
    if a.regions is None or b.regions is None:
        return
    if a.runs(chain) != b.runs(chain):
        yield f"fully unrolled by ptxas in {'B' if a.runs(chain) else 'A'}"
    else:
        yield from (f"{text} by ptxas" for text in _unrolling(a.unrolled(chain), b.unrolled(chain)))


def _pipelining(chain: Chain, a: _Side, b: _Side) -> Iterator[str]:
    was, now = a.mix.depth(chain), b.mix.depth(chain)
    if was == now:
        return
    if now == 1:
        yield f"no longer pipelined (A: {was} deep)"
        return
    depth = f"{now} deep (A: not pipelined)" if was == 1 else f"{was} -> {now} deep"
    copies = b.mix.copies_before(chain)
    loads = (
        f", its prologue has {copies} {'copy' if copies == 1 else 'copies'} of the loads" if copies else ""
    )
    yield f"pipelined, {depth}{loads}"


def _length(was: Loop, now: Loop) -> list[str]:
    """The instructions per iteration, if they differ by more than a little."""
    known = was.unrolled is not None and now.unrolled is not None
    same = was.unrolled == now.unrolled
    a, b = was.instructions, now.instructions
    if same:
        per = _iterations(now.unrolled)
        return [f"{a:,} -> {b:,} instructions per {per}"] if effect(a, b) > _SMALL else []
    if known:
        passes = [f"{own.instructions:,} per {_iterations(own.unrolled)}" for own in (was, now)]
        return [f"instructions {' -> '.join(passes)}"]
    return []


def _iterations(number: int | None) -> str:
    return "iteration" if number in (None, 1) else f"{number} iterations"


def trip_text(a: TripCount | None, b: TripCount | None) -> str:
    """`32 -> 16 iterations for K=512`, `16 iterations` if equal; "" if one is unknown."""
    if a is None or b is None:
        return ""
    if a == b:
        return str(b)
    # Each side has the arguments of its own first launch.
    return f"{a.iterations:,} -> {b}" if a.arguments == b.arguments else f"{a} -> {b}"


def _spill_text(loops: list[Loop]) -> str:
    """`12 loads and 4 stores per iteration`, `none`."""
    mains = [loop for loop in loops if not loop.remainder]
    if not mains:
        return "none"
    # The counts are those of the statement.
    loads, stores, unrolled = mains[0].spill_loads, mains[0].spill_stores, mains[0].unrolled
    parts = [f"{number:,} {what}" for number, what in ((loads, "loads"), (stores, "stores")) if number]
    return f"{' and '.join(parts)} per {_iterations(unrolled)}" if parts else "none"
