"""The best value of a column is the same cell in every view."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irscope.api import _html_table
from irscope.document.html.facts_table import facts_table
from irscope.document.markdown.reports import table_markdown
from irscope.document.table_content import table_content
from irscope.document.terminal.document_text import text_lines
from irscope.facts.measure import FACTS_VERSION, to_json
from irscope.store import CaptureWriter
from irscope.store.merge_captures import MergedCapture
from irscope.tui.table_model import TableModel
from irscope.workspace import TableSection, TableView, Workspace
from tests.cli.gated import write

Cells = set[tuple[int, str]]
BLOCKS = (1, 2, 4, 8, 16, 32, 64, 128)
# The first spills, the last cannot be launched, and one more does not compile.
FACTS = {
    "launchable": ["yes"] * 7 + ["no: too much shared memory"],
    "stack": [64, 0, 0, 0, 0, 0, 0, 0],
    "n_spills": [16, 0, 0, 0, 0, 0, 0, 0],
    "registers": [24, 32, 64, 64, 96, 128, 255, 16],
    "shared": [4096, 4096, 4096, 2048, 2048, 2048, 4096, 300_000],  # three are best: too many to mark
    "occupancy": [1.0, 0.5, None, 0.25, 0.25, 0.25, 0.125, 0.0],
    "load_width": [16, 4, 4, 4, 4, None, None, None],
    "conversions": [None] * 8,
    "ms": [3.0, 2.0, 1.0, 4.0, 5.0, 6.0, 7.0, None],
}
SAME = dict.fromkeys(BLOCKS, "M=1")
EXPECTED = {"registers": 2, "occupancy": 2, "load_width": 1}


def capture(path: Path, name: str, target: str, keys: dict[int, str]) -> Path:
    """Write a capture with FACTS; `keys` are what each time was measured for."""
    write(path, blocks=(*BLOCKS, 256), failed=(256,), name=name, target=target)
    with Workspace(path) as workspace:
        measured = to_json(workspace.facts(workspace.variants[0]))
    with CaptureWriter.resume(path) as writer:
        for place, key in enumerate(keys.values()):
            own = {fact: values[place] for fact, values in FACTS.items()}
            writer.add_facts(place + 1, FACTS_VERSION, measured | own | {"ms_key": key})
    return path


@pytest.fixture
def workspace(tmp_path: Path):
    """Two kernels: one with times of one problem, one with those of several; the best values are the same."""
    several = {block: f"M={block}" for block in BLOCKS}
    first = capture(tmp_path / "a.irscope", "one_problem", "cuda:90", SAME)
    second = capture(tmp_path / "b.irscope", "several_problems", "cuda:90", several)
    MergedCapture.write([first, second], tmp_path / "both.irscope")
    with Workspace(tmp_path / "both.irscope") as opened:
        yield opened


def in_app(workspace: Workspace) -> Cells:
    model = TableModel()
    model.load(workspace, workspace.contents.facts(workspace.variants))
    return {
        (variant.id, column.name)
        for place, column in enumerate(model.columns)
        for variant in model.all
        if model.mark(place, variant) == "best"
    }


def in_lines(section: TableSection, lines_of, mark: str) -> Cells:
    """Return the marked cells of tables of one column."""
    return {
        (int(number), column.kind.name)
        for column in TableView.of_section(section).facts
        for line in lines_of(TableView.of_section(section, [column.kind]))
        if mark in line
        for number in re.findall(r"^\W*#(\d+)", line)
    }


def in_html(section: TableSection, html: str, columns, ends_with_note: bool) -> Cells:
    """Return the marked cells of a table whose last columns are these facts."""
    found = set()
    for row in re.findall(r"<tr.*?</tr>", html, re.DOTALL):
        cells = re.findall(r"<td.*?</td>", row, re.DOTALL)
        cells = cells[:-1] if ends_with_note else cells
        number = re.search(r">(?:<[^>]*>)*#(\d+)<", row)
        if number and len(cells) >= len(columns):
            facts = zip(columns, cells[len(cells) - len(columns) :], strict=True)
            found |= {(int(number[1]), column.kind.name) for column, cell in facts if "<b" in cell}
    return found


def test_the_same_cell_is_best_in_every_view(workspace: Workspace):
    sections = workspace.sections()
    assert [section.kernel for section in sections] == ["one_problem", "several_problems"]
    best = {(place, name) for name, place in EXPECTED.items()} | {(3, "ms")}
    best |= {(place + len(BLOCKS) + 1, name) for name, place in EXPECTED.items()}
    assert in_app(workspace) == best
    for section in sections:
        own = {cell for cell in best if cell[0] in {entry.variant.id for entry in section.entries}}
        assert in_lines(section, lambda view: list(text_lines(table_content(view))), "*") == own
        assert in_lines(section, table_markdown, "**") == own
        view = TableView.of_section(section)
        assert in_html(section, facts_table(section, {}), view.varying_facts, False) == own
        assert in_html(section, _html_table(section), view.facts, True) == own
