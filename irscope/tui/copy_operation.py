"""An operation of A and of B as text to be pasted."""

from __future__ import annotations

from irscope.model import Variant
from irscope.tui.page_sides import side_of
from irscope.tui.pair_state import PairState
from irscope.workspace import PYTHON


def operation_text(comparison: PairState, stage: str, left: int | None, right: int | None) -> str:
    """The operations that start at these lines (from 0) of A and of B, with their regions.

    Once where they are the same text; else as a diff, `-` before the lines of A and `+` before those of
    B. Parses the stages where they were not yet, so it is for the background. "" where there is none.
    """
    alone = comparison.alone(stage)
    ours = _lines(comparison, alone or comparison.a, stage, left)
    theirs = [] if alone else _lines(comparison, comparison.b, stage, right)
    if not theirs or ours == theirs:
        return "\n".join(ours)
    return "\n".join([*(f"-{line}" for line in ours), *(f"+{line}" for line in theirs)])


def _lines(comparison: PairState, variant: Variant, stage: str, line: int | None) -> list[str]:
    workspace = comparison.workspace
    if line is None:
        return []
    if stage == PYTHON or not workspace.key(variant, stage) or not workspace.available(variant, stage):
        return [side_of(workspace, variant, stage).lines[line]]
    document = workspace.document(variant, stage)
    index = document.operation_of_line.get(line)
    end = line + 1 if index is None else max(document.operations[index].end, line + 1)
    return [document.lines[number] for number in range(line, end)]
