"""The bottom line: the keys that matter where the focus is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding

from irscope.tui.widgets.bar import Bar, Label


class KeyHints(Bar):
    """`a is A  b is B  x swap  ? help`; a click presses the key."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"key", "hint"}

    def labels(self, width: int) -> Sequence[Label]:
        """Key and short name of every binding that works now and asks to be shown, each once."""
        first: dict[str, Binding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show:
                first.setdefault(active.binding.action, active.binding)
        labels = []
        for binding in first.values():
            press = f"app.simulate_key('{binding.key}')"
            labels.append(Label(f" {self.app.get_key_display(binding)}", "key", press))
            labels.append(Label(f" {binding.description} ", "hint", press))
        return labels
