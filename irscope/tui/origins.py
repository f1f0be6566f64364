"""The Python of a kernel and its helpers as one text, whose lines know their places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irscope.analysis.source_map import SourcePlace, python_lines
from irscope.model import Variant
from irscope.tui.page import PageSide


@dataclass(frozen=True)
class Python:
    """The kernel's source and that of the functions it calls, and the place of each of its lines."""

    side: PageSide
    places: Sequence[SourcePlace | None]

    def line_of(self, place: SourcePlace) -> int | None:
        """The line (from 0) that shows a place; None where the source does not have it."""
        return self.places.index(place) if place in self.places else None


def python_of(variant: Variant) -> Python:
    """The source of a variant's kernel, then of its helpers, with the line numbers of their files."""
    lines = python_lines(variant.kernel)
    side = PageSide([line.text for line in lines], "python", [line.number for line in lines])
    return Python(side, [line.place for line in lines])
