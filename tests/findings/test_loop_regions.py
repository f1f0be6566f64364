"""Loops of committed stages: their statements, regions, trip counts and findings."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from irscope.diff.def_use import Definition
from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.accesses.launch_values import integer_values
from irscope.facts.loops.kernel_loops import LoopMix, kernel_loops, mlir_loops
from irscope.facts.loops.loop_regions import Where
from irscope.facts.loops.scf import TripCount, integer_of, scf_loops, trip_counts
from irscope.findings.finding import PairContext
from irscope.findings.registry import findings
from irscope.languages.document import Document
from irscope.languages.language import parse
from irscope.model import Launch
from tests.findings.builders import stage_diff, stored, variant

CUDA = "matmul_kernel.cuda-90.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0"
HIP = "matmul_kernel.hip-gfx942.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=2.triton-3.9.0"


def document(name: str, stage: str) -> Document:
    language = stage if stage in ("ptx", "sass", "amdgcn") else "mlir"
    return parse(stored(name, stage), language)


def statement(name: str = CUDA) -> int:
    (loop,) = scf_loops(document(name, "ttgir"))
    return loop.chain[0].line


@pytest.mark.parametrize(("name", "stage"), [(CUDA, "ptx"), (CUDA, "sass"), (HIP, "amdgcn")])
def test_a_loop_is_tied_to_its_statement(name: str, stage: str):
    (loop,) = (
        one
        for one in kernel_loops(document(name, stage), stage, document(name, "ttgir"), None)
        if not one.remainder
    )
    assert loop.place.line == statement(name)
    assert (loop.depth, loop.hot) == (1, True)
    assert loop.pipelined == (3 if name == CUDA else 2)


def test_loads_before_and_in_the_loop():
    """Two copies of the loads precede the loop; regular expressions count the same."""
    ptx = document(CUDA, "ptx")
    mix = LoopMix(ptx, "ptx", document(CUDA, "ttgir"))
    copies = [line for line, text in enumerate(ptx.lines) if "cp.async.cg" in text]
    counts = {region.where: sum(own.values()) for region, own in mix.counts("async copy", copies).items()}
    before, _, inside = ptx.text.partition("Loop Header: Depth=1")
    assert counts == {
        Where.BEFORE: len(re.findall(r"cp\.async\.cg", before)),
        Where.IN: len(re.findall(r"cp\.async\.cg", inside)),
    }
    (chain,) = mix.regions.chains if mix.regions else ()
    assert (mix.copies_before(chain), mix.unrolled(chain), mix.depth(chain)) == (2, 1, 3)


def test_mlir_loops():
    (loop,) = mlir_loops(document(CUDA, "ttgir"), {})
    assert (loop.place.line, loop.pipelined) == (statement(), 3)
    (loop,) = mlir_loops(parse(stored("while_kernel.cuda-90", "ttgir"), "mlir"), {})
    assert loop.pipelined == 1


def test_trip_counts_follow_from_the_launch():
    ttir = document(CUDA, "ttir")
    (bound,) = {loop.upper for loop in scf_loops(ttir)}
    flow = AxisFlow(ttir)
    names = {name for name in "MNK" if integer_of(bound, integer_values(flow, {name: 4096}))}
    (name,) = names
    launched = replace(variant(), launches=(Launch((1,), ((name, "4096"), ("a_ptr", "float16[1, 2]"))),))
    assert list(trip_counts(ttir, launched).values()) == [TripCount(128, ((name, 4096),))]
    assert str(next(iter(trip_counts(ttir, launched).values()))) == f"128 iterations for {name}=4096"
    assert not trip_counts(ttir, variant())


def test_the_evaluator_takes_linear_time():
    """Each value is the sum of the one before with itself."""
    lines = ["    %v0 = arith.constant 1 : i32"]
    lines += [f"    %v{at} = arith.addi %v{at - 1}, %v{at - 1} : i32" for at in range(1, 30)]
    text = "module {\n  tt.func public @k() {\n" + "\n".join(lines) + "\n  }\n}\n"
    mlir = parse(text, "mlir")
    last = Definition(len(mlir.operations) - 1, False, 0)
    assert integer_of(last, integer_values(AxisFlow(mlir), {})) == 1 << 29


def loop_sentences(stages: dict[str, tuple[str, str]]) -> list[str]:
    diffs = {stage: stage_diff(stage, *texts) for stage, texts in stages.items()}
    pair = PairContext(variant(), variant(id_=2), {}, {}, diffs)
    return [str(one) for one in findings(pair) if one.kind == "loop"]


def test_equal_stages_have_no_findings_about_loops():
    assert not loop_sentences({stage: (stored(CUDA, stage),) * 2 for stage in ("ttgir", "ptx")})


def test_a_loop_that_one_side_lost_is_named():
    """Without the branch back to the header, the loop is gone."""
    ptx = stored(CUDA, "ptx")
    straight = re.sub(r"\t@%p\d+ bra \t\$L__BB0_2;\n", "", ptx)
    assert straight != ptx
    ttgir = stored(CUDA, "ttgir")
    listed = loop_sentences({"ttgir": (ttgir, ttgir), "ptx": (ptx, straight)})
    assert listed == [f"The loop of line {statement()}: the assembly of B has no loop"]


# Two groups of warps in the loop that dispatches work, each with the same statement's loop and a peeled
# first iteration; LLVM lays the second group out first.
DISPATCH = """\
.visible .entry k()
{
$L__BB0_0:
	.loc	1 1 1
	mov.b32 	%r1, 0;
$L__BB0_1:
	.loc	1 1 1
	@%p1 bra 	$L__BB0_6;
	@%p2 bra 	$L__BB0_4;
	.loc	1 4 9
	ld.global.b32 	%r2, [%rd1];
$L__BB0_3:
	.loc	1 4 9
	ld.global.b32 	%r2, [%rd1];
	.loc	1 3 5
	@%p3 bra 	$L__BB0_3;
	.loc	1 1 1
	bra.uni 	$L__BB0_1;
$L__BB0_4:
	.loc	1 4 9
	ld.global.b64 	%rd2, [%rd1];
$L__BB0_5:
	.loc	1 4 9
	ld.global.b64 	%rd2, [%rd1];
	.loc	1 3 5
	@%p4 bra 	$L__BB0_5;
	.loc	1 1 1
	bra.uni 	$L__BB0_1;
$L__BB0_6:
	.loc	1 4 9
	ld.global.b16 	%rs2, [%rd1];
	ret;
}
	.file	1 "/k.py"
"""
DISPATCHED = """\
#loc = loc("/k.py":1:1)
module {
  tt.func public @k(%n: i32 loc(#loc), %p: !tt.ptr<f32> loc(#loc)) {
    %c0 = arith.constant 0 : i32 loc(#loc1)
    scf.for %i = %c0 to %n step %n  : i32 {
      %x = tt.load %p : !tt.ptr<f32> loc(#loc2)
    } loc(#loc1)
    scf.for %j = %c0 to %n step %n  : i32 {
      %y = tt.load %p : !tt.ptr<f32> loc(#loc2)
    } loc(#loc1)
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc("/k.py":3:5)
#loc2 = loc("/k.py":4:9)
"""


def test_the_work_of_one_group_of_warps_is_not_after_the_loop_of_another():
    ptx = parse(DISPATCH, "ptx")
    mix = LoopMix(ptx, "ptx", parse(DISPATCHED, "mlir"))
    loads = [line for line, text in enumerate(ptx.lines) if "ld.global" in text]
    assert [mix.region(line).where for line in loads] == [
        Where.BEFORE, Where.IN, Where.BEFORE, Where.IN, Where.OUTSIDE,
    ]  # fmt: skip
