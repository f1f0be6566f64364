"""`irscope versions` for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irscope.model.text import one_line, pluralize
from irscope.report.terminal.styles import PLAIN, Paint
from irscope.workspace import VersionStep, VersionSummary


def versions_text(summaries: Sequence[VersionSummary], paint: Paint = PLAIN) -> Iterator[str]:
    """The lines: a block per kernel and target, in it a paragraph per step from a version to the next."""
    for number, summary in enumerate(summaries):
        if number:
            yield ""
        versions = ", ".join(str(version) for version in summary.versions)
        most = max(map(len, summary.versions.values()))
        yield paint(one_line(f"{summary.kernel}  {summary.target}"), "heading") + one_line(
            f"  {pluralize(most, 'config')}: {versions}"
        )
        for step in summary.steps:
            yield from _step(step, paint)


def _step(step: VersionStep, paint: Paint) -> Iterator[str]:
    yield paint(one_line(f"  {step.heading}"), "heading") + f"  {step.counts}"
    total = len(step.pairs)
    for movement in step.movements:
        word, style = ("worse", "warning") if movement.worse else ("better", "best")
        yield f"    {paint(word.ljust(6), style)}  {one_line(movement.text(total))}"
    if step.first_stages:
        yield f"    first real difference: {step.first_stages}"
