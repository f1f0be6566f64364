"""Pictures of timelines: what is in which row and column, what the sentences say, SVG and JSON."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.cli.main import main
from irscope.document.html.timeline_svg import timeline_svg
from irscope.document.terminal.document_text import text_lines
from irscope.document.timeline_content import (
    GLYPHS,
    Scale,
    legend,
    runs,
    span_text,
    timeline_content,
    tracks,
)
from irscope.findings.finding import Finding, ValueChange
from irscope.model.kernel_timeline import KernelTimeline, Lane, Slack, Span
from irscope.workspace import Workspace
from irscope.workspace.timeline_text import pair_texts, single_texts
from tests.timelines import pipelined, specialized
from tests.tui import captures

NEEDED = (
    "a copy is in flight from its issue until it is waited for or used; it needs what memory takes to "
    "answer, and its data to arrive behind those of the copies before it"
)
HOSTILE = "<b>\x1b[2J\u202e"


def picture(timelines: list[KernelTimeline], width: int = 100) -> list[str]:
    headings = [f"{letter}  #{number}" for number, letter in zip(range(1, 3), "AB", strict=True)]
    content = timeline_content(timelines, headings[: len(timelines)], width)
    return list(text_lines(content, width))


def row(lines: list[str], label: str) -> str:
    return next(line for line in lines if line.startswith(f"{label} "))


def test_a_slot_shows_its_copy_then_what_it_holds_then_the_product() -> None:
    lines = picture([pipelined(3)])
    slots = {label: row(lines, label)[13:] for label in ("a[0] b[0]", "a[1] b[1]", "a[2] b[2]")}
    assert [char for char in slots["a[0] b[0]"] if char.isdecimal()] == ["0", "0", "3", "3"]
    assert [char for char in slots["a[1] b[1]"] if char.isdecimal()] == ["1", "1"]
    copy, product = (slots["a[1] b[1]"].index(glyph) for glyph in "═█")
    between = slots["a[1] b[1]"][slots["a[1] b[1]"].rindex("═") + 1 : product]
    assert copy < product
    assert set(between) == {"·"}


def test_what_overlaps_in_time_is_in_the_same_columns() -> None:
    lines = picture([pipelined(3)], 140)
    product = row(lines, "tensor cores")
    copy = row(lines, "a[2] b[2]")
    shared = [c for c, (a, b) in enumerate(zip(copy, product, strict=False)) if a in "═2" and b in "█01"]
    assert len(shared) > 20, "the copy for iteration 2 is in flight during product 0"
    scale = Scale(0, 2910 / (140 - 13), 140 - 13)
    assert product.index("█") - 13 == scale.column(710)


def test_waits_say_what_they_are_for() -> None:
    lines = picture([specialized()], 140)
    assert "full[0]/0" in row(lines, "partition1")
    assert "empty[0]/0" in row(lines, "partition0")
    assert "copy 0" in row(picture([pipelined(2)], 140), "warps")


def test_four_partitions_have_their_warps_and_registers() -> None:
    text = " ".join(picture([specialized()], 80))
    assert "partition0: 1 warp, 24 registers; partition1: 1 warp" in text
    assert "default waits 400 of 800 cycles for the product of line 32 (barrier done)" in text
    assert "The trip count comes from data; 4 iterations are shown." in text


@pytest.mark.parametrize("width", [20, 40, 80, 200, 400])
@pytest.mark.parametrize("iterations", [2, 4, 60])
def test_any_width_and_number_of_iterations_fits(width: int, iterations: int) -> None:
    for timelines in ([pipelined(3, iterations)], [specialized(iterations), pipelined(2, iterations)]):
        lines = picture(timelines, width)
        drawn = [line for line in lines if any(glyph in line for glyph, _ in GLYPHS.values())]
        assert max(map(len, drawn)) <= width


def test_every_span_with_room_is_visible() -> None:
    for timeline in (pipelined(2), pipelined(4), specialized()):
        scale = Scale(0, timeline.cycles / 300, 300)
        rows = tracks(timeline)
        drawn = {run.span for track in rows if track.kind == "lane" for run in runs(timeline, track, scale)}
        lanes = [n for n, lane in enumerate(timeline.lanes) if lane.engine != "copies"]
        wide = {n for n, span in enumerate(timeline.spans) if span.end - span.start > 2 * scale.cycles}
        assert {n for n in wide if timeline.spans[n].lane in lanes} <= drawn
        in_rows = {index for track in rows for index in track.spans}
        assert in_rows == set(range(len(timeline.spans)))


def test_waits_that_do_not_block_are_not_drawn() -> None:
    timeline = KernelTimeline(
        (Lane("warps"),), (Span(0, "wait", 5, 5, 0), Span(0, "compute", 5, 40, 0), Span(0, "wait", 50, 60, 1))
    )
    assert [track.spans for track in tracks(timeline)] == [(1, 2)]


def test_overlapping_spans_of_one_lane_get_rows_of_their_own() -> None:
    timeline = KernelTimeline((Lane("copies"),), (Span(0, "load", 0, 50, 0), Span(0, "load", 10, 60, 1)))
    assert [(track.label, track.spans) for track in tracks(timeline)] == [("copies", (0,)), ("", (1,))]


def test_slots_that_differ_in_time_are_not_one_row() -> None:
    timeline = pipelined(2)
    later = tuple(
        replace(span, start=span.start + 200, end=span.end + 200) if span.buffers == ("b[0]",) else span
        for span in timeline.spans
    )
    labels = [track.label for track in tracks(replace(timeline, spans=later))]
    assert "a[0]" in labels
    assert "a[1] b[1]" in labels


def test_the_sentences_of_one_variant() -> None:
    assert single_texts(pipelined(2)) == [
        "an iteration takes 720 cycles (latencies of operations)",
        "the copies of a and b are issued 1 iteration ahead, into 2 slots",
        "the copies of a (line 40) and b (line 41) have 500 cycles in flight; 700 are needed: "
        "the last 200 are waited for",
        "the warps wait 548 of 720 cycles for the product of line 42",
        "the warps wait 158 of 720 cycles for the copy of b",
        NEEDED,
    ]


def test_the_sentences_of_a_pair_say_what_moved_what_is_hidden_and_what_waits() -> None:
    assert pair_texts(pipelined(2), pipelined(4)) == [
        "an iteration takes 500 cycles in B, 720 in A",
        "the copies of a and b are issued 3 iterations ahead, into 4 slots in B; "
        "1 iteration ahead, into 2 slots in A",
        "the copies of a (line 40) and b (line 41) have 1,500 cycles in flight in B, 500 in A; 700 are "
        "needed: hidden in B, A waits for 200",
        "in B, the warps wait 500 cycles an iteration for the product of line 42 (548 in A)",
        "the warps wait no longer in B for the copy of b (158 cycles an iteration in A)",
        NEEDED,
    ]
    assert "a block takes 65,536 bytes of shared memory in B, 32,768 in A" in pair_texts(
        replace(pipelined(2), shared=32768), replace(pipelined(4), shared=65536)
    )
    assert any("700 are needed: hidden in both" in text for text in pair_texts(pipelined(4), pipelined(4)))
    assert (
        "only B is specialized: default: 4 warps, 152 registers" in pair_texts(pipelined(2), specialized())[1]
    )


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_the_legend_breaks_between_its_items(width: int) -> None:
    lines = legend(GLYPHS, width)
    assert max(map(len, lines)) <= width
    items = [item for line in lines for item in line.split("   ")]
    assert {"0 1 2 iteration of the data", "[1] slot of a buffer", "» store"} < {*items}


def test_a_pair_has_one_scale() -> None:
    lines = picture([pipelined(2), pipelined(4)], 120)
    rulers = [line for line in lines if "|0" in line]
    assert len(rulers) == 2
    assert rulers[0] == rulers[1]


def test_without_spans_the_notes_say_why() -> None:
    reason = "no timeline: the trip count comes from data"
    lines = picture([KernelTimeline(notes=(reason,))])
    assert lines == ["A  #1", "", reason]


def test_a_span_is_described_with_both_its_neighbors() -> None:
    timeline = pipelined(3)
    product = next(n for n, span in enumerate(timeline.spans) if span.kind == "product")
    text = "product of iteration 0 with a[0], b[0], line 42: cycles 710 to 1,210"
    assert span_text(timeline, product) == f"{text}; on the critical path; the warps go on when it ends"


def test_svg_is_well_formed_and_escaped() -> None:
    nasty = replace(
        specialized(),
        lanes=tuple(replace(lane, partition=HOSTILE) for lane in specialized().lanes),
        spans=tuple(replace(span, buffers=(HOSTILE,), barrier=HOSTILE) for span in specialized().spans),
        slacks=(Slack("copy", HOSTILE, 1, 1, 2),),
        notes=(HOSTILE,),
    )
    for timelines in ([pipelined(3)], [pipelined(2), specialized()], [nasty], [KernelTimeline(notes=("x",))]):
        for in_page in (False, True):
            text = timeline_svg(timelines, [HOSTILE] * len(timelines), in_page=in_page)
            root = ET.fromstring(text)
            assert not {element.tag.rpartition("}")[2] for element in root.iter()} - {
                "svg", "rect", "text", "title", "path", "defs", "pattern",
            }  # fmt: skip
            assert "\x1b" not in text
            assert "\u202e" not in text
            edges = [float(e.get("x", 0)) + float(e.get("width", 0)) for e in root.iter() if e.get("x")]
            assert max(edges, default=0) <= float(root.get("width", 0))


def test_hostile_names_do_not_command_a_terminal() -> None:
    spans = tuple(replace(span, buffers=(HOSTILE,), barrier=HOSTILE) for span in specialized().spans)
    text = "\n".join(picture([replace(specialized(), spans=spans)]))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_command_draws_a_real_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(captures.matmul(tmp_path / "m.irscope"))
    assert main(["timeline", capture, "#1", "#2", "--width", "100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:4] for line in lines if line[:4] in ("A  #", "B  #")] == ["A  #", "B  #"]
    assert any(line.startswith("a[2] b[2]") for line in lines)
    assert any(line.startswith("  an iteration takes ") for line in lines)
    assert main(["timeline", capture, "#4"]) == 2
    assert capsys.readouterr().err.startswith("irscope: no timeline: #4 has no ttgir because it failed")


def test_the_command_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(captures.matmul(tmp_path / "m.irscope"))
    assert main(["timeline", capture, "#1", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (side,) = document["sides"]
    assert document["schema"] == "irscope.timeline/1"
    assert side["cycles_per_iteration"] > 0
    assert {lane["engine"] for lane in side["lanes"]} == {"warps", "copies", "tensor cores"}
    for span in side["spans"]:
        assert span["issued"] <= span["end"]
        assert span["iteration"] is None or span["iteration"] >= 0
    products = [n for n, span in enumerate(side["spans"]) if span["kind"] == "product"]
    assert {item["releasing"] for item in side["dependencies"]} & set(products)


def test_the_command_writes_a_file_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = str(captures.matmul(tmp_path / "m.irscope"))
    file = tmp_path / "t.svg"
    assert main(["timeline", capture, "#1", "#2", "-o", str(file)]) == 0
    ET.fromstring(file.read_text())
    assert main(["timeline", capture, "#1", "-o", str(file)]) == 2
    assert "--force" in capsys.readouterr().err


@pytest.fixture
def pipelines(tmp_path: Path) -> Iterator[Workspace]:
    """A matmul with 3 and 4 stages, and the first one again."""
    path = tmp_path / "pipelines.irscope"
    stages = [
        captures.stage("matmul_kernel", captures.LARGE.replace("stages=3", f"stages={number}"), "ttgir")
        for number in (3, 4, 3)
    ]
    captures.write(
        path, [({"num_stages": n}, {"ttgir": text}) for n, text in zip((3, 4, 5), stages, strict=True)]
    )
    with Workspace(path) as workspace:
        yield workspace


def in_flight(workspace: Workspace, a: int, b: int) -> list[Finding]:
    variants = {variant.id: variant for variant in workspace.variants}
    findings = workspace.compare(variants[a], variants[b]).findings
    return [finding for finding in findings if finding.kind == "in flight"]


def test_a_finding_says_which_copy_has_more_time(pipelines: Workspace) -> None:
    (finding,) = in_flight(pipelines, 1, 2)
    assert re.fullmatch(
        r"The copy of b in line \d+: [\d,]+ -> [\d,]+ cycles in flight; [\d,]+ are needed: "
        r"(B waits for [\d,]+|hidden in B), A waits for [\d,]+",
        finding.text,
    )
    (change,) = finding.changes
    a, b = (pipelines.kernel_timeline(variant) for variant in pipelines.variants[:2])
    before, after = ({s.name: s.in_flight for s in side.slacks}["b"] for side in (a, b))
    assert str(change) == f"{before:,.0f} -> {after:,.0f} cycles in flight"
    document = pipelines.document(pipelines.variants[1], "ttgir").text.split("\n")
    assert finding.evidence_b
    assert all("async_copy_global_to_local" in document[line.line] for line in finding.evidence_b)


def test_the_opposite_pair_has_the_opposite_finding(pipelines: Workspace) -> None:
    (there,), (back,) = in_flight(pipelines, 1, 2), in_flight(pipelines, 2, 1)
    (forward,), (backward,) = there.changes, back.changes
    assert isinstance(forward, ValueChange)
    assert isinstance(backward, ValueChange)
    assert (forward.a, forward.b) == (backward.b, backward.a)


def test_equal_pipelines_have_no_finding_and_no_timeline(pipelines: Workspace) -> None:
    assert not in_flight(pipelines, 1, 3)
    assert not in_flight(pipelines, 1, 1)
    assert not pipelines._timelines


def test_slides_draw_the_loop_of_a_pair(tmp_path: Path) -> None:
    capture, page = str(captures.matmul(tmp_path / "m.irscope")), tmp_path / "m.html"
    assert main(["report", capture, "--slides", "-o", str(page)]) == 0
    text = page.read_text()
    slide = text[text.index("The main loop in time") :]
    slide = slide[: slide.index("</section>")]
    assert "<svg" in slide
    assert "http" not in slide
    assert "an iteration takes" in slide
    assert "irscope timeline" in slide


def test_a_kernel_without_a_pipelined_loop_has_no_picture_in_its_report(tmp_path: Path) -> None:
    page = tmp_path / "add.html"
    add = (captures.STAGES / "add_kernel.cuda-90.BLOCK_SIZE=256,num_warps=4.triton-3.9.0.ttgir").read_bytes()
    captures.write(tmp_path / "add.irscope", [({"BLOCK_SIZE": 256}, {"ttgir": add})])
    assert main(["report", str(tmp_path / "add.irscope"), "-o", str(page)]) == 0
    assert "<h3>Stages</h3>" in page.read_text()
    assert "Main loop in time" not in page.read_text()
