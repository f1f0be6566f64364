"""LLVM's own passes: which changed the module, from LLVM's dumps and times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irscope.compiling.toolchain.llvm_passes import parse_dump
from irscope.targets.cuda import ptxas_functions
from tests.conftest import Irscope

SAMPLES = Path(__file__).parents[2] / "samples"
DUMP = """
==irscope stage llir
; *** IR Dump After SROAPass on k ***
; ModuleID = 'm'
define void @k(ptr %0) !dbg !4 {
  %2 = load i32, ptr %0, align 4, !dbg !5
  %3 = add i32 %2, 1
  %4 = mul nsw i32 %3, 2, !dbg !7
  store i32 %4, ptr %0
  ret void
}
!5 = !DILocation(line: 1)
Running pass: EarlyCSEPass on k
; *** IR Dump After EarlyCSEPass on k ***
define void @k(ptr %0) !dbg !14 {
  %2 = load i32, ptr %0, align 4, !dbg !15
  %3 = add i32 %2, 1
  %4 = mul nsw i32 %3, 2, !dbg !17
  store i32 %4, ptr %0
  ret void
}
; *** IR Dump After InstCombinePass on k ***
define void @k(ptr %0) {
  %2 = load i32, ptr %0, align 4
  %3 = shl i32 %2, 1
  store i32 %3, ptr %0
  ret void
}

==irscope stage ptx
*** IR Dump After Loop Strength Reduction (loop-reduce) *** (loop: %85)
define void @k(ptr %0) {
  %2 = load i32, ptr %0, align 8
  %3 = shl i32 %2, 1
  store i32 %3, ptr %0
  ret void
}
# *** IR Dump After Register Coalescer (register-coalescer) ***:
# Machine code for function k
16B\t  %1:b32 = COPY %0
# *** IR Dump After Register Coalescer (register-coalescer) ***:
# Machine code for function k
32B\t  %1:b32 = COPY %0
48B\t  %2:b32 = ADD32rr %1, %1
===----------------------===
      Pass execution timing report
===----------------------===
  Total Execution Time: 0.0154 seconds (0.1508 wall clock)

   ---User Time---   --System Time--   --User+System--   ---Wall Time---  --- Name ---
   0.0007 (  4.7%)   0.0000 (  0.0%)   0.0007 (  4.5%)   0.0452 ( 30.0%)  Register Coalescer #2
   0.0003 (  4.7%)   0.0000 (  0.0%)   0.0003 (  4.5%)   0.0020 ( 30.0%)  Loop Strength Reduction
   0.0145 (100.0%)   0.0006 (100.0%)   0.0152 (100.0%)   0.1508 (100.0%)  Total
"""
LOG = """ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 8 bytes cumulative stack size
"""


def test_passes_are_compared_without_names_of_metadata() -> None:
    first, same, combine, reduce, coalescer, again = parse_dump(DUMP.splitlines(keepends=True))
    assert (first.name, first.stage, first.changed, first.instructions) == ("SROAPass", "llir", False, 5)
    assert not same.changed
    assert combine.changed
    assert dict(combine.effect) == {"add": -1, "mul": -1, "shl": 1}
    assert (reduce.flag, reduce.changed, reduce.effect, reduce.seconds) == ("loop-reduce", True, (), 0.002)
    assert (coalescer.changed, coalescer.seconds) == (False, None)  # the first machine code
    assert (again.changed, again.effect, again.seconds) == (True, (("ADD32rr", 1),), 0.0452)


def test_damaged_dumps_are_no_error() -> None:
    assert parse_dump([]) == []
    for place in range(0, len(DUMP), 97):
        parse_dump(DUMP[place : place + 400].splitlines())


def test_ptxas_statistics_by_function() -> None:
    assert ptxas_functions(LOG) == (
        (
            "k",
            "0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads; "
            "Used 255 registers, used 1 barriers, 8 bytes cumulative stack size",
        ),
    )
    assert ptxas_functions(None) == ()


@pytest.mark.slow
def test_the_passes_of_a_kernel(irscope: Irscope, tmp_path: Path) -> None:
    capture = str(tmp_path / "add.irscope")
    signature = "*fp32:16, *fp32:16, *fp32:16, i32:16"
    sample = str(SAMPLES / "vector_add.py")
    words = (
        "--signature",
        signature,
        "--config",
        "BLOCK_SIZE=1024",
        "--config",
        "num_warps=4",
        "-o",
        capture,
    )
    assert irscope("compile", sample, *words).returncode == 0
    done = irscope("passes", capture, "#1", "--llvm", "--changed", "--format", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    names = [each["name"] for each in document["passes"]]
    assert "InstCombinePass" in names
    assert {each["stage"] for each in document["passes"]} == {"llir", "ptx"}
    assert any(each["seconds"] is not None for each in document["passes"])
    assert "registers" in document["ptxas"]["functions"]["add_kernel"]
    text = irscope("passes", capture, "#1", "--llvm").stdout
    assert "changed the module" in text
    assert "ptxas: add_kernel: 0 bytes stack frame" in text
