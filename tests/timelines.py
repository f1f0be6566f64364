"""Timelines made by hand for tests of their pictures: a pipelined loop, and one with four partitions.

Both play their schedule: a wait ends when what it waits for ends, so that the spans agree with each other.
"""

from __future__ import annotations

from dataclasses import replace

from irscope.model.kernel_timeline import Dependency, KernelTimeline, Lane, Slack, Span, SpanKind

LOAD, PRODUCT = 700.0, 500.0


class _Play:
    """The spans so far, the cycle in which each lane goes on, and the span that ended each thing last."""

    def __init__(self, lanes: tuple[Lane, ...]) -> None:
        self.lanes = lanes
        self.now = [0.0] * len(lanes)
        self.spans: list[Span] = []
        self.dependencies: list[Dependency] = []

    def start(
        self,
        lane: int,
        kind: SpanKind,
        cycles: float,
        iteration: int,
        line: int,
        buffers: tuple[str, ...] = (),
        by: int = -1,
    ) -> int:
        """Append a span of the lane's own, or of an engine that the lane `by` starts; return its index."""
        issued = self.now[lane if by < 0 else by]
        start = max(self.now[lane], issued) if kind != "copy" else issued
        span = Span(lane, kind, start, start + cycles, iteration, buffers, "", -1, line + 50, line, issued)
        self.spans.append(span)
        if kind != "copy":
            self.now[lane] = span.end
        return len(self.spans) - 1

    def wait(
        self, lane: int, span: int, iteration: int, line: int, barrier: str = "", phase: int = -1
    ) -> None:
        """Block a lane until a span has ended; nothing if it has."""
        start, end = self.now[lane], self.spans[span].end
        if end > start:
            self.dependencies.append(Dependency(span, len(self.spans)))
            self.spans.append(
                Span(lane, "wait", start, end, iteration, (), barrier, phase, line + 50, line, start)
            )
            self.now[lane] = end


def pipelined(stages: int, iterations: int = 4, load: float = LOAD) -> KernelTimeline:
    """A matmul whose loads run `stages` - 1 iterations ahead, and whose products are waited for at once."""
    play = _Play((Lane("warps", warps=4), Lane("tensor cores"), Lane("copies")))
    arrivals: dict[int, int] = {}

    def copy(iteration: int) -> None:
        for name, line in (("a", 40), ("b", 41)):
            slot = f"{name}[{iteration % stages}]"
            arrivals[iteration] = play.start(2, "copy", load, iteration, line, (slot,), by=0)
            play.now[0] += 10

    for iteration in range(min(stages - 1, iterations)):
        copy(iteration)
    for iteration in range(iterations):
        play.wait(0, arrivals[iteration], iteration, 40)
        buffers = (f"a[{iteration % stages}]", f"b[{iteration % stages}]")
        product = play.start(1, "product", PRODUCT, iteration, 42, buffers, by=0)
        if iteration + stages - 1 < iterations:
            copy(iteration + stages - 1)
        play.wait(0, product, iteration, 42)
    play.start(0, "store", 200, -1, 50)
    critical = {dependency.releasing for dependency in play.dependencies} | {len(play.spans) - 1}
    spans = tuple(replace(span, critical=index in critical) for index, span in enumerate(play.spans))
    period = max(PRODUCT, (load + 20) / (stages - 1))
    slacks = tuple(
        Slack("copy", name, line, (stages - 1) * PRODUCT, load) for name, line in (("a", 40), ("b", 41))
    )
    steady = (stages - 1, max(stages - 1, iterations - stages + 1))
    return KernelTimeline(play.lanes, spans, tuple(play.dependencies), slacks, steady, period, "ttgir")


def specialized(iterations: int = 4) -> KernelTimeline:
    """Four partitions: default scales the product, 0 loads, 1 multiplies, 2 stores."""
    default, load, multiply, store, tensor_cores, copies = range(6)
    play = _Play(
        (
            Lane("warps", "default", 4, 152),
            Lane("warps", "partition0", 1, 24),
            Lane("warps", "partition1", 1, 24),
            Lane("warps", "partition2", 4, 80),
            Lane("tensor cores"),
            Lane("copies"),
        )
    )
    products: list[int] = []
    scaled: list[int] = []
    for i in range(iterations):
        slot, phase = i % 2, i // 2 % 2
        if i >= 2:
            play.wait(load, products[i - 2], i, 20, f"empty[{slot}]", 1 - phase)
        copy = play.start(copies, "copy", LOAD, i, 21, (f"a[{slot}]",), by=load)
        play.now[load] += 20
        play.wait(multiply, copy, i, 30, f"full[{slot}]", phase)
        if i >= 1:
            play.wait(multiply, scaled[i - 1], i, 31, "free", 1 - i % 2)
        products.append(
            play.start(tensor_cores, "product", PRODUCT, i, 32, (f"a[{slot}]", "acc"), by=multiply)
        )
        play.now[multiply] += 10
        play.wait(default, products[i], i, 60, "done", i % 2)
        play.start(default, "read", 90, i, 61, ("acc",))
        scaled.append(play.start(default, "arrive", 0, i, 62))
        play.start(default, "compute", 150, i, 63)
        written = play.start(default, "write", 60, i, 64, ("out",))
        play.wait(store, written, i, 70, "ready", i % 2)
        play.start(store, "store", 200, i, 71, ("out",))
    return KernelTimeline(
        play.lanes,
        tuple(play.spans),
        tuple(play.dependencies),
        (Slack("copy", "a", 21, 1090, LOAD),),
        (1, iterations - 2),
        800.0,
        "ttgir",
        ("The trip count comes from data; 4 iterations are shown.",),
    )
