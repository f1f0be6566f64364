"""`irscope pick --calibrate` for a person: each constant before and after, and the error of the estimates."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.model.text import one_line, pluralize
from irscope.report.terminal.styles import Paint
from irscope.workspace import Calibration


def calibration_text(found: Calibration, paint: Paint) -> Iterator[str]:
    """The lines of the report; constants that moved are marked with `*`."""
    launches, problems = pluralize(found.launches, "measured launch"), pluralize(found.problems, "problem")
    yield paint(one_line(f"{found.device}: {launches} of {problems}"), "heading")
    yield ""
    width = max(len(one.name) for one in found.constants)
    yield f"{'constant':<{width}}  {'before':>8}  {'after':>8}   unit"
    for one in found.constants:
        before, after = (f"{value:.3g}" for value in (one.before, one.after))
        mark = " " if before == after else "*"
        what = f"{one.unit}: {one.meaning}" if one.unit else one.meaning
        yield f"{one.name:<{width}}  {before:>8}  {after:>8}{mark}  {what}"
    yield ""
    yield f"typical error of an estimate: {found.error_before:.1%} before, {found.error_after:.1%} after"
    yield one_line(f"written: {found.path}")
