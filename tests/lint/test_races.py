"""Races between threads and between programs of a launch, in TTGIR, and in kernels with planted races."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.interpreting.races import PROGRAMS, THREADS, barrier_lines, launch_races
from irscope.interpreting.stage_interpreter import KernelLaunch
from irscope.interpreting.stage_program import StageProgram
from irscope.languages.mlir.parser import parse
from irscope.workspace.executed_launches import launch_samples

_STAGE = """
#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, "ttg.threads-per-warp" = 32 : i32} {
  tt.func public @shift(%x: !tt.ptr<f32>, %buf: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
    %one = arith.constant dense<SHIFT> : tensor<512xi32, #blocked>
    %size = arith.constant dense<512> : tensor<512xi32, #blocked>
    %c512_i32 = arith.constant STRIDE : i32
    %pid = tt.get_program_id x : i32
    %start = arith.muli %pid, %c512_i32 : i32
    %range = tt.make_range {end = 512 : i32, start = 0 : i32} : tensor<512xi32, #blocked>
    %starts = tt.splat %start : i32 -> tensor<512xi32, #blocked>
    %i = arith.addi %starts, %range : tensor<512xi32, #blocked>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
    %px = tt.addptr %xs, %i : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
    %v = tt.load %px : tensor<512x!tt.ptr<f32>, #blocked>
    %bufs = tt.splat %buf : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
    %pb = tt.addptr %bufs, %i : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
    tt.store %pb, %v : tensor<512x!tt.ptr<f32>, #blocked>
    BARRIER
    %next = arith.addi %range, %one : tensor<512xi32, #blocked>
    %wrapped = arith.remsi %next, %size : tensor<512xi32, #blocked>
    %j = arith.addi %starts, %wrapped : tensor<512xi32, #blocked>
    %pj = tt.addptr %bufs, %j : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
    %w = tt.load %pj : tensor<512x!tt.ptr<f32>, #blocked>
    %outs = tt.splat %out : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>, #blocked>
    %po = tt.addptr %outs, %i : tensor<512x!tt.ptr<f32>, #blocked>, tensor<512xi32, #blocked>
    tt.store %po, %w : tensor<512x!tt.ptr<f32>, #blocked>
    tt.return
  }
}
"""


def races_of(shift: int = 1, stride: int = 512, barrier: str = ""):
    text = _STAGE.replace("SHIFT", str(shift)).replace("STRIDE", str(stride)).replace("BARRIER", barrier)
    document = parse(text)
    program = StageProgram(document, (3, 9))
    return launch_races(program, KernelLaunch({}, (3, 1, 1)), barrier_lines(document, None))


def test_a_thread_loads_what_another_one_stored():
    found = races_of()
    (race,) = found.races
    assert (race.kind, race.first.access.kind, race.second.access.kind) == (THREADS, "store", "load")
    assert (race.base, race.offset, race.count, race.in_warp) == (1, 0, 128, False)
    assert (race.first.index, race.first.thread) == ((0,), 0)
    assert (race.second.index, race.second.thread) == ((511,), 127)
    assert (found.executed, found.programs) == (3, 3)


@pytest.mark.parametrize(("shift", "barrier"), [(1, "ttg.barrier all"), (1, "gpu.barrier"), (0, "")])
def test_a_barrier_or_the_same_thread_orders_both(shift: int, barrier: str):
    assert not races_of(shift, barrier=barrier).races


def test_programs_that_overlap_race():
    found = races_of(shift=0, stride=256)
    assert {(race.kind, race.base) for race in found.races} == {(PROGRAMS, 1), (PROGRAMS, 2)}
    stores = [race for race in found.races if race.second.access.kind == "store"]
    assert all(race.first.access.program != race.second.access.program for race in stores)
    assert all(race.count == 256 and not race.undecided for race in stores)


def test_samples_of_a_range_have_its_ends():
    samples = [text for text, _ in launch_samples("grid=(cdiv(M, 64),), M=1..8192")]
    assert {"grid=(cdiv(M, 64),), M=1", "grid=(cdiv(M, 64),), M=8192"} <= set(samples)
    assert 10 < len(samples) <= 26
    assert [*launch_samples("grid=(4,), M=8")] == [("grid=(4,), M=8", "")]


@pytest.mark.slow
def test_planted_races_are_found_and_correct_kernels_have_none(tmp_path: Path):
    from tests.truth.races.launches import cases
    from tests.truth.races.measure import answers, capture

    path = tmp_path / "races.irscope"
    capture(path)
    listed = answers(path, cases())
    races = [answer for answer in listed if answer.planted]
    threads = [answer for answer in races if answer.case.source]
    assert len(races) >= 40
    assert len(threads) >= 20
    assert not [answer.case.name for answer in races if not answer.found]
    assert not [answer.case.name for answer in listed if answer.alarms]
