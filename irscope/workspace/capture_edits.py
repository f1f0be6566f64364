"""The edits of the Python between two captures that changed TTIR, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from irscope.analysis.capture_diff import MatchedVariants
from irscope.analysis.findings.finding import PairContext
from irscope.analysis.findings.globals import globals_read
from irscope.analysis.findings.source_edits import source_edits
from irscope.analysis.source_alignment import line_map
from irscope.diff.stage_diff import diff_stage
from irscope.model import Variant
from irscope.workspace.workspace import Workspace

_STAGE = "ttir"


def capture_edits(
    pairs: Iterable[MatchedVariants], old: Workspace, new: Workspace
) -> Iterator[tuple[str, str]]:
    """Yield (kernel, sentence) for each edit: of the first pair of each kernel whose Python differs.

    Edits that leave TTIR as it is are left out. Raises UserError if a capture is damaged.
    """
    compared: set[str] = set()
    for pair in pairs:
        a, b = pair.a, pair.b
        if b.kernel.name in compared or not _edited(a, b):
            continue
        if _STAGE not in a.artifacts or _STAGE not in b.artifacts:
            continue
        compared.add(b.kernel.name)
        left, right = old.document(a, _STAGE), new.document(b, _STAGE)
        diff = diff_stage(_STAGE, left, right, line_map(a.kernel, b.kernel)).in_lines_of_b()
        context = PairContext(a, b, {}, {}, {_STAGE: diff})
        for finding in (*source_edits(context), *globals_read(context)):
            yield b.kernel.name, finding.text


def _edited(a: Variant, b: Variant) -> bool:
    """Return True if the Python that the two were compiled from differs."""
    return _python(a) != _python(b)


def _python(variant: Variant) -> tuple[list[str], dict[str, str]]:
    """Return the texts of the kernel and of what it calls, and the globals that these read."""
    functions = (variant.kernel.source, *variant.kernel.helpers)
    values = {name: text for name, text in variant.cache_key.items() if name.startswith("global ")}
    return [function.text for function in functions], values
