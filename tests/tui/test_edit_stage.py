"""`A`: the editor, the edit that the compiler gets, its result as B, and what it rejects."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from irscope.model import Variant
from irscope.model.variant import EDIT, Edit, edit_to_json
from irscope.tui.app import IrscopeApp
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import ConfirmScreen
from irscope.workspace import Workspace
from irscope.workspace.live import Added, EditRejected, Publish, VariantFinished
from irscope.workspace.what_if import StageEdit
from tests.tui.compiling import until
from tests.tui.driving import settled, tab, typed
from tests.tui.test_what_if import Compiler, labels, messages

SIZE = (120, 40)


class Builder(Compiler):
    """Plays the compiler of edits."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.edits: list[StageEdit] = []

    def edit(self, edit: StageEdit, publish: Publish) -> None:
        self.edits.append(edit)
        self._publish = publish


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    return Builder(tmp_path / "own.irscope")


@pytest.fixture
def app(matmul: Path, builder: Builder, monkeypatch: pytest.MonkeyPatch) -> IrscopeApp:
    monkeypatch.setattr(App, "suspend", lambda self: contextlib.nullcontext())
    return IrscopeApp(Workspace(matmul), compiler=builder)


async def edit(pilot: Pilot[None], monkeypatch: pytest.MonkeyPatch, editor: str) -> None:
    monkeypatch.setenv("EDITOR", editor)
    stage = pilot.app.screen.pair.stages.index("ttgir") + 1
    await typed(pilot, str(stage))
    await until(pilot, lambda: tab(pilot) == "ttgir")
    await typed(pilot, "A")


async def test_the_edited_stage_of_b_is_built_and_compared(
    app: IrscopeApp, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await edit(pilot, monkeypatch, "sed -i s/num-warps/num-worps/")
        await until(pilot, lambda: bool(builder.edits))
        (asked,) = builder.edits
        old = app.screen.pair.b
        assert (asked.variant.id, asked.stage, asked.first_id) == (old.id, "ttgir", 5)
        assert "num-worps" in asked.text
        assert b"num-warps" in asked.contents["ttgir"]
        metadata = {EDIT: edit_to_json(Edit("ttgir-1", stage="ttgir"))}
        key = {"environment edit": "ttgir-1"}
        new = Variant(
            5, old.kernel, old.target, (), old.config, old.toolchain, metadata=metadata, cache_key=key
        )
        builder.publish(Added((new,), old.id, 5), VariantFinished(new))
        await until(pilot, lambda: app.screen.pair.b.id == 5)
        assert app.screen.pair.a.id == old.id
        assert app._workspace.names[5].endswith("edit=ttgir-1")


async def test_a_rejected_edit_can_be_edited_again_at_its_line(
    app: IrscopeApp, builder: Builder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        await edit(pilot, monkeypatch, "sed -i s/num-warps/num-worps/")
        await until(pilot, lambda: bool(builder.edits))
        builder.publish(EditRejected(builder.edits[0], ("line 7: no [b]such[/b] key", "other"), 7))
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        assert "The compiler rejected the edited ttgir of #2" in labels(app)
        assert "line 7: no [b]such[/b] key" in labels(app)
        # `vi +7 FILE`, played by a script that notes its arguments.
        vi = tmp_path / "vi"
        vi.write_text(f"#!/bin/sh\necho $1 > {tmp_path}/line\nsed -i s/num-worps/num-warps/ $2\n")
        vi.chmod(0o755)
        monkeypatch.setenv("EDITOR", str(vi))
        await typed(pilot, "e")
        await until(pilot, lambda: len(builder.edits) == 2)
        assert (tmp_path / "line").read_text() == "+7\n"
        assert "num-worps" not in builder.edits[1].text
        builder.publish(EditRejected(builder.edits[1], ("again",), None))
        await until(pilot, lambda: isinstance(app.screen, ConfirmScreen))
        await typed(pilot, "escape")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        assert len(builder.edits) == 2


async def test_nothing_is_built_without_a_change(
    app: IrscopeApp, builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        for editor, message in (
            ("true", "ttgir of #2 was not changed; nothing was built"),
            ("false", "$EDITOR ended with status 1; nothing was built"),
            ("/nowhere/vi", "$EDITOR: [Errno 2]"),
        ):
            await edit(pilot, monkeypatch, editor)
            await until(pilot, lambda message=message: message in messages(app))
        await typed(pilot, "1")  # the Python source
        await until(pilot, lambda: tab(pilot) == "python")
        await typed(pilot, "A")
        await until(pilot, lambda: "Nothing can be built from python" in messages(app))
        assert not builder.edits
