"""A bar whose labels are wrapped at words, on as many lines as they need."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from irscope.model.text import display_line
from irscope.tui.paint import ELLIPSIS, fitted
from irscope.tui.widgets.bars import Bar, Label


class WrappedBar(Bar):
    """Labels on one or more lines; subclasses name their style classes."""

    def set_labels(self, labels: Sequence[Label]) -> None:
        """Shows other labels, on as many lines as they need."""
        super().set_labels(labels)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The number of lines."""
        return max(1, len(self._wrapped(width)))

    def render_line(self, y: int) -> Strip:
        """Draws a line; the last one ends in an ellipsis if there are more than fit on the screen."""
        width = self.size.width
        lines = self._wrapped(width)
        segments = [
            Segment(text, self.get_component_rich_style(style))
            for text, style in (lines[y] if y < len(lines) else ())
        ]
        if y == self.size.height - 1 and len(lines) > y + 1:
            more = Segment(f" {ELLIPSIS}", segments[-1].style)
            return Strip(fitted([*segments, more], width, self.rich_style), width)
        return Strip(segments).adjust_cell_length(width, self.rich_style).crop(0, width)

    def _wrapped(self, width: int) -> list[list[tuple[str, str]]]:
        """The labels as lines of pieces, each a text and its style class."""
        lines: list[list[tuple[str, str]]] = [[]]
        used = 0
        for label in self.labels(width):
            for word in re.findall(r" *[^ ]+ *$| *[^ ]+| +", display_line(label.text)):
                fits = not used or used + cell_len(word.rstrip()) <= width
                if not fits:
                    lines.append([])
                piece = word if fits else f" {word.lstrip()}"
                lines[-1].append((piece, label.style))
                used = (used if fits else 0) + cell_len(piece)
        return lines
