"""`irscope diff OLD NEW` for a person."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.model.text import one_line
from irscope.report.terminal.styles import PLAIN, Paint
from irscope.workspace import CaptureComparison


def captures_text(comparison: CaptureComparison, most: int, paint: Paint = PLAIN) -> Iterator[str]:
    """The lines of the report, with at most `most` pairs in each list."""
    for index, side in enumerate(("OLD", "NEW")):
        yield paint(side, "heading") + one_line(f"  {comparison.summary(index)}")
    yield ""
    yield paint("Matched", "heading") + f"  {comparison.matched}"
    yield from (one_line(f"  {line}") for line in comparison.counts)
    yield from (one_line(line) for line in comparison.unmatched)
    if comparison.edits:
        yield ""
        yield paint("Edited", "heading")
        yield from (one_line(f"  {kernel}, {text}") for kernel, text in comparison.edits)
    for title, pairs in (("Worse", comparison.worse), ("Only better", comparison.better)):
        if pairs:
            yield ""
            yield paint(title, "heading")
            yield from (one_line(f"  {comparison.pair_text(pair)}") for pair in pairs[:most])
            if len(pairs) > most:
                yield f"  {len(pairs) - most} more are omitted; --format json has all"
