"""The timeline of a program in cycles: a clock for each partition and engine that its events go through.

    copy a[2]    issued ....way to shared memory.... + latency    -> may be waited for
    product      max(issued, the tensor cores are free) + cycles  -> may be waited for
    wait         max(the warps come, what they wait for has ended)

The program has its multiprocessor for itself, and all others load when it does. The rates are those of the
device, the cycles of single instructions those of `latency` and the fitted constants.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod

from irscope.estimating.constants import DEVICES, H100, Constants, DeviceRates, shipped_fit
from irscope.estimating.latency import LATENCIES, PORT, PRODUCT_DRAIN, TENSOR_COPY
from irscope.estimating.work import IterationWork, steady_cycles
from irscope.facts.artifacts import VariantArtifacts
from irscope.interpreting.events.event_order import loop_passes
from irscope.interpreting.events.event_recorder import (
    EventRecording,
    RecordedEvent,
    RecordedThread,
    record_events,
)
from irscope.interpreting.events.hazards import line_of
from irscope.interpreting.runtime_values import size_in_bytes
from irscope.interpreting.stage_program import StageProgram, Type, UnansweredError
from irscope.languages.document import Document
from irscope.layouts.convert import Version, triton_version
from irscope.model import Target
from irscope.model.kernel_timeline import (
    Dependency,
    KernelTimeline,
    Lane,
    Slack,
    Span,
    SpanKind,
    iteration_ends,
)
from irscope.targets import CUDA

_WARP, _WAVEFRONT = 32, 128
# An access has up to 16 bytes, so that there is an address or a mask for every eighth element of 16 bits.
_PER_ACCESS = 8
# Fitted to 12 loops on an H200 (tests/truth/timelines), like `PRODUCT_DRAIN`: cycles until a load is answered
# if all programs load at once, and from an arrival at a barrier until a wait for it ends.
MEMORY, _SIGNAL = 850.0, 80.0
# Programs that load the same tiles, as those of a product of matrices do, get more than the rate of L2: by
# instructions of their threads so many times more (fitted likewise), by the TMA unit up to `PORT`.
_SHARED_WAY = 1.14
_MOST_HAZARDS = 3
# If the machine code takes so many times longer or shorter, its loop is another one.
_MOST_SCALED = 2.0
# The search for how many times longer the warps' own work takes than the operations of the TTGIR say.
_MOST_EFFORT, _HALVINGS, _SAME = 8.0, 5, 0.01
# Work of fewer cycles, such as what issues a copy, has no span.
_SHORTEST = 4.0
_GROUPED = re.compile("warp_group|gen5")
_SPECIAL = re.compile(r"math\.(?!abs|fma|floor|ceil)|divf|precise_|approx_|extern_elementwise")
# What only renames registers, or is computed once for all iterations.
_FREE = re.compile(
    r"tt\.(?:splat|broadcast|expand_dims|make_range|reshape|trans|join|split|unsplat|bitcast)|arith\.constant|"
    r"ttg\.(?:memdesc|local_alloc|local_dealloc|warp_specialize|async_commit)|ub\.|ttng\.(?:init_|inval_|tmem_alloc)"
)


@dataclass
class _Warps:
    """The warps of a partition: their time, the next event, and work since `began` without a span."""

    recorded: RecordedThread
    lane: int
    time: float = 0.0
    position: int = 0
    last: int = -1
    work: RecordedEvent | None = None
    began: float = 0.0
    iteration: int = -1
    ready: float = 0.0
    released_by: int = -1
    known: int = 0  # of the events that the next one needs


@dataclass
class _Engine:
    """An engine that does one thing after the other; it is free again at `time`, after the span `last`."""

    time: float = 0.0
    last: int = -1
    by_iteration: dict[int, float] = field(default_factory=dict)  # when it was free after work for it


class _Clock:
    """Gives each event of a recording its cycles; the warps' own work takes `effort` times as many."""

    def __init__(
        self, recording: EventRecording, lanes: Sequence[Lane], device: DeviceRates, effort: float
    ) -> None:
        self._effort = effort
        self.spans: list[Span] = []
        self.dependencies: list[Dependency] = []
        # By span: what it began or, if it is a wait, went on after; -1 for nothing.
        self.causes: list[int] = []
        # When the first wait for a span began.
        self.first_uses: dict[int, float] = {}
        self.backlogs: dict[int, float] = {}
        self._factors_read = 0.0
        self._work_cycles: dict[tuple[int, int], float] = {}
        # How long each span occupies its engine.
        self.busy: list[float] = []
        self._device = device
        self._constants: Constants = shipped_fit(device.fit).values
        self._engines = {"copies": _Engine(), "tensor cores": _Engine(), "stores": _Engine()}
        self._engine_lanes = {lane.engine: number for number, lane in enumerate(lanes)}
        # When an event ended, and its span.
        self._ends: dict[int, tuple[float, int]] = {}
        by_partition = {lane.partition: n for n, lane in enumerate(lanes) if lane.engine == "warps"}
        self._warps = [
            _Warps(thread, by_partition.get(thread.name, 0)) for thread in recording.threads if thread.events
        ]

    def run(self) -> None:
        """Let the event go on whose time is the earliest, until none is left."""
        while ready := [warps for warps in self._warps if self._is_ready(warps)]:
            warps = min(ready, key=lambda item: max(item.time, item.ready))
            events = warps.recorded.events
            self._go_on(warps, events[warps.position])
            warps.position += 1
            warps.ready, warps.released_by, warps.known = 0.0, -1, 0
            # Nobody waits for what the warps compute for themselves.
            for event in islice(events, warps.position, None):
                if event.kind != "compute" or event.needs or event.bit >= 0:
                    break
                self._compute(warps, event)
                warps.position += 1
        for warps in self._warps:
            self._end_work(warps)

    def _is_ready(self, warps: _Warps) -> bool:
        """Return True if all that the next event needs is known; note when the last of it ends."""
        events = warps.recorded.events
        if warps.position >= len(events):
            return False
        for need in events[warps.position].needs[warps.known :]:
            if need not in self._ends:
                return False
            warps.known += 1
            end, span = self._ends[need]
            if span >= 0 and end >= warps.ready:
                warps.released_by = span
            warps.ready = max(warps.ready, end)
            if span >= 0:
                self.first_uses.setdefault(span, warps.time)
        return True

    def _go_on(self, warps: _Warps, event: RecordedEvent) -> None:
        if event.kind == "wait":
            self._wait(warps, event)
        elif event.step.opcode == "ttg.warp_specialize":
            # The partitions start and end together.
            self._end_work(warps)
            warps.time = max(warps.time, warps.ready)
        else:
            if warps.ready > warps.time:
                self._wait(warps, replace(event, kind="wait", buffers=(), needs=[], bit=-1))
            if event.kind == "compute":
                self._compute(warps, event)
            elif event.asynchronous or event.kind == "product":
                self._start(warps, event)
            elif event.kind == "arrive" and re.search("commit|mma", event.step.opcode):
                self._arrive_after_products(warps, event)
            else:
                self._access(warps, event)
        if event.bit >= 0:
            self._ends.setdefault(event.bit, (warps.time, -1))

    # The warps.

    def _wait(self, warps: _Warps, event: RecordedEvent) -> None:
        self._end_work(warps)
        blocked = warps.ready > warps.time
        releasing = self.spans[warps.released_by] if warps.released_by >= 0 else None
        if event.iteration < 0 and releasing is not None:
            event.iteration = releasing.iteration
        cause = warps.released_by if blocked else warps.last
        begin, warps.time = warps.time, max(warps.time, warps.ready)
        self._add(warps.lane, event, begin, warps.time, warps, cause)
        if releasing is not None:
            self.dependencies.append(Dependency(warps.released_by, warps.last))
        if event.step.opcode.endswith("async_wait"):
            # All warps must have waited before one may read what others have copied.
            self._work(warps, event, self._barrier(warps))

    def _compute(self, warps: _Warps, event: RecordedEvent) -> None:
        key = id(event.step), warps.lane
        cycles = self._work_cycles.get(key)
        if cycles is None:
            cycles = self._work_cycles[key] = self._cycles_of_work(event, warps)
        self._work(warps, event, cycles)

    def _work(self, warps: _Warps, event: RecordedEvent, cycles: float) -> None:
        """Add cycles to the work that no span of its own shows."""
        cycles *= self._effort
        if not cycles:
            return
        if warps.work is None:
            warps.work, warps.began, warps.iteration = event, warps.time, -1
        warps.time += cycles
        warps.iteration = max(warps.iteration, event.iteration)

    def _end_work(self, warps: _Warps) -> None:
        first, warps.work = warps.work, None
        if first is not None and warps.time - warps.began >= _SHORTEST:
            work = Span(
                warps.lane, "compute", warps.began, warps.time, warps.iteration,
                stage_line=first.step.line + 1, source_line=line_of(first.step), issued=warps.began,
            )  # fmt: skip
            self._append(work, warps.last)
            warps.last = len(self.spans) - 1

    def _access(self, warps: _Warps, event: RecordedEvent) -> None:
        """Let the warps read or write a buffer, store to global memory, or arrive at a barrier."""
        self._end_work(warps)
        cycles = self._issue(1, warps)
        if event.kind in ("read", "write"):
            wavefronts = event.size / _WAVEFRONT * self._constants["shared wavefront"]
            cycles = wavefronts + LATENCIES["LDS" if event.kind == "read" else "STS"]
            if "dot_op" in event.step.text:
                # Compilers read the factors between the instructions that multiply them.
                self._factors_read = max(self._factors_read, warps.time) + wavefronts
                cycles -= wavefronts
        elif event.kind == "store":
            stored = max((_bytes(type_) for type_ in event.types), default=0)
            cycles = stored / 32 * self._constants["store sector"]
        elif event.kind == "arrive":
            cycles = 0.0
        begin, warps.time = warps.time, warps.time + cycles * self._effort
        self._add(warps.lane, event, begin, warps.time, warps, warps.last)
        if event.bit >= 0:
            self._ends[event.bit] = warps.time + _SIGNAL * (event.kind == "arrive"), warps.last

    # The engines.

    def _start(self, warps: _Warps, event: RecordedEvent) -> None:
        """Start a copy, a load or a product; the warps go on unless it is theirs."""
        instructions = 1.0 if "tma" in event.step.opcode or event.kind == "product" else event.size / 512
        self._work(warps, event, self._issue(max(1.0, instructions), warps))
        self._end_work(warps)
        issued, drain = warps.time, 0.0
        if event.kind == "product":
            engine, lane = self._engines["tensor cores"], self._engine_lanes["tensor cores"]
            start = max(issued, engine.time)
            busy = end = start + self._product_cycles(event)
            if not event.asynchronous:
                busy = end = max(end, self._factors_read)
            drain = PRODUCT_DRAIN if _GROUPED.search(event.step.opcode) else 0.0
        else:
            lane, start = self._engine_lanes["copies"], issued
            engine = self._engines["stores" if event.kind == "store" else "copies"]
            by_tensor = "tma" in event.step.opcode
            busy = end = max(issued, engine.time) + event.size / self._way(by_tensor)
            if event.kind != "store":
                end += MEMORY + (TENSOR_COPY if by_tensor else 0)
        cause = engine.last if engine.time > issued else warps.last
        span = self._add(lane, event, start, end, None, cause, issued)
        earlier = [time for iteration, time in engine.by_iteration.items() if iteration < event.iteration]
        self.backlogs[span] = max(0.0, max(earlier, default=0.0) - issued)
        engine.by_iteration[event.iteration] = busy
        self.busy[span] = busy - max(issued, engine.time)
        engine.time, engine.last = busy, span
        if event.bit >= 0:
            self._ends[event.bit] = end + drain, span
        if not event.asynchronous:
            warps.time, warps.last = end + drain, span

    def _arrive_after_products(self, warps: _Warps, event: RecordedEvent) -> None:
        """Let the tensor cores arrive at a barrier when the products that were issued before have ended."""
        self._end_work(warps)
        engine = self._engines["tensor cores"]
        end = max(warps.time, engine.time + PRODUCT_DRAIN)
        cause = engine.last if engine.time > warps.time else warps.last
        lane = self._engine_lanes["tensor cores"]
        self._ends[event.bit] = end, self._add(lane, event, end, end, None, cause, warps.time)

    def _way(self, by_tensor: bool) -> float:
        """Return the bytes per cycle that L2 delivers to one multiprocessor."""
        share = self._device.l2 / (self._device.clock * self._device.multiprocessors)
        return PORT if by_tensor else _SHARED_WAY * share

    def _product_cycles(self, event: RecordedEvent) -> float:
        """Return how long a product occupies the tensor cores: multiply-adds at the rate of its type."""
        if len(event.types) < 2 or not (event.types[0].shape and event.types[1].shape):
            return 0.0
        first, second = event.types[:2]
        bits = max(4, 8 * size_in_bytes(first.element))
        work = prod(first.shape) * second.shape[-1] * bits / 16
        if self._device.warp_groups and not _GROUPED.search(event.step.opcode):
            work *= self._constants["mma"]
        return work / self._device.tensor

    def _issue(self, instructions: float, warps: _Warps) -> float:
        """Return the cycles to issue so many instructions of a warp on four schedulers, or on fewer."""
        return instructions * self._constants["issue"] * 4 / max(1, min(4, warps.recorded.warps))

    def _barrier(self, warps: _Warps) -> float:
        return self._constants["barrier"] + self._constants["barrier per warp"] * warps.recorded.warps

    def _cycles_of_work(self, event: RecordedEvent, warps: _Warps) -> float:
        step = event.step
        if _FREE.match(step.opcode):
            return 0.0
        if step.opcode.endswith("barrier"):
            return self._barrier(warps)
        type_ = max(event.types, key=lambda item: prod(item.shape), default=None)
        if type_ is None or type_.kind != "tensor":
            return self._issue(warps.recorded.warps, warps)
        instructions = prod(type_.shape) / _WARP
        if step.opcode == "ttg.convert_layout":
            wavefronts = 2 * _bytes(type_) / _WAVEFRONT * self._constants["shared wavefront"]
            return wavefronts + self._barrier(warps) + LATENCIES["LDS"] + LATENCIES["STS"]
        exchanged = 0.0
        if step.opcode in ("tt.reduce", "tt.scan"):
            exchanged = 5 * LATENCIES["SHFL"] + self._barrier(warps)
        if _SPECIAL.search(step.opcode):
            return instructions * self._constants["special"]
        if not re.match(r"(?:b?f|tf)\d", type_.element):
            instructions /= _PER_ACCESS
        return exchanged + self._issue(max(instructions, warps.recorded.warps), warps)

    def _add(
        self,
        lane: int,
        event: RecordedEvent,
        start: float,
        end: float,
        warps: _Warps | None,
        cause: int,
        issued: float | None = None,
    ) -> int:
        span = Span(
            lane, event.kind, start, end, event.iteration, event.buffers, event.barrier, event.phase,
            event.step.line + 1, line_of(event.step), start if issued is None else issued,
        )  # fmt: skip
        self._append(span, cause)
        if warps is not None:
            warps.last = len(self.spans) - 1
        return len(self.spans) - 1

    def _append(self, span: Span, cause: int) -> None:
        self.spans.append(span)
        self.causes.append(cause)
        self.busy.append(span.end - span.start)


def kernel_timeline(document: Document, artifacts: VariantArtifacts, iterations: int) -> KernelTimeline:
    """Return the timeline of the final TTGIR over `iterations` of the steady state, and what is around it.

    If the machine code of `artifacts` can be replayed, an iteration takes as long as its loop. Never raises
    for what a stage contains: `notes` say why there is no timeline.
    """
    target = artifacts.variant.target
    triton = triton_version(artifacts.variant.toolchain.versions.get("triton", ""))
    device = _device(target)

    def replayed(work: IterationWork) -> float | None:
        return steady_cycles(artifacts, work, MEMORY, device) if device else None

    return stage_timeline(document, target, triton, iterations, replayed)


def stage_timeline(
    document: Document,
    target: Target,
    triton: Version,
    iterations: int = 4,
    replayed: Callable[[IterationWork], float | None] = lambda work: None,
) -> KernelTimeline:
    """Return the timeline of the final TTGIR alone, or with the cycles of an iteration in machine code.

    `replayed` is not asked if iterations differ.
    """
    try:
        program = StageProgram(document, triton)
        if re.search(r'"ttg\.num-ctas" = (?!1 )\d', document.text):
            return KernelTimeline(notes=("no timeline: clusters of several CTAs",))
        recording = record_events(program, iterations)
    except UnansweredError as error:
        line = f"line {error.step.line + 1} of the stage: " if error.step else ""
        return KernelTimeline(notes=(f"no timeline: {line}{error.reason}",))
    except RecursionError:
        return KernelTimeline(notes=("no timeline: the stage is nested too deeply",))
    timeline, clock = _timed(recording, target, 1.0)
    if recording.branches or not timeline.period:
        return timeline
    cycles = replayed(_iteration_work(clock, timeline.steady, recording.threads))
    if cycles is None or not 1 / _MOST_SCALED < cycles / timeline.period < _MOST_SCALED:
        return timeline
    return _as_long_as(cycles, timeline, recording, target)


def _as_long_as(
    cycles: float, timeline: KernelTimeline, recording: EventRecording, target: Target
) -> KernelTimeline:
    """Return a timeline whose iterations take so many cycles, with more or less work of the warps.

    Latencies and the rates of engines are what they are; only what the work does not explain is scaled.
    """
    least, most = (0.0, 1.0) if cycles < timeline.period else (1.0, _MOST_EFFORT)
    for _ in range(_HALVINGS if abs(cycles / timeline.period - 1) > _SAME else 0):
        effort = (least + most) / 2
        timeline, _clock = _timed(recording, target, effort)
        least, most = (effort, most) if timeline.period < cycles * (1 - _SAME) else (least, effort)
    return timeline.scaled(cycles / timeline.period, CUDA.machine_code)


def _timed(recording: EventRecording, target: Target, effort: float) -> tuple[KernelTimeline, _Clock]:
    lanes = recording.lanes()
    clock = _Clock(recording, lanes, _device(target) or H100, effort)
    clock.run()
    return _timeline(clock, lanes, recording.depth, tuple(_notes(recording, target))), clock


def _device(target: Target) -> DeviceRates | None:
    return next((device for device in DEVICES.values() if device.target == str(target)), None)


def _iteration_work(
    clock: _Clock, steady: tuple[int, int], threads: Sequence[RecordedThread]
) -> IterationWork:
    """Return the mean work of an iteration of the steady state."""
    count = steady[1] - steady[0] + 1
    cycles: dict[SpanKind, float] = defaultdict(float)
    for span, busy in zip(clock.spans, clock.busy, strict=True):
        if steady[0] <= span.iteration <= steady[1]:
            cycles[span.kind] += busy / count
    transfers = cycles["copy"] + cycles["load"]
    return IterationWork(cycles["product"], transfers, cycles["read"], threads[0].warps, loop_passes(threads))


def _notes(recording: EventRecording, target: Target) -> Iterator[str]:
    for hazard in recording.hazards[:_MOST_HAZARDS]:
        trace = "; ".join(hazard.trace)
        yield f"{hazard.kind}: {hazard.message}{f' ({trace})' if trace else ''}; `irscope lint` says more"
    if not recording.iterations:
        yield "no loop of the kernel loads data: all is shown once"
    if _device(target) is None:
        yield f"irscope has no rates of {target}: those of the {H100.name} are used"


def _timeline(clock: _Clock, lanes: tuple[Lane, ...], depth: int, notes: tuple[str, ...]) -> KernelTimeline:
    spans = clock.spans
    ends = iteration_ends(spans)
    last = max(ends, default=0)
    # Short loops have no steady state: their last iterations are taken for it.
    steady = (depth, last - depth) if last > 2 * depth else (max(0, last - 1), last)
    period = 0.0
    if steady[1] > steady[0] and steady[0] in ends:
        period = (ends[steady[1]] - ends[steady[0]]) / (steady[1] - steady[0])
    for index in _critical_path(clock, steady):
        spans[index] = replace(spans[index], critical=True)
    return KernelTimeline(
        lanes, tuple(spans), tuple(clock.dependencies), tuple(_slacks(clock, steady)), steady, period,
        "ttgir", notes,
    )  # fmt: skip


def _critical_path(clock: _Clock, steady: tuple[int, int]) -> Iterator[int]:
    """Walk back from the end of the steady state through what each span had to wait for."""
    spans = clock.spans
    kinds = ("product",) if any(span.kind == "product" for span in spans) else ("copy", "load")
    last = [index for index, span in enumerate(spans) if span.kind in kinds and span.iteration == steady[1]]
    index = max(last, key=lambda number: spans[number].end, default=-1)
    while index >= 0:
        yield index
        index = clock.causes[index]


def _slacks(clock: _Clock, steady: tuple[int, int]) -> Iterator[Slack]:
    """Yield what the schedule leaves between issue and first use, per line and buffer."""
    groups: dict[tuple[SpanKind, str, int], list[tuple[float, float]]] = defaultdict(list)
    for index, used in clock.first_uses.items():
        span = clock.spans[index]
        if span.kind not in ("copy", "load", "product") or not steady[0] <= span.iteration <= steady[1]:
            continue
        name = span.buffers[0].partition("[")[0] if span.buffers else ""
        needed = span.end - span.issued - clock.backlogs.get(index, 0.0)
        groups[span.kind, name, span.source_line].append((max(0.0, used - span.issued), needed))
    for (kind, name, line), pairs in groups.items():
        in_flight, needed = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
        yield Slack(kind, name, line, in_flight, needed)


def _bytes(type_: Type) -> int:
    return prod(type_.shape) * size_in_bytes(type_.element) if type_.shape else 0
