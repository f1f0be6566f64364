"""The variables of a kernel by the lines that assign them, and the user's line of a location.

95: acc = tl.dot(a, b, acc)    -> line 95 of matmul.py: "acc"
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from irscope.languages.document import Location
from irscope.model import Kernel
from irscope.model.frozen_value import FrozenValue
from irscope.model.text import base_name
from irscope.model.variant import SourceFunction

_LIBRARY = "/triton/language/"
_Assignment = (ast.Assign, ast.AnnAssign, ast.AugAssign)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SourceLine(FrozenValue):
    """A line of the user's Python: its file without the path, its number from 1, and its text ("": unknown).

    `name` is the variable that the line assigns, "" if none; `a, b` for several.
    """

    file: str
    line: int
    text: str = ""
    name: str = ""


class KernelSource:
    """The lines of a kernel and of the functions that it calls, without those of Triton's library."""

    def __init__(self, kernel: Kernel) -> None:
        self._lines: dict[tuple[str, int], SourceLine] = {}
        for function in (kernel.source, *kernel.helpers):
            if not in_library(function.file):
                self._add(function)

    def _add(self, function: SourceFunction) -> None:
        names = dict(assigned_names(function.text))
        file = base_name(function.file)
        for offset, text in enumerate(function.text.rstrip("\n").split("\n")):
            number = function.line + offset
            name = names.get(offset + 1, "")
            self._lines.setdefault((file, number), SourceLine(file, number, text.strip(), name))

    def line_of(self, location: Location | None) -> SourceLine | None:
        """The user's line that a location comes from: the innermost one that the kernel's source has.

        The outermost line of the location if the source has none of them.
        """
        at = location
        while at is not None:
            file = base_name(at.file)
            if at.removed:
                return SourceLine(file, at.line)
            if (found := self._lines.get((file, at.line))) is not None:
                return found
            if at.inlined_at is None:
                return SourceLine(file, at.line)
            at = at.inlined_at
        return None


def in_library(path: str) -> bool:
    """Check whether a file belongs to Triton's own library."""
    return _LIBRARY in path.replace("\\", "/")


def assigned_names(source: str) -> Iterator[tuple[int, str]]:
    """(line from 1, variables that it assigns) for each line of a function; none if it is not Python.

    A statement of several lines has its variables on each of them. The line of a loop assigns none: the
    compiler gives it to everything that iterations pass on, not only to the loop's variable.
    """
    try:
        tree = ast.parse(textwrap.dedent(source))
        nodes = [node for node in ast.walk(tree) if isinstance(node, _Assignment)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = ", ".join(dict.fromkeys(_names(targets)))
        last = node.end_lineno or node.lineno
        for line in range(node.lineno, min(last, node.lineno + 99) + 1):
            if names:
                yield line, names


def _names(targets: Iterable[ast.expr]) -> Iterator[str]:
    for target in targets:
        if isinstance(target, ast.Name):
            yield target.id
        elif isinstance(target, ast.Tuple | ast.List):
            yield from _names(target.elts)
