"""Why B was compiled after A, two captures, and the outcome of --fail-on, before any format."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irscope.document.blocks import Block, Folded, Line, StageDiffs, title, variant_name
from irscope.document.report_content import PairReport
from irscope.workspace import CaptureComparison, Comparison, Compilations, GateResult, TextLine
from irscope.workspace.why_lines import compilation_lines, pair_lines, without_rest

# More than a person reads; the JSON has all.
_MAX_VIOLATIONS = 20


def diff_content(
    pair: PairReport, context: int = 3, rows: int | None = None, all_findings: bool = False
) -> Iterator[Block]:
    """Yield the report on a pair with the rows of the stages asked for.

    `context` is how many equal rows are next to a change, `rows` the most rows (None: all).
    """
    yield from pair_content(pair, all_findings, pair.comparison.bits_hint)
    if pair.shown:
        yield StageDiffs([pair.diffs[name] for name in pair.shown], context, rows)


def pair_content(pair: PairReport, all_findings: bool = False, hint: str = "") -> Iterator[Block]:
    """Yield the two variants, their findings, and a line per stage; `hint` says what else to ask for."""
    comparison = pair.comparison
    yield from _variants(comparison)
    config = comparison.config_text or "identical configs"
    difference = "; ".join(filter(None, [config, comparison.input_text, comparison.mismatch]))
    yield Line(f"   {difference}")
    yield from (Line(f"   {text}") for text in (*comparison.origins, comparison.bits_text, hint) if text)
    yield title("Findings")
    texts = [finding.text for finding in comparison.findings]
    if texts:
        shown = len(texts) if all_findings else len(comparison.main_findings)
        yield Folded(texts, shown, "finding", "--all-findings")
    else:
        yield Line("     none: no fact differs")
    yield title("Stages")
    if not pair.diffs:
        yield Line("     A and B have no text stage in common")
    width = max(map(len, pair.diffs), default=0)
    yield from (Line(f"{name:<{width}}  {diff.summary}", 1) for name, diff in pair.diffs.items())


def _variants(comparison: Comparison) -> Iterator[Block]:
    for letter, variant, name in zip("AB", comparison.variants, comparison.names, strict=True):
        yield variant_name(variant, name, letter)


def why_content(comparison: Comparison, all_findings: bool) -> Iterator[Block]:
    """Yield the report on two variants, with all findings or the most important ones."""
    yield from _variants(comparison)
    lines = pair_lines(comparison)
    yield from sentences(lines if all_findings else without_rest(lines, ": --all-findings"))
    if comparison.bits_hint:
        yield Line(comparison.bits_hint, gap=True)


def compilations_content(kernels: Sequence[Compilations]) -> Iterator[Block]:
    """Yield the report on a whole capture."""
    return sentences(compilation_lines(kernels))


def sentences(lines: Iterable[TextLine]) -> Iterator[Line]:
    """Yield titles, and the sentences below them."""
    for line in lines:
        yield title(line.text) if line.title else Line(line.text, line.level, line.rank, target=line.target)


def captures_content(comparison: CaptureComparison, most: int) -> Iterator[Block]:
    """Yield the report on two captures, with at most `most` pairs in each list."""
    for index, side in enumerate(("OLD", "NEW")):
        yield Line([(side, "heading"), (f"  {comparison.summary(index)}", "")])
    yield title("Matched", comparison.matched)
    yield from (Line(line, 1) for line in comparison.counts)
    yield from map(Line, comparison.unmatched)
    parts = [
        ("Edited", [f"{kernel}, {text}" for kernel, text in comparison.edits], None),
        ("Worse", map(comparison.pair_text, comparison.worse[:most]), len(comparison.worse)),
        ("Only better", map(comparison.pair_text, comparison.better[:most]), len(comparison.better)),
    ]
    for heading, texts, number in parts:
        lines = [Line(text, 1) for text in texts]
        if lines:
            yield title(heading)
            yield from lines
            yield from _omitted((number or 0) - len(lines), 1)


def gate_content(gate: GateResult) -> Iterator[Block]:
    """Yield a line per condition, each followed by the variants for which it is true."""
    yield title("Fail on")
    for condition in gate.conditions:
        violations = [violation for violation in gate.violations if violation.condition == condition]
        number = f"true for {len(violations)}" if violations else "not true"
        yield Line(f"{condition.text}: {number}", 1)
        yield from (Line(f"{v.where}: {v.text}", 2) for v in violations[:_MAX_VIOLATIONS])
        yield from _omitted(len(violations) - _MAX_VIOLATIONS, 2)
    yield from (Line([(text, "warning")], 1) for text in (*gate.problems, *gate.unchecked))
    yield Line(gate.summary)


def _omitted(number: int, level: int) -> Iterator[Line]:
    if number > 0:
        yield Line(f"{number} more are omitted; --format json has all", level)
