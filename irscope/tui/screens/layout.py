"""The layouts of A and B: which thread holds an element, where it is in memory, which banks serve it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from irscope.model import UserError
from irscope.tui.background import Background
from irscope.tui.bindings import LEAVE, KeyGroup, key
from irscope.tui.controllers.main_screen import MainScreen, shown_variant
from irscope.tui.pair_state import PairState
from irscope.tui.screens.explain import explain_line
from irscope.tui.widgets.bars import KeyHints, Label
from irscope.tui.widgets.grid_view import GridView, LayoutBar
from irscope.tui.widgets.line_view import LineView
from irscope.workspace import PYTHON, DrawingOptions, LayoutComparison, written_stage

_NAMES = re.compile(r"%[\w$.-]+(?:#\d+)?|#[A-Za-z_]\w*")
_MAX_NAMES = 40
_MAX_LINE = 2000


class LayoutScreen(Screen[None]):
    """Starts with the first value of A, or of B if `right`, that one of `names` names.

    `written`: the layouts as a Gluon kernel writes them.
    """

    OPENED_BY: ClassVar[Binding] = key(
        "T", "open('layout')", "Tensor layouts: threads, registers and memory", "layouts", name="layout"
    )
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
                key("s", "swizzle", "Show shared memory without or with its swizzle", "swizzle"),
                key("w", "written", "Gluon: show the layouts as written, or as lowered", "written"),
                key("b", "banks", "Show the banks of each access, then the buffer", "banks"),
            ),
        ),
    )
    PANELS: ClassVar[Sequence[type[LineView]]] = ()
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS[0].bindings, *LEAVE.bindings]

    @classmethod
    def open(cls, main: MainScreen) -> None:
        """Shows the layouts of A and B, starting with the value on the line."""
        if "ttgir" not in main.pair.stages:
            main.notify("There are no layouts without TTGIR", severity="warning")
            return
        names, right = _names_on_line(main)
        written = written_stage(shown_variant(main, right)) == main.stage
        main.app.push_screen(cls(main.pair, main.background, names, right, written))

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
        self._index = 0
        self._options = DrawingOptions()
        self._descriptions: list[str] = []

    def compose(self) -> ComposeResult:
        """The title, the grids, per side the cell under the cursor and a description, the keys."""
        yield LayoutBar(id="layout-title")
        yield GridView()
        yield LayoutBar(id="layout-a")
        yield LayoutBar(id="layout-b")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Parses the stages in the background."""
        self.query_one(GridView).focus()
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

    def _show(self) -> None:
        if self._layouts is None or not self._layouts.tensors:
            self._set_title([Label(" No tensor of this kernel has a layout ", "problem")])
            return
        tensors = self._layouts.tensors
        drawings = self._layouts.draw(tensors[self._index], self._options)
        self.query_one(GridView).show([drawing.grid for drawing in drawings])
        number = Label(f" {self._index + 1} of {len(tensors)} ", "value")
        self._set_title(
            [
                number,
                *self._stage_label(),
                *(Label(f" {head} ", "name") for head in self._pair.headings() if head),
            ]
        )
        self._descriptions = [drawing.description for drawing in drawings]
        self._describe()

    def _stage_label(self) -> list[Label]:
        """Whether the layouts of a Gluon kernel are shown as written or as lowered."""
        stage = written_stage(self._pair.a)
        if stage is None:
            return []
        return [Label(f" as written ({stage}) " if self._written else " as lowered (ttgir) ", "note")]

    def _set_title(self, labels: Sequence[Label]) -> None:
        self.query_one("#layout-title", LayoutBar).set_labels(labels)

    @on(GridView.CellMoved)
    def _describe(self) -> None:
        """Describes the cell under the cursor and the drawing, for each side."""
        cells = self.query_one(GridView).cells()
        for index, letter in enumerate("AB"):
            bar = self.query_one(f"#layout-{letter.lower()}", LayoutBar)
            bar.display = index < len(self._descriptions)
            if bar.display:
                cell = cells[index] if index < len(cells) else None
                position = [Label(f" {cell.description} ", "value")] if cell else []
                name = Label(f" {letter} " if len(self._descriptions) > 1 else " ", "name")
                bar.set_labels([name, *position, Label(f" {self._descriptions[index]} ", "note")])

    # Actions.

    def action_cell(self, rows: int, columns: int) -> None:
        """Moves the cursor."""
        view = self.query_one(GridView)
        view.cursor = (view.cursor[0] + rows, view.cursor[1] + columns)

    def action_cells_down(self, pages: int) -> None:
        """Moves the cursor by a page."""
        self.action_cell(pages * self.query_one(GridView).page(), 0)

    def action_value(self, step: int) -> None:
        """Shows another tensor of the kernel."""
        if self._layouts is not None and self._layouts.tensors:
            self._index = (self._index + step) % len(self._layouts.tensors)
            self._options = replace(self._options, access=None)
            self._show()

    def action_whole(self) -> None:
        """Shows the whole tensor, or the part that repeats."""
        self._options = replace(self._options, whole=not self._options.whole)
        self._show()

    def action_swizzle(self) -> None:
        """Shows buffers without or with their swizzle."""
        self._options = replace(self._options, swizzle=not self._options.swizzle)
        self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only Gluon kernels have layouts as written."""
        if action == "written":
            return written_stage(self._pair.a) is not None
        return super().check_action(action, parameters)

    def action_written(self) -> None:
        """Shows the layouts of a Gluon kernel as written, or as lowered."""
        if self._layouts is None:
            return
        tensors = self._layouts.tensors
        self._names = [tensors[self._index].python] if tensors else []
        self._right, self._written = False, not self._written
        self._read()

    def action_banks(self) -> None:
        """Shows the banks of the next access to the buffer; after the last access, the buffer."""
        if self._layouts is None or not self._layouts.tensors:
            return
        count = self._layouts.access_count(self._layouts.tensors[self._index])
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
        """Returns to the texts."""
        self.dismiss(None)


def _names_on_line(main: MainScreen) -> tuple[list[str], bool]:
    """The names on the line under the cursor, and whether it is B's."""
    line, right = main.texts.place
    if main.stage == PYTHON:
        kernel = shown_variant(main, right).kernel
        return [f":{kernel.source.line + line}"], right
    if main.stage not in ("ttgir", written_stage(shown_variant(main, right))):
        return [], right
    text = (main.texts.line_text(right) or "")[:_MAX_LINE]
    return _NAMES.findall(text)[:_MAX_NAMES], right
