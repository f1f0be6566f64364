"""The layouts of A and B: which thread holds an element, where it is in memory, which banks serve it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from irscope.model import UserError
from irscope.tui.background import Background
from irscope.tui.bindings import LEAVE, KeyGroup, key
from irscope.tui.pair_state import PairState
from irscope.tui.screens import OPEN_LAYOUTS
from irscope.tui.screens.dialogs import DismissOnce
from irscope.tui.screens.explain import explain_line
from irscope.tui.widgets.bars import KeyHints, Label
from irscope.tui.widgets.grid_view import GridView, LayoutBar
from irscope.workspace import ColorBy, DrawingOptions, LayoutComparison, LayoutDrawing, ValuePair
from irscope.workspace.variant_texts import PYTHON, written_stage

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen

_NAMES = re.compile(r"%[\w$.-]+(?:#\d+)?|#[A-Za-z_]\w*")
_MAX_NAMES = 40
_MAX_LINE = 2000


class LayoutScreen(DismissOnce[None]):
    """Starts with the first value of A, or of B if `right`, that one of `names` names.

    `written`: the layouts as a Gluon kernel writes them.
    """

    OPENED_BY: ClassVar[Binding] = OPEN_LAYOUTS
    KEYS: ClassVar[Sequence[KeyGroup]] = (
        KeyGroup(
            "In the layouts",
            (
                key("l,right", "cell(0, 1)", "Next cell", "cell"),
                key("h,left", "cell(0, -1)", "Previous cell"),
                key("j,down", "cell(1, 0)", "Cell below"),
                key("k,up", "cell(-1, 0)", "Cell above"),
                key("pagedown,space", "cells_down(1)", "Page down"),
                key("pageup", "cells_down(-1)", "Page up"),
                key("tab,n", "value(1)", "Next tensor or buffer of the kernel", "value"),
                key("shift+tab,N", "value(-1)", "Previous tensor or buffer"),
                key("z", "whole", "Show the whole tensor, or the part that repeats", "whole"),
                key("c", "compact", "Compact: all of it by warp, thread and register, or bank", "compact"),
                key("s", "swizzle", "Show shared memory without or with its swizzle", "swizzle"),
                key(
                    "w",
                    "written",
                    "Gluon: show the layouts as written, or as lowered",
                    "written",
                    applies=lambda screen: screen.is_gluon,
                ),
                key("b", "banks", "Show the banks of each access, then the buffer", "banks"),
            ),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS[0].bindings, *LEAVE.bindings]

    @classmethod
    def open(cls, main: CompareScreen) -> None:
        """Show the layouts of A and B, starting with the value on the line."""
        if "ttgir" not in main.pair.stages:
            main.notify("There are no layouts without TTGIR", severity="warning")
            return
        names, right = _names_on_line(main)
        as_written = written_stage(main.shown_variant(right)) == main.stage
        main.app.push_screen(cls(main.pair, main.background, names, right, as_written))

    def __init__(
        self,
        pair: PairState,
        background: Background,
        names: Sequence[str],
        right: bool,
        written: bool = False,
    ) -> None:
        super().__init__()
        self._written = written
        self._pair = pair
        self._background = background
        self._names, self._right = names, right
        self._layouts: LayoutComparison | None = None
        self._view = GridView()
        self._index = 0
        self._options = DrawingOptions()
        # The property that colors the compact view; None: the view is not compact.
        self._color_by: ColorBy | None = None
        # Per side what it has on its own, then what both have.
        self._descriptions: list[str] = []
        self._common = ""

    def compose(self) -> ComposeResult:
        """Yield the title, the grids, the cell under the cursor and a description per side, the keys."""
        yield LayoutBar(id="layout-title")
        yield self._view
        yield LayoutBar(id="layout-difference")
        yield LayoutBar(id="layout-a")
        yield LayoutBar(id="layout-b")
        yield LayoutBar(id="layout-both")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Parse the stages in the background."""
        self._view.focus()
        self._set_title([Label(" reading the layouts...", "note")])
        self._read()

    @work(exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        try:
            self._layouts = await self._background.run(LayoutComparison, self._pair.comparison, self._written)
        except (UserError, KeyError):
            self._set_title([Label(" A or B has no TTGIR, so there are no layouts ", "problem")])
            return
        self._index = self._layouts.find(self._names, self._right)
        self._show()

    # Drawing.

    @property
    def _value(self) -> ValuePair | None:
        """Return the value on screen; None before the layouts are read, or if there is none."""
        return self._layouts.values[self._index] if self._layouts and self._layouts.values else None

    @on(GridView.Resized)
    def _show(self) -> None:
        layouts, value = self._layouts, self._value
        if layouts is None:
            return
        if value is None:
            self._set_title([Label(" No tensor of this kernel has a layout ", "problem")])
            return
        drawings = layouts.draw(value, self._drawing_options(layouts, value))
        self._view.show([drawing.grid for drawing in drawings])
        number = Label(f" {self._index + 1} of {len(layouts.values)} ", "value")
        self._set_title(
            [
                number,
                *self._map_label(layouts, value),
                *self._stage_label(),
                *(Label(f" {head} ", "name") for head in self._pair.headings() if head),
            ]
        )
        bar = self.query_one("#layout-difference", LayoutBar)
        difference = layouts.difference(value)
        bar.display = bool(difference)
        bar.set_labels([Label(" B compared with A: ", "note"), Label(difference, "value")])
        self._descriptions, self._common = _descriptions(drawings)
        self._describe()

    def _drawing_options(self, layouts: LayoutComparison, value: ValuePair) -> DrawingOptions:
        """Return the options with the size of a cell of the compact view, if that is on."""
        choices = layouts.color_choices(value)
        if self._color_by is None or not choices or self._options.access is not None:
            return self._options
        by = self._color_by if self._color_by in choices else choices[0]
        if self._options.whole:
            return replace(self._options, cell=(1, 1), color_by=by)
        shapes, panes = layouts.shapes(value), self._view.panes()
        maps = [self._options.as_map(shapes, rows, columns, by) for rows, columns in panes]
        return min(maps, key=lambda options: prod(options.cell or ()))

    def _map_label(self, layouts: LayoutComparison, value: ValuePair) -> list[Label]:
        """Return the meaning of the glyphs in the compact view."""
        by = self._drawing_options(layouts, value).color_by
        return [Label(f" by {by.value} ", "note")] if by is not None else []

    def _stage_label(self) -> list[Label]:
        """Return whether the layouts of a Gluon kernel are shown as written or as lowered."""
        stage = written_stage(self._pair.a)
        if stage is None:
            return []
        return [Label(f" as written ({stage}) " if self._written else " as lowered (ttgir) ", "note")]

    def _set_title(self, labels: Sequence[Label]) -> None:
        self.query_one("#layout-title", LayoutBar).set_labels(labels)

    @on(GridView.CellMoved)
    def _describe(self) -> None:
        """Describe the cell under the cursor and the drawing, for each side."""
        cells = self._view.cells()
        for index, letter in enumerate("AB"):
            bar = self.query_one(f"#layout-{letter.lower()}", LayoutBar)
            bar.display = index < len(self._descriptions)
            if bar.display:
                cell = cells[index] if index < len(cells) else None
                position = [Label(f" {cell.description} ", "value")] if cell else []
                name = Label(f" {letter} " if len(self._descriptions) > 1 else " ", "name")
                bar.set_labels([name, *position, Label(f" {self._descriptions[index]} ", "note")])
        both = self.query_one("#layout-both", LayoutBar)
        both.display = bool(self._common)
        both.set_labels([Label(" A, B ", "name"), Label(f" {self._common} ", "note")])

    # Actions.

    def action_cell(self, rows: int, columns: int) -> None:
        """Move the cursor."""
        row, column = self._view.cursor
        self._view.cursor = (row + rows, column + columns)

    def action_cells_down(self, pages: int) -> None:
        """Move the cursor by a page."""
        self.action_cell(pages * self._view.page(), 0)

    def action_value(self, step: int) -> None:
        """Show another tensor of the kernel."""
        if self._layouts is not None and self._layouts.values:
            self._index = (self._index + step) % len(self._layouts.values)
            self._options = replace(self._options, access=None)
            self._show()

    def action_whole(self) -> None:
        """Show the whole tensor, or the part that repeats."""
        self._options = replace(self._options, whole=not self._options.whole)
        self._show()

    def action_compact(self) -> None:
        """Show all of the value with a glyph per cell: by warp, by thread, by register; then cells again."""
        if self._layouts is None or self._value is None:
            return
        order = [None, *self._layouts.color_choices(self._value)]
        index = order.index(self._color_by) if self._color_by in order else min(1, len(order) - 1)
        self._color_by = order[(index + 1) % len(order)]
        self._show()

    def action_swizzle(self) -> None:
        """Show buffers without or with their swizzle."""
        self._options = replace(self._options, swizzle=not self._options.swizzle)
        self._show()

    @property
    def is_gluon(self) -> bool:
        """Return True if the layouts as written are known: only Gluon kernels have them."""
        return written_stage(self._pair.a) is not None

    def action_written(self) -> None:
        """Show the layouts of a Gluon kernel as written, or as lowered."""
        if self._layouts is None:
            return
        self._names = [self._value.tensor.python] if self._value else []
        self._right, self._written = False, not self._written
        self._read()

    def action_banks(self) -> None:
        """Show the banks of the next access to the buffer; after the last access, the buffer."""
        if self._layouts is None or self._value is None:
            return
        count = self._layouts.access_count(self._value)
        if not count:
            self.notify("This value has no accesses to shared memory with known banks", severity="warning")
            return
        following = 0 if self._options.access is None else self._options.access + 1
        self._options = replace(self._options, access=following if following < count else None)
        self._show()

    def action_explain(self) -> None:
        """Explains the terms in the descriptions of the layouts."""
        explain_line(self.app, " ".join(self._descriptions))

    def action_close(self) -> None:
        """Return to the texts."""
        self.dismiss(None)


def _descriptions(drawings: Sequence[LayoutDrawing]) -> tuple[list[str], str]:
    """Return the sentences that only one side has, per side, and those of both, each in one line."""
    texts = [list(drawing.sentences or drawing.grid.notes) for drawing in drawings]
    common = [sentence for sentence in texts[0] if sentence in texts[1]] if len(texts) > 1 else []
    side_texts = [" ".join(sentence for sentence in text if sentence not in common) for text in texts]
    return side_texts, " ".join(common)


def _names_on_line(main: CompareScreen) -> tuple[list[str], bool]:
    """Return the names on the line under the cursor, and whether it is B's."""
    line, right = main.texts.place
    if main.stage == PYTHON:
        kernel = main.shown_variant(right).kernel
        return [f":{kernel.source.line + line}"], right
    if main.stage not in ("ttgir", written_stage(main.shown_variant(right))):
        return [], right
    text = (main.texts.line_text(right) or "")[:_MAX_LINE]
    return _NAMES.findall(text)[:_MAX_NAMES], right
