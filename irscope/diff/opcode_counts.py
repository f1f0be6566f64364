"""What became of each source line: how many instructions of which class, on either side.

Below TTGIR one operation becomes hundreds of instructions, so this is the first answer there.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from irscope.diff.rows import StageDiff
from irscope.languages.document import OPAQUE, Document

# Words of an opcode that say how exactly, not what: rounding, ordering, operand order, encoding.
_DETAIL = frozenset(
    [
        "aligned",
        "row",
        "col",
        "rn",
        "rz",
        "rm",
        "rp",
        "rni",
        "rzi",
        "ftz",
        "sat",
        "approx",
        "full",
        "lo",
        "hi",
        "wide",
        "relaxed",
        "volatile",
        "weak",
        "noinc",
        "cta",
        "gpu",
        "sys",
        "b16x2",
        "e32",
        "e64",
        "dpp",
        "sdwa",
        "E",
        "SYS",
        "CONSTANT",
        "reuse",
        "AND",
        "OR",
        "PT",
        "EX",
        "X",
        "U32",
        "S32",
    ]
)
_WORD = re.compile(r"([._ ]?)([^._ ]+)")
# Work that sets a kernel's speed: matrix units, memory, copies, barriers.
_HEAVY = re.compile(
    r"(?:w?g?mma|tcgen05|v_mfma|v_wmma|[HIBDQO]+GMMA|[HIDBQ]MMA|UTC\w*MMA|ld|st|atom|red|cp|LD|ST|ATOM|RED"
    r"|global_|buffer_|ds_|flat_|scratch_|load|store|call @llvm\.(?:nvvm|amdgcn)|call asm|bar)"
)


@dataclass(frozen=True, slots=True)
class LineChange:
    """A source line of the kernel (counted from 1) whose instructions of one class differ in number."""

    file: str
    line: int
    opcode: str
    left: int
    right: int


def by_source_line(diff: StageDiff) -> list[LineChange]:
    """The source lines and instruction classes whose counts differ, those of the most weight first.

    A line is that of the kernel itself: what a helper was inlined for counts for its call. Matrix and
    memory instructions come before others, then the larger difference.
    """
    ours, theirs = _counted(diff.left), _counted(diff.right)
    changes = [
        LineChange(*place, ours[place], theirs[place])
        for place in {**ours, **theirs}
        if ours[place] != theirs[place]
    ]
    changes.sort(key=_weight)
    return changes


def instruction_class(opcode: str) -> str:
    """`opcode` without what does not matter: `mma.sync.m16n8k16.f32.f16.f16.f32`, `ld.global.v4.b32`."""
    if " " in opcode:  # LLVM's calls: the name of the callee is the class
        return opcode
    words = _WORD.findall(opcode)
    kept = [mark + word for place, (mark, word) in enumerate(words) if place == 0 or word not in _DETAIL]
    return "".join(kept) or opcode


def _counted(document: Document) -> Counter[tuple[str, int, str]]:
    counts: Counter[tuple[str, int, str]] = Counter()
    classes: dict[str, str] = {}
    for operation in document.operations:
        if operation.location is None or operation.opcode == OPAQUE:
            continue
        opcode = operation.opcode
        if opcode not in classes:
            classes[opcode] = instruction_class(opcode)
        place = operation.location.outermost
        counts[place.file, place.line, classes[opcode]] += 1
    return counts


def _weight(change: LineChange) -> tuple[bool, int, str, int, str]:
    heavy = _HEAVY.match(change.opcode) is not None
    return not heavy, -abs(change.right - change.left), change.file, change.line, change.opcode
