"""Copying lines and operations of a stage, opening it in another program, saving it."""

from __future__ import annotations

import itertools
import os
import subprocess
import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from irscope.model import UserError, Variant
from irscope.model.files import open_command, write_output
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

    def copy_line(self) -> None:
        """Copy the line under the cursor, of B if it has one."""
        text = self._screen.texts.line_text(True)
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

    async def open_in_pager(self) -> None:
        """Open the stage in $PAGER."""
        screen, variant = self._screen, self._screen.shown_variant(True)
        if screen.app.is_web:
            screen.notify("$PAGER needs a terminal of its own; press w to save", severity="warning")
            return
        text = await self._text(variant, screen.stage)
        line = screen.texts.line_of(screen.texts.page.right is not None)
        number = None if line is None else line + 1
        hint = "; press w to save"
        run_program(screen, "PAGER", _PAGER, text, _file_name(variant, screen.stage), number, hint)

    async def save_stage(self) -> None:
        """Save the stage at a path that the user types, to a new file; in a browser, download it.

        The text is made after the question: that can take seconds, and the user may type ahead.
        """
        screen = self._screen
        variant, stage = screen.shown_variant(True), screen.stage
        name = _file_name(variant, stage)
        if screen.app.is_web:
            # Without a folder and a type, Textual would look for the server's.
            screen.app.deliver_text(
                StringIO(await self._text(variant, stage), newline=""),
                save_filename=name,
                save_directory=Path(),
                mime_type="text/plain",
            )
            return
        name = next(path for path in _numbered(name) if not os.path.lexists(path))
        while answer := await screen.ask("Save to (existing files are not overwritten):", name):
            if self._save(answer, await self._text(variant, stage)):
                return
            name = answer

    def _save(self, path: str, text: str) -> bool:
        """Save a text, or say why that is impossible."""
        try:
            save_new(Path(path).expanduser(), text)
        except UserError as error:
            self._screen.notify(str(error), severity="warning", markup=False)
            return False
        self._screen.notify(f"Saved {path}", markup=False)
        return True

    def _copy(self, text: str, description: str) -> None:
        self._screen.app.copy_to_clipboard(text)
        self._screen.notify(f"Copied {description}", markup=False)

    async def _text(self, variant: Variant, stage: str) -> str:
        """Return the text of a stage of a variant."""
        workspace = self._screen.workspace
        if stage != PYTHON and workspace.contents.available(variant, stage):
            return await self._screen.background.run(workspace.text, variant, stage)
        return "\n".join(side_of(workspace, variant, stage).lines)


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


def _numbered(name: str) -> Iterator[str]:
    """Yield `name`, then `stem.2.suffix`, `stem.3.suffix` and so on."""
    path = Path(name)
    yield name
    yield from (f"{path.stem}.{number}{path.suffix}" for number in itertools.count(2))


def _file_name(variant: Variant, stage: str) -> str:
    """`matmul_kernel-2.ttgir`; characters of a kernel's name that are special somewhere become `_`."""
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in variant.kernel.name)
    return f"{name[:80] or 'kernel'}-{variant.id}.{'py' if stage == PYTHON else stage}"
