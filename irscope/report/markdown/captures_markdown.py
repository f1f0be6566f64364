"""`irscope diff OLD NEW --format markdown`: for an issue or a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.model.text import markdown_escaped
from irscope.workspace import CaptureComparison


def captures_markdown(comparison: CaptureComparison, most: int) -> Iterator[str]:
    """The lines of the report, with at most `most` pairs in each list."""
    for index, side in enumerate(("OLD", "NEW")):
        yield f"- {side}: {markdown_escaped(comparison.summary(index))}"
    yield from ("", f"Matched: {comparison.matched}", "")
    yield from (f"- {markdown_escaped(line)}" for line in (*comparison.counts, *comparison.unmatched))
    for title, pairs in (("Worse", comparison.worse), ("Only better", comparison.better)):
        if pairs:
            yield from ("", f"### {title}", "")
            yield from (f"- {markdown_escaped(comparison.pair_text(pair))}" for pair in pairs[:most])
            if len(pairs) > most:
                yield f"- {len(pairs) - most} more"
