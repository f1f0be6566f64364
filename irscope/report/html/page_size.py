"""Chooses the stages and the number of table rows that a page has room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from irscope.report.capture_report import CaptureReport
from irscope.report.html.markup import Html
from irscope.report.html.pair_section import pair_data
from irscope.report.pair_report import PairReport
from irscope.workspace import TableSection, table_view

# The most rows of all tables, which browsers still lay out fast, and the fewest of one.
_MAX_ROWS, MIN_ROWS = 2000, 20
# The bytes of a cell and of the rest of a row, as measured on sweeps; links, names and notes vary.
_CELL, _ROW = 60, 260


class Stages:
    """The stages of a report's pairs whose data fit into `room` bytes; the largest are left out first.

    `pairs` are the pairs with the stages that stay, `left_out` the names of the others, per pair.
    """

    def __init__(self, report: CaptureReport, room: int) -> None:
        self.pairs = list(report.pairs)
        self.left_out: list[list[str]] = [[] for _ in report.pairs]
        self._data = [
            dict(zip(pair.shown, pair_data(pair, number), strict=True))
            for number, pair in enumerate(report.pairs, 1)
        ]
        while self._size() > room and self.drop():
            pass

    def data(self, number: int, pair: PairReport) -> Sequence[Html]:
        """The data of the stages that stay of pair `number`, from 1."""
        return [self._data[number - 1][stage] for stage in pair.shown]

    def drop(self) -> bool:
        """Leaves out the largest stage; False if there is none."""
        sizes = [
            (len(data), number, name) for number, own in enumerate(self._data) for name, data in own.items()
        ]
        if not sizes:
            return False
        _, number, stage = max(sizes)
        del self._data[number][stage]
        pair = self.pairs[number]
        self.pairs[number] = replace(pair, shown=[name for name in pair.shown if name != stage])
        self.left_out[number].append(stage)
        return True

    def _size(self) -> int:
        return sum(len(data) for own in self._data for data in own.values())


def most_rows(sections: Sequence[TableSection]) -> int:
    """The most rows, or points of charts, per section."""
    return max(MIN_ROWS, _MAX_ROWS // max(1, len(sections)))


def fitting_rows(sections: Sequence[TableSection], room: int) -> int:
    """The most rows per table with which all tables have about `room` bytes."""
    most = most_rows(sections)
    width = 0
    for section in sections:
        view = table_view(replace(section, entries=section.entries[:most]))
        columns = len(view.configs) + len(view.varying_facts)
        width = max(width, _ROW + _CELL * columns)
    rows = sum(min(len(section.entries), most) for section in sections)
    return most if rows * width <= room or not sections else max(MIN_ROWS, room // width // len(sections))
