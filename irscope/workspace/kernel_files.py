"""The file and line of a kernel, for tools that annotate a repository's files."""

from __future__ import annotations

import os
from pathlib import Path

from irscope.model import Kernel


def kernel_place(kernel: Kernel) -> tuple[str, int]:
    """The kernel's file as `relative_file` names it, and the line of its `def`, from 1."""
    from irscope.analysis.python_tokens import def_index  # here because `irscope list` does not need it

    source = kernel.source
    return relative_file(source.file), max(source.line, 1) + def_index(source.text.split("\n"))


def relative_file(file: str) -> str:
    """A path relative to the working directory if it is in it, else the path itself."""
    path = Path(file)
    if not path.is_absolute():
        return os.path.normpath(file) if file else file
    for folder in dict.fromkeys([Path.cwd(), Path.cwd().resolve()]):
        if path.is_relative_to(folder):
            return str(path.relative_to(folder))
    return file
