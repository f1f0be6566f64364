"""The command palette: every key's action by name, from the bindings themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.app import SystemCommand
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from irscope.tui import keys
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.variant_table import VariantTable


def commands(screen: Screen[None]) -> Iterator[SystemCommand]:
    """A command for each binding; it runs in the panel that owns it, which gets the focus."""
    everywhere = [*keys.COMPARE, *keys.SEARCH, *keys.PANELS, *keys.APP]
    yield from _of(screen, everywhere)
    yield from _of(screen.query_one(DiffView), [*keys.TEXT, *keys.MOVE])
    yield from _of(screen.query_one(VariantTable), keys.TABLE)
    yield from _of(screen.query_one(FindingsView), keys.FINDINGS)


def _of(owner: Widget, bindings: Sequence[Binding]) -> Iterator[SystemCommand]:
    for binding in bindings:
        shown = " ".join(owner.app.get_key_display(one) for one in Binding.make_bindings([binding]))
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
