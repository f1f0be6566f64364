"""Runs irscope's commands in this process, as the campaign and the tests of hostile captures do."""

from __future__ import annotations

import contextlib
import io
import random
import re
import traceback
from pathlib import Path
from unittest import mock

from irscope.cli import last_resort
from irscope.cli.main import main

# Unsafe in a terminal or a page: C0 except line feed and tab, DEL, C1, bidirectional controls, the invisible.
UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# Every command that reads a capture, and its ways to print it.
VIEWS: tuple[tuple[str, ...], ...] = (
    ("list", "C"),
    ("list", "C", "--format", "json"),
    ("table", "C"),
    ("table", "C", "--width", "80"),
    ("table", "C", "--format", "json"),
    ("table", "C", "--format", "csv"),
    ("table", "C", "--format", "markdown"),
    ("table", "C", "--sort", "registers"),
    ("show", "C", "#1"),
    ("show", "C", "#1", "--stage", "ttir", "--no-loc"),
    ("show", "C", "#1", "--stage", "ptx"),
    ("show", "C", "#1", "--stage", "python"),
    ("show", "C", "#4", "--stage", "error"),
    ("show", "C", "#1", "--stage", "log"),
    ("show", "C", "#1", "--stage", "llir"),
    ("diff", "C", "#1", "#3"),
    ("diff", "C", "#1", "#3", "--stage", "ttgir"),
    ("diff", "C", "#1", "#3", "--stage", "ptx"),
    ("diff", "C", "#1", "#3", "--format", "json"),
    ("diff", "C", "#1", "#3", "--format", "markdown"),
    ("diff", "C", "#1", "#2", "--all-findings"),
    ("diff", "C", "C"),
    ("why", "C"),
    ("why", "C", "#1", "#3"),
    ("why", "C", "--format", "json"),
    ("passes", "C", "#1"),
    ("passes", "C", "#1", "#3"),
    ("registers", "C", "#1", "--stage", "ptx"),
    ("layout", "C", "#1"),
    ("report", "C", "-o", "report.html", "--force"),
    ("report", "C", "-o", "report.md", "--force"),
    ("report", "C", "--slides", "-o", "slides.html", "--force"),
    ("dump", "C", "-o", "stages", "--force"),
    ("check", "C", "--expect", "registers < 9"),
    ("lint", "C"),
    ("lint", "C", "--format", "json"),
    ("merge", "C", "C", "-o", "merged.irscope", "--force"),
)


class BugError(AssertionError):
    """A command did what no command may do."""


def run(words: tuple[str, ...], capture: Path, folder: Path) -> tuple[int, str]:
    """Exit code and output of a command; C is replaced by the capture. Raises BugError.

    A command ends with 0, 1 or 2, prints a line and no traceback, and nothing that commands a terminal.
    """
    outputs = ("report.html", "report.md", "slides.html", "stages", "merged.irscope")
    actual = [str(capture) if w == "C" else str(folder / w) if w in outputs else w for w in words]
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    unexpected: list[str] = []

    def saved(error: Exception, command: str) -> str:
        unexpected.append("".join(traceback.format_exception(error)))
        return ""

    with (
        mock.patch.object(last_resort, "_saved", saved),
        mock.patch.object(last_resort, "discard_output"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code = main(actual)
        except SystemExit as error:
            code = int(error.code or 0)
    if unexpected:
        raise BugError(f"irscope {' '.join(words)}\n{unexpected[0]}")
    out.flush()
    text = out.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined]
    if code not in (0, 1, 2) or (code == 2 and not err.getvalue()):
        raise BugError(f"irscope {' '.join(words)}: exit code {code}, {err.getvalue()!r}")
    for name, content in (("stdout", text), ("stderr", err.getvalue())):
        if match := UNSAFE.search(content):
            raise BugError(
                f"irscope {' '.join(words)}: {match[0]!r} on {name}: {content[match.start() - 40 :][:80]!r}"
            )
    return code, text


def some_views(rng: random.Random, number: int) -> list[tuple[str, ...]]:
    """A few of the views."""
    return rng.sample(VIEWS, number)
