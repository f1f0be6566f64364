"""What leaves the app: copied, shown by another program, saved."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from io import StringIO
from pathlib import Path

from textual import work
from textual.app import SuspendNotSupported

from irscope.model import UserError, Variant
from irscope.model.text import display_line
from irscope.tui.controllers.base import ComparisonScreen
from irscope.tui.copy_operation import operation_text
from irscope.tui.page_sides import side_of
from irscope.tui.screens.prompt import PromptScreen
from irscope.workspace import PYTHON

_PAGER = "less"
_EDITOR = "vi"
# These take the line to begin with as `+12`.
_TAKE_A_LINE = ("less", "more", "vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "kak", "micro")


class ExportActions(ComparisonScreen):
    """Copies through the terminal (OSC 52), so it works over SSH; files are never overwritten."""

    def action_copy_line(self, right: bool) -> None:
        """Copies the line under the cursor."""
        text = self._texts.line_text(right)
        if text is not None:
            self._copy(text, display_line(text.strip())[:60])

    @work(exclusive=True, group="copy", exit_on_error=False)
    async def action_copy_operation(self) -> None:
        """Copies the operation with its regions; as a diff where A and B differ."""
        texts, comparison, stage = self._texts, self._comparison, self._stage
        lines = texts.line_of(False), texts.line_of(True)
        text = await self._background.run(operation_text, comparison, stage, *lines)
        if text:
            self._copy(
                text, f"{text.count(chr(10)) + 1:,} lines" if "\n" in text else display_line(text)[:60]
            )

    @work(exclusive=True, group="copy", exit_on_error=False)
    async def action_copy_stage(self, right: bool) -> None:
        """Copies the whole stage."""
        variant = self._variant(right)
        text = await self._text(variant)
        self._copy(text, f"{self._stage} of #{variant.id}, {text.count(chr(10)) + 1:,} lines")

    @work(exclusive=True, group="export", exit_on_error=False)
    async def action_page(self, right: bool) -> None:
        """Opens the stage in $PAGER."""
        await self._open_in("PAGER", _PAGER, right)

    @work(exclusive=True, group="export", exit_on_error=False)
    async def action_edit(self, right: bool) -> None:
        """Opens a copy of the stage in $EDITOR."""
        await self._open_in("EDITOR", _EDITOR, right)

    @work(exclusive=True, group="export", exit_on_error=False)
    async def action_save(self, right: bool) -> None:
        """Saves the stage; asks for the path."""
        variant = self._variant(right)
        await self._save(await self._text(variant), _file_name(variant, self._stage))

    @work(exclusive=True, group="export", exit_on_error=False)
    async def action_picture(self) -> None:
        """Saves what is on the screen as SVG; asks for the path."""
        await self._save(self.app.export_screenshot(), "irscope.svg")

    def _copy(self, text: str, what: str) -> None:
        self.app.copy_to_clipboard(text)
        self.notify(what, title="Copied", markup=False)

    async def _text(self, variant: Variant) -> str:
        """The text of the stage on show."""
        workspace, stage = self._comparison.workspace, self._stage
        if stage != PYTHON and workspace.available(variant, stage):
            return await self._background.run(workspace.text, variant, stage)
        return "\n".join(side_of(workspace, variant, stage).lines)

    async def _open_in(self, name: str, default: str, right: bool) -> None:
        variant = self._variant(right)
        text = await self._text(variant)
        line = self._texts.line_of(right and self._texts.page.right is not None)
        with tempfile.TemporaryDirectory(prefix="irscope-") as folder:
            path = Path(folder, _file_name(variant, self._stage))
            path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
            try:
                command = _command(os.environ.get(name) or default, path, line)
                with self.app.suspend():
                    subprocess.run(command, check=False)
            except SuspendNotSupported:
                self.notify(f"${name} needs a terminal of its own; w saves the stage", severity="warning")
            except (OSError, ValueError) as error:
                self.notify(f"${name}: {error}", severity="warning", markup=False)

    async def _save(self, text: str, name: str) -> None:
        """Writes a new file where the user wants it; in a browser, lets that download it."""
        if self.app.is_web:
            self.app.deliver_text(StringIO(text), save_filename=name)
            return
        answer = await self.app.push_screen_wait(PromptScreen("Save to (an existing file is kept):", name))
        if answer is None:
            return
        try:
            save_new(Path(answer).expanduser(), text)
        except UserError as error:
            self.notify(str(error), severity="warning", markup=False)
        else:
            self.notify(answer, title="Saved", markup=False)


def save_new(path: Path, text: str) -> None:
    """Writes a file that is not there yet. Raises UserError where it is, or cannot be written."""
    try:
        with path.open("x", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
    except FileExistsError:
        raise UserError(f"{path} is there already; nothing was written") from None
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{path}: {getattr(error, 'strerror', None) or error}") from None


def _file_name(variant: Variant, stage: str) -> str:
    """`matmul_kernel-2.ttgir`: a plain name, whatever the kernel is called."""
    kernel = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in variant.kernel.name)
    return f"{kernel[:80] or 'kernel'}-{variant.id}.{'py' if stage == PYTHON else stage}"


def _command(program: str, path: Path, line: int | None) -> list[str]:
    """`program` may have arguments. Raises ValueError where its quotes do not match."""
    words = shlex.split(program)
    if not words:
        raise ValueError("names no program")
    at = [f"+{line + 1}"] if line is not None and Path(words[0]).name in _TAKE_A_LINE else []
    return [*words, *at, str(path)]
