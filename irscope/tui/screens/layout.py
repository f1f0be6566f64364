"""The layouts of A and B: which thread holds an element, where it is in memory, which banks serve it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
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
from irscope.tui.widgets.grid_view import GridSide, GridView, LayoutBar
from irscope.tui.widgets.search_bar import FilterBar, TypedNumber, next_row
from irscope.workspace import DrawingOptions, Grid, LayoutComparison, LayoutDrawing, ValuePair, Window
from irscope.workspace.variant_texts import PYTHON, written_stage

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen

_NAMES = re.compile(r"%[\w$.-]+(?:#\d+)?|#[A-Za-z_]\w*")
_MAX_NAMES = 40
_MAX_LINE = 2000
_MOST_CELLS = 10**9
_OWNER_HELP = "Who holds an element: type its indices, like 3,5"


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
                key("pagedown,space,ctrl+f", "cells_down(1)", "Page down"),
                key("pageup,ctrl+b", "cells_down(-1)", "Page up"),
                key("ctrl+d", "cells_down(0.5)", "Half a page down", name="half_page(1)"),
                key("ctrl+u", "cells_down(-0.5)", "Half a page up", name="half_page(-1)"),
                key("g,home", f"cell(-{_MOST_CELLS}, 0)", "First row", name="first"),
                key("G,end", f"cell({_MOST_CELLS}, 0)", "Last row", name="last"),
                key("tab,n", "value(1)", "Next tensor or buffer of the kernel", "value"),
                key("shift+tab,N", "value(-1)", "Previous tensor or buffer"),
                key("/,F", "filter", "Filter the tensors and buffers: words like acc, mma, 64x64", "filter"),
                replace(
                    key("comma", f"app.notify({_OWNER_HELP!r})", _OWNER_HELP, "owner", name="element"),
                    key_display="3,5",
                ),
                key("z", "whole", "Show the whole tensor, or the part that repeats", "whole"),
                key("v", "view", "Put the next view first: by thread, register, warp or bank", "view"),
                key("c", "color", "Color only what differs between A and B, or every cell", "color"),
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
        # The indices of the values that match the filter.
        self._matching: Sequence[int] = ()
        words = "filter: words of a name, type or layout, like acc, mma, 64x64"
        self._filter_bar = FilterBar(words, self._view, lambda: len(self._matching), self._filter)
        self._options = DrawingOptions()
        # Whether the whole tensor is shown, and whether cells that A and B have in common are colored, too.
        self._whole = self._every = False
        # How many times the user asked for the next view.
        self._turns = 0
        self._typed = TypedNumber(",")
        # What the drawings say, and why the typed element is not shown.
        self._sentences: list[Label] = []
        self._problem = ""

    def compose(self) -> ComposeResult:
        """Yield the title, the grids, how they differ, the element under the cursor, the keys."""
        yield LayoutBar(id="layout-title")
        yield self._view
        yield LayoutBar(id="layout-difference")
        yield LayoutBar(id="layout-a")
        yield LayoutBar(id="layout-b")
        yield LayoutBar(id="layout-both")
        yield self._filter_bar
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
        self._filter(self._filter_bar.value)

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
        options = self._drawing_options(layouts, value)
        drawings = layouts.draw(value, options)
        panes = layouts.panes(value, drawings, options, self._every)
        is_line = len(value.tensor.layout_shape) == 1 and options.access is None
        self._view.show(
            [
                GridSide(drawing.grid.title, _turned(grids, self._turns), is_line)
                for drawing, grids in zip(drawings, panes, strict=True)
            ]
        )
        bar = self.query_one("#layout-difference", LayoutBar)
        difference = layouts.difference(value)
        bar.display = bool(difference)
        compared = len(panes) > 1 and not self._every
        differing = any(cell and cell.group >= 0 for grid in panes[-1] for row in grid.cells for cell in row)
        note = "" if not compared or differing else "; equal in this part"
        bar.set_labels([Label(" B compared with A: ", "note"), Label(f"{difference}{note}", "value")])
        self._sentences = _sentences(drawings)
        self._describe()

    def _drawing_options(self, layouts: LayoutComparison, value: ValuePair) -> DrawingOptions:
        """Return the options with the size of a cell of the whole tensor, if that is shown."""
        choices = layouts.color_choices(value)
        if not self._whole or not choices or self._options.access is not None:
            return self._options
        shapes = layouts.shapes(value)
        rooms = self._view.rooms(len(shapes), len(choices))
        maps = [self._options.as_map(shapes, rows, columns) for rows, columns in rooms]
        return min(maps, key=lambda options: prod(options.cell or ()))

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
        """Describe the element under the cursor in each side, and the drawing."""
        layouts, value = self._layouts, self._value
        if layouts is None or value is None:
            return
        count = Label(f" {self._count_text(layouts)} ", "value" if self._matching else "problem")
        headings = [Label(f" {heading} ", "name") for heading in self._pair.headings() if heading]
        typed = [Label(f" element {self._typed.text} ", "value")] if self._typed.text else []
        problem = [Label(f" {self._problem} ", "problem")] if self._problem else []
        self._set_title([count, *self._stage_label(), *headings, *typed, *problem])
        texts = self._element_texts(layouts, value)
        same = len(texts) > 1 and texts[0] == texts[1]
        for index, letter in enumerate("AB"):
            bar = self.query_one(f"#layout-{letter.lower()}", LayoutBar)
            bar.display = index < len(texts) and bool(texts[index]) and not (same and index)
            if bar.display:
                name = "" if len(texts) == 1 else " A, B " if same else f" {letter} "
                bar.set_labels([Label(name, "name"), Label(f" {texts[index]}", "value")])
        both = self.query_one("#layout-both", LayoutBar)
        both.display = bool(self._sentences)
        both.set_labels(self._sentences)

    def _count_text(self, layouts: LayoutComparison) -> str:
        """Return which value this is: `3 of 28`, `1 of 4 with mma`."""
        words, total = self._filter_bar.value, len(layouts.values)
        if self._index not in self._matching:
            return f"no match for {words} in {total}"
        place = self._matching.index(self._index) + 1
        return f"{place} of {len(self._matching)}{f' with {words}' if words else ''}"

    def _element_texts(self, layouts: LayoutComparison, value: ValuePair) -> list[str]:
        """Return what holds the element under the cursor in each side, or what the cell of an access is."""
        if self._options.access is not None and layouts.access_count(value):
            return self._view.descriptions()
        row, column = self._view.cursor
        rank = len(value.tensor.layout_shape)
        element = (*(0,) * (rank - 3), *((self._options.window.plane,) * (rank > 2)), row, column)[-rank:]
        texts = layouts.element_texts(value, element, self._options.swizzle)
        name = f"element ({', '.join(map(str, element))}): "
        return [f"{name}{text or 'none'}" for text in texts] if any(texts) else []

    # Actions.

    def on_key(self, event: events.Key) -> None:
        """Go to the element whose indices are typed."""
        if self._typed.take(event):
            self._go_to_typed()

    def go_to_number(self, text: str) -> bool:
        """Go to an element by its indices; the title says if there is none."""
        self._typed.text = text if re.fullmatch(r"[0-9]+(,[0-9]+)*", text) else ""
        self._go_to_typed()
        return bool(self._typed.text)

    def _go_to_typed(self) -> None:
        """Go to the typed element: the cursor, and the part that is drawn."""
        layouts, value = self._layouts, self._value
        numbers = [int(number) for number in self._typed.text.split(",") if number]
        self._problem = ""
        if layouts is not None and value is not None and numbers:
            shape = max(tensor.layout_shape for tensor in (value.a, value.b) if tensor)
            element = (*numbers, *(0,) * (len(shape) - len(numbers)))
            if len(element) == len(shape) and all(map(int.__lt__, element, shape)):
                window = layouts.window_around(value, element)
                self._options = replace(self._options, window=window, access=None)
                self._view.cursor = (0, element[0]) if len(shape) == 1 else (element[-2], element[-1])
            else:
                sizes = " x ".join(map(str, shape))
                self._problem = f"no element {self._typed.text}: {value.name} is {sizes}"
        self._show()

    def action_cell(self, rows: int, columns: int) -> None:
        """Move the cursor."""
        self._problem = ""
        self._view.move(rows, columns)

    def action_cells_down(self, pages: float) -> None:
        """Move the cursor by pages, at least by a row."""
        self.action_cell(int(pages * max(self._view.page(), 2)), 0)

    def action_value(self, step: int) -> None:
        """Show another tensor of the kernel."""
        if self._matching:
            row = next_row(self._matching, self._index, step)
            self._index = self._matching[min(step, 0)] if row is None else row
            self._options = replace(self._options, access=None, window=Window())
            self._view.cursor = (0, 0)
            self._show()

    def action_filter(self) -> None:
        """Open the filter of the values."""
        self._filter_bar.open()

    def _filter(self, words: str) -> None:
        """Go to the next value that matches; Tab and n then go to matching ones only."""
        values = self._layouts.values if self._layouts else ()
        self._matching = [index for index, value in enumerate(values) if value.matches(words)]
        if self._matching and self._index not in self._matching:
            self.action_value(1)
        else:
            self._show()

    def action_whole(self) -> None:
        """Show maps of the whole tensor, or the part that repeats."""
        self._whole = not self._whole
        self._show()

    def action_view(self) -> None:
        """Put the next view of the elements first: by thread, register, warp or bank."""
        self._turns += 1
        self._show()

    def action_color(self) -> None:
        """Color every cell, or only those that differ between A and B."""
        self._every = not self._every
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
        explain_line(self.app, " ".join(label.text for label in self._sentences))

    def action_close(self) -> None:
        """Remove the filter; without one, return to the texts."""
        if not self._filter_bar.drop():
            self.dismiss(None)


def _turned(grids: Sequence[Grid], turns: int) -> list[Grid]:
    """Return the grids in the same order around a ring, another one first."""
    first = turns % len(grids) if grids else 0
    return [*grids[first:], *grids[:first]]


def _sentences(drawings: Sequence[LayoutDrawing]) -> list[Label]:
    """Return the sentences of both sides, then those of each."""
    texts = [list(drawing.sentences or drawing.grid.notes) for drawing in drawings]
    common = [sentence for sentence in texts[0] if sentence in texts[-1]]
    labels = [Label(" A, B ", "name")] if common and len(texts) > 1 else []
    labels.append(Label(f" {' '.join(common)}", "note"))
    for letter, text in zip("AB", texts, strict=False):
        if own := [sentence for sentence in text if sentence not in common]:
            labels += [Label(f"  {letter}  ", "name"), Label(" ".join(own), "note")]
    return labels


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
