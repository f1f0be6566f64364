"""The compiler's passes of A and B: which changed the module, what each did, where A and B diverge.

The list of passes, A's and B's side by side.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from irscope.glossary.glossary import entry_for
from irscope.model.text import display_line, pluralize
from irscope.tui.background import Background
from irscope.tui.bindings import LEAVE, READ, SEARCH, KeyGroup, key
from irscope.tui.page import Page, PageSide, plain_page
from irscope.tui.pair_state import PairState
from irscope.tui.screens import OPEN_PASSES
from irscope.tui.screens.explain import explain_line, explain_row
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.bars import KeyHints, Label, WrappedBar
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.line_view import ItemView, LineView, Piece
from irscope.tui.widgets.search_bar import FilterBar, next_row
from irscope.workspace import OperandNotes, PassLine
from irscope.workspace.diff_rows import rows_in_place
from irscope.workspace.pass_comparison import BOTH, IN_A, IN_B, PassComparison

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen

# Below this width the times do not fit.
_TIMES_FROM = 110
_DIVERGING = "◆"
# How many diffs are kept to be shown again.
_PAGES = 8


class PassView(ItemView[PassLine]):
    """The passes; those that changed nothing are dim."""

    KEYS: ClassVar[KeyGroup] = KeyGroup(
        "In the list of passes",
        (key("enter", "choose", "Enlarge the diff of the pass", "enlarge", name="open"),),
    )
    COMPONENT_CLASSES: ClassVar[set[str]] = {"pass--diverging"}

    def __init__(self, paired: bool) -> None:
        super().__init__(id="passes")
        self._paired = paired

    def show(self, items: Sequence[PassLine]) -> None:
        """Show passes; the cursor stays on its pass if that is still shown."""
        current = self.current
        super().show(items)
        if current is not None and current in items:
            self.cursor = list(items).index(current)

    def pieces(self, item: PassLine, index: int, width: int) -> Iterator[Piece]:
        """Yield the number, stage, name, times and summary of a pass."""
        step = item.step
        ink = "" if item.changed or step.failed else "dim"
        widest = max(len(pass_line.step.name) for pass_line in self.items)
        yield f" {_DIVERGING} " if item.diverging else "   ", "pass--diverging"
        yield (
            f"{step.number:>3} {step.stage:<5} {display_line(step.name or '(Triton itself)'):<{widest}} ",
            ink,
        )
        if width >= _TIMES_FROM:
            steps = (item.a, item.b) if self._paired else (step,)
            times = (f"{side.seconds * 1e3:.2f}" if side else "" for side in steps)
            yield "".join(f"{time:>8}" for time in times) + " ms  ", ink
        if item.diverging:
            yield f"{' and '.join(item.diverging)} diverge here: ", "pass--diverging"
        yield item.summary, ink


_TOP = (0, False)


class PassBar(WrappedBar):
    """The name and the effect of the pass under the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "note", "summary"}


class PassesScreen(ReadingScreen[None]):
    """The list of passes, and the diff of the one under the cursor."""

    OPENED_BY: ClassVar[Binding] = OPEN_PASSES
    KEYS: ClassVar[Sequence[KeyGroup]] = (
        KeyGroup(
            "In the passes",
            (
                key("c", "changed", "Show only passes that changed the module, or all", "changed"),
                key(
                    "/,F",
                    "filter",
                    "Filter by name; in the diff, / searches",
                    "filter",
                    applies=lambda screen: not screen.in_diff,
                ),
                key("}", "changed_pass(1)", "Next pass that changed the module", "pass"),
                key(
                    "{",
                    "changed_pass(-1)",
                    "Previous pass that changed the module",
                ),
                key("f", "divergence", "Go to the first pass in which A and B diverge", "diverge"),
                key("d", "compare", "Compare A and B after the pass, or show it in A or in B", "A/B"),
            ),
        ),
    )
    PANELS: ClassVar[Sequence[type[LineView]]] = (PassView, DiffView)
    BINDINGS: ClassVar[list[BindingType]] = [
        *KEYS[0].bindings,
        replace(SEARCH, applies=lambda screen: screen.in_diff),
        *READ.bindings[1:],
        *LEAVE.bindings,
    ]

    @classmethod
    def open(cls, main: CompareScreen) -> None:
        """Show the passes of A and B; if some were not recorded, asks whether to compile them."""
        if main.pair.without_passes and main.can_compile:
            main.passes.offer()
        else:
            cls.show(main)

    @classmethod
    def show(cls, main: CompareScreen) -> None:
        """Show the passes that were recorded."""
        main.app.push_screen(cls(main.pair, main.background))

    def __init__(self, pair: PairState, background: Background) -> None:
        self._passes = PassComparison(pair.comparison)
        self._view = PassView(self._passes.paired)
        super().__init__(self._view)
        self._pair = pair
        self._background = background
        self._changed_only = True
        self._compared = BOTH if self._passes.paired else IN_A
        self._note = ""
        self._page = lru_cache(_PAGES)(self._new_page)
        self._bar = PassBar(id="pass-note")
        self._texts = DiffView(id="texts")
        words = "filter: a part of the name, or *pattern*"
        self._filter_bar = FilterBar(words, self._view, self._view.line_count, self._filter)

    def compose(self) -> ComposeResult:
        """Yield the list, the pass, its diff, the filter, the keys."""
        yield self._view
        yield self._bar
        yield self._texts
        yield self._filter_bar
        yield self.search_bar
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """List the passes and start to compare them."""
        self._list()
        self._analyze()

    # The list.

    def _list(self) -> None:
        """Show the passes that match the filters."""
        lines = self._passes.lines
        matching = [line for line in lines if self._matches(line)]
        changed = sum(line.changed for line in lines)
        sides = "  ".join(filter(None, self._pair.headings()))
        notes = [self._note, f"{pluralize(len(lines), 'pass')}, {changed} changed the module"]
        if len(matching) < len(lines):
            notes.append(f"{len(matching)} shown")
        self._view.heading = f"{sides}   {'; '.join(filter(None, notes))}"
        self._view.show(matching)
        self._show_pass()

    def _matches(self, line: PassLine) -> bool:
        if self._changed_only and not line.changed and not line.step.failed:
            return False
        pattern = self._filter_bar.value.strip()
        pattern = pattern if "*" in pattern else f"*{pattern}*"
        return fnmatch.fnmatchcase(line.step.name.lower(), pattern.lower())

    @work(exclusive=True, group="passes", exit_on_error=False)
    async def _analyze(self) -> None:
        """Find where A and B diverge, then what each pass did."""
        if self._passes.paired:
            self._note = "comparing..."
            self._list()
            first = await self._background.run(self._passes.mark_divergence)
            self._note = "no divergence" if first is None else f"diverge {first.place}"
            self._list()
            self.action_divergence()
        for line in self._passes.lines:
            if line.changed or line.step.failed:
                await self._background.run(self._passes.summarize, line)
                self._view.refresh()
                if line is self._view.current:
                    self._describe(line)

    def action_changed(self) -> None:
        """Show only passes that changed the module, or all."""
        self._changed_only = not self._changed_only
        self._list()

    def action_divergence(self) -> None:
        """Goes to the first pass in which A and B diverge, if possible in operations or layouts."""
        diverging = [(index, line.diverging) for index, line in enumerate(self._view.items) if line.diverging]
        marked = [pair for pair in diverging if {"operations", "layouts"}.intersection(pair[1])]
        if diverging:
            self._view.go_to_row((marked or diverging)[0][0])

    def action_changed_pass(self, direction: int) -> None:
        """Goes to the next or previous pass that changed the module, also with the list hidden."""
        changed = [index for index, line in enumerate(self._view.items) if line.changed]
        row = next_row(changed, self._view.cursor, direction)
        if row is not None:
            self._view.go_to_row(row)
        elif self._view.current:
            order = "later" if direction > 0 else "earlier"
            self._describe(self._view.current, f" No {order} pass changed the module.")

    def action_filter(self) -> None:
        """Open the filter bar."""
        self._filter_bar.open()

    def _filter(self, _: str) -> None:
        self._list()

    def action_match(self, direction: int) -> None:
        """Go to the next or previous match in the diff; in the list, to the next pass that it shows."""
        if self.in_diff:
            super().action_match(direction)
        else:
            self._view.cursor += direction

    # The diff.

    @property
    def reading(self) -> LineView:
        """Return the focused panel."""
        return self.focused if isinstance(self.focused, LineView) else self._view

    @property
    def searched(self) -> LineView:
        """Return the diff, also while the list has the focus."""
        return self._texts

    def action_explain(self) -> None:
        """Explains the pass under the cursor; in the diff, the terms on the line."""
        if self.in_diff:
            explain_row(self.app, self._texts)
        elif self._view.current:
            explain_line(self.app, self._view.current.step.name)

    @property
    def in_diff(self) -> bool:
        """Return True if the diff has the focus: `/` searches there, and filters in the list."""
        return isinstance(self.focused, DiffView)

    @on(LineView.CursorMoved, "#passes")
    def _show_pass(self) -> None:
        """Show the pass under the cursor and its diff."""
        line = self._view.current
        if line is None:
            self._bar.set_labels([Label(" no pass matches", "note")])
            return
        self._describe(line)
        self._compare(line)

    def _describe(self, line: PassLine, note: str = "") -> None:
        """Show which pass this is, what it did, and what such a pass does, after a note."""
        entry = entry_for(line.step.name)
        name = " ".join(filter(None, (line.step.name, line.options)))
        changed = [pass_line for pass_line in self._passes.lines if pass_line.changed]
        position = f"{changed.index(line) + 1} of {len(changed)}: " if line in changed else ""
        summary = f" {line.summary}." if line.summary else ""
        labels = [Label(note, "note"), Label(f" {position}{name} ", "name"), Label(summary, "summary")]
        labels.append(Label(f"  {entry.text}" if entry else "", "note"))
        self._bar.set_labels(labels)

    @work(exclusive=True, group="pass", exit_on_error=False)
    async def _compare(self, line: PassLine, same_pass: bool = False) -> None:
        page = await self._background.run(self._page, line, self._compared)
        self._texts.show(page, self._headings(line), _TOP)
        page = self._texts.page
        if page.runs and same_pass:
            self._go_to_change(page)
        elif page.runs:  # after the bar above got its lines, which take some from the diff
            self.call_after_refresh(self._go_to_change, page)

    def _new_page(self, line: PassLine, compared: str) -> Page:
        """Return the diff of a pass; without one, the module after it, or why there is none."""
        change = self._passes.change(line, compared)
        diff = change.diff
        if diff is not None:
            left, right = (PageSide(side.lines, side.language) for side in (diff.left, diff.right))
            return Page(
                left,
                right,
                rows_in_place(diff),
                compared=True,
                layouts=diff.layouts,
                operands=OperandNotes(diff),
            )
        if change.after is not None:
            return plain_page(PageSide(change.after.lines, change.after.language), None)
        return plain_page(PageSide([f"{change.step.name}: {change.note}"]), None)

    def _go_to_change(self, page: Page) -> None:
        """Move to the first change of a page, unless another one is shown by now."""
        if self._texts.page is page:
            self._texts.go_to_row(page.runs[0][0])

    def _headings(self, line: PassLine) -> tuple[str, str]:
        name, compared = line.step.name, line.comparable(self._compared)
        if compared == BOTH:
            return f"A after {name}", f"B after {name}"
        letter = "B" if compared == IN_B else "A"
        return f"{letter} before {name}", f"{letter} after {name}"

    def action_compare(self) -> None:
        """Compare A and B after the pass, or show what it changed in A, or in B."""
        order = [BOTH, IN_A, IN_B] if self._passes.paired else [IN_A]
        self._compared = order[(order.index(self._compared) + 1) % len(order)]
        if self._view.current:
            self._compare(self._view.current, same_pass=True)

    @on(PassView.Chosen)
    def _enlarge(self) -> None:
        """Hides the list, so that the diff fills the screen."""
        self._view.display = False
        self._texts.focus()

    def action_close(self) -> None:
        """Return to the list if the diff is enlarged; remove the filter; without one, return to the texts."""
        if not self._view.display:
            self._view.display = True
            self._view.focus()
        elif not self._filter_bar.drop():
            self.dismiss(None)
