"""The screen of LLVM's own passes."""

from __future__ import annotations

from pathlib import Path

from irscope.tui.app import IrscopeApp
from irscope.tui.screens.documents import LlvmScreen
from irscope.tui.widgets.document_view import DocumentView
from irscope.workspace import Workspace
from irscope.workspace.pass_comparison import llvm_lines
from tests.tui import captures
from tests.tui.driving import press
from tests.tui.picture import characters


async def test_the_passes_of_both_are_shown_and_c_shows_all(tmp_path: Path):
    app = IrscopeApp(Workspace(captures.launched(tmp_path / "add.irscope")))
    async with app.run_test(size=(160, 50)) as pilot:
        await press(pilot, "O")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert isinstance(app.screen, LlvmScreen)
        shown = characters(app)
        assert "A  #1 BLOCK_SIZE=32: " in shown and "B  #2 BLOCK_SIZE=1024: " in shown
        assert "ptxas: add_kernel: 0 bytes stack frame" in shown
        assert "InstCombinePass" in shown and "  A -" in shown and "   B -" in shown
        view = app.screen.query_one(DocumentView)
        changed = view.line_count()
        await press(pilot, "c")
        assert view.line_count() > changed


def test_one_variant_has_one_side(tmp_path: Path):
    with Workspace(captures.launched(tmp_path / "add.irscope")) as workspace:
        variant = workspace.variant("#2")
        lines = llvm_lines(workspace.compare(variant, variant))
    assert lines[0].text.startswith("#2 BLOCK_SIZE=1024: ")
    combined = next(line for line in lines if "InstCombinePass" in line.text and not line.rest)
    assert "extractelement" in combined.text and "   B " not in combined.text
