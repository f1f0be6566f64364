"""The outcome of `irscope diff --fail-on` for a person."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.model.text import one_line
from irscope.report.terminal.styles import PLAIN, Paint
from irscope.workspace import GateResult

# More than a person reads; the JSON has all.
_MAX_VIOLATIONS = 20


def gate_text(gate: GateResult, paint: Paint = PLAIN) -> Iterator[str]:
    """A line per condition, each followed by the variants for which it is true."""
    yield ""
    yield paint("Fail on", "heading")
    for condition in gate.conditions:
        found = [one for one in gate.violations if one.condition == condition]
        number = f"true for {len(found)}" if found else "not true"
        yield one_line(f"  {condition.text}: {number}")
        yield from (one_line(f"    {one.where}: {one.text}") for one in found[:_MAX_VIOLATIONS])
        if len(found) > _MAX_VIOLATIONS:
            yield f"    {len(found) - _MAX_VIOLATIONS} more are omitted; --format json has all"
    yield from (paint(one_line(f"  {problem}"), "warning") for problem in gate.problems)
    yield one_line(gate.summary)
