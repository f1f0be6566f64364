"""What the app says about its keys: the help, the palette, conflicts in the config file, advice about a key.

All of it comes from the declared actions. A binding's `id` is the action's name in the config file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeGuard, runtime_checkable

from textual.actions import parse
from textual.app import App
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from irscope.tui.bindings import ASK, FILTER_KEYS, IN_HOME, LEAVE, MOVE, READ, KeyGroup
from irscope.tui.keys import APP, COMPARE, EVERYWHERE, EXPORT, FIND, LESSON, MAIN, PANELS, STAGES
from irscope.tui.palette import PaletteEntry
from irscope.tui.screens import overlays
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import ActionScreen
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.bars import hinted_bindings
from irscope.tui.widgets.line_view import LineView

# The first page of the help, which fits a screen of 24 lines, and the number of keys on it.
USEFUL, _MOST_USEFUL = "Most useful here", 13


def sections() -> Sequence[KeyGroup]:
    """Return the groups of all keys in the order of the help."""
    over = (group for screen in overlays() for group in _groups(screen))
    ends = (IN_HOME, LEAVE, READ, MOVE, FIND, EXPORT, PANELS, APP, ASK)
    groups = (COMPARE, *(panel.KEYS for panel in CompareScreen.PANELS), LESSON, *over, *ends)
    return list({group.title: group for group in groups}.values())


def _groups(screen: type[ActionScreen[Any]]) -> Sequence[KeyGroup]:
    """Return the groups of a screen over the main one: those of its panels, then its own."""
    return [*(panel.KEYS for panel in screen.PANELS if panel not in CompareScreen.PANELS), *screen.KEYS]


def help_groups(screen: Screen[object]) -> list[KeyGroup]:
    """Return all groups, in the order of their use on `screen`.

    The focused panel's groups come first, then the screen's, then the others.
    """
    first: list[KeyGroup] = []
    if isinstance(screen.focused, LineView) and screen.focused.KEYS is not MOVE:
        first.append(screen.focused.KEYS)
    if _is_over_main(screen):
        first += [*_groups(type(screen)), READ, LEAVE, MOVE, APP]
    else:
        first += [LESSON] if screen.query("#lesson") else []
        first += [COMPARE, FIND, PANELS, MOVE, EXPORT, APP]
    ordered = {group.title: group for group in (*first, *sections())}.values()
    hinted = [active.binding for active in hinted_bindings(screen)]
    actions = {action.id: action for group in reversed(ordered) for action in group.bindings}
    # The same key has another meaning in some screens: / searches or filters.
    useful = [replace(actions[b.id], tooltip=b.tooltip) for b in hinted if b.id in actions]
    return [KeyGroup(USEFUL, tuple(useful[:_MOST_USEFUL])), *ordered]


def _is_over_main(screen: Screen[object]) -> TypeGuard[ActionScreen[object]]:
    """Return True for a screen over the main one, but not for a dialog."""
    if not isinstance(screen, ActionScreen) or isinstance(screen, CompareScreen):
        return False
    return bool(screen.KEYS) or isinstance(screen, ReadingScreen)


def conflicts(keymap: Mapping[str, str]) -> list[str]:
    """Return messages about keys that `keymap` gives to an action and another one there also has."""
    messages: dict[str, None] = {}
    if not keymap:
        return []
    for scope in _scopes():
        owners: dict[str, dict[str, None]] = {}
        for binding in scope:
            for mapped in Binding.make_bindings([as_mapped(binding, keymap)]):
                owners.setdefault(mapped.key, {})[binding.id or ""] = None
        for pressed, actions in owners.items():
            if len(actions) > 1 and not actions.keys().isdisjoint(keymap):
                messages[f"'{pressed}' is a key of {' and of '.join(actions)}"] = None
    return list(messages)


def shown(app: App[None], binding: Binding, keymap: Mapping[str, str]) -> str:
    """Return the names of a binding's keys; those in the user's keymap replace its own."""
    bindings = Binding.make_bindings([as_mapped(binding, keymap)])
    return ", ".join(app.get_key_display(mapped) for mapped in bindings)


def palette_entries(screen: Screen[object], keymap: Mapping[str, str]) -> list[PaletteEntry]:
    """Return the actions of the screen and its panels: first those of the bottom line, then group by group.

    `keymap` has the user's keys. An action runs in the panel that owns it, which gets the focus. Keys that
    only move the cursor, or choose a tab, are left out.
    """
    if not (_is_over_main(screen) or isinstance(screen, CompareScreen)):
        return []
    owners: list[tuple[Widget, Sequence[KeyGroup]]] = [(screen, _own_groups(type(screen)))]
    for panel in screen.PANELS:
        view = screen.query(panel).first()
        # A panel that is hidden can still act, but not if it is part of a hidden one.
        if all(node.display for node in view.ancestors if isinstance(node, Widget)):
            owners.append((view, [] if panel.KEYS is MOVE else [panel.KEYS]))
    likely: dict[str | None, PaletteEntry] = {}
    others: list[PaletteEntry] = []
    hinted = [active.binding.id for active in hinted_bindings(screen)]
    for owner, groups in owners:
        for group in groups:
            for binding in group.bindings:
                if binding in STAGES or owner.app._check_action_state(binding.action, owner) is False:
                    continue  # it has no meaning here
                entry = PaletteEntry(
                    binding.tooltip,
                    shown(owner.app, binding, keymap),
                    "Likely" if binding.id in hinted else group.title,
                    _Run(owner, binding.action),
                )
                if binding.id in hinted:
                    likely[binding.id] = entry
                else:
                    others.append(entry)
    return [*(likely[name] for name in hinted if name in likely), *others]


def _scopes() -> Iterator[Sequence[Binding]]:
    """Yield the bindings that are active at the same time.

    They are those in a panel of the main screen, or of another screen.
    """
    for panel in CompareScreen.PANELS:
        yield [*MAIN, *EVERYWHERE, *MOVE.bindings, *panel.KEYS.bindings]
    yield [*IN_HOME.bindings, *FILTER_KEYS, *LEAVE.bindings, *MOVE.bindings, *EVERYWHERE]
    for overlay in overlays():
        screen_bindings = [binding for group in _own_groups(overlay) for binding in group.bindings]
        yield screen_bindings
        for panel in overlay.PANELS:
            yield [*screen_bindings, *panel.KEYS.bindings, *MOVE.bindings]


def _own_groups(screen: type[ActionScreen[Any]]) -> list[KeyGroup]:
    """Return the groups of a screen itself, without those of its panels."""
    read = [READ] if issubclass(screen, ReadingScreen) else []
    return [*screen.KEYS, *([] if issubclass(screen, CompareScreen) else [*read, LEAVE])]


class _Run:
    """Runs an action in its panel, as its key would."""

    def __init__(self, owner: Widget, action: str) -> None:
        self._owner = owner
        self._action = action

    async def __call__(self) -> None:
        if self._owner.can_focus:
            self._owner.focus()
        app = self._owner.app
        if not await app.run_action(self._action, self._owner) and (why := reason(app, self._action)):
            app.notify(why, markup=False)


def as_mapped(binding: Binding, keymap: Mapping[str, str]) -> Binding:
    """Return the binding with the user's keys, if the config file has any for it."""
    user_keys = keymap.get(binding.id or "")
    return binding if user_keys is None else replace(binding, key=user_keys)


@runtime_checkable
class Explaining(Protocol):
    """A screen or an app that knows why some of its actions cannot act now."""

    def unavailable(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why the action cannot act now, in one line, or "" if it can."""


def advice(app: App[None], key: str, character: str | None, keymap: Mapping[str, str]) -> str:
    """Return why `key` does nothing on the screen.

    Return "" if it does something, or is no key of irscope.
    """
    active = app.screen.active_bindings.get(key)
    if active is not None:
        return "" if active.enabled else reason(app, active.binding.action)
    pressed = character if character and character.isprintable() else key
    for group in sections():
        place = f", but {group.title.lower()}" if group.title.startswith("In ") else ""
        for binding in group.bindings:
            if any(mapped.key == key for mapped in Binding.make_bindings([as_mapped(binding, keymap)])):
                meaning = binding.tooltip.partition(";")[0]
                return f"{pressed} ({meaning}) does nothing here{place}; ? lists the keys"
    return f"{pressed} does nothing; ? lists the keys" if len(pressed) == 1 else ""


def reason(app: App[None], action: str) -> str:
    """Return why `action` of the screen or the app cannot act now, or "" if it can or nobody knows."""
    namespace, name, parameters = parse(action)
    owner = app if namespace == "app" else app.screen
    return owner.unavailable(name, parameters) if isinstance(owner, Explaining) else ""
