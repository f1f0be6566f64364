"""The list of passes, A's and B's side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui.bindings import KeyGroup, key
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import LineView
from irscope.workspace import PassLine

# Below this width the times do not fit.
_TIMES_FROM = 110
_DIVERGING = "◆"


class PassView(LineView):
    """The passes; those that changed nothing are dim."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the list of passes", (key("enter", "open", "Enlarge the diff of the pass", "enlarge"),)
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS.bindings]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"pass--diverging"}

    class PassOpened(Message):
        """The user wants to enlarge the diff of the pass."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._passes: Sequence[PassLine] = ()
        self._heading = ""
        self._paired = False

    def show(self, passes: Sequence[PassLine], heading: str, paired: bool) -> None:
        """Shows passes; the cursor stays on its pass if that is still shown."""
        current = self.current
        self._passes, self._heading, self._paired = passes, heading, paired
        self.lines_changed()
        if current is not None and current in passes:
            self.cursor = list(passes).index(current)

    @property
    def current(self) -> PassLine | None:
        """The pass under the cursor."""
        return self._passes[self.cursor] if self.cursor < len(self._passes) else None

    def action_open(self) -> None:
        """Enlarges the diff of the pass."""
        self.post_message(self.PassOpened())

    def line_count(self) -> int:
        """The number of passes."""
        return len(self._passes)

    def draw_heading(self, width: int) -> Strip:
        """Draws the heading."""
        return self.bar(f" {self._heading}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A pass: number, stage, name, times, summary."""
        line = self._passes[index]
        step = line.step
        base = self.style("row--cursor") if index == self.cursor else self.base
        ink = base if line.changed or step.failed else base + self.ink("dim")
        mark = base + self.ink("pass--diverging")
        name = step.name or "(Triton itself)"
        widest = max(len(each.step.name) for each in self._passes)
        segments = [
            Segment(f" {_DIVERGING} " if line.diverging else "   ", mark),
            Segment(f"{step.number:>3} {step.stage:<5} {display_line(name):<{widest}} ", ink),
        ]
        if width >= _TIMES_FROM:
            times = (line.a, line.b) if self._paired else (line.step,)
            text = "".join(f"{'' if each is None else f'{each.seconds * 1e3:.2f}':>8}" for each in times)
            segments.append(Segment(f"{text} ms  ", ink))
        if line.diverging:
            segments.append(Segment(f"{' and '.join(line.diverging)} diverge here: ", mark))
        segments.append(Segment(display_line(line.summary), ink))
        return Strip(fitted(segments, width, base), width)
