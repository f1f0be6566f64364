"""Stages without their source locations, one text per language."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.languages.language import Language

CASES = {
    "mlir": (
        '#loc = loc("f.py":1:2)\n'
        '  tt.func @f(%x: i32 {tt.divisibility = 16 : i32} loc("x)"(#loc)), %y: i32 loc("y"(#loc))) {\n'
        '    %0 = "tt.reduce"(%x) ({ ^bb0(%a: i32 loc(callsite(#loc1 at #loc2))): }) : i32 loc(#loc3)\n'
        "    %alloc = ttg.local_alloc %x : i32 loc(#loc)\n"
        '    %broken = x loc("never closed\n',
        "  tt.func @f(%x: i32 {tt.divisibility = 16 : i32}, %y: i32) {\n"
        '    %0 = "tt.reduce"(%x) ({ ^bb0(%a: i32): }) : i32\n'
        "    %alloc = ttg.local_alloc %x : i32\n"
        '    %broken = x loc("never closed\n',
    ),
    "llvm": (
        "define void @f() !dbg !4 {\n  %1 = add i32 %0, 1, !dbg !12\n"
        "  br label %2, !dbg !13, !llvm.loop !14\n"
        "!12 = !DILocation(line: 1, column: 2, scope: !4)\n!14 = distinct !{!14}\n",
        "define void @f() {\n  %1 = add i32 %0, 1\n  br label %2, !llvm.loop !14\n!14 = distinct !{!14}\n",
    ),
    "ptx": (
        '\t.loc\t1 25 0 // f.py:25:0\n$L__tmp0:\n\tadd.s32 %r1, %r2, 1;\n$L__BB0_1:\n\t.file\t1 "f.py"\n'
        "\t.section\t.debug_abbrev\n\t{\n.b8 1\n\t}\n",
        "\tadd.s32 %r1, %r2, 1;\n$L__BB0_1:\n",
    ),
    "sass": (
        '\t//## File "f.py", line 3 inlined at "g.py", line 4\n        /*0000*/  LDC R1, c[0x0][0x28] ;\n',
        "        /*0000*/  LDC R1, c[0x0][0x28] ;\n",
    ),
    "amdgcn": (
        '\t.file\t1 "/d" "f.py"\n\t.loc\t1 25 0 ; f.py:25:0\n.Ltmp0:\n\ts_add_i32 s1, s9, 0x7f\n'
        "\t.cfi_endproc\n"
        '\t.section\t.debug_info,"",@progbits\n\t.long 1\n\t.section\t.rodata\n\t.amdhsa_kernel f\n',
        "\ts_add_i32 s1, s9, 0x7f\n\t.section\t.rodata\n\t.amdhsa_kernel f\n",
    ),
}


@pytest.mark.parametrize("language", CASES)
def test_only_locations_are_removed(language):
    text, expected = CASES[language]
    assert Language.named(language).without_debug(text) == expected
    assert Language.named(language).without_debug(expected) == expected


@given(st.text(alphabet=' loc()"#!dbg\\\n.:'), st.sampled_from([*CASES, "python"]))
def test_any_text_is_accepted(text, language):
    Language.named(language).without_debug(text)


def test_many_open_parentheses_take_linear_time():
    text = " loc(" * 200_000
    assert Language.named("mlir").without_debug(text) == text
