"""The values in registers: tensors of TTGIR, live values of machine code by line, and spills."""

from __future__ import annotations

import random

import pytest

from irscope.diff.rows import StageDiff
from irscope.facts.fact import Fact
from irscope.facts.registers.live_tensors import TensorPressure, tensor_pressure, variable_types
from irscope.facts.registers.live_values import KernelLines, assigned_names
from irscope.facts.registers.register_report import RegisterReport, register_report
from irscope.facts.registry import REGISTERS, STACK
from irscope.findings.finding import PairContext
from irscope.findings.resources import register_causes, spill_causes
from irscope.languages.document import Location
from irscope.languages.language import parse
from irscope.layouts.tensors import Layouts
from irscope.model import Kernel, SourceFunction
from tests.findings.builders import stage_diff, stored, variant
from tests.hardening.texts import damaged_text, pieces

SOURCE = """@triton.jit
def kernel(x_ptr, n):
    offsets = tl.arange(0, 128)
    acc = tl.load(x_ptr + offsets)
    for i in range(n):
        acc = acc * acc
    tl.store(x_ptr + offsets, acc)
"""
FUNCTION = SourceFunction("kernel", "/src/k.py", 10, SOURCE)
KERNEL = Kernel(1, "kernel", FUNCTION, (), ("x_ptr", "n"))


def pressure(name: str, version: tuple[int, int] = (3, 9)) -> TensorPressure:
    return tensor_pressure(parse(stored(name, ".ttgir"), "mlir"), Layouts(version))


@pytest.mark.parametrize(
    ("target", "block", "warps", "registers"),
    [
        ("cuda-90", "BLOCK_M=64,BLOCK_N=64", "num_warps=4,num_stages=3", 64 * 64 * 4 // 128 // 4),
        ("cuda-90", "BLOCK_M=128,BLOCK_N=128", "num_warps=4,num_stages=3", 128 * 128 * 4 // 128 // 4),
        ("cuda-90", "BLOCK_M=128,BLOCK_N=128", "num_warps=8,num_stages=3", 128 * 128 * 4 // 256 // 4),
        ("cuda-80", "BLOCK_M=128,BLOCK_N=128", "num_warps=4,num_stages=3", 128 * 128 * 4 // 128 // 4),
        ("hip-gfx942", "BLOCK_M=64,BLOCK_N=64", "num_warps=4,num_stages=2", 64 * 64 * 4 // 256 // 4),
    ],
)
def test_an_accumulator_takes_its_bytes_over_its_threads(target, block, warps, registers):
    found = pressure(f"matmul_kernel.{target}.{block},BLOCK_K=32,{warps}.triton-3.9.0")
    acc = next(tensor for tensor in found.tensors if tensor.name == "acc")
    assert (acc.registers, acc.element) == (registers, "f32")
    assert acc.registers * acc.threads * 4 == acc.shape[0] * acc.shape[1] * 4
    assert sum(tensor.registers for tensor in found.tensors) == found.registers == max(found.after.values())


def test_the_sum_of_softmax_is_recomputed_by_hand():
    """A row of 1,024 f32 over 128 threads is 8 registers; the row and its exponentials are live at once."""
    found = pressure("softmax_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0")
    assert {tensor.registers for tensor in found.tensors} == {8}
    assert all(tensor.threads == 128 for tensor in found.tensors)


TTGIR = """#b = #ttg.blocked<{{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
module {{
  tt.func public @k(%p: tensor<512x!tt.ptr<f32>, #b>, %n: i32) {{
    %c = arith.constant dense<0.0> : tensor<512xf32, #b>
    %c0 = arith.constant 0 : i32
    %a = tt.load %p : tensor<512x!tt.ptr<f32>, #b>
    %r = scf.for %i = %c0 to %n step %n iter_args(%s = %c) -> (tensor<512xf32, #b>) : i32 {{
      %h = arith.truncf %s : tensor<512xf32, #b> to tensor<512xf16, #b>
      %e = arith.extf %h : tensor<512xf16, #b> to tensor<512xf32, #b>
      {body}
      scf.yield %e : tensor<512xf32, #b>
    }}
    tt.store %p, %r : tensor<512x!tt.ptr<f32>, #b>
    {after}
    tt.return
  }}
}}
"""


def ttgir_sums(body: str = "", after: str = "") -> list[int]:
    text = TTGIR.format(body=body, after=after)
    return list(tensor_pressure(parse(text, "mlir"), Layouts((3, 9))).after.values())


def test_a_value_that_a_loop_uses_lives_until_its_end():
    """512 elements over 128 threads: 4 registers of f32, 2 of f16. The constant and pointers do not count."""
    use = "%x = arith.addf %a, %a : tensor<512xf32, #b>"
    unused, used = ttgir_sums(), ttgir_sums(body=use)
    assert max(unused) == 4
    # In the loop: a, and s, its f16 copy h, or e.
    assert used[:10] == [0, 0, 0, 0, 4, 8, 6, 8, 8, 8]
    assert max(ttgir_sums(after="tt.store %p, %a : tensor<512x!tt.ptr<f32>, #b>")) == 8


def test_partitions_of_warp_specialization_do_not_add_up():
    name = "specialized_matmul_kernel.cuda-90.STAGES=2,WARP_SPECIALIZE=True.triton-3.9.0"
    acc = next(tensor for tensor in pressure(name).tensors if tensor.name == "acc")
    assert acc.registers * acc.threads == acc.shape[0] * acc.shape[1]
    assert pressure(name).registers < 2 * acc.registers


def test_names_are_those_that_lines_assign():
    assert dict(assigned_names(SOURCE)) == {3: "offsets", 4: "acc", 6: "acc"}
    text = "def f():\n    a, (b, c) = 1, (\n        2, 3)\n    d += 1\n    e.x = 4\n    for i in x: pass\n"
    assert dict(assigned_names(text)) == {2: "a, b, c", 3: "a, b, c", 4: "d"}
    assert not list(assigned_names("def f(:"))
    assert not list(assigned_names("(" * 10_000))


def test_a_line_of_a_library_belongs_to_the_line_of_the_kernel_that_calls_it():
    source = KernelLines(KERNEL)
    inlined = Location("/lib/triton/language/standard.py", 43, 0, Location("/src/k.py", 13))
    line = source.line_of(inlined)
    assert line is not None
    assert (line.line, line.name, line.text) == (13, "acc", "acc = tl.load(x_ptr + offsets)")
    assert source.line_of(None) is None


SASS = """.text.kernel:
	//## File "/src/k.py", line 12
        /*0000*/ S2R R2, SR_TID.X ;
	//## File "/src/k.py", line 13
        /*0010*/ LDG.E.128 R4, [R2.64] ;
        /*0020*/ MOV R9, R4 ;
        /*0030*/ STL [R1+0x10], R9 ;
.L_x_0:
	//## File "/src/k.py", line 15
        /*0040*/ LDL R10, [R1+0x10] ;
        /*0050*/ FMUL R5, R10, R5 ;
        /*0060*/ @P0 BRA `(.L_x_0) ;
	//## File "/src/k.py", line 16
        /*0070*/ STG.E.128 [R2.64], R4 ;
        /*0080*/ EXIT ;
"""


def report(text: str, language: str = "sass") -> RegisterReport:
    return register_report(KERNEL, parse(text, language), 16)


def test_a_spilled_value_is_named_through_copies():
    (spill,) = report(SASS).spills
    assert (spill.value.name, spill.value.line, spill.words) == ("acc", 13, 1)
    assert [(line.line, count) for line, count in spill.stores] == [(13, 1)]
    assert [(line.line, count) for line, count in spill.loads] == [(15, 1)]
    assert (spill.loop_stores, spill.loop_loads) == (0, 1)


def test_live_values_add_up_to_the_peak_and_name_a_reload():
    found = report(SASS)
    assert found.in_loop and found.place is not None and found.place.line == 15
    by_name = {value.name: value.registers for value in found.values}
    # R4 to R7 and the reloaded R10 are acc; R2, R3 and R1 are not.
    assert by_name["acc"] == 5
    assert sum(by_name.values()) == found.peak == 8
    assert found.pressure is not None and max(found.pressure.values()) == 8


def test_a_spill_of_another_address_has_no_name():
    (spill,) = report(SASS.replace("[R1+0x10]", "[R8]")).spills
    assert not spill.value.line
    assert spill.words == 0


def test_amd_spills_are_the_accesses_that_llvm_says():
    text = """\t.type kernel,@function
\t.file 1 "/src" "k.py"
kernel:
\t.loc 1 13 0
\tglobal_load_dword v7, v[0:1], off
\tscratch_store_dword off, v7, off offset:40 ; 4-byte Folded Spill
\t.loc 1 16 0
\tscratch_load_dword v8, off, off offset:40 ; 4-byte Folded Reload
\tglobal_store_dword v[0:1], v8, off
\ts_endpgm
"""
    (spill,) = report(text, "amdgcn").spills
    assert (spill.value.name, spill.words) == ("acc", 1)
    assert [(line.line, count) for line, count in spill.loads] == [(16, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["ptx", "sass", "amdgcn", "mlir"])
def test_damaged_text_never_fails(language: str):
    texts, pick = pieces()[language], random.Random(language)
    for _ in range(1_000):
        document = parse(damaged_text(pick, texts), language)
        found = register_report(KERNEL, document, None, (document, Layouts((3, 9))), document)
        assert found.peak is None or sum(value.registers for value in found.values) == found.peak


def pair(registers: tuple[int, int], stack: tuple[int, int], *diffs: StageDiff) -> PairContext:
    def facts(index: int) -> dict[str, Fact]:
        values = {REGISTERS: registers[index], STACK: stack[index]}
        return {kind.name: Fact(kind, value) for kind, value in values.items()}

    a, b = variant(source=FUNCTION), variant(source=FUNCTION, id_=2)
    return PairContext(a, b, facts(0), facts(1), {diff.stage: diff for diff in diffs})


def ttgir_diff(a: str, b: str) -> StageDiff:
    return stage_diff("ttgir", *(stored(f"matmul_kernel.cuda-90.{config}", ".ttgir") for config in (a, b)))


SMALL = "BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0"
LARGE = "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0"
EIGHT_WARPS = LARGE.replace("num_warps=4", "num_warps=8")


def register_cause(pair: PairContext) -> str:
    return "".join(map(str, register_causes(pair)))


def spill_cause(pair: PairContext) -> str:
    return "".join(map(str, spill_causes(pair)))


def test_a_difference_of_registers_names_the_tensor():
    context = pair((64, 194), (0, 0), ttgir_diff(SMALL, LARGE))
    assert register_cause(context) == "; acc 64x64 f32 -> 128x128 f32 over 128 threads takes 32 -> 128"
    context = pair((194, 122), (0, 0), ttgir_diff(LARGE, EIGHT_WARPS))
    assert register_cause(context) == "; acc 128x128 f32 over 128 -> 256 threads takes 128 -> 64"


def test_no_tensor_is_named_if_it_does_not_explain_the_difference():
    assert register_cause(pair((194, 64), (0, 0), ttgir_diff(SMALL, LARGE))) == ""
    assert register_cause(pair((100, 200), (0, 0), ttgir_diff(SMALL, SMALL))) == ""
    assert register_cause(pair((100, 200), (0, 0))) == ""


def test_a_spill_names_the_tensors_that_are_live():
    context = pair((64, 168), (0, 64), ttgir_diff(SMALL, LARGE))
    assert spill_cause(context) == "; B's largest tensors: acc 128x128 f32 over 128 threads takes 128"
    assert spill_cause(pair((64, 255), (0, 64), ttgir_diff(SMALL, LARGE))) == ""


# `acc = tl.dot(p.to(tl.float16), p, acc)` and `top = tl.max(tl.abs(p), 1)`, as Triton 3.9 prints them.
NAMED_TTIR = """#loc = loc("/src/k.py":10:1)
#loc1 = loc("/lib/triton/language/standard.py":188:40)
#loc2 = loc("acc"(#loc5))
#loc3 = loc("top"(#loc6))
#loc4 = loc("p"(#loc7))
#loc5 = loc("/src/k.py":14:1)
#loc6 = loc("/src/k.py":15:1)
#loc7 = loc("/src/k.py":13:1)
#loc8 = loc("iy"(#loc1))
#loc9 = loc(callsite(#loc1 at #loc3))
#loc10 = loc(callsite(#loc8 at #loc3))
module {{
  tt.func public @k(%x: tensor<64x{n}x!tt.ptr<f32>>, %c: tensor<64x64xf32>, %v: tensor<{n}x64xf16>) {{
    %p = tt.load %x : tensor<64x{n}x!tt.ptr<f32>> loc(#loc4)
    %acc = arith.truncf %p : tensor<64x{n}xf32> to tensor<64x{n}xf16> loc(#loc2)
    %acc_0 = tt.dot %acc, %v, %c : tensor<64x{n}xf16> * tensor<{n}x64xf16> -> tensor<64x64xf32> loc(#loc2)
    %top = math.absf %p : tensor<64x{n}xf32> loc(#loc3)
    %iy = arith.addf %top, %top : tensor<64x{n}xf32> loc(#loc10)
    %top_1 = "tt.reduce"(%iy) <{{axis = 1 : i32}}> ({{
    ^bb0(%top_2: f32, %top_3: f32):
      %top_4 = arith.maxnumf %top_2, %top_3 : f32 loc(#loc9)
      tt.reduce.return %top_4 : f32 loc(#loc9)
    }}) : (tensor<64x{n}xf32>) -> tensor<64xf32> loc(#loc9)
    tt.return loc(#loc)
  }}
}}
"""
NAMED_TTGIR = """\
#b = #ttg.blocked<{{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}}>
#loc2 = loc("acc"(#loc5))
#loc4 = loc("p"(#loc7))
#loc5 = loc("/src/k.py":14:1)
#loc7 = loc("/src/k.py":13:1)
module {{
  tt.func public @k(%x: tensor<64x{n}x!tt.ptr<f32>, #b>, %y: tensor<64x{n}x!tt.ptr<f16>, #b>) {{
    %p = tt.load %x : tensor<64x{n}x!tt.ptr<f32>, #b> loc(#loc4)
    %acc = arith.truncf %p : tensor<64x{n}xf32, #b> to tensor<64x{n}xf16, #b> loc(#loc2)
    tt.store %y, %acc : tensor<64x{n}x!tt.ptr<f16>, #b>
    tt.store %x, %p : tensor<64x{n}x!tt.ptr<f32>, #b>
    tt.return
  }}
}}
"""


def test_a_variable_has_the_type_of_its_values_and_not_of_parts_of_their_expression():
    types = variable_types(parse(NAMED_TTIR.format(n=32), "mlir"))
    assert types == {"p": {((64, 32), "f32")}, "acc": {((64, 64), "f32")}}


def test_a_tensor_is_not_named_after_a_variable_of_another_type():
    sides = [(NAMED_TTIR.format(n=n), NAMED_TTGIR.format(n=n)) for n in (32, 64)]
    ttir, ttgir = (stage_diff(stage, *texts) for stage, *texts in zip(("ttir", "ttgir"), *sides, strict=True))
    assert register_cause(pair((64, 80), (0, 0), ttgir)).count("over 128 threads takes") == 2
    cause = register_cause(pair((64, 80), (0, 0), ttgir, ttir))
    assert cause == "; p 64x32 f32 -> 64x64 f32 over 128 threads takes 16 -> 32"


def test_a_spill_names_the_line_whose_values_are_spilled_most():
    sums = """        /*0052*/ FADD R5, R4, R4 ;
        /*0054*/ STL [R1+0x20], R5 ;
        /*0056*/ STL [R1+0x24], R5 ;
"""
    more = SASS.replace("        /*0060*/", f'\t//## File "/src/k.py", line 16\n{sums}        /*0060*/')
    acc, stored_sum = (
        spill_cause(pair((16, 16), (0, 64), stage_diff("sass", SASS, text))) for text in (SASS, more)
    )
    assert acc == "; B spills values of line 13 (acc = tl.load(x_ptr + offsets))"
    assert stored_sum == "; B spills values of line 16 (tl.store(x_ptr + offsets, acc))"
