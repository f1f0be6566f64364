"""What the timelines of one or two variants say in sentences: what is hidden, what waits, what moved.

The timelines of a pair as a finding: which copy has more, or less, of the time that it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irscope.facts.fact import Evidence, evidence_at
from irscope.facts.registry import BUFFERS, PIPELINE_DEPTH
from irscope.findings.finding import (
    Finding,
    FindingCause,
    Severity,
    ValueChange,
    effect,
)
from irscope.model.kernel_timeline import KernelTimeline, Lane, Slack, Span, without_slot
from irscope.model.records import grouped
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from irscope.workspace.comparison import Comparison

# A wait that is shorter or longer by less, relative to what the copy needs, is no finding.
_LITTLE = 0.1
_NEEDED = (
    "a copy is in flight from its issue until it is waited for or used; it needs what memory takes to "
    "answer, and its data to arrive behind those of the copies before it"
)
_RATE = "hidden copies are waited for as well if memory delivers no faster: then more stages do not help"


def pair_timelines(pair: Comparison) -> list[KernelTimeline]:
    """Return the timelines of A and of B, once for a single variant; none if neither has a steady state."""
    variants = pair.variants[: 1 if pair.single else 2]
    timelines = [pair.workspace.kernel_timeline(variant) for variant in variants]
    return timelines if any(timeline.period for timeline in timelines) else []


def timeline_texts(timelines: Sequence[KernelTimeline]) -> list[str]:
    """Return what one timeline says, or how the second differs from the first."""
    if is_pair(timelines):
        return pair_texts(*timelines)
    return [text for timeline in timelines for text in single_texts(timeline)]


def is_pair(timelines: Sequence[KernelTimeline]) -> bool:
    """Return True for two timelines that can be compared."""
    return len(timelines) == 2 and all(timeline.spans for timeline in timelines)


def lane_sentences(timeline: KernelTimeline) -> Iterator[str]:
    """Yield the warps and registers of each partition in one sentence; nothing without specialization."""
    texts = []
    for lane in timeline.lanes:
        if lane.engine == "warps" and lane.partition:
            registers = f", {lane.registers} registers" if lane.registers else ""
            texts.append(f"{lane.partition}: {pluralize(lane.warps, 'warp')}{registers}")
    if texts:
        yield "; ".join(texts)


def single_texts(timeline: KernelTimeline) -> list[str]:
    """Return the time of an iteration, how far copies are ahead, what is hidden, and what waits."""
    if not timeline.period:
        return []
    clock = "latencies of operations" if timeline.clock == "ttgir" else "replayed machine code"
    waits = [
        f"{who} {cycles:,.0f} of {timeline.period:,.0f} cycles for {cause}"
        for (who, cause), cycles in _wait_cycles(timeline).items()
    ]
    period = f"an iteration takes {timeline.period:,.0f} cycles ({clock})"
    ahead = [*_ahead_texts(timeline), *_shared_texts(timeline)]
    return [period, *ahead, *_slack_texts(timeline), *waits, *_meaning(timeline)]


def pair_texts(a: KernelTimeline, b: KernelTimeline) -> list[str]:
    """Return what moved from A to B, what is hidden in B, and what still waits."""
    texts = [f"{letter} has no steady state" for letter, side in (("A", a), ("B", b)) if not side.period]
    if not texts:
        clocks = "" if a.clock == b.clock else ", by different clocks"
        texts.append(f"an iteration takes {b.period:,.0f} cycles in B, {a.period:,.0f} in A{clocks}")
    for letter, one, other in (("B", b, a), ("A", a, b)):
        if (own := list(lane_sentences(one))) and not list(lane_sentences(other)):
            texts.append(f"only {letter} is specialized: {own[0]}")
    texts += [*_ahead_texts(b, a), *_shared_texts(b, a)]
    return [*texts, *_slack_texts(b, a), *_wait_changes(a, b), *_meaning(b)]


def _meaning(timeline: KernelTimeline) -> Iterator[str]:
    """Yield what the sentences mean by the cycles that a copy needs, and why hidden ones are waited for."""
    copies = [slack for slack in timeline.slacks if slack.kind == "copy"]
    if copies:
        yield _NEEDED
        waits = any(cause.startswith("the copy") for _, cause in _wait_cycles(timeline))
        if waits and not any(round(_waited(slack)) for slack in copies):
            yield _RATE


def _ahead_texts(timeline: KernelTimeline, before: KernelTimeline | None = None) -> Iterator[str]:
    """Say how many iterations ahead copies are issued; with `before`, A, only of those that moved."""
    after, was = _distances(timeline), _distances(before) if before else {}
    names = [name for name in after if before is None or was.get(name, after[name]) != after[name]]
    for text, alike in grouped(names, lambda name: (after[name], was.get(name, ""))).items():
        ahead = f"the copies of {' and '.join(alike)} are issued {text[0]}"
        yield f"{ahead} in B; {text[1]} in A" if before else ahead


def _shared_texts(timeline: KernelTimeline, before: KernelTimeline | None = None) -> Iterator[str]:
    """Say what the slots of copies cost: shared memory; with `before`, A, only if that differs."""
    if timeline.shared and _distances(timeline) and (before is None or before.shared != timeline.shared):
        sides = f" in B, {before.shared:,} in A" if before else ""
        yield f"a block takes {timeline.shared:,} bytes of shared memory{sides}"


def _distances(timeline: KernelTimeline) -> dict[str, str]:
    """Return how far ahead the copy to each buffer is issued: "3 iterations ahead, into 4 slots"."""
    copied = {buffer for span in timeline.spans if span.kind == "copy" for buffer in span.buffers}
    slots = Counter(map(without_slot, copied))
    return {
        name: f"{pluralize(ahead, 'iteration')} ahead, into {pluralize(slots[name], 'slot')}"
        for name, ahead in sorted(timeline.iterations_ahead().items())
    }


def _slack_texts(timeline: KernelTimeline, before: KernelTimeline | None = None) -> Iterator[str]:
    """Say what each copy, load and product has in flight, and whether it is hidden.

    With `before`, these are B and A.
    """

    def text(slack: Slack) -> str:
        """Return what a slack has; it is the same for slacks that one sentence is about."""
        other = _slack_of(before, slack)
        of_a = f", {other.in_flight:,.0f} in A" if other else ""
        sides = f" in B{of_a}" if before else ""
        return f"{slack.in_flight:,.0f} cycles in flight{sides}; {_needs(slack, other)}"

    for (kind, said), equal in grouped(timeline.slacks, lambda slack: (slack.kind, text(slack))).items():
        names = " and ".join(map(_slack_name, equal))
        plural = {"copy": "copies"}.get(kind, f"{kind}s")
        yield (
            f"the {kind} of {names} has {said}" if len(equal) == 1 else f"the {plural} of {names} have {said}"
        )


def _slack_of(timeline: KernelTimeline | None, slack: Slack) -> Slack | None:
    """Return what another timeline has for the same buffer, or else for the same line."""
    alike = [item for item in timeline.slacks if item.kind == slack.kind] if timeline else []
    named = [item for item in alike if item.name == slack.name]
    return next(iter(named or (item for item in alike if item.source_line == slack.source_line)), None)


def _needs(slack: Slack, other: Slack | None) -> str:
    """Return `700 are needed: the last 200 are waited for`; with `other`, A's, what B and A wait for."""
    waited = round(_waited(slack))
    text = f"the last {waited:,} are waited for" if waited else "hidden"
    needed = f"{slack.needed:,.0f} are needed"
    if other is not None:
        waits = [(waited, "B"), (round(_waited(other)), "A")]
        waited_for = any(cycles for cycles, _ in waits)
        if abs(slack.needed - other.needed) > (0.5 if waited_for else _LITTLE * slack.needed):
            needed += f" in B, {other.needed:,.0f} in A"
        texts = [
            f"{letter} waits for {cycles:,}" if cycles else f"hidden in {letter}" for cycles, letter in waits
        ]
        text = ", ".join(texts) if waited_for else "hidden in both"
    return f"{needed}: {text}"


def _waited(slack: Slack) -> float:
    return max(0.0, slack.needed - slack.in_flight)


def _slack_name(slack: Slack) -> str:
    """Return what a copy fills, with its line; of a product and a load to registers, only the line."""
    line = f"line {slack.source_line}"
    return f"{slack.name} ({line})" if slack.kind == "copy" and slack.name else line


def _wait_cycles(timeline: KernelTimeline) -> dict[tuple[str, str], float]:
    """Return how long a lane waits per iteration of the steady state, by who waits and for what.

    "default waits", "the product of line 32 (barrier done)".
    """
    steady = timeline.steady_cycles
    if steady is None or steady[1] <= steady[0]:
        return {}
    releasing = {item.waiting: timeline.spans[item.releasing] for item in timeline.dependencies}
    cycles_by_cause: dict[tuple[str, str], float] = {}
    for index, span in enumerate(timeline.spans):
        cycles = min(span.end, steady[1]) - max(span.start, steady[0])
        if span.kind == "wait" and cycles > 0 and (span.barrier or index in releasing):
            lane = timeline.lanes[span.lane]
            key = agent_text(lane, "wait", "waits"), cause_text(span, releasing.get(index))
            share = cycles * timeline.period / (steady[1] - steady[0])
            cycles_by_cause[key] = cycles_by_cause.get(key, 0.0) + share
    longest = sorted(cycles_by_cause.items(), key=lambda item: -item[1])
    return {key: cycles for key, cycles in longest if round(cycles)}


def agent_text(lane: Lane, warps: str, partition: str) -> str:
    """Return a lane with a verb: "partition1 waits", "the warps wait"."""
    return f"{lane.name} {partition}" if lane.partition else f"the {lane.name} {warps}"


def cause_text(wait: Span, releasing: Span | None) -> str:
    """Say what a wait is for: "the product of line 32 (barrier done)"."""
    barrier = f"barrier {without_slot(wait.barrier)}" if wait.barrier else ""
    if releasing is None:
        return barrier
    names = ", ".join(dict.fromkeys(map(without_slot, releasing.buffers))) if releasing.kind == "copy" else ""
    line = f" of line {releasing.source_line}" if releasing.source_line else ""
    kind = "arrival" if releasing.kind == "arrive" else releasing.kind
    return f"the {kind}{f' of {names}' if names else line}{f' ({barrier})' if barrier else ''}"


def _wait_changes(a: KernelTimeline, b: KernelTimeline) -> Iterator[str]:
    """Say what waits in B, compared with A, and which waits of A are gone."""
    before, after = _wait_cycles(a), _wait_cycles(b)
    for key, cycles in after.items():
        who, cause = key
        other = f"{before[key]:,.0f} in A" if key in before else "not in A"
        yield f"in B, {who} {cycles:,.0f} cycles an iteration for {cause} ({other})"
    for (who, cause), cycles in before.items():
        if (who, cause) not in after:
            yield f"{who} no longer in B for {cause} ({cycles:,.0f} cycles an iteration in A)"


def timeline_findings(pair: Comparison) -> Iterator[Finding]:
    """Yield the copy that waits for more, or less, of the time that it needs, if the pipelines differ."""
    names = PIPELINE_DEPTH.name, BUFFERS.name
    depths = [[facts[name].value for name in names if name in facts] for facts in pair.facts]
    if pair.single or pair.mismatch or depths[0] == depths[1]:
        return
    timelines = pair_timelines(pair)
    if not is_pair(timelines) or timelines[0].clock != timelines[1].clock:
        return
    a, b = timelines
    copies = [
        (max(_waited(slack), _waited(other)), slack, other)
        for slack in b.slacks
        if slack.kind != "product" and (other := _slack_of(a, slack))
    ]
    _, slack, other = max(copies, key=lambda item: item[0], default=(0.0, None, None))
    if slack is None or other is None or abs(_waited(slack) - _waited(other)) < _LITTLE * slack.needed:
        return
    yield Finding(
        f"The {slack.kind} of {slack.name} in line {slack.source_line}",
        Severity.LOOP.weight(effect(other.in_flight, slack.in_flight)),
        "in flight",
        _copies(a, other),
        _copies(b, slack),
        changes=(ValueChange(f"{other.in_flight:,.0f}", f"{slack.in_flight:,.0f}", unit="cycles in flight"),),
        causes=(FindingCause("needed", (_needs(slack, other),)),),
    )


def _copies(timeline: KernelTimeline, slack: Slack) -> tuple[Evidence, ...]:
    """Return the lines of TTGIR that issue what a slack is about."""
    spans = [
        span
        for span in timeline.spans
        if (span.kind, span.source_line) == (slack.kind, slack.source_line)
        and span.stage_line
        and slack.name in map(without_slot, span.buffers)
    ]
    return evidence_at("ttgir", sorted({span.stage_line - 1 for span in spans}))
