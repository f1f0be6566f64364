"""`irscope why` for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.model.text import one_line
from irscope.report.terminal.styles import Paint
from irscope.workspace import (
    Comparison,
    Compilations,
    Finding,
    compilation_summary,
    compilation_totals,
    key_sentence,
    reason_text,
    summarize,
)

# The JSON has all.
_MAX_FINDINGS = 8


def why_text(comparison: Comparison, paint: Paint) -> Iterator[str]:
    """The lines of the report on two variants."""
    for index, side in enumerate("AB"):
        yield paint(side, "heading") + one_line(f"  {comparison.describe(index)}")
    for title, lines in (
        ("Why it was compiled again", reason_lines(comparison)),
        ("Effects", effect_lines(comparison)),
        ("Was it worth it", [comparison.verdict, *avoid_lines(comparison)]),
    ):
        yield ""
        yield paint(title, "heading")
        yield from (one_line(f"  {line}") for line in lines)


def compilations_text(kernels: Sequence[Compilations], paint: Paint) -> Iterator[str]:
    """The lines of the report on a whole capture."""
    for index, kernel in enumerate(kernels):
        if index:
            yield ""
        yield paint(one_line(kernel.kernel), "heading") + one_line(f"  {compilation_totals(kernel)}")
        yield from (one_line(f"  {line}") for line in compilation_summary(kernel))


def reason_lines(comparison: Comparison) -> Iterator[str]:
    """The inputs of Triton's cache key that differ."""
    recompilation = comparison.recompilation
    a, b = comparison.variants
    if a.kernel.name != b.kernel.name:
        yield f"A and B are different kernels, {a.kernel.name} and {b.kernel.name}"
    yield f"{key_sentence(recompilation, len(a.cache_key.keys() | b.cache_key.keys()))}:"
    yield from (f"  {reason_text(reason)}" for reason in recompilation.reasons)
    if not recompilation.reasons:
        yield "  none: Triton uses one compilation for both"
    yield from (f"not known: {text}" for text in recompilation.unknown)


def effect_lines(comparison: Comparison) -> Iterator[str]:
    """The first stage that really differs, then the findings."""
    first = comparison.first_difference
    if first is not None:
        yield f"First real difference: {first.stage} ({summarize(first)})"
    elif comparison.stages:
        equal = all(diff.equal for diff in comparison.stages.values())
        what = "equal" if equal else "equal except for shapes and constants"
        yield f"All compared stages are {what}: {', '.join(comparison.stages)}"
    findings = effects(comparison)
    yield from (f"{number}. {finding.text}" for number, finding in enumerate(findings[:_MAX_FINDINGS], 1))
    if len(findings) > _MAX_FINDINGS:
        yield f"{len(findings) - _MAX_FINDINGS} smaller findings are omitted; --format json has all"
    if not findings:
        yield "no fact differs"


def effects(comparison: Comparison) -> list[Finding]:
    """The findings, without those that the first line and the verdict already contain."""
    return [finding for finding in comparison.findings if finding.kind not in ("stages", "identical")]


def avoid_lines(comparison: Comparison) -> list[str]:
    """What would have avoided the second compilation."""
    return [f"To avoid it: {remedy}" for remedy in comparison.remedies]
