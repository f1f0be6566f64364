"""A line about a key that does nothing where it was pressed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

from textual.actions import parse
from textual.app import App
from textual.binding import Binding
from textual.screen import Screen

from irscope.tui import keys


@runtime_checkable
class Explaining(Protocol):
    """A screen or an app that knows why some of its actions cannot act now."""

    def unavailable(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why the action cannot act now, in one line, or "" if it can."""


def advice(app: App[None], key: str, character: str | None, keymap: Mapping[str, str]) -> str:
    """Return why `key` does nothing on the screen.

    Return "" if it does something, or is no key of irscope.
    """
    screen = app.screen
    active = screen.active_bindings.get(key)
    if active is not None:
        return "" if active.enabled else reason(app, active.binding.action)
    pressed = character if character and character.isprintable() else key
    for group in keys.sections():
        for binding in group.bindings:
            if any(mapped.key == key for mapped in Binding.make_bindings([keys.as_mapped(binding, keymap)])):
                meaning = binding.tooltip.partition(";")[0].lower()
                return f"{pressed} ({meaning}) does nothing here; ? lists the keys"
    return f"{pressed} does nothing; ? lists the keys" if len(pressed) == 1 else ""


def reason(app: App[None], action: str) -> str:
    """Return why `action` of the screen or the app cannot act now, or "" if it can or nobody knows."""
    namespace, name, parameters = parse(action)
    owner: App[None] | Screen[object] = app if namespace == "app" else app.screen
    return owner.unavailable(name, parameters) if isinstance(owner, Explaining) else ""
