"""Every key of the app: the main screen's own, and those that the panels and the other screens declare.

The help, the palette and the docs list `sections`. A binding's `id` is the action's name in the config file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget

from irscope.tui.bindings import (
    ASK,
    EXPLAIN,
    FILTER_KEYS,
    HELP,
    IN_HOME,
    LEAVE,
    MOVE,
    QUIT,
    READ,
    SEARCH,
    SUSPEND,
    KeyGroup,
    key,
)
from irscope.tui.screens import OPENING_KEYS, Overlay, overlays
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.source_view import LineOutcomesView, SourceView
from irscope.tui.widgets.variant_table import VariantTable

LESSON = KeyGroup(
    "In a lesson",
    (
        key("full_stop", "lesson(1)", "The answer, then the next question", "go on", "."),
        key("comma", "lesson(-1)", "Previous page", display=","),
    ),
)
COMPARE = KeyGroup(
    "Compare",
    (
        key("right_square_bracket", "change(1)", "Next change", "next", "]"),
        key("left_square_bracket", "change(-1)", "Previous change", display="["),
        key("J", "step(1)", "Make the next variant B"),
        key("K", "step(-1)", "Make the previous variant B"),
        key("x", "swap", "Swap A and B", "swap"),
        key(
            "right_curly_bracket",
            "version(1)",
            "The same variant in the next version or capture",
            display="}",
        ),
        key("left_curly_bracket", "version(-1)", "The same variant in the previous version", display="{"),
        key("greater_than_sign", "finding(1)", "Next finding", display=">"),
        key("less_than_sign", "finding(-1)", "Previous finding", display="<"),
        key("exclamation_mark", "go_to_finding", "Go to what the finding is about", display="!"),
        key("u", "toggle_unified", "Show two columns or one", "unify"),
        key("f", "toggle_folded", "Fold or show equal lines", "fold"),
        key("t", "detail", "Show real changes only, shapes too, or all text differences", "detail"),
        key("L", "toggle_locations", "Show or hide source locations"),
    ),
)
BACK = key("ctrl+o,backspace", "back", "Back to where you were before a jump", "back")
FIND = KeyGroup(
    "Find",
    (
        *SEARCH,
        key(
            "colon",
            "go_to_line",
            "Go to a line (a12: line 12 of A), variant or finding by number",
            display=":",
        ),
        EXPLAIN,
        BACK,
        key("escape", "escape", "Undo zoom, search, filter, jump: one per press"),
    ),
)
EXPORT = KeyGroup(
    "Copy, open, save",
    (
        key("y", "copy_line(True)", "Copy the line (of B if there are two)"),
        key("c", "copy_operation", "Copy the operation, of both A and B if they differ"),
        key("Y", "copy_stage(True)", "Copy the whole stage (of B)"),
        key("o", "page(True)", "Open the stage (of B) in $PAGER"),
        key("E", "edit(True)", "Open the stage (of B) in $EDITOR"),
        key("w", "save(True)", "Save the stage (of B) to a file"),
        key("U", "reproduce(True)", "Write a reproducer of the variant (B) into a folder"),
        key("P", "picture", "Save a picture of the screen as SVG"),
    ),
)
# The same for A, only in the palette: action and what it does.
EXPORT_A = [
    ("copy_line(False)", "Copy the line of A"),
    ("copy_stage(False)", "Copy the whole stage of A"),
    ("page(False)", "Open the stage of A in $PAGER"),
    ("edit(False)", "Open the stage of A in $EDITOR"),
    ("save(False)", "Save the stage of A to a file"),
    ("reproduce(False)", "Write a reproducer of A into a folder"),
]
PANELS = KeyGroup(
    "Panels and stages",
    (
        *(key(str(n), f"stage({n})", f"Show stage {n}") for n in range(1, 10)),
        key("v", "toggle_variants", "Show or hide the table of variants", "table"),
        key("at", "choose_kernel", "Choose the kernel and target that the table shows", display="@"),
        *OPENING_KEYS,
        key("S", "toggle_source", "Show or hide the Python source next to the stage", "source"),
        key("i", "toggle_findings", "Findings: in one line, in a panel, hidden", "findings"),
        key("z", "zoom", "Show only this panel, or all panels"),
        key("m", "app.toggle_mouse", "Toggle mouse capture"),
    ),
)
RECOMPILE = key("r", "recompile", "Compile the source again; reload a capture that grew")
WHAT_IF = key("plus", "what_if", "Compile the variant also with other values: num_stages=4", "what if", "+")
EDIT_STAGE = key("A", "edit_stage", "Edit the stage of B in $EDITOR and build it; the result is B", "edit")
ON_SAVE = key("R", "toggle_recompile", "Compile when the source is saved, or only with r")
HOME = key("H", "app.home", "Home: recent captures, lessons, samples, the manual", name="home")
# In a capture that was opened from the home screen.
RETURN = key("q", "return_home", "Back to the home screen, if you came from there", "back")
APP = KeyGroup("The app", (WHAT_IF, EDIT_STAGE, RECOMPILE, ON_SAVE, HOME, RETURN, HELP, SUSPEND, QUIT))
# The bindings of the app itself, which every screen has.
EVERYWHERE = (HELP, SUSPEND, QUIT)

# The bindings of the main screen in the order of the bottom line; those of its panels come in addition.
MAIN = (
    BACK,
    *(
        binding
        for group in (LESSON, COMPARE, FIND, EXPORT, PANELS, APP)
        for binding in group.bindings
        if binding not in (*EVERYWHERE, BACK)
    ),
)
_MAIN_PANELS: tuple[type[LineView], ...] = (
    VariantTable, DiffView, FindingsView, SourceView, LineOutcomesView,
)  # fmt: skip


def sections() -> Sequence[KeyGroup]:
    """Return the groups of all keys in the order of the help."""
    return (
        COMPARE,
        *(panel.KEYS for panel in _MAIN_PANELS),
        LESSON,
        *(group for overlay in overlays() for group in overlay.KEYS),
        IN_HOME,
        LEAVE,
        READ,
        MOVE,
        FIND,
        EXPORT,
        PANELS,
        APP,
        ASK,
    )


def help_groups(screen: Screen[object]) -> list[KeyGroup]:
    """Return all groups, in the order of their use on `screen`.

    The focused panel's groups come first, then the screen's, then the others.
    """
    first: list[KeyGroup] = []
    if isinstance(screen.focused, LineView) and screen.focused.KEYS is not MOVE:
        first.append(screen.focused.KEYS)
    if isinstance(screen, (*overlays(), ReadingScreen)):
        first += [*screen.KEYS, READ, LEAVE, MOVE, APP]
    else:
        first += [LESSON] if screen.query("#lesson") else []
        first += [COMPARE, FIND, PANELS, MOVE, EXPORT, APP]
    return list({group.title: group for group in (*first, *sections())}.values())


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


def commands(screen: Screen[object], keymap: Mapping[str, str]) -> Iterator[SystemCommand]:
    """Yield the palette's commands: every action of the screen and its panels.

    `keymap` has the user's keys. An action runs in the panel that owns it, which gets the focus.
    """
    if isinstance(screen, (*overlays(), ReadingScreen)):
        yield from _commands(screen, _own_groups(screen), keymap)
        panels: Sequence[type[LineView]] = screen.PANELS
    elif screen.query("#variants"):
        lesson = [LESSON] if screen.query("#lesson") else []
        yield from _commands(screen, [*lesson, COMPARE, FIND, EXPORT, PANELS, APP], keymap)
        yield from (SystemCommand(text, "No key", _Run(screen, action)) for action, text in EXPORT_A)
        panels = _MAIN_PANELS
    else:
        return
    for panel in panels:
        owner = screen.query(panel).first()
        # A panel that is hidden can still act, but not if it is part of a hidden one.
        if all(node.display for node in owner.ancestors if isinstance(node, Widget)):
            yield from _commands(owner, [panel.KEYS], keymap)
    if panels:
        focused = screen.focused
        owner = focused if isinstance(focused, LineView) else screen.query(panels[0]).first()
        yield from _commands(owner, [MOVE], keymap)


def _scopes() -> Iterator[Sequence[Binding]]:
    """Yield the bindings that are active at the same time.

    They are those in a panel of the main screen, or of another screen.
    """
    for panel in _MAIN_PANELS:
        yield [*MAIN, *EVERYWHERE, *MOVE.bindings, *panel.KEYS.bindings]
    yield [*IN_HOME.bindings, *FILTER_KEYS, *LEAVE.bindings, *MOVE.bindings, *EVERYWHERE]
    for overlay in overlays():
        screen_bindings = [binding for group in _own_groups(overlay) for binding in group.bindings]
        yield screen_bindings
        for panel in overlay.PANELS:
            yield [*screen_bindings, *panel.KEYS.bindings, *MOVE.bindings]


def _own_groups(overlay: type[Overlay] | Overlay | ReadingScreen[object]) -> list[KeyGroup]:
    """Return the groups of a screen itself, without those of its panels."""
    panels = [panel.KEYS for panel in overlay.PANELS]
    kind = overlay if isinstance(overlay, type) else type(overlay)
    read = [READ] if issubclass(kind, ReadingScreen) else []
    return [*(group for group in overlay.KEYS if group not in panels), *read, LEAVE]


def _commands(
    owner: Widget, groups: Sequence[KeyGroup], keymap: Mapping[str, str]
) -> Iterator[SystemCommand]:
    for binding in (binding for group in groups for binding in group.bindings):
        if owner.app._check_action_state(binding.action, owner) is False:
            continue  # it has no meaning here
        keys = shown(owner.app, binding, keymap)
        yield SystemCommand(binding.tooltip, f"Key {keys}", _Run(owner, binding.action))


class _Run:
    """Runs an action in its panel, as its key would."""

    def __init__(self, owner: Widget, action: str) -> None:
        self._owner = owner
        self._action = action

    async def __call__(self) -> None:
        if self._owner.can_focus:
            self._owner.focus()
        app = self._owner.app
        if not await app.run_action(self._action, self._owner):
            from irscope.tui.key_advice import reason  # made from this module

            if why := reason(app, self._action):
                app.notify(why, markup=False)


def as_mapped(binding: Binding, keymap: Mapping[str, str]) -> Binding:
    """Return the binding with the user's keys, if the config file has any for it."""
    user_keys = keymap.get(binding.id or "")
    return binding if user_keys is None else replace(binding, key=user_keys, key_display=None)
