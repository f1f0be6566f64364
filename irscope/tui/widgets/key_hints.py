"""The bottom line: the keys that matter where the focus is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding

from irscope.tui.widgets.bar import Bar, Label

# Help and quit.
_LAST = 2


class KeyHints(Bar):
    """`a is A  b is B  x swap  ? help`; a click presses the key. The last two stay where room is short."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key", "hint"}

    def labels(self, width: int) -> Sequence[Label]:
        """Key and short name of every binding that works now and asks to be shown, each once."""
        first: dict[str, Binding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show:
                first.setdefault(active.binding.action, active.binding)
        hints = [self._hint(binding) for binding in first.values()]
        while len(hints) > _LAST and sum(len(label.text) for hint in hints for label in hint) > width:
            del hints[-_LAST - 1]
        return [label for hint in hints for label in hint]

    def _hint(self, binding: Binding) -> tuple[Label, Label]:
        press = f"app.simulate_key('{binding.key}')"
        key = Label(f" {self.app.get_key_display(binding)}", "key", press)
        return key, Label(f" {binding.description} ", "hint", press)
