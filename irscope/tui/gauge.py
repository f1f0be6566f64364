"""The gauge next to assembly: a bar per line for the registers that are occupied, scaled to the limit.

`███▌` is 112 of at most 128 registers. The line under the cursor has the number instead, and so has the line
with the maximum, followed by `◂`.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style

from irscope.tui.paint import Styles
from irscope.workspace import Pressure

STYLE_CLASSES = ("gauge", "gauge--peak")
# A blank, the bar or the number, and the mark of the maximum.
WIDTH = 6
_BAR = 4
# In a narrower column, the text needs the cells.
NARROWEST = 70
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_PEAK = "◂"


def segments(
    pressure: Pressure | None, line: int, at_cursor: bool, base: Style, styles: Styles, part: int = 0
) -> list[Segment]:
    """The gauge of a line (from 0), in WIDTH cells."""
    number = pressure.by_line.get(line) if pressure and not part else None
    if pressure is None or number is None:
        return [Segment(" " * WIDTH, base)]
    at_peak = line == pressure.peak_line
    text = f"{number:.0f}".rjust(_BAR) if at_cursor or at_peak else bar(number, pressure.limit)
    ink = base + styles.ink("gauge--peak" if at_peak else "gauge")
    return [Segment(f" {text}{_PEAK if at_peak else ' '}", ink)]


def bar(number: float, limit: int) -> str:
    """A bar of _BAR cells, full at `limit`; never empty for a register or more."""
    eighths = min(round(number * 8 * _BAR / max(limit, 1)), 8 * _BAR)
    eighths = max(eighths, 1 if number else 0)
    whole, rest = divmod(eighths, 8)
    return f"{'█' * whole}{_EIGHTHS[rest] if rest else ''}".ljust(_BAR)
