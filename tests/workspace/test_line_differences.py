"""The changes between two lines, in pieces; layouts without the fields that are equal."""

from __future__ import annotations

import pytest

from irscope.workspace.line_differences import content_span, elided_layouts, first_change, line_changes

A = "#b = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], order = [1, 0]}>"
B = A.replace("[4, 8]", "[2, 16]")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (A, B, ["threadsPerWarp: [4, 8] -> [2, 16]"]),
        ("%0 = x : tensor<64x64xf32, #a>", "%7 = x : tensor<64x128xf32, #a>", ["64x64xf32 -> 64x128xf32"]),
        ('m {"w" = 4 : i32, s = 1 : i32}', 'm {"w" = 8 : i32, s = 2 : i32}', ["w: 4 -> 8", "s: 1 -> 2"]),
        ("  /*0080*/  CS2R R32, SRZ ;", "  /*0090*/  CS2R R44, SRZ ;", []),
        ("add %a, %b", "add %c, %d", []),
        ("f {a}", "f {a, p = 1}", ["a -> a, p = 1"]),
        ("", "x", ["nothing -> x"]),
    ],
)
def test_pieces(left: str, right: str, expected: list[str]) -> None:
    assert [change.text for change in line_changes(left, right)] == expected


def test_raw_pieces_have_names_too() -> None:
    assert [change.text for change in line_changes("add %a", "add %b", raw=True)] == ["%a -> %b"]


def test_equal_fields_are_elided() -> None:
    assert elided_layouts(A, B) == (
        "#b = #ttg.blocked<{…, threadsPerWarp = [4, 8], …}>",
        "#b = #ttg.blocked<{…, threadsPerWarp = [2, 16], …}>",
    )
    assert elided_layouts(A, A) == (A, A)
    assert elided_layouts(A, "module {") == (A, "module {")


def test_the_first_change_is_whole() -> None:
    change = first_change(A, B)
    assert change is not None
    pieces = A[slice(*change[0])], B[slice(*change[1])]
    assert pieces == ("threadsPerWarp = [4, 8]", "threadsPerWarp = [2, 16]")
    assert first_change(A, A) is None


def test_content_is_without_address() -> None:
    text = "        /*0080*/       CS2R R32, SRZ ;  "
    assert text[slice(*content_span(text))] == "CS2R R32, SRZ ;"
    assert content_span("   ") == (0, 0)


def test_long_and_unbalanced_lines_take_linear_time() -> None:
    for text in ("[" * 50_000, "]" * 50_000, "(" * 50_000 + "a"):
        line_changes(text, text + "b")
        elided_layouts(f"#a = #t<{{{text}}}>", f"#a = #t<{{{text}, x}}>")
