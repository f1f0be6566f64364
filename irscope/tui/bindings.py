"""Key bindings. The help, the palette, the bottom line, the docs and the config file are made from them."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True)
class KeyGroup:
    """The bindings of a panel or screen, and the title under which the help lists them."""

    title: str
    bindings: tuple[Binding, ...]


def key(
    keys: str, action: str, tooltip: str, hint: str = "", display: str | None = None, name: str = ""
) -> Binding:
    """A binding. `tooltip` says what it does; with a short `hint`, the bottom line shows it.

    `name` is what the config file calls the action, if not `action`.
    """
    return Binding(
        keys,
        action,
        hint or tooltip,
        show=bool(hint),
        key_display=display,
        tooltip=tooltip,
        id=name or action,
    )


MOVE = KeyGroup(
    "Move, in every panel",
    (
        key("j,down", "down", "Next line"),
        key("k,up", "up", "Previous line"),
        key("pagedown,space", "page_down", "Page down"),
        key("pageup", "page_up", "Page up"),
        key("g,home", "first", "First line"),
        key("G,end", "last", "Last line"),
    ),
)
# In every screen over the main one.
LEAVE = KeyGroup("In a screen over the main one", (key("q,escape", "close", "Back to the texts", "back"),))
