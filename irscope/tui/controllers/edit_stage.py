"""`A`: edits the stage of B in $EDITOR, builds what is below it, compares the result with the original."""

from __future__ import annotations

import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from irscope.model import Variant
from irscope.model.editor import DEFAULT_EDITOR, open_command
from irscope.tui.bindings import key
from irscope.tui.controllers.live_updates import LiveController
from irscope.tui.controllers.main_screen import MainScreen, shown_variant
from irscope.tui.live_connection import VariantCompiler
from irscope.workspace import StageEdit, edit_names
from irscope.workspace.what_if import free_id

if TYPE_CHECKING:
    from irscope.workspace.live import EditRejected

_AGAIN = "e"
_ANSWERS = (
    key(_AGAIN, f"answer('{_AGAIN}')", "Edit the stage again, at the line", "edit again"),
    key("escape,n,q", "answer('')", "Discard the edit", "discard"),
)


class EditStageController:
    """Runs the editor and has the result built; what the compiler rejects can be edited again."""

    def __init__(self, screen: MainScreen, updates: LiveController, compiler: VariantCompiler | None) -> None:
        self._screen = screen
        self._updates = updates
        self._compiler = compiler
        updates.edit_rejected = self._rejected

    def action_edit_stage(self) -> None:
        """Edits the stage on screen of B, or of the only variant shown, and builds it."""
        screen = self._screen
        if self._compiler is None or screen.app.is_web:
            screen.notify("Nothing can be built here: irscope CAPTURE in a terminal can")
            return
        screen.run_exclusive(partial(self._edit, self._compiler, shown_variant(screen, True)), "edit")

    async def _edit(self, compiler: VariantCompiler, variant: Variant) -> None:
        screen, stage = self._screen, self._screen.stage
        before = await screen.background.run(screen.workspace.text, variant, stage)
        line = screen.texts.line_of(screen.texts.page.right is not None)
        text = self._run_editor(before, f"{variant.id}.{stage}", None if line is None else line + 1)
        if text == before:
            screen.notify(f"{stage} of #{variant.id} was not changed; nothing was built")
        elif text is not None:
            contents = await screen.background.run(_contents, screen, variant)
            taken = tuple(edit_names(screen.workspace, variant))
            grows = compiler.trusted is None and screen.workspace.growth.unfinished
            first = free_id(screen.workspace.variants, separate=grows)
            self._begin(compiler, StageEdit(variant, stage, text, contents, taken, first))

    def _begin(self, compiler: VariantCompiler, edit: StageEdit) -> None:
        self._screen.notify(f"Building #{edit.variant.id} from the edited {edit.stage}; the result will be B")
        self._updates.ask(partial(compiler.edit, edit))

    def _run_editor(self, text: str, name: str, line: int | None) -> str | None:
        """The text after $EDITOR; None, with a message, if it could not be run."""
        screen = self._screen
        with tempfile.TemporaryDirectory(prefix="irscope-") as folder:
            path = Path(folder, name)
            path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
            try:
                command = open_command("EDITOR", DEFAULT_EDITOR, path, line)
                with screen.app.suspend():
                    status = subprocess.run(command, check=False).returncode
                if status == 0:
                    return path.read_text(encoding="utf-8", errors="surrogateescape")
                screen.notify(f"$EDITOR ended with status {status}; nothing was built", severity="warning")
            except SuspendNotSupported:
                screen.notify("$EDITOR needs a terminal of its own", severity="warning")
            except (OSError, ValueError) as error:
                screen.notify(f"$EDITOR: {error}", severity="warning", markup=False)
        return None

    def _rejected(self, rejected: EditRejected) -> None:
        if self._compiler is not None:
            self._screen.run_exclusive(partial(self._ask_again, self._compiler, rejected), "edit")

    async def _ask_again(self, compiler: VariantCompiler, rejected: EditRejected) -> None:
        """Shows what the compiler rejected; edits the same text again if the user wants to."""
        from irscope.tui.screens.confirm import ConfirmScreen  # after the first paint

        edit = rejected.edit
        title = f"The compiler rejected the edited {edit.stage} of #{edit.variant.id}:"
        lines = [title, *(f"  {problem}" for problem in rejected.problems)]
        answer = await self._screen.app.push_screen_wait(ConfirmScreen(lines, _ANSWERS))
        if answer != _AGAIN:
            return
        text = self._run_editor(edit.text, f"{edit.variant.id}.{edit.stage}", rejected.line)
        if text is not None:
            again = (edit.variant, edit.stage, text, edit.contents, edit.taken, edit.first_id)
            self._begin(compiler, StageEdit(*again))


def _contents(screen: MainScreen, variant: Variant) -> dict[str, bytes]:
    """The stages of a variant as they are stored."""
    found = ((stage, screen.workspace.read(variant, stage)) for stage in variant.artifacts)
    return {stage: content for stage, content in found if content is not None}
