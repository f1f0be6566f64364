"""The source lines of HGMMA instructions, which ptxas often gives the line of another instruction.

On sm_90, a third of the HGMMA of SASS have the line of an instruction that ptxas scheduled next to them. The
`wgmma.mma_async` of PTX have the right one. Both are volatile, so their order is the same unless ptxas
copied some; then the shape decides, if only one line has it.
"""

from __future__ import annotations

import re

from irscope.languages.document import Document, Location

_HGMMA = re.compile(r"[HIQB]GMMA\.(\d+x\d+x\d+)")
_WGMMA = re.compile(r"wgmma\.mma_async\..*?\bm(\d+)n(\d+)k(\d+)")


def matrix_locations(sass: Document, ptx: Document) -> dict[int, Location | None]:
    """The location of each HGMMA of the SASS by operation; None if the PTX does not determine it."""
    found = _shapes(sass, _HGMMA)
    expected = [("x".join(match.groups()), at) for match, at in _matches(ptx, _WGMMA)]
    if [shape for shape, _ in found] == [shape for shape, _ in expected]:
        pairs = zip(found, expected, strict=True)
        return {at: ptx.operations[other].location for (_, at), (_, other) in pairs}
    lines: dict[str, set[Location | None]] = {}
    for shape, at in expected:
        lines.setdefault(shape, set()).add(ptx.operations[at].location)
    return {at: _only(lines.get(shape, set())) for shape, at in found}


def _shapes(document: Document, pattern: re.Pattern[str]) -> list[tuple[str, int]]:
    return [(match[1], at) for match, at in _matches(document, pattern)]


def _matches(document: Document, pattern: re.Pattern[str]) -> list[tuple[re.Match[str], int]]:
    """The operations whose opcode matches, in the order of the text."""
    found = ((pattern.match(one.opcode), at) for at, one in enumerate(document.operations))
    return [(match, at) for match, at in found if match]


def _only(locations: set[Location | None]) -> Location | None:
    return next(iter(locations)) if len(locations) == 1 else None
