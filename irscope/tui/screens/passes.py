"""The compiler's passes of A and B: which changed the module, what each did, and where the two part."""

from __future__ import annotations

import fnmatch
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import Input

from irscope.analysis.divergence import KINDS, Divergences, aligned_steps, divergences
from irscope.analysis.pass_history import PassModule, PassStep, summary
from irscope.diff.stage_diff import diff_stage
from irscope.glossary.glossary import entry_for
from irscope.tui import keys
from irscope.tui.background import Background
from irscope.tui.page import Page, PageSide, plain_page
from irscope.tui.pair_state import PairState
from irscope.tui.widgets.bar import Bar, Label
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.key_hints import KeyHints
from irscope.tui.widgets.pass_view import PassLine, PassView
from irscope.tui.widgets.search_bar import SearchBar
from irscope.workspace import Workspace

_TOP = (0, False)
# What the diff can show of a pass.
_IN_A, _IN_B, _BOTH = "a", "b", "both"


class PassBar(Bar):
    """What the pass under the cursor is, in a line."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"name", "note"}


class PassesScreen(Screen[None]):
    """The list above, below it the diff of the pass under the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.PASSES, *keys.LEAVE]

    def __init__(self, comparison: PairState, background: Background) -> None:
        super().__init__()
        self._comparison = comparison
        self._workspace: Workspace = comparison.workspace
        self._background = background
        a = self._workspace.passes(comparison.a)
        b = [] if comparison.single else self._workspace.passes(comparison.b)
        self._paired = bool(a and b)
        lines = aligned_steps(a, b) if self._paired else ((step, None) for step in a or b)
        self._lines = [PassLine(left, right) for left, right in lines]
        self._sides = (a, b)
        self._changed, self._filter = True, ""
        self._compared = _BOTH if self._paired else _IN_A
        self._note = ""

    def compose(self) -> ComposeResult:
        """The list, what the pass is, its diff, the filter, the keys."""
        yield PassView(id="passes")
        yield PassBar(id="pass-note")
        yield DiffView(id="texts")
        yield SearchBar("filter: a part of the name, or *pattern*", id="pass-filter")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """What takes long comes when it is there."""
        self.query_one(PassView).focus()
        self._list()
        self._tell()

    # The list.

    def _list(self) -> None:
        """Shows the passes that the filters leave."""
        shown = [line for line in self._lines if self._wanted(line)]
        changed = sum(line.changed for line in self._lines)
        sides = "  ".join(filter(None, self._comparison.headings()))
        words = [self._note, f"{len(self._lines)} passes, {changed} changed the module"]
        if len(shown) < len(self._lines):
            words.append(f"{len(shown)} shown")
        view = self.query_one(PassView)
        view.show(shown, f"{sides}   {'; '.join(filter(None, words))}", self._paired)
        self._show_pass()

    def _wanted(self, line: PassLine) -> bool:
        if self._changed and not line.changed and not line.step.failed:
            return False
        pattern = self._filter if "*" in self._filter else f"*{self._filter}*"
        return fnmatch.fnmatchcase(line.step.name.lower(), pattern.lower())

    @work(exclusive=True, group="passes", exit_on_error=False)
    async def _tell(self) -> None:
        """Where A and B part, then what each pass did."""
        if self._paired:
            self._note = "comparing..."
            self._list()
            document = self._workspace.module
            found = await self._background.run(divergences, *self._sides, document, document)
            self._mark(found)
        for line in self._lines:
            if line.changed or line.step.failed:
                line.said = await self._background.run(_said, line, self._workspace)
                self.query_one(PassView).refresh()

    def _mark(self, found: Divergences) -> None:
        for kind in KINDS:
            parting = getattr(found, kind)
            steps = (
                () if parting is None or parting.passes is None else (*parting.passes.a, *parting.passes.b)
            )
            for line in self._lines:
                if any(step in steps for step in (line.a, line.b) if step is not None):
                    line.parts.append(kind)
        first = found.first
        self._note = "A and B do not diverge" if first is None else f"A and B first diverge {first.place}"
        self._list()
        self.action_parting()

    def action_changed(self) -> None:
        """Only what changed the module, or all."""
        self._changed = not self._changed
        self._list()

    def action_parting(self) -> None:
        """To the first pass in which A and B part."""
        view = self.query_one(PassView)
        shown = [line for line in self._lines if self._wanted(line)]
        marked = [line for line in shown if set(line.parts) & {"operations", "layouts"}]
        marked = marked or [line for line in shown if line.parts]
        if marked:
            view.cursor = shown.index(marked[0])
            view.reveal_centred(view.cursor)

    def action_filter(self) -> None:
        """Asks for a part of a name."""
        self.query_one("#pass-filter", SearchBar).open(self._filter)

    @on(Input.Changed, "#pass-filter")
    def _filtered(self, message: Input.Changed) -> None:
        self._filter = message.value.strip()
        self._list()

    @on(Input.Submitted, "#pass-filter")
    def _keep_filter(self) -> None:
        self._close_filter()

    @on(SearchBar.GivenUp, "#pass-filter")
    def _give_filter_up(self) -> None:
        self._filter = ""
        self._close_filter()
        self._list()

    def _close_filter(self) -> None:
        self.query_one("#pass-filter", SearchBar).display = False
        self.query_one(PassView).focus()

    # The diff.

    @on(PassView.Moved)
    def _show_pass(self) -> None:
        """What is under the cursor."""
        line = self.query_one(PassView).current
        bar = self.query_one(PassBar)
        if line is None:
            bar.set_labels([Label(" no pass is called so", "note")])
            return
        entry = entry_for(line.step.name)
        name = " ".join(filter(None, (line.step.name, _options(line))))
        bar.set_labels([Label(f" {name} ", "name"), Label(f" {entry.text}" if entry else "", "note")])
        self._compare(line)

    @work(exclusive=True, group="pass", exit_on_error=False)
    async def _compare(self, line: PassLine) -> None:
        texts = self.query_one(DiffView)
        page = await self._background.run(_page, line, self._compared, self._workspace)
        texts.show(page, self._headings(line), _TOP)
        if page.runs:
            texts.go_to_row(page.runs[0][0])

    def _headings(self, line: PassLine) -> tuple[str, str]:
        name = line.step.name
        if self._shown(line) == _BOTH:
            return f"A after {name}", f"B after {name}"
        letter = "B" if self._shown(line) == _IN_B else "A"
        return f"{letter} before {name}", f"{letter} after {name}"

    def _shown(self, line: PassLine) -> str:
        return _possible(line, self._compared)

    def action_compare(self) -> None:
        """The pass in A, in B, or A and B after it."""
        order = [_BOTH, _IN_A, _IN_B] if self._paired else [_IN_A]
        self._compared = order[(order.index(self._compared) + 1) % len(order)]
        self._show_pass()

    @on(PassView.Opened)
    def _enlarge(self) -> None:
        """The diff has the screen."""
        self.query_one(PassView).display = False
        self.query_one(DiffView).focus()

    def action_close(self) -> None:
        """Back to the list where the diff is large, else to the texts."""
        view = self.query_one(PassView)
        if view.display:
            self.dismiss(None)
        else:
            view.display = True
            view.focus()


def _possible(line: PassLine, wanted: str) -> str:
    """What can be shown of a pass that perhaps one side alone ran."""
    if line.a is None or line.b is None:
        return _IN_A if line.b is None else _IN_B
    return wanted


def _options(line: PassLine) -> str:
    """What the pass was run with; of both where that is not the same."""
    told = [step.options if step else "" for step in (line.a, line.b)]
    if line.a is None or line.b is None or told[0] == told[1]:
        return told[0] or told[1]
    return f"A {told[0]}  B {told[1]}"


def _said(line: PassLine, workspace: Workspace) -> str:
    """What a pass did; in both where that is not the same. Takes long: for the background."""
    told = [summary(step, workspace.module) or "nothing" if step else "" for step in (line.a, line.b)]
    if line.a is None or line.b is None or told[0] == told[1]:
        return told[0] or told[1]
    return f"A {told[0]}   B {told[1]}"


def _page(line: PassLine, wanted: str, workspace: Workspace) -> Page:
    """The two modules that are compared. Takes long: for the background."""
    what = _possible(line, wanted)
    left, right = _modules(line, what)
    if left is None or right is None:
        return plain_page(PageSide(["The module is not in this capture."]), None)
    if left == right and what != _BOTH:
        return plain_page(PageSide([f"{line.step.name} changed nothing."]), None)
    document, other = workspace.module(left), workspace.module(right)
    sides = PageSide(document.lines, left.language), PageSide(other.lines, right.language)
    if left.language != right.language:
        return plain_page(sides[1], None)
    return Page(*sides, diff_stage(line.step.stage, document, other).rows, compared=True)


def _modules(line: PassLine, what: str) -> tuple[PassModule | None, PassModule | None]:
    if what == _BOTH and line.a is not None and line.b is not None:
        return line.a.after, line.b.after
    step: PassStep = line.b if what == _IN_B and line.b is not None else line.step
    return step.before, step.after
