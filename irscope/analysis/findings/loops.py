"""Findings about loops: unrolled, pipelined, removed, spilling, longer or shorter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from irscope.analysis.findings.finding import Finding, PairContext, assembly_diff, effect
from irscope.analysis.findings.region_text import loop_mixes, loop_text, sass_mixes
from irscope.analysis.kernel_loops import Loop, TripCount, loops_of, trip_counts
from irscope.analysis.loop_mix import LoopMix
from irscope.analysis.scf_loops import Chain
from irscope.diff.rows import StageDiff
from irscope.facts.fact import Evidence
from irscope.languages.document import Document

_UNROLLED, _LONGER = 6.0, 1.5
_SPILLS = 30.0
# A loop that is longer by less, 20 percent, is not worth a sentence of its own.
_SMALL = 0.263


@dataclass(frozen=True)
class _Side:
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
    for chain in dict.fromkeys([*b.mix.regions.chains, *a.mix.regions.chains]):
        if chain:
            yield from _loop_finding(chain, a, b)


def loop_spills(pair: PairContext) -> Iterator[Finding]:
    """A finding for each loop whose accesses of local memory per iteration differ.

    Those of ptxas are only in SASS.
    """
    mixes = sass_mixes(pair) or loop_mixes(pair) if assembly_diff(pair) else None
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
        yield Finding(text, _SPILLS, "loop spills", a.evidence(chain), b.evidence(chain))


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


def _loop_finding(chain: Chain, a: _Side, b: _Side) -> Iterator[Finding]:
    name = loop_text(chain, (a.mix, b.mix))
    evidence = a.evidence(chain), b.evidence(chain)
    if a.has(chain) != b.has(chain):
        side = "A" if a.has(chain) else "B"
        yield Finding(f"Only {side} has {name}", _UNROLLED, "loop", *evidence)
    elif bool(a.loops.get(chain)) != bool(b.loops.get(chain)):
        gone, without = (b, "B") if a.loops.get(chain) else (a, "A")
        trip = gone.trips.get(chain)
        how = f"fully unrolled ({trip})" if trip else "without a loop in the assembly"
        text = f"{name.capitalize()}: {how} in {without}"
        yield Finding(text, _UNROLLED, "loop", *evidence)
    elif (was := a.main(chain)) and (now := b.main(chain)):
        structure = [*_unrolling(was, now), *_pipelining(was, now)]
        parts = [*structure, *_length(was, now), *_trips(was, now)]
        if structure or _length(was, now):
            text = f"{name.capitalize()}: {'; '.join(parts)}"
            yield Finding(text, _weight(was, now, bool(structure)), "loop", *evidence)


def _weight(was: Loop, now: Loop, structure: bool) -> float:
    return (_UNROLLED if structure else _LONGER) * (1 + 0.1 * effect(was.instructions, now.instructions))


def _unrolling(was: Loop, now: Loop) -> Iterator[str]:
    """Known on both sides only: an unknown factor says nothing about the other one."""
    a, b = was.unrolled, now.unrolled
    if a is None or b is None or a == b:
        return
    if b == 1:
        yield f"no longer unrolled (A: x{a})"
    else:
        yield f"unrolled x{b}" if a == 1 else f"unrolled x{a} -> x{b}"


def _pipelining(was: Loop, now: Loop) -> Iterator[str]:
    if was.pipelined == now.pipelined:
        return
    if now.pipelined == 1:
        yield f"no longer pipelined (A: {was.pipelined} deep)"
    elif was.pipelined == 1:
        yield f"pipelined, {now.pipelined} deep (A: not pipelined)"
    else:
        yield f"pipelined, {was.pipelined} -> {now.pipelined} deep"


def _length(was: Loop, now: Loop) -> list[str]:
    """The instructions per iteration, if they differ by more than a little."""
    known = was.unrolled is not None and now.unrolled is not None
    same = (was.unrolled, now.unrolled) in ((1, 1), (None, None))
    a, b = was.instructions, now.instructions
    if same and effect(a, b) > _SMALL:
        return [f"{a:,} -> {b:,} instructions per iteration"]
    if known and not same:
        passes = [f"{own.instructions:,} per {_iterations(own.unrolled)}" for own in (was, now)]
        return [f"instructions {' -> '.join(passes)}"]
    return []


def _iterations(number: int | None) -> str:
    return "iteration" if number in (None, 1) else f"{number} iterations"


def _trips(was: Loop, now: Loop) -> Iterator[str]:
    a, b = was.trip_count, now.trip_count
    if b is None:
        return
    yield str(b) if a is None or a == b else f"{a.iterations:,} -> {b}"


def _spill_text(loops: list[Loop]) -> str:
    """`12 loads and 4 stores per iteration`, `none`."""
    mains = [loop for loop in loops if not loop.remainder]
    if not mains:
        return "none"
    # The counts are those of the statement.
    loads, stores, unrolled = mains[0].spill_loads, mains[0].spill_stores, mains[0].unrolled
    parts = [f"{number:,} {what}" for number, what in ((loads, "loads"), (stores, "stores")) if number]
    return f"{' and '.join(parts)} per {_iterations(unrolled)}" if parts else "none"
