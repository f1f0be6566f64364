"""The command palette: every key's action by name, from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from textual.app import SystemCommand
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from irscope.tui import keys
from irscope.tui.screens.chart import ChartScreen
from irscope.tui.screens.layout import LayoutScreen
from irscope.tui.screens.passes import PassesScreen
from irscope.tui.screens.why import WhyScreen, WhyView
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.pass_view import PassView
from irscope.tui.widgets.source_view import SourceView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.tui.widgets.work_view import WorkView


def commands(screen: Screen[None], keymap: Mapping[str, str]) -> Iterator[SystemCommand]:
    """A command for each binding; it runs in the panel that owns it, which gets the focus.

    `keymap` has the user's keys, by action.
    """
    everywhere = [*keys.COMPARE, *keys.SEARCH, *keys.EXPORT, *keys.PANELS, *keys.APP]
    if screen.query("#lesson"):
        yield from _of(screen, keys.LESSON, keymap)
    yield from _of(screen, everywhere, keymap)
    for action, words in keys.EXPORT_A:
        yield SystemCommand(words, "No key", _Run(screen, action))
    yield from _of(screen.query_one(DiffView), [*keys.TEXT, *keys.MOVE], keymap)
    yield from _of(screen.query_one(VariantTable), keys.TABLE, keymap)
    yield from _of(screen.query_one(FindingsView), keys.FINDINGS, keymap)
    if screen.query("#source").first().display:
        yield from _of(screen.query_one(SourceView), keys.SOURCE, keymap)
        yield from _of(screen.query_one(WorkView), keys.WORK, keymap)


def commands_of(screen: Screen[object], keymap: Mapping[str, str]) -> Iterator[SystemCommand]:
    """A command for each key of a screen over the main one."""
    if isinstance(screen, ChartScreen):
        yield from _of(screen, [*keys.CHART, *keys.LEAVE], keymap)
    elif isinstance(screen, LayoutScreen):
        yield from _of(screen, [*keys.LAYOUT, *keys.LEAVE], keymap)
    elif isinstance(screen, PassesScreen):
        yield from _of(screen.query_one(PassView), [*keys.PASS_LIST, *keys.MOVE], keymap)
        yield from _of(screen, [*keys.PASSES, *keys.LEAVE], keymap)
    elif isinstance(screen, WhyScreen):
        yield from _of(screen.query_one(WhyView), [*keys.WHY, *keys.MOVE], keymap)
        yield from _of(screen, keys.LEAVE, keymap)


def _of(owner: Widget, bindings: Sequence[Binding], keymap: Mapping[str, str]) -> Iterator[SystemCommand]:
    for binding in bindings:
        shown = keys.shown(owner.app, binding, keymap)
        yield SystemCommand(binding.tooltip, f"Key {shown}", _Run(owner, binding.action))


class _Run:
    """Runs an action in its panel, as its key would."""

    def __init__(self, owner: Widget, action: str) -> None:
        self._owner = owner
        self._action = action

    async def __call__(self) -> None:
        if self._owner.can_focus:
            self._owner.focus()
        await self._owner.run_action(self._action)
