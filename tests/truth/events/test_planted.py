"""What is found of the errors that are planted in pipelined and specialized kernels, and nothing else is."""

from __future__ import annotations

import time

import pytest

from irscope.interpreting.events.event_order import EventOrder
from irscope.interpreting.events.hazards import (
    EARLY_READ,
    FENCE,
    TCGEN05,
    THREAD,
    LogicalThread,
    SharedAllocation,
)
from irscope.interpreting.events.machine import check_order
from irscope.interpreting.runtime_values import Buffer
from irscope.interpreting.stage_program import Op, Type
from irscope.languages.language import parse
from tests.truth.events.planted import PLANTED, edited, false_alarms, hazards, is_found, results, stages


def test_finds_the_planted_errors() -> None:
    missed = [
        f"{planted.stage}: {planted.what}" for planted, reports in results() if not is_found(planted, reports)
    ]
    assert len(PLANTED) == 48 and not missed


def test_reports_nothing_about_the_unchanged_stages() -> None:
    alarms = false_alarms()
    assert len(alarms) == 21 and not any(alarms.values())


def test_a_deadlock_says_what_each_partition_waits_for() -> None:
    (report,) = hazards("specialized_kernel sm_90 13 ttgir", stages()["specialized_kernel sm_90 13 ttgir"])
    assert report.message == "partition0 waits for ever for free[0] in iteration 3: nothing arrives at it"
    assert report.remedy == "arrive at the barrier after the last use of its buffer"
    assert [line.partition(" waits in line ")[0] for line in report.trace] == ["default", "partition0"]
    assert "34 for phase 0 of free[0], of which 0 ended; 0 of 1 arrivals came" in report.trace[1]


def test_buffers_at_one_offset_conflict() -> None:
    text = stages()["matmul sm_80 ttgir"]
    allocations = [line for line in text.split("\n") if "ttg.local_alloc : () -> !ttg.memdesc<" in line]
    assert len(allocations) == 2
    for offsets in ((0, 1 << 15), (0, 0)):
        placed = text
        for line, offset in zip(allocations, offsets, strict=True):
            where = f"ttg.local_alloc {{allocation.offset = {offset} : i32}} :"
            placed = placed.replace(line, line.replace("ttg.local_alloc :", where))
        reports = hazards("matmul sm_80 ttgir", placed)
        assert bool(reports) == (offsets[0] == offsets[1])


def test_an_accumulator_of_a_product_that_is_skipped_may_be_read() -> None:
    name = "tensor_memory_kernel sm_100 0 ttgir"
    lines = stages()[name].split("\n")
    place = next(place for place, line in enumerate(lines) if "ttng.tc_gen5_mma" in line)
    (report,) = hazards(name, "\n".join([*lines[:place], *lines[place + 1 :]]))
    assert "before anything was written to it" in report.message
    skipped = [
        "%never = arith.constant false loc(#loc14)",
        lines[place].replace("%1, %true :", "%1, %never :"),
    ]
    assert not hazards(name, "\n".join([*lines[:place], *skipped, *lines[place + 1 :]]))


@pytest.mark.parametrize(("opcode", "kinds"), [("ttg.local_store", [FENCE]), ("ttng.tmem_store", [])])
def test_only_shared_memory_needs_a_fence_before_a_product(opcode: str, kinds: list[str]) -> None:
    order, thread, home = EventOrder((THREAD,)), LogicalThread("", warps=4), SharedAllocation(name="p")
    for name, write, engine in ((opcode, True, THREAD), ("ttng.tc_gen5_mma", False, TCGEN05)):
        step = Op(name, "", (), (), (), (), int(not write), 1)
        order.access(thread, step, Buffer(home.data, Type("f16"), home), write, engine, order.new_bit())
    assert [hazard.kind for hazard in order.hazards.values()] == kinds


def test_what_cannot_be_executed_is_said() -> None:
    text = stages()["matmul sm_80 ttgir"].replace('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2')
    assert check_order(parse(text, "mlir"), (3, 9)).unanswered == "clusters of several CTAs"
    assert check_order(parse("nothing", "mlir"), (3, 9)).unanswered


@pytest.mark.slow
def test_time_of_an_ordinary_kernel() -> None:
    documents = [parse(text, "mlir") for name, text in stages().items() if name.endswith(" ttgir")]
    times = []
    for document in documents:
        start = time.process_time()
        check_order(document, (3, 9))
        times.append(time.process_time() - start)
    assert sorted(times)[len(times) // 2] < 0.05


def test_an_edit_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing matches"):
        edited("", next(planted for planted in PLANTED if planted.pattern))


def test_the_result_of_a_skipped_product_may_be_read() -> None:
    # Pipelined attention loads the scores of an iteration that a loop without iterations does not have.
    text = stages()["tensor_memory_kernel sm_100 0 ttgir"]
    multiplied = "%total[], %1, %true"
    assert multiplied in text
    skipped = text.replace(
        "%true = arith.constant true", "%true = arith.constant true\n    %no = arith.constant false"
    )
    document = parse(skipped.replace(multiplied, "%total[], %1, %no"), "mlir")
    assert not [hazard for hazard in check_order(document, (3, 9)).hazards if hazard.kind == EARLY_READ]
    removed = "\n".join(line for line in text.split("\n") if "tc_gen5_mma" not in line)
    reports = check_order(parse(removed, "mlir"), (3, 9)).hazards
    assert "total is read" in next(hazard for hazard in reports if hazard.kind == EARLY_READ).message
