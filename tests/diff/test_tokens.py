"""Spans cover real differences and skip renamed values."""

import time

import pytest

from irscope.diff.word_diff import changed_spans


def marked(left: str, right: str) -> tuple[list[str], list[str]]:
    ours, theirs = changed_spans(left, right)
    return [left[a:b] for a, b in ours], [right[a:b] for a, b in theirs]


@pytest.mark.parametrize(
    ("left", "right", "spans"),
    [
        (
            "%a = tt.splat %b : i32 -> tensor<64xi32>",
            "%x_3 = tt.splat %y : i32 -> tensor<128xi32>",
            (["64x"], ["128x"]),
        ),
        ("add.s32 \t%r1, %r2, 127;", "add.s32 \t%r9, %r8, 63;", (["127"], ["63"])),
        ("%1 = add i32 %2, 7, !dbg !12", "%5 = add i32 %3, 8, !dbg !99", (["7"], ["8"])),
        ("  @P0 LDG.E R8, [R2.64] ;", "  @!P1 LDG.E.128 R12, [R4.64] ;", (["LDG.E"], ["!", "LDG.E.128"])),
        ("v_add_u32 v[2:3], s4, 64", "v_add_u32 v[10:11], s6, 32", (["64"], ["32"])),
        ("f(#blocked, #shared)", "f(#blocked2, #mma)", (["#shared"], ["#mma"])),
        ("x loc(#loc3)", "x loc(callsite(#loc1 at #loc2))", ([], [])),
        ("\t.loc 1 43 13  // k.py:43:13", "\t.loc 1 44 2", ([], [])),
        ("a b", "a b c", ([], ["c"])),
    ],
)
def test_spans(left: str, right: str, spans: tuple[list[str], list[str]]) -> None:
    assert marked(left, right) == spans


def test_long_lines_are_fast() -> None:
    left = "{ " + ", ".join(f"float %{i}" for i in range(600)) + " }"
    right = "{ " + ", ".join(f"{'half' if i % 50 == 0 else 'float'} %{i + 7}" for i in range(600)) + " }"
    assert len(left) > 6_000
    changed_spans(left, right)
    start = time.process_time()
    spans = changed_spans(left, right)
    assert time.process_time() - start < 0.05
    assert len(spans[0]) == len(spans[1]) == 12
