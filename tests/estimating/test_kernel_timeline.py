"""The timelines of real kernels: what overlaps, what waits for what, and what num_stages changes."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest

from irscope.estimating.timeline_clock import stage_timeline
from irscope.languages.language import parse
from irscope.model import Target
from irscope.model.kernel_timeline import KernelTimeline, Span, without_slot
from tests.estimating.conftest import Compiled
from tests.truth.events.planted import stages
from tests.truth.timelines.periods import FOLDER, NEAR, misordered, periods

_TARGETS = {"sm_80": "cuda:80", "sm_90": "cuda:90", "sm_100": "cuda:100"}
_TEXTS = stages()
# Stages without a planted error: cp.async, TMA, wgmma, tcgen05, loads to registers, partitions.
_RIGHT = (
    "matmul sm_80", "matmul gfx942", "matmul gfx950", "matmul gfx1250", "host_descriptors sm_90",
    "host_descriptors sm_100", "specialized_gemm sm_90", "specialized_gemm sm_100", "gemm_chain sm_90",
    "attention_forward sm_90", "specialized_kernel sm_90 0", "tensor_memory_kernel sm_100 0",
)  # fmt: skip
_SIGNATURE = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16"
_BLOCKS = {"BM": 128, "BN": 128, "BK": 64}


def _timeline(name: str) -> KernelTimeline:
    target = name.split()[1]
    backend, _, arch = _TARGETS.get(target, f"hip:{target}").partition(":")
    document = parse(_TEXTS[f"{name} ttgir"], "mlir")
    timeline = stage_timeline(document, Target(backend, arch, 32), (3, 9))
    return timeline


def _lane(timeline: KernelTimeline, engine: str, partition: str = "") -> list[Span]:
    """Return the spans of a lane in the order of their start."""
    lanes = {number for number, lane in enumerate(timeline.lanes)
             if lane.engine == engine and lane.partition == partition}  # fmt: skip
    return sorted(
        (span for span in timeline.spans if span.lane in lanes), key=lambda span: (span.start, span.end)
    )


@pytest.mark.parametrize("name", _RIGHT)
def test_nothing_happens_before_what_it_waits_for(name: str) -> None:
    timeline = _timeline(name)
    assert timeline.dependencies
    for dependency in timeline.dependencies:
        releasing, waiting = timeline.spans[dependency.releasing], timeline.spans[dependency.waiting]
        assert waiting.kind == "wait"
        assert releasing.end <= waiting.end
    assert all(span.issued <= span.start <= span.end <= timeline.cycles for span in timeline.spans)


@pytest.mark.parametrize("name", _RIGHT)
def test_neither_warps_nor_tensor_cores_do_two_things_at_once(name: str) -> None:
    timeline = _timeline(name)
    for lane in timeline.lanes:
        if lane.engine == "copies":
            continue
        for earlier, later in pairwise(_lane(timeline, lane.engine, lane.partition)):
            assert later.start >= earlier.end - 1e-6


@pytest.mark.parametrize("name", _RIGHT)
def test_a_slot_is_filled_again_only_after_its_last_use(name: str) -> None:
    timeline = _timeline(name)
    assert not timeline.notes or "gfx1250" in name
    uses: defaultdict[str, list[Span]] = defaultdict(list)
    for span in sorted(timeline.spans, key=lambda span: span.start):
        if span.kind in ("copy", "product", "read"):
            for slot in span.buffers:
                if span.kind == "copy":
                    assert all(use.end <= span.start + 1e-6 for use in uses[slot])
                uses[slot].append(span)


@pytest.mark.parametrize("name", ["matmul gfx950", "host_descriptors sm_90", "host_descriptors sm_100"])
def test_a_product_multiplies_what_was_copied_for_its_iteration(name: str) -> None:
    timeline = _timeline(name)
    copied = {(slot, span.iteration): span for span in timeline.spans if span.kind == "copy"
              for slot in span.buffers}  # fmt: skip
    used = [span for span in timeline.spans if span.kind in ("product", "read")]
    compared = [(use, copied[slot, use.iteration]) for use in used for slot in use.buffers
                if (slot, use.iteration) in copied]  # fmt: skip
    assert len(compared) > 8
    assert all(copy.end <= use.start for use, copy in compared)


@pytest.mark.parametrize("name", _RIGHT)
def test_the_steady_state_repeats(name: str) -> None:
    timeline = _timeline(name)
    first, last = timeline.steady
    ends: dict[int, float] = {}
    for span in timeline.spans:
        if span.kind == "product" and span.iteration >= 0:
            ends[span.iteration] = max(span.end, ends.get(span.iteration, 0))
    assert first < last
    assert timeline.period == pytest.approx((ends[last] - ends[first]) / (last - first))
    assert any(span.critical for span in timeline.spans)


def test_partitions_run_side_by_side() -> None:
    timeline = _timeline("specialized_gemm sm_90")
    assert [(lane.partition, lane.warps, lane.registers) for lane in timeline.lanes[:3]] == [
        ("default", 4, 0), ("partition0", 4, 232), ("partition1", 4, 232),
    ]  # fmt: skip
    copies, products = _lane(timeline, "copies"), _lane(timeline, "tensor cores")
    overlapping = [(copy, product) for copy in copies for product in products
                   if copy.issued < product.end and product.start < copy.end]  # fmt: skip
    assert overlapping
    arrivals = {
        span.barrier: span for span in _lane(timeline, "warps", "partition0") if span.kind == "arrive"
    }
    waits = {span.barrier for span in _lane(timeline, "warps", "default") if span.kind == "wait"}
    assert waits & arrivals.keys()


def test_a_partition_frees_a_buffer_only_after_its_product() -> None:
    timeline = _timeline("specialized_gemm sm_90")
    products = _lane(timeline, "tensor cores")
    partitions = [lane.partition for lane in timeline.lanes if lane.partition.startswith("partition")]
    arrivals = [
        span for name in partitions for span in _lane(timeline, "warps", name) if span.kind == "arrive"
    ]
    assert len(partitions) == 2 and arrivals
    for arrival in arrivals:
        ends = [product.end for product in products if product.iteration == arrival.iteration]
        assert arrival.start >= min(ends)


def test_more_stages_leave_copies_more_time(compiled: Compiled) -> None:
    few, many = (_compiled_timeline(compiled, stages, "cuda:90") for stages in (2, 4))
    assert few.clock == many.clock == "sass"
    assert _most_in_flight(few) == 2
    assert _most_in_flight(many) == 6
    assert many.period < 0.6 * few.period
    (short, *_), (long, *_) = (
        [slack for slack in timeline.slacks if slack.kind == "copy"] for timeline in (few, many)
    )
    assert short.source_line == long.source_line
    assert short.in_flight < 100 < 0.8 * short.needed < long.in_flight
    blocked = [_blocked(timeline) for timeline in (few, many)]
    assert blocked[0] > 1.5 * blocked[1]


def test_the_critical_path_goes_through_what_limits(compiled: Compiled) -> None:
    few, many = (_compiled_timeline(compiled, stages, "cuda:90") for stages in (2, 4))
    for timeline in (few, many):
        steady = [span for span in timeline.spans if span.critical and span.iteration in timeline.steady]
        assert "copy" in {span.kind for span in steady}
    # With few stages, warps wait for each copy; with many, copies wait for each other.
    waits = [[span for span in timeline.spans if span.critical and span.kind == "wait"
              and timeline.steady[0] <= span.iteration <= timeline.steady[1] and span.end > span.start]
             for timeline in (few, many)]  # fmt: skip
    assert len(waits[0]) > len(waits[1])


def test_ampere_loads_factors_while_it_multiplies(compiled: Compiled) -> None:
    timeline = _compiled_timeline(compiled, 3, "cuda:80")
    assert timeline.clock == "sass"
    assert 1024 <= timeline.period < 1536  # at least 128 x 128 x 64 at 1,024 multiply-adds per cycle


@pytest.mark.parametrize(
    ("name", "barriers"),
    [
        ("host_descriptors sm_90", {"total ready"}),
        ("specialized_gemm sm_90", {"x free", "x ready"}),
        ("specialized_kernel sm_90 0", {"free", "ready"}),
        ("tensor_memory_kernel sm_100 0", {"copied", "multiplied"}),
    ],
)
def test_barriers_of_the_compiler_are_named_after_what_they_guard(name: str, barriers: set[str]) -> None:
    assert {without_slot(span.barrier) for span in _timeline(name).spans if span.barrier} == barriers


def test_a_timeline_is_computed_once(compiled: Compiled) -> None:
    workspace, variant = compiled(
        "product", _SIGNATURE, {**_BLOCKS, "num_stages": 2, "num_warps": 4}, "cuda:90"
    )
    assert workspace.kernel_timeline(variant) is workspace.kernel_timeline(variant)
    longer = workspace.kernel_timeline(variant, iterations=6)
    assert longer.steady[1] - longer.steady[0] == 5


def test_a_deadlock_is_a_note_with_its_trace() -> None:
    timeline = _timeline("tensor_memory_kernel sm_100 2")
    (note,) = timeline.notes
    assert note.startswith("deadlock: the kernel waits for ever for multiplied")
    assert "line 146 for phase 0" in note


def test_a_stage_that_cannot_be_executed_has_a_note() -> None:
    timeline = stage_timeline(parse("nothing", "mlir"), Target("cuda", "90", 32), (3, 9))
    assert timeline.notes == ("no timeline: the stage has no function",)
    assert not timeline.spans


def _compiled_timeline(compiled: Compiled, stages: int, target: str) -> KernelTimeline:
    config = {**_BLOCKS, "num_stages": stages, "num_warps": 4}
    workspace, variant = compiled("product", _SIGNATURE, config, target)
    return workspace.kernel_timeline(variant)


def _most_in_flight(timeline: KernelTimeline) -> int:
    copies = _lane(timeline, "copies")
    return max(sum(copy.issued <= span.start < copy.end for copy in copies) for span in timeline.spans)


def _blocked(timeline: KernelTimeline) -> float:
    """Return the cycles for which waits block in an iteration of the steady state."""
    return sum(span.end - span.start for span in timeline.spans
               if span.kind == "wait" and span.iteration == timeline.steady[0])  # fmt: skip


def test_cycles_per_iteration_are_near_those_of_a_gpu() -> None:
    loops = list(periods())
    near = [abs(timeline.period / loop["cycles"] - 1) <= NEAR for loop, timeline in loops]
    assert len(loops) == 12 and all(near)
    # More stages are never slower, neither computed nor measured.
    by_name = {loop["name"]: (timeline.period, loop["cycles"]) for loop, timeline in loops}
    for kernel in ("pointers", "descriptors", "specialized", "attention"):
        few, more = by_name[f"{kernel}-stages2"], by_name[f"{kernel}-stages3"]
        assert all(a > b for a, b in zip(few, more, strict=True))


def test_cycles_and_order_of_events_of_loops_to_which_nothing_was_fitted() -> None:
    loops = list(periods(FOLDER / "held_out.irscope", FOLDER / "held_out.jsonl"))
    near = [abs(timeline.period / loop["cycles"] - 1) <= NEAR for loop, timeline in loops]
    assert len(loops) == 25 and sum(near) >= 22
    # Partitions are replayed from the machine code, too.
    assert all(timeline.clock == "sass" for _, timeline in loops)
    timed = [(loop, timeline) for loop, timeline in loops if "events" in loop]
    assert len(timed) == 5 and not any(misordered(loop, timeline) for loop, timeline in timed)
