"""The PTX parser: opcodes, registers and normalized text of instructions, and `.loc` in both forms."""

from pathlib import Path

import pytest

from irscope.languages.document import OPAQUE, Location, Operation
from irscope.languages.llvm import parse as parse_llvm
from irscope.languages.ptx import parse

STAGES = Path(__file__).parents[1] / "data" / "stages"
FILES = '\t.file\t1 "/src/k.py"\n\t.file\t2 "/triton/standard.py"\n'


def parse_one(line: str) -> Operation:
    [operation] = parse(f".visible .entry k(\n)\n{{\n{line}\n}}").operations
    assert operation.function == 0
    return operation


@pytest.mark.parametrize(
    ("line", "opcode", "normal", "results", "operands"),
    [
        ("\tadd.s32 \t%r1, %r20, -4;  // note", "add.s32", "add.s32 %r, %r, -4;", ("%r1",), ("%r20",)),
        ("\tret;", "ret", "ret;", (), ()),
        ("\tmov.u32 \t%r18, %ctaid.x;", "mov.u32", "mov.u32 %r, %ctaid.x;", ("%r18",), ()),
        ("\tmov.u64 \t%rd1, %clock64;", "mov.u64", "mov.u64 %rd, %clock64;", ("%rd1",), ()),
        ("\t@!%p1 bra \t$L__BB0_12;", "bra", "@!%p bra $L__BB;", (), ("%p1",)),
        (
            "\t@%p1 ld.global.v2.b32 { %r1, %r2 }, [ %rd1 + 0 ];",
            "ld.global.v2.b32",
            "@%p ld.global.v2.b32 { %r, %r }, [ %rd + 0 ];",
            ("%r1", "%r2"),
            ("%p1", "%rd1"),
        ),
        (
            "\tst.shared.v2.b32 \t[%r1+16], {%r2, %r3};",
            "st.shared.v2.b32",
            "st.shared.v2.b32 [%r+16], {%r, %r};",
            (),
            ("%r1", "%r2", "%r3"),
        ),
        ("\telect.sync \t%r105|%p5, -1;", "elect.sync", "elect.sync %r|%p, -1;", ("%r105", "%p5"), ()),
        ("\tbar.sync \t%r1, 128;", "bar.sync", "bar.sync %r, 128;", (), ("%r1",)),
        (
            "\ttcgen05.mma.cta_group::1.kind::f16 [ %r1 + 0 ], %rd6, %p16;",
            "tcgen05.mma.cta_group::1.kind::f16",
            "tcgen05.mma.cta_group::1.kind::f16 [ %r + 0 ], %rd, %p;",
            (),
            ("%r1", "%rd6", "%p16"),
        ),
        (
            "{ .reg .b16 x; mov.b32 {x, _}, %r1; cvt.f32.f16 %r2, x; }",
            "cvt.f32.f16",
            "{ .reg .b16 x; mov.b32 {x, _}, %r; cvt.f32.f16 %r, x; }",
            (),
            ("%r1", "%r2"),
        ),
        ("\tadd.s32 %r1, %r2", OPAQUE, "add.s32 %r, %r", (), ()),
        ("\t??? %r7;", OPAQUE, "??? %r;", (), ()),
    ],
)
def test_instruction(
    line: str, opcode: str, normal: str, results: tuple[str, ...], operands: tuple[str, ...]
) -> None:
    operation = parse_one(line)
    assert (operation.opcode, operation.normalized) == (opcode, normal)
    assert (operation.results, operation.operands) == (results, operands)


def test_structure_is_not_an_operation() -> None:
    text = """\
.version 9.4
.extern .func  (.param .b32 func_retval0) vprintf
(
	.param .b64 vprintf_param_0
)
;
.global .align 1 .b8 text[2] = {37, 0};
.visible .func helper(
)
{
	.reg .pred 	%p<3>;
$L__BB0_1:                              // %._crit_edge
	// begin inline asm
	{
	waitLoop:
	trap;
	}
	// end inline asm
	{ // callseq 0, 0
	.param .b64 param0;
	call.uni (retval0), vprintf, (param0, param1);
	} // callseq 0
$L_brx_0: .branchtargets
		$L__BB0_2,
		$L__BB0_3;
}
	.section	.debug_abbrev
	{
.b8 1                                   // Abbreviation Code
	}
"""
    document = parse(text)
    assert [(o.opcode, o.function) for o in document.operations] == [("trap", 0), ("call.uni", 0)]
    assert document.functions == ["helper"]


def locations(text: str) -> list[Location | None]:
    return [operation.location for operation in parse(text + FILES).operations]


def test_inlining_in_the_comment() -> None:
    """Triton 3.6 and 3.7."""
    inlined = "\t.loc\t2 43 17 // standard.py:43:17 @[ standard.py:50:1 @[ k.py:9:27 ] ]\n\tret;\n"
    call = Location("/triton/standard.py", 50, 1, Location("/src/k.py", 9, 27))
    expected = [Location("/triton/standard.py", 43, 17, call), None]
    assert locations(inlined + "\t.loc\t1 0 4 // k.py:0:4\n\tret;\n") == expected


def test_inlining_in_the_directive() -> None:
    """Triton 3.8 and later: the chain continues at the latest `.loc` of the call's position."""
    text = """\
	.loc	2 216 16, function_name $L__info_string0, inlined_at 1 19 13 // standard.py:216:16
	ret;
	.loc	2 196 12, function_name $L__info_string0, inlined_at 2 216 16 // standard.py:196:12
	ret;
	.loc	1 20 1                          // k.py:20:1
	ret;
"""
    reduce = Location("/triton/standard.py", 216, 16, Location("/src/k.py", 19, 13))
    combine = Location("/triton/standard.py", 196, 12, reduce)
    assert locations(text) == [reduce, combine, Location("/src/k.py", 20, 1)]


def test_lines_of_inline_assembly_are_subtracted() -> None:
    text = """\
	.loc	1 18 9
	// begin inline asm
	.loc	1 18 9
	mov.u32 %r1, %r5;
	.loc	1 19 9
	mov.u32 %r2, %r5;
	.loc	1 20 9
	@%p1 ld.global.v2.b32 { %r1, %r2 }, [ %rd1 + 0 ];

	// end inline asm
	ret;
"""
    assert locations(text) == [Location("/src/k.py", 18, 9)] * 4


@pytest.mark.parametrize(
    ("version", "combine", "reduce", "call", "load"),
    [("3.6.0", (170, 27), (191, 40), (19, 19), 18), ("3.9.0", (196, 12), (216, 16), (19, 13), 18)],
)
def test_locations_of_the_softmax_kernel(
    version: str, combine: tuple[int, int], reduce: tuple[int, int], call: tuple[int, int], load: int
) -> None:
    path = STAGES / f"softmax_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-{version}.ptx"
    operations = parse(path.read_text()).operations
    library, kernel = "/triton/language/standard.py", "/src/kernels.py"
    maximum = next(o for o in operations if o.opcode == "max.f32")
    assert maximum.location == Location(
        library, *combine, Location(library, *reduce, Location(kernel, *call))
    )
    loads = [o.location for o in operations if o.opcode == "ld.global.v4.b32"]
    assert [(place.file, place.line) for place in loads if place] == [(kernel, load)] * 2


@pytest.mark.parametrize("kernel", ["add_kernel", "softmax_kernel"])
@pytest.mark.parametrize("version", ["3.6.0", "3.9.0"])
def test_locations_match_the_llvm_ir(kernel: str, version: str) -> None:
    """LLVM writes one from the other, so every location of an instruction is in the IR."""
    stem = f"{kernel}.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-{version}"
    known = {o.location for o in parse_llvm((STAGES / f"{stem}.llir").read_text()).operations}
    entry = Location("/src/kernels.py", 7 if kernel == "add_kernel" else 14)
    found = {o.location for o in parse((STAGES / f"{stem}.ptx").read_text()).operations}
    assert found <= known | {entry}
