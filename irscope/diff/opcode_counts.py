"""Instruction counts per source line and class, on either side.

    kernels.py:14  ld.global.v4.b32   8 -> 2
    kernels.py:14  ld.global.b32      0 -> 24

Below TTGIR, one operation becomes hundreds of instructions, and aligned rows do not show a change like this.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from irscope.diff.rows import StageDiff
from irscope.languages.document import OPAQUE, Document
from irscope.languages.language import Language
from irscope.languages.language_registry import language_named
from irscope.model.frozen_value import FrozenValue


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LineChange(FrozenValue):
    """A source line of the kernel (from 1) with different numbers of instructions of the class `opcode`.

    The file and line are B's; A's if B does not have the line (`removed`).
    """

    file: str
    line: int
    opcode: str
    left: int
    right: int
    removed: bool = False


def by_source_line(diff: StageDiff) -> list[LineChange]:
    """The source lines and instruction classes whose counts differ, the most important first.

    Lines are those of the kernel itself: the code of an inlined helper counts for the line of its call.
    Matrix and memory instructions precede others, larger differences precede smaller ones.
    """
    language = language_named(diff.left.language)
    diff = diff.in_lines_of_b()
    left, right = _class_counts(diff.left, language), _class_counts(diff.right, language)
    changes = [
        LineChange(file, line, opcode, left[key], right[key], removed)
        for key in {**left, **right}
        if left[key] != right[key]
        for file, line, removed, opcode in [key]
    ]
    changes.sort(key=lambda change: _priority(change, language))
    return changes


def _class_counts(document: Document, language: Language) -> Counter[tuple[str, int, bool, str]]:
    counts: Counter[tuple[str, int, bool, str]] = Counter()
    classes: dict[str, str] = {}
    for operation in document.operations:
        if operation.location is None or operation.opcode == OPAQUE:
            continue
        opcode = operation.opcode
        if opcode not in classes:
            classes[opcode] = language.instruction_class(opcode)
        location = operation.location.outermost
        counts[location.file, location.line, location.removed, classes[opcode]] += 1
    return counts


def _priority(change: LineChange, language: Language) -> tuple[bool, int, str, int, str]:
    heavy = language.heavy.match(change.opcode) is not None
    return not heavy, -abs(change.right - change.left), change.file, change.line, change.opcode
