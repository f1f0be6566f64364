"""Every key of the app: the main screen's own, and those that the panels and the other screens declare.

An action of the main screen is one entry here: its keys, its name, what it does, when it is possible.

The help, the palette and the docs list `sections`. A binding's `id` is the action's name in the config file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

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
    NEXT_MATCH,
    PREVIOUS_MATCH,
    QUIT,
    READ,
    SEARCH,
    SUSPEND,
    Action,
    KeyGroup,
    act,
    key,
)
from irscope.tui.screens import OPENING_KEYS, Overlay, overlays
from irscope.tui.screens.reading import ReadingScreen
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.source_view import LineOutcomesView, SourceView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace.variant_texts import PYTHON
from irscope.workspace.what_if import can_build_from

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen

_SAME = "A and B are the same variant; make another one B in the table"


def _same_variant(screen: CompareScreen) -> str:
    return _SAME if screen.pair.single else ""


def _not_compared(screen: CompareScreen) -> str:
    if screen.texts.page.compared:
        return ""
    if screen.pair.single:
        return _SAME
    if screen.texts.page.right is None:
        return "Only one text is on screen: there is nothing to compare it with"
    return f"{screen.stage} is not compared yet"


def _no_change(screen: CompareScreen) -> str:
    no_change = "" if screen.texts.page.runs else f"A and B do not differ in {screen.stage}"
    return _not_compared(screen) or no_change


def _one_detail(screen: CompareScreen) -> str:
    is_python = screen.stage == PYTHON
    return _not_compared(screen) or ("The Python source has one level of detail" if is_python else "")


def _one_text(screen: CompareScreen) -> str:
    return "Only one text is on screen" if screen.texts.page.right is None else ""


def _nothing_to_build(screen: CompareScreen) -> str:
    if can_build_from(screen.stage):
        return ""
    return f"Nothing can be built from {screen.stage}: choose ttir, ttgir, llir or the assembly"


def _has_lesson(screen: CompareScreen) -> bool:
    return screen.lesson is not None


def _stage(number: int) -> Action:
    """Create the action that shows a stage by its number."""

    def problem(screen: CompareScreen) -> str:
        count = len(screen.pair.stages)
        return f"There are only {count} stages" if number > count else ""

    binding = key(str(number), f"stage({number})", f"Show stage {number}")
    return act(binding, lambda s: s.stages.choose_number(number), problem)


LESSON = KeyGroup(
    "In a lesson",
    (
        act(
            key("full_stop", "lesson(1)", "The answer, then the next question", "go on", "."),
            lambda s: s.turn_lesson(1),
            applies=_has_lesson,
        ),
        act(
            key("comma", "lesson(-1)", "Previous page", display=","),
            lambda s: s.turn_lesson(-1),
            applies=_has_lesson,
        ),
    ),
)
COMPARE = KeyGroup(
    "Compare",
    (
        act(
            key("right_square_bracket", "change(1)", "Next change", "next", "]"),
            lambda s: s.stages.go_to_change(1),
            _no_change,
        ),
        act(
            key("left_square_bracket", "change(-1)", "Previous change", display="["),
            lambda s: s.stages.go_to_change(-1),
            _no_change,
        ),
        act(key("J", "step(1)", "Make the next variant B"), lambda s: s.stages.step(1)),
        act(key("K", "step(-1)", "Make the previous variant B"), lambda s: s.stages.step(-1)),
        act(key("x", "swap", "Swap A and B", "swap"), lambda s: s.stages.swap(), _same_variant),
        act(
            key(
                "right_curly_bracket",
                "version(1)",
                "The same variant in the next version or capture",
                display="}",
            ),
            lambda s: s.timeline.step(1),
        ),
        act(
            key("left_curly_bracket", "version(-1)", "The same variant in the previous version", display="{"),
            lambda s: s.timeline.step(-1),
        ),
        act(
            key("greater_than_sign", "finding(1)", "Next finding", display=">"), lambda s: s.findings.step(1)
        ),
        act(
            key("less_than_sign", "finding(-1)", "Previous finding", display="<"),
            lambda s: s.findings.step(-1),
        ),
        act(
            key("exclamation_mark", "go_to_finding", "Go to what the finding is about", display="!"),
            lambda s: s.findings.go_to_current(),
        ),
        act(
            key("u", "toggle_unified", "Show two columns or one", "unify"),
            lambda s: s.texts.toggle_unified(),
            _one_text,
        ),
        act(
            key("f", "toggle_folded", "Fold or show equal lines", "fold"),
            lambda s: s.texts.toggle_folded(),
            _not_compared,
        ),
        act(
            key("t", "detail", "Show real changes only, shapes too, or all text differences", "detail"),
            lambda s: s.stages.choose_next_detail(),
            _one_detail,
        ),
        act(key("L", "toggle_locations", "Show or hide source locations"), lambda s: s.toggle_locations()),
    ),
)
BACK = act(
    key("ctrl+o,backspace", "back", "Back to where you were before a jump", "back"),
    lambda s: s.navigation.go_back(),
    applies=lambda s: s.navigation.has_jumped,
)
FIND = KeyGroup(
    "Find",
    (
        act(SEARCH, lambda s: s.navigation.open_search()),
        act(NEXT_MATCH, lambda s: s.navigation.go_to_match(1)),
        act(PREVIOUS_MATCH, lambda s: s.navigation.go_to_match(-1)),
        act(
            key(
                "colon",
                "go_to_line",
                "Go to a line (a12: line 12 of A), variant or finding by number",
                display=":",
            ),
            lambda s: s.navigation.go_to_line(),
        ),
        act(EXPLAIN, lambda s: s.navigation.explain()),
        BACK,
        act(
            key("escape", "escape", "Undo zoom, search, filter, jump: one per press"), lambda s: s.undo_view()
        ),
    ),
)
EXPORT = KeyGroup(
    "Copy, open, save",
    (
        act(
            key("y", "copy_line(True)", "Copy the line (of B if there are two)"),
            lambda s: s.export.copy_line(right=True),
        ),
        act(
            key("c", "copy_operation", "Copy the operation, of both A and B if they differ"),
            lambda s: s.export.copy_operation(),
        ),
        act(
            key("Y", "copy_stage(True)", "Copy the whole stage (of B)"),
            lambda s: s.export.copy_stage(right=True),
        ),
        act(
            key("o", "page(True)", "Open the stage (of B) in $PAGER"),
            lambda s: s.export.open_in_pager(right=True),
        ),
        act(
            key("E", "edit(True)", "Open the stage (of B) in $EDITOR"),
            lambda s: s.export.open_in_editor(right=True),
        ),
        act(
            key("w", "save(True)", "Save the stage (of B) to a file"),
            lambda s: s.export.save_stage(right=True),
        ),
        act(
            key("U", "reproduce(True)", "Write a reproducer of the variant (B) into a folder"),
            lambda s: s.export.reproduce(right=True),
        ),
        act(key("P", "picture", "Save a picture of the screen as SVG"), lambda s: s.export.save_picture()),
    ),
)
# The same for A, only in the palette.
EXPORT_A = (
    act(key("", "copy_line(False)", "Copy the line of A"), lambda s: s.export.copy_line(right=False)),
    act(
        key("", "copy_stage(False)", "Copy the whole stage of A"), lambda s: s.export.copy_stage(right=False)
    ),
    act(
        key("", "page(False)", "Open the stage of A in $PAGER"), lambda s: s.export.open_in_pager(right=False)
    ),
    act(
        key("", "edit(False)", "Open the stage of A in $EDITOR"),
        lambda s: s.export.open_in_editor(right=False),
    ),
    act(key("", "save(False)", "Save the stage of A to a file"), lambda s: s.export.save_stage(right=False)),
    act(
        key("", "reproduce(False)", "Write a reproducer of A into a folder"),
        lambda s: s.export.reproduce(right=False),
    ),
)
PANELS = KeyGroup(
    "Panels and stages",
    (
        *map(_stage, range(1, 10)),
        act(
            key("v", "toggle_variants", "Show or hide the table of variants", "table"),
            lambda s: s.toggle_variants(),
        ),
        act(
            key("at", "choose_kernel", "Choose the kernel and target that the table shows", display="@"),
            lambda s: s.variant_panel.choose_kernel(),
        ),
        *OPENING_KEYS,
        act(
            key("S", "toggle_source", "Show or hide the Python source next to the stage", "source"),
            lambda s: s.source_panel.toggle(),
        ),
        act(
            key("i", "toggle_findings", "Findings: in one line, in a panel, hidden", "findings"),
            lambda s: s.findings.toggle(),
        ),
        act(key("z", "zoom", "Show only this panel, or all panels"), lambda s: s.zoom()),
        key("m", "app.toggle_mouse", "Toggle mouse capture"),
    ),
)
# Also a key of the screen that waits for the first plan.
RECOMPILE = key("r", "recompile", "Compile the source again; reload a capture that grew")
HOME = key("H", "app.home", "Home: recent captures, lessons, samples, the manual", name="home")
# In a capture that was opened from the home screen.
RETURN = act(
    key("q", "return_home", "Back to the home screen, if you came from there", "back"),
    lambda s: s.return_home(),
    applies=lambda s: s.came_from_home,
)
APP = KeyGroup(
    "The app",
    (
        act(
            key(
                "plus", "what_if", "Compile the variant also with other values: num_stages=4", "what if", "+"
            ),
            lambda s: s.what_if.ask_for_values(),
        ),
        act(
            key("A", "edit_stage", "Edit the stage of B in $EDITOR and build it; the result is B", "edit"),
            lambda s: s.stage_editor.edit(),
            _nothing_to_build,
        ),
        act(RECOMPILE, lambda s: s.live.recompile()),
        act(
            key("R", "toggle_recompile", "Compile when the source is saved, or only with r"),
            lambda s: s.recompile_on_save.toggle(),
        ),
        HOME,
        RETURN,
        HELP,
        SUSPEND,
        QUIT,
    ),
)
# The bindings of the app itself, which every screen has.
EVERYWHERE = (HELP, SUSPEND, QUIT)

_MAIN_GROUPS = (LESSON, COMPARE, FIND, EXPORT, PANELS, APP)
# The bindings of the main screen in the order of the bottom line; those of its panels come in addition.
MAIN = (
    BACK,
    *(binding for group in _MAIN_GROUPS for binding in group.bindings if binding not in (*EVERYWHERE, BACK)),
)
# The main screen's actions by name.
ACTIONS = {action.id: action for action in (*MAIN, *EXPORT_A) if isinstance(action, Action)}
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
        yield from (
            SystemCommand(action.tooltip, "No key", _Run(screen, action.action)) for action in EXPORT_A
        )
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
