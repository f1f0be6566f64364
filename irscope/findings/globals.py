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
from irscope.facts.fact import Evidence
from irscope.facts.instruction_mix import place_subject, place_text
from irscope.facts.source.map import SourcePlace
from irscope.findings.cache_key import function_node
from irscope.findings.cache_key_diff import following_text, input_text, recompilation, value_changes
from irscope.findings.finding import Finding, PairContext, Severity, ValueChange
from irscope.languages.document import Document
from irscope.model import Kernel, SourceFunction

_STAGE = "ttir"
# A constant of floats: `arith.constant dense<2.0> : tensor<128xf32>`.
_FLOATS = re.compile(r"arith\.constant .*: (?:tensor<[\dx]{1,99}x)?b?f\d")


def globals_read(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each global that differs, if the TTIR of the two does."""
    diff = pair.diffs.get(_STAGE)
    if diff is None or not any(diff.counts.values()):
        return
    effect = "; the results change with the constant" if _has_other_number(diff) else ""
    for reason in recompilation(pair.a, pair.b).reasons:
        if reason.input.kind != "global":
            continue
        places = list(_reading_places(pair.b.kernel, reason.input.name))
        where = place_text(places[0], pair.b.kernel).removeprefix("of ") if places else ""
        yield Finding(
            input_text(reason.input),
            Severity.SEMANTICS.weight(),
            "global",
            tuple(_evidence(diff.left, places)),
            tuple(_evidence(diff.right, places)),
            subject=place_subject(places[0]) if places else "",
            changes=tuple(ValueChange(a, b, name) for name, a, b in value_changes(reason)),
            note=f"{following_text(reason)}{f', read by {where}' if where else ''}{effect}",
        )


def _reading_places(kernel: Kernel, name: str) -> Iterator[SourcePlace]:
    """Yield the lines of the kernel and its helpers that read a global."""
    for function in (kernel.source, *kernel.helpers):
        yield from (SourcePlace(function.file, line) for line in _reading_lines(function, name))


def _reading_lines(function: SourceFunction, name: str) -> list[int]:
    tree = function_node(function.text)
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name)) if tree else ()
    return sorted({node.lineno + function.line - 1 for node in names if node.id == name})


def _has_other_number(diff: StageDiff) -> bool:
    """Return True if a constant of floats differs: one of integers can be a size."""
    constants = (row.left for row in diff.rows if Change.CONSTANT in row.change and row.left is not None)
    return any(_FLOATS.search(diff.left.lines[line]) for line in constants)


def _evidence(document: Document, places: list[SourcePlace]) -> Iterator[Evidence]:
    """Yield the operations that come from lines which read the global."""
    lines = {(place.file, place.line) for place in places}
    for operation in document.operations:
        location = operation.location
        if location is not None and (location.file, location.line) in lines:
            yield Evidence(_STAGE, operation.line)
