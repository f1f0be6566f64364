"""Copying a stage, opening it in another program, saving it; writing a reproducer of its variant."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from irscope.model import UserError, Variant
from irscope.model.files import DEFAULT_EDITOR, open_command, write_output
from irscope.model.text import display_line, pluralize
from irscope.tui.controllers import Controller
from irscope.tui.pair_state import side_of
from irscope.workspace.variant_texts import PYTHON

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen

_PAGER = "less"
_MAX_COPIED = 60


class ExportController(Controller):
    """Copies through the terminal (OSC 52), which works over SSH. Existing files are never overwritten."""

    def copy_line(self, right: bool) -> None:
        """Copy the line under the cursor."""
        text = self._screen.texts.line_text(right)
        if text is not None:
            self._copy(text, display_line(text.strip())[:_MAX_COPIED])

    def copy_config(self) -> None:
        """Copy the config of B."""
        config = str(self._screen.pair.b.config)
        self._copy(config, display_line(config))

    async def copy_operation(self) -> None:
        """Copy the operation with its regions; as a diff if A and B differ."""
        screen = self._screen
        lines = screen.texts.line_of(False), screen.texts.line_of(True)
        text = await screen.background.run(screen.pair.operation_text, screen.stage, *lines)
        if text:
            count = text.count("\n") + 1
            self._copy(text, pluralize(count, "line") if count > 1 else display_line(text)[:_MAX_COPIED])

    async def copy_stage(self, right: bool) -> None:
        """Copy the whole stage."""
        variant = self._screen.shown_variant(right)
        stage = self._screen.stage
        text = await self._text(variant, stage)
        self._copy(text, f"{stage} of #{variant.id}, {pluralize(text.count(chr(10)) + 1, 'line')}")

    async def open_in_pager(self, right: bool) -> None:
        """Open the stage in $PAGER."""
        await self._open_in("PAGER", _PAGER, right)

    async def open_in_editor(self, right: bool) -> None:
        """Open a copy of the stage in $EDITOR."""
        await self._open_in("EDITOR", DEFAULT_EDITOR, right)

    async def save_picture(self) -> None:
        """Save a picture of the screen as SVG; asks for the path."""
        picture = self._screen.app.export_screenshot()

        async def text() -> str:
            return picture

        await self._save(text, "irscope.svg")

    async def save_stage(self, right: bool) -> None:
        """Save the stage; asks for the path."""
        variant, stage = self._screen.shown_variant(right), self._screen.stage
        await self._save(partial(self._text, variant, stage), _file_name(variant, stage))

    async def reproduce(self, right: bool) -> None:
        """Write a reproducer of the variant; asks for the folder."""
        screen, variant = self._screen, self._screen.shown_variant(right)
        if screen.app.is_web:
            screen.notify("irscope reproduce writes a reproducer, where the capture is", severity="warning")
            return
        from irscope.jobs.reproduce.writing import reproduce  # after the first paint

        question = "Write a reproducer into the folder, and run its kernel's Python once to check it:"
        answer = await screen.ask(question, f"repro-{_safe_name(variant)}-{variant.id}")
        if answer is None:
            return
        comparison, workspace = screen.pair.comparison, screen.workspace

        def write() -> str:
            findings = comparison.main_sentences if variant.id == comparison.b.id else ()
            name, folder = workspace.names[variant.id], Path(answer).expanduser()
            return reproduce(workspace.path, variant, folder, name=name, findings=findings).outcome

        screen.notify("Writing and checking it...", title=answer, markup=False)
        try:
            outcome = await screen.background.run(write)
        except UserError as error:
            screen.notify(str(error), severity="warning", markup=False)
        else:
            screen.notify(outcome, title=answer, markup=False)

    def _copy(self, text: str, description: str) -> None:
        self._screen.app.copy_to_clipboard(text)
        self._screen.notify(description, title="Copied", markup=False)

    async def _text(self, variant: Variant, stage: str) -> str:
        """Return the text of a stage of a variant."""
        workspace = self._screen.workspace
        if stage != PYTHON and workspace.contents.available(variant, stage):
            return await self._screen.background.run(workspace.text, variant, stage)
        return "\n".join(side_of(workspace, variant, stage).lines)

    async def _open_in(self, name: str, default: str, right: bool) -> None:
        screen, variant = self._screen, self._screen.shown_variant(right)
        if screen.app.is_web:
            screen.notify(f"${name} needs a terminal of its own; press w to save", severity="warning")
            return
        text = await self._text(variant, screen.stage)
        line = screen.texts.line_of(right and screen.texts.page.right is not None)
        hint = "; press w to save"
        number = None if line is None else line + 1
        run_program(screen, name, default, text, _file_name(variant, screen.stage), number, hint)

    async def _save(self, make_text: Callable[[], Awaitable[str]], name: str) -> None:
        """Write a new file at a path that the user types; in a browser, downloads it.

        The text is made after the question: that can take seconds, and the user may type ahead.
        """
        screen = self._screen
        if screen.app.is_web:
            # Without a folder and a type, Textual would look for the server's.
            screen.app.deliver_text(
                StringIO(await make_text(), newline=""),
                save_filename=name,
                save_directory=Path(),
                mime_type="text/plain",
            )
            return
        answer = await screen.ask("Save to (existing files are not overwritten):", name)
        if answer is None:
            return
        try:
            save_new(Path(answer).expanduser(), await make_text())
        except UserError as error:
            screen.notify(str(error), severity="warning", markup=False)
        else:
            screen.notify(answer, title="Saved", markup=False)


def run_program(
    screen: CompareScreen,
    variable: str,
    default: str,
    text: str,
    name: str,
    line: int | None,
    hint: str = "",
) -> tuple[int, str] | None:
    """Open a copy of a text, at a line (from 1), in the program that an environment variable names.

    Returns its exit status and the text after it, or None if it could not be run, after a message; `hint` is
    the end of the message if the app has no terminal.
    """
    with tempfile.TemporaryDirectory(prefix="irscope-") as folder:
        path = Path(folder, name)
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        try:
            command = open_command(variable, default, path, line)
            with screen.app.suspend():
                status = subprocess.run(command, check=False).returncode
            return status, path.read_text(encoding="utf-8", errors="surrogateescape")
        except SuspendNotSupported:
            screen.notify(f"${variable} needs a terminal of its own{hint}", severity="warning")
        except (OSError, ValueError) as error:
            screen.notify(f"${variable}: {error}", severity="warning", markup=False)
    return None


def save_new(path: Path, text: str) -> None:
    """Write a new file. Raises UserError if it exists or cannot be written."""
    if os.path.lexists(path):
        raise UserError(f"{path} already exists; nothing was written")
    try:
        content = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise UserError(f"{path}: {error}") from None
    write_output(path, content, force=False)


def _file_name(variant: Variant, stage: str) -> str:
    """`matmul_kernel-2.ttgir`."""
    return f"{_safe_name(variant)}-{variant.id}.{'py' if stage == PYTHON else stage}"


def _safe_name(variant: Variant) -> str:
    """Return the kernel's name without special characters."""
    kernel = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in variant.kernel.name)
    return kernel[:80] or "kernel"
