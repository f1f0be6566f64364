"""The compiler's passes of A and B: which changed the module, what each did, where A and B diverge.

The list of passes, A's and B's side by side.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input

from irscope.glossary.glossary import entry_for
from irscope.model.text import display_line, pluralize
from irscope.tui.background import Background
from irscope.tui.bindings import LEAVE, READ, KeyGroup, key
from irscope.tui.controllers.main_screen import MainScreen
from irscope.tui.page import Page, PageSide, plain_page
from irscope.tui.paint import fitted
from irscope.tui.pair_state import PairState
from irscope.tui.screens import OPEN_PASSES
from irscope.tui.screens.explain import explain_line
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.bars import KeyHints, Label, WrappedBar
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.search_bar import SearchBar
from irscope.workspace import OperandNotes, PassChange, PassLine
from irscope.workspace.diff_rows import rows_in_place
from irscope.workspace.pass_comparison import BOTH, IN_A, IN_B, PassComparison

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
        """Show passes; the cursor stays on its pass if that is still shown."""
        current = self.current
        self._passes, self._heading, self._paired = passes, heading, paired
        self.lines_changed()
        if current is not None and current in passes:
            self.cursor = list(passes).index(current)

    @property
    def current(self) -> PassLine | None:
        """Return the pass under the cursor."""
        return self._passes[self.cursor] if self.cursor < len(self._passes) else None

    def action_open(self) -> None:
        """Enlarges the diff of the pass."""
        self.post_message(self.PassOpened())

    def line_count(self) -> int:
        """Return the number of passes."""
        return len(self._passes)

    def draw_heading(self, width: int) -> Strip:
        """Draws the heading."""
        return self.bar(f" {self._heading}", width)

    def draw_line(self, index: int, width: int) -> Strip:
        """Draw a pass: number, stage, name, times, summary."""
        line = self._passes[index]
        step = line.step
        base = self.style("row--cursor") if index == self.cursor else self.base
        ink = base if line.changed or step.failed else base + self.ink("dim")
        mark = base + self.ink("pass--diverging")
        name = step.name or "(Triton itself)"
        widest = max(len(pass_line.step.name) for pass_line in self._passes)
        segments = [
            Segment(f" {_DIVERGING} " if line.diverging else "   ", mark),
            Segment(f"{step.number:>3} {step.stage:<5} {display_line(name):<{widest}} ", ink),
        ]
        if width >= _TIMES_FROM:
            times = (line.a, line.b) if self._paired else (line.step,)
            text = "".join(
                f"{'' if pass_line is None else f'{pass_line.seconds * 1e3:.2f}':>8}" for pass_line in times
            )
            segments.append(Segment(f"{text} ms  ", ink))
        if line.diverging:
            segments.append(Segment(f"{' and '.join(line.diverging)} diverge here: ", mark))
        segments.append(Segment(display_line(line.summary), ink))
        return Strip(fitted(segments, width, base), width)


_TOP = (0, False)


class PassBar(WrappedBar):
    """The name and the effect of the pass under the cursor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "note", "summary"}


class PassesScreen(ReadingScreen[None]):
    """The list of passes, and the diff of the one under the cursor."""

    OPENED_BY: ClassVar[Binding] = OPEN_PASSES
    KEYS: ClassVar[Sequence[KeyGroup]] = (
        PassView.KEYS,
        KeyGroup(
            "In the passes",
            (
                key("c", "changed", "Show only passes that changed the module, or all", "changed"),
                key("slash,F", "filter", "Filter by name; in the diff, / searches", "filter", "/"),
                key(
                    "right_curly_bracket", "changed_pass(1)", "Next pass that changed the module", "pass", "}"
                ),
                key(
                    "left_curly_bracket",
                    "changed_pass(-1)",
                    "Previous pass that changed the module",
                    display="{",
                ),
                key("f", "divergence", "Go to the first pass in which A and B diverge", "diverge"),
                key("d", "compare", "Compare A and B after the pass, or show it in A or in B", "A/B"),
            ),
        ),
    )
    PANELS: ClassVar[Sequence[type[LineView]]] = (PassView, DiffView)
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS[1].bindings, *READ.bindings, *LEAVE.bindings]

    @classmethod
    def open(cls, main: MainScreen) -> None:
        """Show the passes of A and B; if some were not recorded, asks whether to compile them."""
        if main.pair.without_passes and main.can_compile:
            main.offer_passes()
        else:
            cls.show(main)

    @classmethod
    def show(cls, main: MainScreen) -> None:
        """Show the passes that were recorded."""
        main.app.push_screen(cls(main.pair, main.background))

    def __init__(self, pair: PairState, background: Background) -> None:
        super().__init__()
        self._pair = pair
        self._background = background
        self._passes = PassComparison(pair.comparison)
        self._changed_only, self._filter = True, ""
        self._compared = BOTH if self._passes.paired else IN_A
        self._note = ""

    def compose(self) -> ComposeResult:
        """Yield the list, the pass, its diff, the filter, the keys."""
        yield PassView(id="passes")
        yield PassBar(id="pass-note")
        yield DiffView(id="texts")
        yield SearchBar("filter: a part of the name, or *pattern*", id="pass-filter")
        yield self.search_bar
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """List the passes and start to compare them."""
        self.query_one(PassView).focus()
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
        view = self.query_one(PassView)
        view.show(matching, f"{sides}   {'; '.join(filter(None, notes))}", self._passes.paired)
        self._show_pass()

    def _matches(self, line: PassLine) -> bool:
        if self._changed_only and not line.changed and not line.step.failed:
            return False
        pattern = self._filter if "*" in self._filter else f"*{self._filter}*"
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
                self.query_one(PassView).refresh()
                if line is self.query_one(PassView).current:
                    self._describe(line)

    def action_changed(self) -> None:
        """Show only passes that changed the module, or all."""
        self._changed_only = not self._changed_only
        self._list()

    def action_divergence(self) -> None:
        """Goes to the first pass in which A and B diverge."""
        view = self.query_one(PassView)
        matching = [line for line in self._passes.lines if self._matches(line)]
        marked = [line for line in matching if set(line.diverging) & {"operations", "layouts"}]
        marked = marked or [line for line in matching if line.diverging]
        if marked:
            view.cursor = matching.index(marked[0])
            view.reveal_centered(view.cursor)

    def action_changed_pass(self, direction: int) -> None:
        """Goes to the next or previous pass that changed the module, also with the list hidden."""
        view = self.query_one(PassView)
        matching = [line for line in self._passes.lines if self._matches(line)]
        changed = [index for index, line in enumerate(matching) if line.changed]
        ahead = [n for n in changed if (n - view.cursor) * direction > 0]
        if not ahead:
            self.notify(f"No {'later' if direction > 0 else 'earlier'} pass changed the module")
            return
        view.cursor = min(ahead) if direction > 0 else max(ahead)
        view.reveal_centered(view.cursor)

    def action_filter(self) -> None:
        """Open the filter bar."""
        self.query_one("#pass-filter", SearchBar).open(self._filter)

    @on(Input.Changed, "#pass-filter")
    def _filtered(self, message: Input.Changed) -> None:
        self._filter = message.value.strip()
        self._list()

    @on(Input.Submitted, "#pass-filter")
    def _keep_filter(self) -> None:
        self._close_filter()

    @on(SearchBar.Canceled, "#pass-filter")
    def _cancel_filter(self) -> None:
        self._filter = ""
        self._close_filter()
        self._list()

    def _close_filter(self) -> None:
        self.query_one("#pass-filter", SearchBar).display = False
        self.query_one(PassView).focus()

    # The diff.

    @property
    def reading(self) -> LineView:
        """Return the focused panel."""
        return self.focused if isinstance(self.focused, LineView) else self.query_one(PassView)

    def landmarks(self) -> Sequence[int]:
        """Return the changes in the diff."""
        return [first for first, _ in self.query_one(DiffView).page.runs]

    def row(self) -> int:
        """Return the row of the diff under its cursor."""
        return self.query_one(DiffView).row

    def go_to_row(self, row: int) -> None:
        """Move the cursor of the diff."""
        self.query_one(DiffView).go_to_row(row)

    def matches(self, query: str) -> Sequence[int]:
        """Return the rows of the diff with `query`, which are marked."""
        texts = self.query_one(DiffView)
        texts.mark_matches(query)
        return texts.page.matches(query, texts.located)

    def action_explain(self) -> None:
        """Explains the pass under the cursor; in the diff, the terms on the line."""
        texts, current = self.query_one(DiffView), self.query_one(PassView).current
        name = current.step.name if current else ""
        explain_line(self.app, (texts.line_text(True) or "") if self.reading is texts else name)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In the diff `/` searches, in the list it filters."""
        in_diff = isinstance(self.focused, DiffView)
        if action in ("filter", "search"):
            return (action == "search") == in_diff
        return super().check_action(action, parameters)

    def on_descendant_focus(self) -> None:
        """Update the hints: each panel has its own keys."""
        self.query_one(KeyHints).refresh()

    @on(LineView.CursorMoved, "#passes")
    def _show_pass(self) -> None:
        """Show the pass under the cursor and its diff."""
        line = self.query_one(PassView).current
        if line is None:
            self.query_one(PassBar).set_labels([Label(" no pass matches", "note")])
            return
        self._describe(line)
        self._compare(line)

    def _describe(self, line: PassLine) -> None:
        """Show which pass this is, what it did, and what such a pass does."""
        entry = entry_for(line.step.name)
        name = " ".join(filter(None, (line.step.name, line.options)))
        changed = [pass_line for pass_line in self._passes.lines if pass_line.changed]
        position = f"{changed.index(line) + 1} of {len(changed)}: " if line in changed else ""
        summary = f" {line.summary}." if line.summary else ""
        labels = [Label(f" {position}{name} ", "name"), Label(summary, "summary")]
        labels.append(Label(f"  {entry.text}" if entry else "", "note"))
        self.query_one(PassBar).set_labels(labels)

    @work(exclusive=True, group="pass", exit_on_error=False)
    async def _compare(self, line: PassLine) -> None:
        texts = self.query_one(DiffView)
        page = _page(await self._background.run(self._passes.change, line, self._compared))
        texts.show(page, self._headings(line), _TOP)
        if page.runs:  # after the bar above got its lines, which take some from the diff
            self.call_after_refresh(self._go_to_change, page)

    def _go_to_change(self, page: Page) -> None:
        """Move to the first change of a page, unless another one is shown by now."""
        texts = self.query_one(DiffView)
        if texts.page is page:
            texts.go_to_row(page.runs[0][0])

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
        self._show_pass()

    @on(PassView.PassOpened)
    def _enlarge(self) -> None:
        """Hides the list, so that the diff fills the screen."""
        self.query_one(PassView).display = False
        self.query_one(DiffView).focus()

    def action_close(self) -> None:
        """Return to the list if the diff is enlarged, else to the texts."""
        view = self.query_one(PassView)
        if view.display:
            self.dismiss(None)
        else:
            view.display = True
            view.focus()


def _page(change: PassChange) -> Page:
    """Return the diff; without one, the module after the pass, or why there is none."""
    diff = change.diff
    if diff is not None:
        left, right = (PageSide(side.lines, side.language) for side in (diff.left, diff.right))
        return Page(
            left, right, rows_in_place(diff), compared=True, layouts=diff.layouts, operands=OperandNotes(diff)
        )
    if change.after is not None:
        return plain_page(PageSide(change.after.lines, change.after.language), None)
    return plain_page(PageSide([f"{change.step.name}: {change.note}"]), None)
