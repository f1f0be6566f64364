"""Bars: one line of labels, some of which run an action when clicked.

The title, the stage tabs, the status line and the key hints of the main screen; other screens add their own.

A bar whose labels are wrapped at words, on as many lines as they need.

The lines below the table: what all its rows have in common, and that A and B should not be compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import ActiveBinding
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Input

from irscope.model.text import display_line
from irscope.tui.paint import ELLIPSIS, cell, fitted
from irscope.tui.table_model import TableModel
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.styled import Styled
from irscope.workspace import Detail, Workspace

if TYPE_CHECKING:
    from irscope.tui.widgets.search_bar import PanelSearch

# Notes of stages that have not been compared.
_OPEN = ("·", "…")
_TIP_STYLES = {"A": "mark--a", "B": "mark--b"}
# Help, the palette and quit, the last hints, and the hints of a panel that come before those of the screen.
_LAST, _OWN = 3, 4


@dataclass(frozen=True)
class Label:
    """A piece of a bar: its text, its style class, and the action that a click runs ("": none)."""

    text: str
    style: str
    action: str = ""


class Bar(Styled):
    """One line of labels, cut at the edge of the screen."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._labels: Sequence[Label] = ()

    def set_labels(self, labels: Sequence[Label]) -> None:
        """Show other labels."""
        if labels != self._labels:
            self._labels = labels
            self.refresh()

    def labels(self, width: int) -> Sequence[Label]:
        """Return the labels to show in `width` cells."""
        return self._labels

    def render_line(self, y: int) -> Strip:
        """Draws the labels."""
        width = self.size.width
        segments = [
            Segment(display_line(label.text), self.style(label.style)) for label in self.labels(width)
        ]
        return Strip(fitted(segments, width, self.base), width)

    async def on_click(self, event: events.Click) -> None:
        """Run the action of the clicked label."""
        end = 0
        for label in self.labels(self.size.width):
            end += cell_len(display_line(label.text))
            if event.x < end:
                if label.action:
                    await self.run_action(label.action)
                return


class TitleBar(Bar):
    """The first line: kernels, targets, the number of variants, the file."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"title--app", "title--name", "title--note"}

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.show(workspace)

    def show(self, workspace: Workspace) -> None:
        """Show the current state of the workspace."""
        kernels = dict.fromkeys(variant.kernel.name for variant in workspace.variants)
        targets = dict.fromkeys(str(variant.target) for variant in workspace.variants)
        failed = sum(variant.failure is not None for variant in workspace.variants)
        growth, number = workspace.growth, len(workspace.variants)
        count = growth.count(number) + (f", {failed:,} failed" if failed else "")
        count += f", {state}" if (state := growth.state(number)) else ""
        if workspace.in_progress:
            waiting = workspace.in_progress.waiting
            count += f", {len(workspace.in_progress) - waiting:,} compiling, {waiting:,} waiting"
        self.set_labels(
            [
                Label(" irscope ", "title--app"),
                Label(f" {', '.join(kernels)} ", "title--name"),
                Label(f" {', '.join(targets)}   {count}   {workspace.path.name}", "title--note"),
            ]
        )


class StageTabs(Bar):
    """`1 ttir =  2 ttgir 2 layouts`: the stages and what differs in each, abbreviated if they do not fit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tab", "tab--active", "tab--differs"}

    stages: Sequence[str] = ()
    notes: Mapping[str, str] = {}
    active = ""

    def set_stages(self, stages: Sequence[str], notes: Mapping[str, str], active: str) -> None:
        """Show these stages, one of them `active`; a note says what differs ("" without a pair)."""
        self.stages, self.notes, self.active = stages, dict(notes), active
        self.refresh()

    def labels(self, width: int) -> Sequence[Label]:
        """Return the tabs, with whole notes if they fit.

        The first tabs are dropped if the active one would not fit.
        """
        for short in (False, True):
            tabs = [self._label(number, stage, short) for number, stage in enumerate(self.stages, 1)]
            if _width(tabs) <= width:
                break
        active_index = self.stages.index(self.active) if self.active in self.stages else 0
        first = 0
        while first < active_index and _width(tabs[first : active_index + 1]) > width:
            first += 1
        return tabs[first:]

    def _label(self, number: int, stage: str, short: bool) -> Label:
        note = self.notes.get(stage, "")
        differs = bool(note) and note not in ("=", *_OPEN)
        if short and differs and stage != self.active:
            note = note.removesuffix(" only") if note[0] in "AB" else "~"
        style = "tab--active" if stage == self.active else "tab--differs" if differs else "tab"
        text = f" {number} {stage} {note} " if note else f" {number} {stage} "
        return Label(text, style, f"screen.run('stage({number})')")


class StatusLine(Bar):
    """`120/281  change 3/41  shapes too   3 added, 0 removed, 41 shapes`."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"position", "summary", "no-match"}

    def show_position(
        self, texts: DiffView, detail: Detail, search: PanelSearch, summary: str, progress: str
    ) -> None:
        """Show the cursor's position, the detail, the search, and how the stage differs.

        `progress` is how much of the capture there is, if it is incomplete.
        """
        page, row = texts.page, texts.row
        position = [f"{row + 1:,}/{len(page.rows):,}"]
        if page.runs:
            position.append(f"change {texts.change_number():,}/{len(page.runs):,}")
        # The Python tab has the line numbers of the file.
        is_stage = page.left.language is not None and page.left.numbers is None
        if page.compared and is_stage:
            position.append(detail.value)
        if texts.located and is_stage:
            position.append("locations")
        parts = (
            ("  ".join(position), "position"), (str(search), "no-match" if search.fails else "position"),
            (progress, "position"), (summary, "summary"),
        )  # fmt: skip
        self.set_labels([Label(f" {text} ", style) for text, style in parts if text])

    def show_message(self, message: str) -> None:
        """Show a message instead of the position."""
        self.set_labels([Label(f" {message} ", "summary")])


class StoryBar(Bar):
    """A line about A and B; without a text, the bar is hidden."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"story"}

    def show(self, text: str) -> None:
        """Show a text."""
        self.set_class(not text, "-empty")
        self.set_labels([Label(f" {text}", "story")])


class KeyHints(Bar):
    """`a is A  b is B  x swap  ? help`; a click presses the key. The last two stay if not all fit.

    While the user types, only the keys of typing.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key", "hint", "hint--off"}

    def on_mount(self) -> None:
        """Follow the focus: each panel has its own keys."""
        self.watch(self.screen, "focused", self._follow_focus, init=False)

    def _follow_focus(self) -> None:
        self.refresh()

    def labels(self, width: int) -> Sequence[Label]:
        """Key and hint of every active binding that has one, each once; dimmed if it cannot act now.

        The first ones are the panel's most important, then the screen's.
        """
        active_hints = hinted_bindings(self.screen)
        focused = self.screen.focused
        own = [active for active in active_hints if active.node is focused]
        rest = [active for active in active_hints if active.node is not focused]
        if isinstance(focused, Input) and not self.screen.is_modal:
            rest = []
        last = rest[-_LAST:]
        ordered = [*own[:_OWN], *rest[:-_LAST], *own[_OWN:]]
        hints, ends = list(map(self._hint, ordered)), list(map(self._hint, last))
        while hints and sum(len(label.text) for hint in (*hints, *ends) for label in hint) > width:
            del hints[-1]
        return [label for hint in (*hints, *ends) for label in hint]

    def _hint(self, active: ActiveBinding) -> tuple[Label, Label]:
        binding = active.binding
        press = f"app.simulate_key('{binding.key}')"
        key = Label(f" {self.app.get_key_display(binding)}", "key" if active.enabled else "hint--off", press)
        return key, Label(f" {binding.description} ", "hint" if active.enabled else "hint--off", press)


def hinted_bindings(screen: Screen[object]) -> list[ActiveBinding]:
    """Return the active bindings that have a hint, those of the focused panel first, each once."""
    first: dict[str, ActiveBinding] = {}
    for active in screen.active_bindings.values():
        if active.binding.show:
            first.setdefault(active.binding.action, active)
    return list(first.values())


def _width(labels: Sequence[Label]) -> int:
    return sum(len(label.text) for label in labels)


class WrappedBar(Bar):
    """Labels on one or more lines; subclasses name their style classes."""

    def set_labels(self, labels: Sequence[Label]) -> None:
        """Show other labels, on as many lines as they need."""
        super().set_labels(labels)
        if len(self._wrapped(self.size.width)) != self.size.height:
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of lines."""
        return max(1, len(self._wrapped(width)))

    def render_line(self, y: int) -> Strip:
        """Draws a line; the last one ends in an ellipsis if there are more than fit on the screen."""
        width = self.size.width
        lines = self._wrapped(width)
        segments = [Segment(text, self.style(style)) for text, style in (lines[y] if y < len(lines) else ())]
        if y == self.size.height - 1 and len(lines) > y + 1:
            more = Segment(f" {ELLIPSIS}", segments[-1].style)
            return Strip(fitted([*segments, more], width, self.base), width)
        return Strip(segments).adjust_cell_length(width, self.base).crop(0, width)

    def _wrapped(self, width: int) -> list[list[tuple[str, str]]]:
        """Return the labels as lines of pieces, each a text and its style class."""
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


class TableNote(Bar):
    """`3 of 10 match warps=8  all: num_ctas=1, cuda:90, Stack 0 bytes`; a click shows these columns."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"count", "constants"}

    def __init__(self, model: TableModel, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._model = model

    def labels(self, width: int) -> Sequence[Label]:
        """Return how many rows there are, then the constants; an ellipsis ends them if they do not fit."""
        count, constants = self._model.count_text, display_line(self._model.constants_text)
        count = f" {display_line(count)} " if count else ""
        room = max(width - len(count) - 1, 0)
        return [
            Label(count, "count", "screen.run('choose_kernel')"),
            Label(f" {cell(constants, room, right=False)}", "constants", "screen.show_constants"),
        ]

    def update(self, visible: bool) -> None:
        """Show the current state; hidden with the table, and if there is nothing to say."""
        self.display = visible and bool(self._model.count_text or self._model.constants_text)
        self.refresh()


class TipBar(Bar):
    """A key to try next, for a newcomer."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"tip", "mark--a", "mark--b"}

    def show(self, text: str) -> None:
        """Show the text, with A and B as they are marked in the table; "" hides the bar."""
        self.display = bool(text)
        pieces = re.split(r"\b([AB])\b", f" {text} ")
        self.set_labels([Label(piece, _TIP_STYLES.get(piece, "tip")) for piece in pieces])


class MismatchBar(Bar):
    """Warns that A and B are different kernels or for different targets; stays as long as they are."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"warning"}

    def show(self, text: str) -> None:
        """Show the text; "" hides the bar."""
        self.display = bool(text)
        self.set_labels([Label(f" ! {text} ", "warning")])
