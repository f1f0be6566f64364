"""The list of passes: a line each, A's and B's side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.segment import Segment
from textual.binding import BindingType
from textual.message import Message
from textual.strip import Strip

from irscope.analysis.pass_history import PassStep
from irscope.model.text import display_line
from irscope.tui import keys
from irscope.tui.paint import fitted
from irscope.tui.widgets.line_view import LineView

# Below this width there is no room for the times.
_TIMES_FROM = 110
_PART = "◆"


@dataclass(slots=True)
class PassLine:
    """A pass as A and B ran it, None where one did not. `said` is what it did, as far as it is known.

    `parts` names the ways in which A and B part here.
    """

    a: PassStep | None
    b: PassStep | None
    said: str = ""
    parts: list[str] = field(default_factory=list)

    @property
    def step(self) -> PassStep:
        """The one that is there, A's first."""
        return next(step for step in (self.a, self.b) if step is not None)

    @property
    def changed(self) -> bool:
        """Whether it changed a module."""
        return any(step is not None and step.changed for step in (self.a, self.b))


class PassView(LineView):
    """Draws the passes that it is given; those that changed nothing are dim."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.PASS_LIST]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"pass--part"}

    class Moved(LineView.Moved):
        """Another pass is under the cursor; the diff beside moves too, and says so in its own name."""

    class Opened(Message):
        """The user wants to see the pass large."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._passes: Sequence[PassLine] = ()
        self._heading = ""
        self._paired = False

    def show(self, passes: Sequence[PassLine], heading: str, paired: bool) -> None:
        """Shows these; the cursor stays on its pass where that is still among them."""
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
        """The diff of the pass, large."""
        self.post_message(self.Opened())

    def line_count(self) -> int:
        """A line each."""
        return len(self._passes)

    def draw_heading(self, width: int) -> Strip:
        """Whose passes these are."""
        return self.bar(f" {self._heading}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """A pass: number, stage, name, times, what it did."""
        line = self._passes[index]
        step = line.step
        base = self.style("row--cursor") if index == self.cursor else self.base
        ink = base if line.changed or step.failed else base + self.ink("dim")
        part = base + self.ink("pass--part")
        name = step.name or "(Triton itself)"
        widest = max(len(each.step.name) for each in self._passes)
        segments = [
            Segment(f" {_PART} " if line.parts else "   ", part),
            Segment(f"{step.number:>3} {step.stage:<5} {display_line(name):<{widest}} ", ink),
        ]
        if width >= _TIMES_FROM:
            times = (line.a, line.b) if self._paired else (line.a,)
            segments.append(Segment("".join(f"{_time(each):>8}" for each in times) + " ms  ", ink))
        if line.parts:
            segments.append(Segment(f"{' and '.join(line.parts)} part here: ", part))
        segments.append(Segment(display_line(line.said), ink))
        return Strip(fitted(segments, width, base), width)


def _time(step: PassStep | None) -> str:
    return "" if step is None else f"{step.seconds * 1e3:.2f}"
