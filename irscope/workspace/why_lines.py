"""Why B was compiled after A and what changed, and the compilations of the whole capture, line by line.

The command line, Markdown and the app lay out these lines; none of them adds words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from irscope.facts.source.map import SourcePlace
from irscope.findings.cache_key import CacheKeyInput
from irscope.findings.cache_key_diff import key_sentence
from irscope.findings.compilations import Compilations, compilation_summary, compilation_totals
from irscope.findings.finding import Finding
from irscope.model import Variant
from irscope.model.text import pluralize
from irscope.workspace.comparison import Comparison
from irscope.workspace.source_lines import PythonSource
from irscope.workspace.variant_texts import PYTHON


@dataclass(frozen=True)
class StageLine:
    """A line (from 0) of a stage of A, or of B if `right`."""

    stage: str
    line: int
    right: bool


@dataclass(frozen=True)
class TextLine:
    """A sentence or a title.

    `level` is its indentation, `target` the line that it is about. `rank`, from 1, is set for a finding;
    a finding that is only shown with all others is one of the `rest`.
    """

    text: str
    level: int = 1
    title: bool = False
    target: StageLine | None = None
    rank: int | None = None
    rest: bool = False


def pair_lines(pair: Comparison) -> list[TextLine]:
    """Say why B was compiled after A, what changed, and whether it was worth it.

    Compares all stages. Raises UserError if a stage is damaged.
    """
    if pair.single:
        return [TextLine("A and B are the same variant", title=True, level=0)]
    return [
        *reason_lines(pair),
        TextLine("What changed", title=True, level=0),
        *_effects(pair),
        *worth_lines(pair),
    ]


def reason_lines(pair: Comparison) -> list[TextLine]:
    """Say why B was compiled after A, below a title."""
    return [TextLine("Why it was compiled again", title=True, level=0), *_reasons(pair)]


def worth_lines(pair: Comparison) -> list[TextLine]:
    """Say whether compiling B was worth it, and what would have avoided it, below a title."""
    return [
        TextLine("Was it worth it", title=True, level=0),
        TextLine(pair.verdict),
        *(TextLine(f"To avoid it: {remedy}") for remedy in pair.remedies),
    ]


def without_rest(lines: Iterable[TextLine], how: str = "") -> Iterator[TextLine]:
    """Yield the lines without the `rest` of the findings; a line in their place counts them.

    `how` is what it says about how to get them: ": --all-findings".
    """
    for rest, group in groupby(lines, key=lambda line: line.rest):
        lines_of_group = list(group)
        yield from (
            [TextLine(pluralize(len(lines_of_group), "more finding") + how)] if rest else lines_of_group
        )


def compilation_lines(kernels: Iterable[Compilations]) -> list[TextLine]:
    """List the compilations of each kernel of a capture."""
    lines = []
    for kernel in kernels:
        title = f"{kernel.kernel} in this capture: {compilation_totals(kernel)}"
        lines.append(TextLine(title, title=True, level=0))
        lines += [TextLine(text, level) for level, text in compilation_summary(kernel)]
    return lines


def evidence_line(finding: Finding) -> StageLine | None:
    """Return the first line that proves a finding, in B if there is one."""
    for right, evidence in ((True, finding.evidence_b), (False, finding.evidence_a)):
        if evidence:
            return StageLine(evidence[0].stage, evidence[0].line, right)
    return None


def _reasons(pair: Comparison) -> Iterator[TextLine]:
    a, b = pair.variants
    if a.kernel.name != b.kernel.name:
        yield TextLine(pair.mismatch)
    yield from map(TextLine, pair.origins)
    why = pair.recompilation
    yield TextLine(f"{key_sentence(why, len(a.cache_key.keys() | b.cache_key.keys()))}:")
    for reason in why.reasons:
        yield TextLine(reason.text, 2, target=_python_line(b, reason.input))
    if not why.reasons:
        same = "none: Triton uses one compilation for both" if why.whole else "none of these differs"
        yield TextLine(same, 2)
    yield from (TextLine(f"Unknown: {text}") for text in why.unknown)


def _python_line(variant: Variant, name: CacheKeyInput) -> StageLine | None:
    """Return the line of the Python source that declares an input; None if the source does not."""
    source = PythonSource.of_variant(variant)
    if name.kind in ("source", "helper", "line"):
        functions = (variant.kernel.source, *variant.kernel.helpers)
        declarations = [SourcePlace(f.file, f.line) for f in functions if f.name == name.name]
        line = source.line_of(declarations[0]) if declarations else None
    else:
        word = re.compile(rf"\b{re.escape(name.name)}\b")
        indices = (index for index, text in enumerate(source.texts) if name.name and word.search(text))
        line = next((index for index in indices if _of_kernel(source, index, variant)), None)
    return None if line is None else StageLine(PYTHON, line, True)


def _of_kernel(source: PythonSource, index: int, variant: Variant) -> bool:
    """Check whether a line is the kernel's own or a helper's, not the program's."""
    line_place = source.places[index]
    functions = (variant.kernel.source, *variant.kernel.helpers)
    return line_place is not None and any(line_place.file == function.file for function in functions)


def _effects(pair: Comparison) -> Iterator[TextLine]:
    # The first difference comes first, and the verdict says whether the machine code is identical.
    first = [finding for finding in pair.findings if finding.kind == "stages"]
    yield from (TextLine(finding.text, target=evidence_line(finding)) for finding in first)
    if pair.bits_text:
        yield TextLine(pair.bits_text)
    shown = len(pair.main_findings)
    ranked_findings = [
        (finding, place >= shown) for place, finding in enumerate(pair.findings) if not finding.declared.whole
    ]
    for rank, (finding, rest) in enumerate(ranked_findings, 1):
        yield TextLine(finding.text, target=evidence_line(finding), rank=rank, rest=rest)
    if not ranked_findings:
        yield TextLine("No fact differs")
