"""The LLVM IR parser: opcodes, values and normalized text of instructions, and `!DILocation`."""

from pathlib import Path

import pytest

from irscope.languages.assembly import MAX_INLINING
from irscope.languages.document import OPAQUE, Location, Operation
from irscope.languages.llvm import DebugLocations, parse

STAGES = Path(__file__).parents[1] / "data" / "stages"
DEBUG = """\
!1 = !DIFile(filename: "k.py", directory: "/src")
!2 = distinct !DISubprogram(name: "k", linkageName: "k", scope: !1, file: !1, line: 3, scopeLine: 3, unit: !0)
!3 = distinct !DILexicalBlockFile(scope: !2, file: !4, discriminator: 0)
!4 = !DIFile(filename: "/triton/standard.py", directory: "/elsewhere")
!5 = !DILocation(line: 9, column: 13, scope: !2)
!6 = !DILocation(line: 43, column: 17, scope: !3, inlinedAt: !5)
!7 = !DILocation(line: 0, column: 4, scope: !3, inlinedAt: !5)
!8 = !DILocation(line: 0, scope: !2)
!9 = !DILocation(line: 1, column: 1, scope: !2, inlinedAt: !10)
!10 = !DILocation(line: 2, column: 2, scope: !2, inlinedAt: !9)
!11 = distinct !DILexicalBlock(scope: !2, line: 5, column: 1)
!12 = !DILocation(line: 6, column: 1, scope: !13)
!13 = distinct !DILexicalBlock(scope: !13, line: 5, column: 1)
!14 = !DILocation(line: 7, column: 2, scope: !15)
!15 = !DILexicalBlock(scope: !11)
"""
CALL = Location("/src/k.py", 9, 13)


def parse_one(line: str) -> Operation:
    [operation] = parse(f"define void @k() {{\n  {line}\n}}\n\n{DEBUG}").operations
    assert operation.function == 0
    return operation


@pytest.mark.parametrize(
    ("line", "opcode", "normal", "results", "operands"),
    [
        ("%9 = shl nuw i32 %8, 2, !dbg !5", "shl", "% = shl nuw i32 %, 2", ("%9",), ("%8",)),
        (
            'store float %a.b, ptr %"x y", align 4',
            "store",
            "store float %, ptr %, align 4",
            (),
            ("%a.b", '%"x y"'),
        ),
        (
            "%1 = phi i32 [ %2, %.lr.ph ], [ 0, %3 ]",
            "phi",
            "% = phi i32 [ %, % ], [ 0, % ]",
            ("%1",),
            ("%2", "%.lr.ph", "%3"),
        ),
        (
            "br i1 %1, label %2, label %3, !llvm.loop !7",
            "br",
            "br i1 %, label %, label %, !llvm.loop !",
            (),
            ("%1", "%2", "%3"),
        ),
        ("ret void, !dbg !5", "ret", "ret void", (), ()),
        (
            'fence syncscope("workgroup") release, !dbg !5, !mmra !4',
            "fence",
            'fence syncscope("workgroup") release, !mmra !',
            (),
            (),
        ),
        (
            "%2 = tail call range(i32 0, 9) i32 @llvm.nvvm.f(i32 %1) #4",
            "call @llvm.nvvm.f",
            "% = tail call range(i32 0, 9) i32 @llvm.nvvm.f(i32 %) #",
            ("%2",),
            ("%1",),
        ),
        ("call void %1(i32 %2)", "call", "call void %(i32 %)", (), ("%1", "%2")),
        (
            '%2 = call i32 asm sideeffect "mov.u32 $0, %laneid;", "=r"() #1, !dbg !5',
            "call asm mov.u32",
            '% = call i32 asm sideeffect "mov.u32 $0, %laneid;", "=r"() #',
            ("%2",),
            (),
        ),
        ('call void asm sideeffect "", ""()', "call asm", 'call void asm sideeffect "", ""()', (), ()),
        ("???", OPAQUE, "???", (), ()),
    ],
)
def test_instruction(
    line: str, opcode: str, normal: str, results: tuple[str, ...], operands: tuple[str, ...]
) -> None:
    operation = parse_one(line)
    assert (operation.opcode, operation.normalized) == (opcode, normal)
    assert (operation.results, operation.operands) == (results, operands)


def test_switch_is_one_operation() -> None:
    cases = "  switch i32 %1, label %2 [\n    i32 0, label %3\n    i32 -1, label %4\n  ], !dbg !5\n"
    first, second = parse(cases + "  ret void").operations
    assert (first.line, first.end, first.opcode, first.operands) == (0, 4, "switch", ("%1", "%2", "%3", "%4"))
    assert first.normalized == "switch i32 %, label % [ i32 0, label % i32 -1, label % ]"
    assert second.line == 4


def test_an_unclosed_switch_is_one_line() -> None:
    operations = parse("  switch i32 %1, label %2 [\n    i32 0, label %3\n  ret void").operations
    assert [operation.line for operation in operations] == [0, 1, 2]


def test_declarations_globals_and_debug_records_are_not_operations() -> None:
    text = (
        "@g = global i32 0\ndeclare i32 @f(i32)\n5:\n    #dbg_value(i32 %1)\nattributes #0 = { nounwind }\n"
    )
    assert parse(text + DEBUG).operations == []


@pytest.mark.parametrize(
    ("number", "location"),
    [
        ("5", CALL),
        ("6", Location("/triton/standard.py", 43, 17, CALL)),
        ("7", CALL),  # code of line 0 belongs to its call
        ("8", None),
        ("9", Location("/src/k.py", 1, 1, Location("/src/k.py", 2, 2))),  # a cycle ends
        ("12", Location("", 6, 1)),  # a scope that is its own
        ("14", Location("/src/k.py", 7, 2)),
        ("99", None),
    ],
)
def test_debug_location(number: str, location: Location | None) -> None:
    assert DebugLocations(DEBUG.split("\n")).location(number) == location
    assert parse_one(f"ret void, !dbg !{number}").location == location


def test_chains_are_cut_at_a_limit() -> None:
    count = 50_000
    lines = [f"!{n} = !DILocation(line: {n + 1}, scope: !0, inlinedAt: !{n + 1})" for n in range(count)]
    location, depth = DebugLocations(lines).location("0"), 0
    while location is not None:
        location, depth = location.inlined_at, depth + 1
    assert 0 < depth <= MAX_INLINING


@pytest.mark.parametrize(
    ("version", "combine", "reduce", "call"),
    [("3.6.0", (170, 27), (191, 40), (19, 19)), ("3.9.0", (196, 12), (216, 16), (19, 13))],
)
def test_reduction_is_inlined_from_the_library(
    version: str, combine: tuple[int, int], reduce: tuple[int, int], call: tuple[int, int]
) -> None:
    path = STAGES / f"softmax_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-{version}.llir"
    library, kernel = "/triton/language/standard.py", "/src/kernels.py"
    first = next(o for o in parse(path.read_text()).operations if o.opcode == "call @llvm.maxnum.f32")
    expected = Location(library, *combine, Location(library, *reduce, Location(kernel, *call)))
    assert first.location == expected


def test_inline_assembly_of_real_stages_names_its_instruction() -> None:
    path = (
        "matmul_kernel.cuda-100.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0.llir"
    )
    opcodes = {operation.opcode for operation in parse((STAGES / path).read_text()).operations}
    assert "call asm tcgen05.mma.cta_group::1.kind::f16" in opcodes
    assert "call asm cp.async.cg.shared.global" in opcodes
    assert "call asm mbarrier.try_wait.parity.shared::cta.b64" in opcodes
