"""The timeline of one program of a kernel: what is in flight when, and what waits for what.

warps      wait B0 | product 0 (a[0]) | wait B1 | product 1 (a[1])
copies   a[2] <- 2 ..........| a[0] <- 3 ..........
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median_low
from typing import Literal

from irscope.model.records import frozen

# What a span is: a copy to shared memory, a load to registers, a product of the tensor cores, the read and
# the write of a buffer by threads, a store to global memory, a wait that blocks, an arrival at a barrier, or
# other work of the warps (arithmetic, address computation).
SpanKind = Literal["copy", "load", "product", "read", "write", "store", "wait", "arrive", "compute"]
# Spans that use what copies bring.
CONSUMERS: tuple[SpanKind, ...] = ("product", "read", "compute", "store", "write")
# An agent that goes on by itself, or the warps of a partition.
Engine = Literal["warps", "copies", "tensor cores"]
_SLOT = re.compile(r"\[\d+\]$")


@frozen
class Lane:
    """An agent: the warps of a partition, or an engine that its instructions start.

    `partition` is "" without specialization. `registers` per thread are those that the partition requests, 0
    if it requests none.
    """

    engine: Engine
    partition: str = ""
    warps: int = 0
    registers: int = 0

    @property
    def name(self) -> str:
        """Return the name for a user: "partition1", "tensor cores"."""
        if self.engine == "warps":
            return self.partition or self.engine
        return f"{self.engine} {self.partition}".strip()


@frozen
class Span:
    """What a lane does from cycle `start` to cycle `end`, with start <= end.

    Copies, loads and stores last from their issue to their arrival, so that several are in flight at once; in
    the other lanes, one thing happens after the other.

    `iteration` is that of the data, from 0: a copy for iteration 2 may be issued in iteration 0; -1 outside
    of loops. `buffers` are those that it uses, with their slots ("a[1]"), or the tensor that it loads to
    registers; `barrier` and `phase` are those that it waits for or arrives at: phase -1 is the one before the
    first, for which no wait blocks. `stage_line` is its line in the final TTGIR, from 1, `source_line`
    its line of Python; 0 if it has none. `issued` is the cycle in which the warps issued it. `critical`: it
    is on the critical path.
    """

    lane: int
    kind: SpanKind
    start: float
    end: float
    iteration: int = -1
    buffers: tuple[str, ...] = ()
    barrier: str = ""
    phase: int = -1
    stage_line: int = 0
    source_line: int = 0
    issued: float = 0.0
    critical: bool = False


@frozen
class Dependency:
    """The span `waiting` goes on because the span `releasing` ended; both are indices of spans."""

    releasing: int
    waiting: int


@frozen
class Slack:
    """The cycles between the issue and the first use of what a line copies or computes, in the steady state.

    `in_flight` are the cycles that the schedule leaves, `needed` those that it takes: if it needs more, the
    wait blocks for the rest.
    """

    kind: SpanKind
    name: str
    source_line: int
    in_flight: float
    needed: float


@dataclass(frozen=True)
class KernelTimeline:
    """The timeline of a variant over a few iterations of its main loop.

    `steady` are the first and last iteration of the steady state, which take `period` cycles each; before
    them is the prologue, after them the epilogue. `clock` says where the cycles come from: "sass" (replayed
    machine code) or "ttgir" (latencies of operations). `shared` is the shared memory of a block in bytes, 0
    if unknown. `notes` say what is not shown and why; without spans, they say why there is no timeline.
    """

    lanes: tuple[Lane, ...] = ()
    spans: tuple[Span, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    slacks: tuple[Slack, ...] = ()
    steady: tuple[int, int] = (0, 0)
    period: float = 0.0
    clock: str = ""
    notes: tuple[str, ...] = ()
    shared: int = 0

    @property
    def cycles(self) -> float:
        """Return the cycle in which the last span ends."""
        return max((span.end for span in self.spans), default=0.0)

    @property
    def steady_cycles(self) -> tuple[float, float] | None:
        """Return when the data of the steady state begins to be used and ends to be; None without one."""
        first, last = self.steady
        consumers = [span for span in self.spans if span.kind in CONSUMERS and span.iteration >= 0]
        products = [span for span in consumers if span.kind == "product"] or consumers
        starts = [span.start for span in products if span.iteration == first]
        ends = [span.end for span in products if span.iteration == last]
        if not starts or not ends or not self.period:
            return None
        following = [span.start for span in products if span.iteration == last + 1]
        return min(starts), min(following, default=max(ends))

    def scaled(self, factor: float, clock: str) -> KernelTimeline:
        """Return a timeline with all cycles times a factor, by another clock."""
        spans = tuple(
            replace(span, start=span.start * factor, end=span.end * factor, issued=span.issued * factor)
            for span in self.spans
        )
        slacks = tuple(
            replace(slack, in_flight=slack.in_flight * factor, needed=slack.needed * factor)
            for slack in self.slacks
        )
        return replace(self, spans=spans, slacks=slacks, period=self.period * factor, clock=clock)

    def iterations_ahead(self) -> dict[str, int]:
        """Map each buffer, without slot, to how many iterations before its use its copy is issued.

        Only copies that are issued after the first product count.
        """
        starts = [(span.start, span.iteration) for span in self.spans if span.kind == "product"]
        distances: dict[str, list[int]] = {}
        for span in self.spans:
            begun = [iteration for start, iteration in starts if start <= span.issued]
            if span.kind == "copy" and span.iteration >= 0 and begun:
                for buffer in span.buffers:
                    distances.setdefault(without_slot(buffer), []).append(span.iteration - max(begun))
        return {name: median_low(numbers) for name, numbers in distances.items()}


def without_slot(buffer: str) -> str:
    """Return the name of a buffer or barrier without its slot: "a" of "a[1]"."""
    return _SLOT.sub("", buffer)


def iteration_ends(spans: Sequence[Span]) -> Mapping[int, float]:
    """Return when the products of each iteration end; without products, its copies or loads."""
    kinds: tuple[tuple[SpanKind, ...], ...] = (("product",), ("copy", "load"))
    for chosen in kinds:
        ends: dict[int, float] = {}
        for span in spans:
            if span.kind in chosen and span.iteration >= 0:
                ends[span.iteration] = max(ends.get(span.iteration, 0.0), span.end)
        if ends:
            return ends
    return {}
