"""The command that opens a file in a program of the user: $EDITOR, $PAGER."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

DEFAULT_EDITOR = "vi"
# These accept the first line to show as `+12`.
_ACCEPT_LINE = ("less", "more", "vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "kak", "micro")


def open_command(variable: str, default: str, path: Path, line: int | None = None) -> list[str]:
    """The command that opens `path` at a line (from 1) in the program that an environment variable names.

    The variable may have arguments. Raises ValueError if it is malformed.
    """
    words = shlex.split(os.environ.get(variable) or default)
    if not words:
        raise ValueError("is empty")
    start = [f"+{line}"] if line is not None and Path(words[0]).name in _ACCEPT_LINE else []
    return [*words, *start, str(path)]
