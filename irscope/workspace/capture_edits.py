"""The edits of the Python between two captures that changed TTIR, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from irscope.analysis.capture_diff import MatchedVariants
from irscope.analysis.findings.finding import PairContext
from irscope.analysis.findings.source_edits import source_edits
from irscope.analysis.source_alignment import line_map
from irscope.diff.stage_diff import diff_stage
from irscope.workspace.workspace import Workspace

_STAGE = "ttir"


def capture_edits(
    pairs: Iterable[MatchedVariants], old: Workspace, new: Workspace
) -> Iterator[tuple[str, str]]:
    """(kernel, sentence) for each edit, from the first pair of each kernel whose source and TTIR differ.

    Raises UserError if a capture is damaged.
    """
    compared: set[str] = set()
    for pair in pairs:
        a, b = pair.a, pair.b
        if b.kernel.name in compared or a.kernel.source.text == b.kernel.source.text:
            continue
        if _STAGE not in a.artifacts or _STAGE not in b.artifacts:
            continue
        compared.add(b.kernel.name)
        left, right = old.document(a, _STAGE), new.document(b, _STAGE)
        diff = diff_stage(_STAGE, left, right, line_map(a.kernel, b.kernel)).in_lines_of_b()
        for finding in source_edits(PairContext(a, b, {}, {}, {_STAGE: diff})):
            yield b.kernel.name, finding.text
