"""Findings about globals of Python that a kernel was compiled with: each changes what the kernel computes.

    global SCALE: 2.0 -> 3.0 (line 14: return x * SCALE)

A `tl.constexpr` of a module is an input of the compilation like an argument, but neither the config nor the
kernel's source has its value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from irscope.diff.rows import Change, StageDiff
from irscope.facts.instruction_mix import place_subject, place_text
from irscope.facts.source.map import SourcePlace
from irscope.facts.source.tokens import function_node
from irscope.findings.cache_key_diff import following_names, input_text, recompilation, value_changes
from irscope.findings.finding import (
    Finding,
    FindingCause,
    FindingKind,
    PairContext,
    Severity,
    ValueChange,
    declares,
    evidence_pair,
)
from irscope.languages.document import Document
from irscope.model import Kernel

_STAGE = "ttir"
# A constant of floats: `arith.constant dense<2.0> : tensor<128xf32>`.
_FLOATS = re.compile(r"arith\.constant .*: (?:tensor<[\dx]{1,99}x)?b?f\d")


@declares("global", FindingKind(between=", "))
def globals_read(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each global that differs, if the TTIR of the two does."""
    diff = pair.diffs.get(_STAGE)
    if diff is None or not any(diff.counts.values()):
        return
    for reason in recompilation(pair.a, pair.b).reasons:
        if reason.input.kind != "global":
            continue
        places = list(_reading_places(pair.b.kernel, reason.input.name))
        first = places[0] if places else None
        following, where = following_names(reason), place_text(first, pair.b.kernel).removeprefix("of ")
        causes = [FindingCause("following", (following,))] if following else []
        causes += [FindingCause("reader", (where,))] if first else []
        causes += [FindingCause("constant")] if _has_other_number(diff) else []
        yield Finding(
            input_text(reason.input),
            Severity.SEMANTICS.weight(),
            "global",
            *evidence_pair(_STAGE, _lines(diff.left, places), _lines(diff.right, places)),
            subject=place_subject(first),
            changes=tuple(ValueChange(a, b, name) for name, a, b in value_changes(reason)),
            causes=tuple(causes),
        )


def _reading_places(kernel: Kernel, name: str) -> Iterator[SourcePlace]:
    """Yield the lines of the kernel and its helpers that read a global."""
    for function in (kernel.source, *kernel.helpers):
        tree = function_node(function.text)
        nodes = ast.walk(tree) if tree else ()
        lines = {node.lineno for node in nodes if isinstance(node, ast.Name) and node.id == name}
        yield from (SourcePlace(function.file, line + function.line - 1) for line in sorted(lines))


def _has_other_number(diff: StageDiff) -> bool:
    """Return True if a constant of floats differs: one of integers can be a size."""
    constants = (row.left for row in diff.rows if Change.CONSTANT in row.change and row.left is not None)
    return any(_FLOATS.search(diff.left.lines[line]) for line in constants)


def _lines(document: Document, places: list[SourcePlace]) -> Iterator[int]:
    """Yield the lines of the operations that come from lines which read the global."""
    lines = {(place.file, place.line) for place in places}
    for operation in document.operations:
        location = operation.location
        if location is not None and (location.file, location.line) in lines:
            yield operation.line
