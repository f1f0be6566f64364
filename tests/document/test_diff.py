"""The diff as text, Markdown and JSON, on small hand-made stages."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from irscope.diff.rows import Change, Row
from irscope.document.comparison_content import diff_content
from irscope.document.json.comparison import diff_document
from irscope.document.json.records import to_json
from irscope.document.markdown.document_markdown import markdown_lines
from irscope.document.report_content import PairReport
from irscope.document.terminal.document_text import text_lines
from irscope.document.terminal.row_text import _window, side_by_side, unified
from irscope.document.terminal.stage_text import diff_unified
from irscope.document.terminal.styles import PLAIN, Paint
from irscope.facts.fact import Evidence
from irscope.findings.finding import Finding
from irscope.workspace import Comparison, RowSide
from irscope.workspace.diff_rows import hunks, row_sides
from tests.document.conftest import mlir_diff, variant

STAGE = """\
#blocked = #ttg.blocked<{{sizePerThread = [{per}], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}}>
module attributes {{"ttg.num-warps" = 4 : i32}} {{
  tt.func public @k(%x: !tt.ptr<f32>) attributes {{noinline = false}} {{
    %r = tt.make_range {{end = {n} : i32, start = 0 : i32}} : tensor<{n}xi32, #blocked>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<{n}x!tt.ptr<f32>, #blocked>
    %a = tt.addptr %p, %r : tensor<{n}x!tt.ptr<f32>, #blocked>, tensor<{n}xi32, #blocked>
    %v = tt.load %a : tensor<{n}x!tt.ptr<f32>, #blocked>
    tt.store %a, %v : tensor<{n}x!tt.ptr<f32>, #blocked>
    tt.return
  }}
}}
"""
SMALL = STAGE.format(n=64, per=1)
LARGE = STAGE.format(n=128, per=1)
WIDER = STAGE.format(n=64, per=4)


class FakeComparison(Comparison):
    """A comparison whose findings are given."""

    duplicate = False

    def __init__(self, *findings: Finding) -> None:
        workspace = SimpleNamespace(path="c.irscope", names={1: "BLOCK=64", 2: "BLOCK=128"})
        super().__init__(workspace, variant(1, BLOCK=64), variant(2, BLOCK=128, num_warps=8))
        self.findings = findings


def pair(left=SMALL, right=LARGE, shown=("ttgir",)) -> PairReport:
    diff = mlir_diff(left, right)
    finding = Finding("*a* <b> went\x1b", 2.0, "layout", (Evidence("ttgir", 0),))
    return PairReport(FakeComparison(finding), {"ttgir": diff}, shown)


def test_a_changed_pair_is_minus_and_plus_with_carets_below():
    lines = list(unified(mlir_diff(SMALL, LARGE), 0))
    assert lines[1:4] == [
        "-    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32, #blocked>",
        "+    %r = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32, #blocked>",
        "?                              ^^^                                  ^^^^",
    ]
    assert not any(line.startswith("?") for line in unified(mlir_diff(SMALL, LARGE), 0, strict=True))


def test_a_layout_change_shows_where_it_is_defined_not_at_every_use():
    lines = list(unified(mlir_diff(SMALL, WIDER), 3))
    assert [line for line in lines if line[0] in "-+"] == [
        SMALL.splitlines()[0].join(["-", ""]),
        WIDER.splitlines()[0].join(["+", ""]),
    ]
    assert any(line.startswith("~    %r = tt.make_range") for line in lines)


def test_a_hunk_heading_has_its_range_and_counts():
    (first, *_) = unified(mlir_diff(SMALL, LARGE), 1)
    assert first.startswith("@@ -3,7 +3,7 @@ 5 shapes")


def test_equal_stages_have_no_rows():
    renamed = SMALL.replace("%v", "%other")
    assert list(unified(mlir_diff(SMALL, renamed), 3)) == []
    text = "\n".join(text_lines(diff_content(pair(SMALL, renamed))))
    assert "equal except for names and locations" in text


@pytest.mark.parametrize("width", [140, 141, 200])
def test_side_by_side_fits_the_width_exactly(width):
    long = SMALL.replace("tt.return", "tt.return " + "x" * 900)
    lines = list(side_by_side(mlir_diff(long, LARGE), 3, width))
    assert lines and max(map(len, lines)) <= width
    for line in lines:
        assert "\u2502" in line or "more line" in line


def test_a_terminal_gets_styles_and_the_same_text():
    diff = mlir_diff(SMALL, LARGE)
    for color in (True, False):
        styled = "\n".join(side_by_side(diff, 3, 160, Paint(True, color)))
        assert "\x1b[" in styled
        assert ("\x1b[31m" in styled or ";31" in styled) == color
        plain = [line.rstrip() for line in Text.from_ansi(styled).plain.splitlines()]
        assert plain == list(side_by_side(diff, 3, 160))


def test_control_characters_in_a_stage_are_printable():
    evil = SMALL.replace("tt.return", "tt.return \x1b]0;owned\x07 \u202e")
    for lines in (unified(mlir_diff(SMALL, evil), 3), side_by_side(mlir_diff(SMALL, evil), 3, 160)):
        text = "\n".join(lines)
        assert "\x1b" not in text and "\u202e" not in text


def test_the_text_report():
    lines = list(text_lines(diff_content(pair(), 1), 80))
    assert lines[:12] == [
        "A  #1 BLOCK=64  k  cuda:90",
        "B  #2 BLOCK=128  k  cuda:90",
        "   BLOCK 64 -> 128, num_warps unset -> 8",
        '   same bits? say how they are launched: --launch "grid=(cdiv(M, BLOCK_M),), M=4096"',
        "",
        "Findings",
        "  1. *a* <b> went\u241b",
        "",
        "Stages",
        "  ttgir  0 added, 0 removed, 5 shapes",
        "",
        "ttgir: 11 and 11 lines",
    ]
    assert lines[12].startswith("@@ ")
    assert " \u2502 " in list(text_lines(diff_content(pair(), 1), 140))[-2]


def test_rows_are_limited_and_counted():
    report = pair()
    every = list(text_lines(diff_content(report)))
    rows = len(every) - 12
    some = list(text_lines(diff_content(report, rows=4)))
    assert some == [*every[:16], f"{rows - 4} more rows: --all-rows"]
    assert list(text_lines(diff_content(report, rows=rows))) == every
    markdown = "\n".join(markdown_lines(diff_content(report, rows=4)))
    assert "more rows: --all-rows\n```" in markdown


def test_unified_has_only_the_rows():
    lines = list(diff_unified(pair(), 3, PLAIN))
    assert lines[:2] == ["--- #1 BLOCK=64 ttgir", "+++ #2 BLOCK=128 ttgir"]
    assert {line[0] for line in lines[2:]} == set("@-+ ")


def test_markdown_is_escaped_and_fenced():
    text = "\n".join(markdown_lines(diff_content(pair(right=LARGE.replace("tt.return", "tt.return ````")))))
    assert "1. \\*a\\* \\<b> went\u241b" in text
    assert "\n`````diff\n" in text and text.count("\n`````\n") == 1


def test_the_json_document():
    document = json.loads(to_json(diff_document(pair(), 0)))
    assert document["schema"] == "irscope.diff/2"
    assert document["config_changes"] == [
        {"name": "BLOCK", "a": "64", "b": "128"},
        {"name": "num_warps", "a": None, "b": "8"},
    ]
    assert document["findings"][0]["evidence_a"] == [{"stage": "ttgir", "line": 1}]
    (stage,) = document["stages"]
    assert (stage["equal"], stage["counts"]["shape"], stage["counts"]["added"]) == (False, 5, 0)
    first = stage["rows"][0]
    assert first["change"] == ["shape"]
    assert first["a"]["line"] == first["b"]["line"] == 4
    start, end = first["b"]["spans"][0]
    assert first["b"]["text"][start:end] == "128"


def test_json_names_changed_layouts_field_by_field():
    document = diff_document(pair(right=WIDER), 0)
    (change,) = document["stages"][0]["layouts"]
    assert change["fields"] == [{"name": "sizePerThread", "a": "[1]", "b": "[4]"}]
    assert len(document["stages"][0]["rows"]) == 6, "the definition and its five uses"


def test_json_has_rows_only_for_what_is_shown():
    (stage,) = diff_document(pair(shown=()), 0)["stages"]
    assert "rows" not in stage


rows = st.lists(st.sampled_from([Change.EQUAL, Change.EQUAL, Change.SHAPE, Change.ADDED]), max_size=60)


@given(rows, st.integers(0, 5))
def test_hunks_lose_no_row(changes, context):
    given_rows = [Row(index, index, change) for index, change in enumerate(changes)]
    place = 0
    for hunk in hunks(given_rows, context, lambda row: row.change):
        folded = given_rows[place : place + hunk.folded]
        assert all(not row.change for row in folded)
        place += hunk.folded
        assert list(hunk.rows) == given_rows[place : place + len(hunk.rows)]
        place += len(hunk.rows)
        shown = [index for index, row in enumerate(hunk.rows) if row.change]
        if hunk.rows:
            assert shown[0] <= context and len(hunk.rows) - 1 - shown[-1] <= context
    assert place == len(given_rows)


@given(st.text(alphabet="abc", min_size=1, max_size=300), st.integers(20, 80), st.data())
def test_a_window_shows_the_first_change(text, room, data):
    start = data.draw(st.integers(0, len(text) - 1))
    side = RowSide(1, text, ((start, start + 1),))
    shown, spans = _window(side, room)
    assert len(shown) == min(room, len(text))
    assert any(b - a == 1 and shown[a:b] in (text[start], "\u2026") for a, b in spans)


def test_sides_count_from_one():
    diff = mlir_diff(SMALL, LARGE)
    left, right = row_sides(diff, diff.rows[0])
    assert left.number == right.number == 1 and cell_len(left.text) > 0
