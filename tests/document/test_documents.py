"""Every subject that builds a document is had in every format, none of which trusts its texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from irscope.document.blocks import Block, Code, Column, Line, Table, title
from irscope.document.comparison_content import (
    captures_content,
    compilations_content,
    diff_content,
    why_content,
)
from irscope.document.html.document_html import document_html
from irscope.document.markdown.document_markdown import markdown_lines
from irscope.document.report_content import pair_report
from irscope.document.table_content import table_content
from irscope.document.terminal import highlight
from irscope.document.terminal.document_text import text_lines
from irscope.document.terminal.highlight import highlighted
from irscope.document.variant_content import (
    explain_content,
    glossary_content,
    registers_content,
    verdict_content,
)
from irscope.glossary.glossary import find_entries, glossary_entries
from irscope.workspace import Workspace
from irscope.workspace.capture_comparison import compare_captures
from tests.document.reports import HOSTILE, Outline, hostile, sweep

Subject = Callable[[Workspace], Iterator[Block]]


def _verdicts(workspace: Workspace) -> Iterator[Block]:
    for variant in workspace.variants:
        yield from verdict_content(workspace.verdict(variant, workspace.variants[0]))


def _why(workspace: Workspace) -> Iterator[Block]:
    return why_content(workspace.compare(*workspace.variants[:2]), all_findings=True)


def _tables(workspace: Workspace) -> Iterator[Block]:
    for section in workspace.sections():
        yield from table_content(section.showing())


def _diff(workspace: Workspace) -> Iterator[Block]:
    return diff_content(pair_report(workspace.compare(*workspace.variants[:2])), rows=5)


SUBJECTS: dict[str, Subject] = {
    "diff": _diff,
    "verdict": _verdicts,
    "why": _why,
    "compilations": lambda workspace: compilations_content(workspace.compilations()),
    "captures": lambda workspace: captures_content(compare_captures(workspace, workspace), 20),
    "table": _tables,
    "explain": lambda _: explain_content(find_entries("num_stages")),
    "glossary": lambda _: glossary_content(glossary_entries()),
}


@pytest.fixture(params=[sweep, hostile], ids=["sweep", "hostile"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace(request.param(tmp_path / "c.irscope")) as opened:
        yield opened


@pytest.mark.parametrize("subject", SUBJECTS)
def test_every_format_has_every_subject(workspace: Workspace, subject: str) -> None:
    build = SUBJECTS[subject]
    text, markdown = list(text_lines(build(workspace))), list(markdown_lines(build(workspace)))
    assert text
    assert markdown
    assert not any("\n" in line or "\x1b" in line for line in (*text, *markdown))
    assert not any(left == right == "" for left, right in pairwise(markdown))
    page = document_html(subject, build(workspace))
    assert not Outline(page).open
    assert HOSTILE not in page
    assert "<img" not in page
    assert "script-src" in page


def test_registers_have_every_format(tmp_path: Path) -> None:
    with Workspace(sweep(tmp_path / "c.irscope")) as workspace:
        variant = workspace.variants[0]
        report = workspace.registers(variant, "ptx")
        blocks = list(registers_content(variant, workspace.names[variant.id], report, 3))
    assert any("| --- |" in line for line in markdown_lines(blocks))
    assert "<table>" in document_html("registers", blocks)
    assert all(len(line) <= 60 for line in list(text_lines(blocks, 60))[1:])


BLOCKS = [
    title("A title", "and more"),
    Line("a sentence", 1),
    Line("below it", 2),
    Line([("rule", "warning"), (" of *lint*", "")], 1),
    Table([Column("two\nlines", ["a", "b|c"]), Column("n", ["1", "10"], right=True, best=frozenset([1]))]),
    Code(["x = 1"]),
]


def test_markdown_separates_blocks_and_escapes_text() -> None:
    assert list(markdown_lines(BLOCKS)) == [
        "**A title** and more",
        "",
        "- a sentence",
        "  - below it",
        "- **rule** of \\*lint\\*",
        "",
        "| two lines | n |",
        "| --- | --- |",
        "| a | 1 |",
        "| b\\|c | 10 |",
        "",
        "```python",
        "x = 1",
        "```",
    ]


def test_a_page_nests_lists() -> None:
    page = document_html("irscope verdict", BLOCKS)
    assert "<li>a sentence<ul><li>below it</li></ul></li>" in page
    assert "<strong>rule</strong> of *lint*" in page


def test_optional_columns_are_left_out_if_they_do_not_fit() -> None:
    columns = [
        Column("name", ["a", "b"]),
        Column("varies", ["10", "20"], right=True, optional="first"),
        Column("constant", ["1", "1"], right=True, optional="second"),
    ]
    lines = list(text_lines([Table(columns, ruled=True)], 15))
    assert lines[:2] == ["name  varies", "\u2500" * 12]
    assert lines[-2] == "omitted to fit the width: second"


SAMPLES = {
    "mlir": '\n\n  %0 = tt.load %p : tensor<64xf32, #blocked> loc("f.py":1:2)\n#x = @@ ??\n',
    "llvm": "define void @f() {\n  %1 = add i32 %0, 1, !dbg !12 ; why\n}",
    "ptx": "\tld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];\n",
    "sass": "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n",
    "amdgcn": "\ts_load_dwordx2 s[2:3], s[0:1], 0x0 ; wait\n",
    "python": "@triton.jit\ndef f(x):\n    return x + 1  # one\n",
    "text": "ptxas info    : Used 16 registers\n",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_the_text_is_unchanged(language):
    text = SAMPLES[language]
    shown = highlighted(text, language)
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown) == text
    assert (shown != text) == (language != "text")


def test_a_huge_text_is_not_highlighted(monkeypatch):
    monkeypatch.setattr(highlight, "MAX_CHARACTERS", 10)
    assert highlighted(SAMPLES["llvm"], "llvm") == SAMPLES["llvm"]
