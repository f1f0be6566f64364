"""`+`: compiles a variant again with other values, adds it to the table and compares the two.

`A`: edits the stage of B in $EDITOR, builds what is below it, compares the result with the original.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import UserError, Variant
from irscope.model.files import DEFAULT_EDITOR
from irscope.tui.bindings import key
from irscope.tui.controllers import Controller
from irscope.tui.controllers.export import run_program
from irscope.tui.input_queue import hold_input
from irscope.tui.live_connection import VariantCompiler
from irscope.tui.screens.dialogs import ConfirmScreen
from irscope.workspace.what_if import (
    StageEdit,
    Values,
    WhatIf,
    edit_names,
    free_id,
    parse_values,
    source_state,
    suggested_values,
)

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen
    from irscope.workspace.live import EditRejected


_EXECUTE, _OTHER = "y", "o"
_CONSENT = (key(_EXECUTE, f"answer('{_EXECUTE}')", "Execute the file", "execute it"),)
_OTHERWISE = (
    key(_OTHER, f"answer('{_OTHER}')", "Choose another file", "other file"),
    key("escape,n,q", "answer('')", "Cancel", "cancel"),
)


class WhatIfController(Controller):
    """Asks for the values, and for consent before it executes a file that only the capture names."""

    def __init__(self, screen: CompareScreen, compiler: VariantCompiler | None) -> None:
        super().__init__(screen)
        self._compiler = compiler
        # The file that the user allowed to execute, by the file that the capture names.
        self._allowed: dict[str, Path] = {}

    def ask_for_values(self) -> None:
        """Compiles the variant under the cursor, or B, also with other values."""
        if self._compiler is None:
            self._screen.notify("Nothing can be compiled here; open the capture in a terminal")
            return
        in_table = self._screen.focused is self._screen.table
        variant = self._screen.table.current if in_table else self._screen.pair.b
        if variant is not None:
            column = self._screen.table.text_under_cursor if in_table else ""
            self._screen.run_exclusive(partial(self._ask, self._compiler, variant, column), "ask")

    async def _ask(self, compiler: VariantCompiler, variant: Variant, column: str) -> None:
        screen = self._screen
        loading = asyncio.ensure_future(screen.background.run(compiler.prepare))  # while the user types
        with hold_input(screen.app):
            values = await self._values(variant, suggested_values(variant, column))
            file = await self.allowed_file(compiler, variant) if values else None
        await loading
        if values and file is not None:
            passes = bool(await screen.background.run(screen.workspace.passes, variant))
            self._begin(compiler, variant, file, values, passes)

    async def _values(self, variant: Variant, text: str) -> Values | None:
        """Ask for the values; return None if the user cancels."""
        question = f"Compile #{variant.id} also with (NAME=VALUE, or NAME=V1,V2):"
        answer = await self._screen.ask(question, text)
        while answer is not None:
            values = self._parsed(answer, variant)
            if values is not None:
                return values
            answer = await self._screen.ask(question, answer)
        return None

    def _parsed(self, text: str, variant: Variant) -> Values | None:
        """Parse the values that the user typed; if one is wrong, show a message and return None."""
        try:
            return parse_values(text, variant)
        except UserError as error:
            self._screen.notify(str(error), severity="warning", markup=False)
            return None

    def compile_again(self, variant: Variant) -> None:
        """Compiles a variant of an earlier what-if from the source as it is now."""
        if self._compiler is not None and self._compiler.trusted is not None:
            self._begin(self._compiler, variant, self._compiler.trusted, {})

    def _begin(
        self, compiler: VariantCompiler, variant: Variant, file: Path, values: Values, passes: bool = False
    ) -> None:
        workspace = self._screen.workspace
        # A compiler without a file of its own does not write into the capture on screen, which may grow.
        first = free_id(workspace.variants, separate=compiler.trusted is None and workspace.growth.unfinished)
        what_if = WhatIf(variant, file, values, workspace.variants, first, passes)
        self._screen.live.ask(partial(compiler.begin, what_if))

    def known_file(self, compiler: VariantCompiler, variant: Variant) -> Path | None:
        """Return the file with the kernel if the user named it, or agreed to execute it; None if not."""
        return compiler.trusted or self._allowed.get(variant.kernel.source.file)

    async def allowed_file(
        self, compiler: VariantCompiler, variant: Variant, question: str = ""
    ) -> Path | None:
        """Return the file with the kernel, which the user agrees to execute after `question`, or None."""
        named = variant.kernel.source.file
        if (file_known := self.known_file(compiler, variant)) is None:
            file = Path(named).expanduser()
            while (answer := await self._consent(file, variant, question)) == _OTHER:
                text = await self._screen.ask(f"File with {variant.kernel.name}:", str(file))
                file = file if text is None else Path(text).expanduser()
            if answer != _EXECUTE:
                return None
            file_known = self._allowed[named] = file.absolute()
        return file_known

    async def _consent(self, file: Path, variant: Variant, question: str) -> str:
        """Return the user's answer to the question whether a file may be executed."""
        # Not in the background, where a comparison of big stages may take seconds.
        state = await asyncio.to_thread(source_state, file, variant.kernel)
        lines = [
            *([question] if question else ()),
            "To compile the kernel, this file is executed, as python would execute it:",
            f"  {file.absolute()}",
            f"  ({state}; the capture names the file, and may be somebody else's)",
        ]
        answers = (*(_CONSENT if file.is_file() else ()), *_OTHERWISE)
        return await self._screen.app.push_screen_wait(ConfirmScreen(lines, answers))


_AGAIN = "e"
_ANSWERS = (
    key(_AGAIN, f"answer('{_AGAIN}')", "Edit the stage again, at the line", "edit again"),
    key("escape,n,q", "answer('')", "Discard the edit", "discard"),
)


class EditStageController(Controller):
    """Runs the editor and has the result built; what the compiler rejects can be edited again."""

    def __init__(self, screen: CompareScreen, compiler: VariantCompiler | None) -> None:
        super().__init__(screen)
        self._compiler = compiler

    def edit(self) -> None:
        """Edits the stage on screen of B, or of the only variant shown, and builds it."""
        screen = self._screen
        if self._compiler is None or screen.app.is_web:
            screen.notify("Nothing can be built here; open the capture in a terminal")
            return
        screen.run_exclusive(partial(self._edit, self._compiler, screen.shown_variant(True)), "edit")

    async def _edit(self, compiler: VariantCompiler, variant: Variant) -> None:
        screen, stage = self._screen, self._screen.stage
        before = await screen.background.run(screen.workspace.text, variant, stage)
        line = screen.texts.line_of(screen.texts.page.right is not None)
        text = self._run_editor(before, f"{variant.id}.{stage}", None if line is None else line + 1)
        if text == before:
            screen.notify(f"{stage} of #{variant.id} was not changed; nothing was built")
        elif text is not None:
            contents = await screen.background.run(_contents, screen, variant)
            names_in_use = tuple(edit_names(screen.workspace, variant))
            grows = compiler.trusted is None and screen.workspace.growth.unfinished
            first = free_id(screen.workspace.variants, separate=grows)
            self._begin(compiler, StageEdit(variant, stage, text, contents, names_in_use, first))

    def _begin(self, compiler: VariantCompiler, edit: StageEdit) -> None:
        self._screen.notify(f"Building #{edit.variant.id} from the edited {edit.stage}; the result will be B")
        self._screen.live.ask(partial(compiler.edit, edit))

    def _run_editor(self, text: str, name: str, line: int | None) -> str | None:
        """Return the text after $EDITOR; if it could not be run, show a message and return None."""
        screen = self._screen
        result = run_program(screen, "EDITOR", DEFAULT_EDITOR, text, name, line)
        if result is None:
            return None
        status, edited = result
        if status:
            screen.notify(f"$EDITOR ended with status {status}; nothing was built", severity="warning")
        return None if status else edited

    def ask_again(self, rejected: EditRejected) -> None:
        """Show what the compiler rejected; edits the same text again if the user wants to."""
        if self._compiler is not None:
            self._screen.run_exclusive(partial(self._ask_again, self._compiler, rejected), "edit")

    async def _ask_again(self, compiler: VariantCompiler, rejected: EditRejected) -> None:
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


def _contents(screen: CompareScreen, variant: Variant) -> dict[str, bytes]:
    """Return the stages of a variant as they are stored."""
    stored = ((stage, screen.workspace.contents.read(variant, stage)) for stage in variant.artifacts)
    return {stage: content for stage, content in stored if content is not None}
