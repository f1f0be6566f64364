"""The actions of the main screen, an entry each: its keys, its name, what it does, when it is possible.

Panels and other screens declare theirs beside them; `key_help` makes the help, the palette and the docs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from irscope.tui.bindings import (
    EXPLAIN,
    HELP,
    NEXT_MATCH,
    PREVIOUS_MATCH,
    QUIT,
    SEARCH,
    SUSPEND,
    Action,
    KeyGroup,
    act,
    key,
    shared,
)
from irscope.tui.controllers.export import ExportController
from irscope.tui.screens import OPENING_KEYS
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

    return act(
        str(number),
        f"stage({number})",
        f"Show stage {number}",
        lambda s: s.stages.choose_number(number),
        problem=problem,
    )


LESSON = KeyGroup(
    "In a lesson",
    (
        act(
            ".",
            "lesson(1)",
            "The answer, then the next question",
            lambda s: s.turn_lesson(1),
            "go on",
            applies=_has_lesson,
        ),
        act(
            "comma",
            "lesson(-1)",
            "Previous page",
            lambda s: s.turn_lesson(-1),
            applies=_has_lesson,
        ),
    ),
)
COMPARE = KeyGroup(
    "Compare",
    (
        act(
            "]",
            "change(1)",
            "Next change",
            lambda s: s.stages.go_to_change(1),
            "next",
            problem=_no_change,
        ),
        act(
            "[",
            "change(-1)",
            "Previous change",
            lambda s: s.stages.go_to_change(-1),
            problem=_no_change,
        ),
        act("J", "step(1)", "Make the next variant B", lambda s: s.stages.step(1)),
        act("K", "step(-1)", "Make the previous variant B", lambda s: s.stages.step(-1)),
        act("x", "swap", "Swap A and B", lambda s: s.stages.swap(), "swap", problem=_same_variant),
        act(
            "}",
            "version(1)",
            "The same variant in the next version or capture",
            lambda s: s.timeline.step(1),
        ),
        act(
            "{",
            "version(-1)",
            "The same variant in the previous version",
            lambda s: s.timeline.step(-1),
        ),
        act(">", "finding(1)", "Next finding", lambda s: s.findings.step(1)),
        act("<", "finding(-1)", "Previous finding", lambda s: s.findings.step(-1)),
        act(
            "!",
            "go_to_finding",
            "Go to what the finding is about",
            lambda s: s.findings.go_to_current(),
        ),
        act(
            "u",
            "toggle_unified",
            "Show two columns or one",
            lambda s: s.texts.toggle_unified(),
            "unify",
            problem=_one_text,
        ),
        act(
            "f",
            "toggle_folded",
            "Fold or show equal lines",
            lambda s: s.texts.toggle_folded(),
            "fold",
            problem=_not_compared,
        ),
        act(
            "t",
            "detail",
            "Show real changes only, shapes too, or all text differences",
            lambda s: s.stages.choose_next_detail(),
            "detail",
            problem=_one_detail,
        ),
        act(
            "L",
            "toggle_locations",
            "Show or hide locations, debug information, addresses",
            lambda s: s.toggle_locations(),
        ),
    ),
)
BACK = act(
    "ctrl+o,backspace",
    "back",
    "Back to where you were before a jump",
    lambda s: s.navigation.go_back(),
    "back",
    applies=lambda s: s.navigation.has_jumped,
)
FIND = KeyGroup(
    "Find",
    (
        shared(SEARCH, lambda s: s.navigation.open_search()),
        shared(NEXT_MATCH, lambda s: s.navigation.go_to_match(1)),
        shared(PREVIOUS_MATCH, lambda s: s.navigation.go_to_match(-1)),
        act(
            ":",
            "go_to_line",
            "Go to a line (a12: line 12 of A), variant or finding by number",
            lambda s: s.navigation.go_to_line(),
        ),
        shared(EXPLAIN, lambda s: s.navigation.explain()),
        BACK,
        act("escape", "escape", "Undo zoom, search, filter, jump: one per press", lambda s: s.undo_view()),
    ),
)


def _export(
    keys: str, name: str, tooltip: str, tooltip_a: str, run: Callable[[ExportController, bool], object]
) -> tuple[Action, Action]:
    """Create the action for B, or for the only text, and the one for A, which only the palette has."""
    of_b = act(keys, f"{name}(True)", tooltip, lambda s: run(s.export, True))
    return of_b, act("", f"{name}(False)", tooltip_a, lambda s: run(s.export, False))


_COPY_LINE, *_EXPORTS = (
    _export(
        "y",
        "copy_line",
        "Copy the line (of B if there are two)",
        "Copy the line of A",
        ExportController.copy_line,
    ),
    _export(
        "Y",
        "copy_stage",
        "Copy the whole stage (of B)",
        "Copy the whole stage of A",
        ExportController.copy_stage,
    ),
    _export(
        "o",
        "page",
        "Open the stage (of B) in $PAGER",
        "Open the stage of A in $PAGER",
        ExportController.open_in_pager,
    ),
    _export(
        "E",
        "edit",
        "Open the stage (of B) in $EDITOR",
        "Open the stage of A in $EDITOR",
        ExportController.open_in_editor,
    ),
    _export(
        "w",
        "save",
        "Save the stage (of B) to a file",
        "Save the stage of A to a file",
        ExportController.save_stage,
    ),
    _export(
        "U",
        "reproduce",
        "Write a reproducer of the variant (B) into a folder",
        "Write a reproducer of A into a folder",
        ExportController.reproduce,
    ),
)
EXPORT = KeyGroup(
    "Copy, open, save",
    (
        _COPY_LINE[0],
        act(
            "c",
            "copy_operation",
            "Copy the operation, of both A and B if they differ",
            lambda s: s.export.copy_operation(),
        ),
        *(of_b for of_b, _ in _EXPORTS),
        act("P", "picture", "Save a picture of the screen as SVG", lambda s: s.export.save_picture()),
    ),
)
EXPORT_A = tuple(of_a for _, of_a in (_COPY_LINE, *_EXPORTS))
PANELS = KeyGroup(
    "Panels and stages",
    (
        *map(_stage, range(1, 10)),
        act(
            "v",
            "toggle_variants",
            "Show or hide the table of variants",
            lambda s: s.toggle_variants(),
            "table",
        ),
        act(
            "@",
            "choose_kernel",
            "Choose the kernel and target that the table shows",
            lambda s: s.variant_panel.choose_kernel(),
        ),
        *OPENING_KEYS,
        act(
            "S",
            "toggle_source",
            "Show or hide the Python source next to the stage",
            lambda s: s.source_panel.toggle(),
            "source",
        ),
        act(
            "i",
            "toggle_findings",
            "Findings: a panel of them, or hidden",
            lambda s: s.findings.toggle(),
            "findings",
        ),
        act("z", "zoom", "Show only this panel, or all panels", lambda s: s.zoom()),
        act(")", "grow(1)", "Make this panel larger; by mouse, drag a heading", lambda s: s.sizes.grow(1)),
        act("(", "grow(-1)", "Make this panel smaller", lambda s: s.sizes.grow(-1)),
        key("m", "app.toggle_mouse", "Toggle mouse capture"),
    ),
)
# Also a key of the screen that waits for the first plan.
RECOMPILE = key("r", "recompile", "Compile the source again; reload a capture that grew")
HOME = key("H", "app.home", "Home: recent captures, lessons, samples, the manual", name="home")
# In a capture that was opened from the home screen.
RETURN = act(
    "q",
    "return_home",
    "Back to the home screen, if you came from there",
    lambda s: s.return_home(),
    "back",
    applies=lambda s: s.came_from_home,
)
APP = KeyGroup(
    "The app",
    (
        act(
            "+",
            "what_if",
            "Compile the variant also with other values: num_stages=4",
            lambda s: s.what_if.ask_for_values(),
            "what if",
        ),
        act(
            "A",
            "edit_stage",
            "Edit the stage of B in $EDITOR and build it; the result is B",
            lambda s: s.stage_editor.edit(),
            "edit",
            problem=_nothing_to_build,
        ),
        shared(RECOMPILE, lambda s: s.live.recompile()),
        act(
            "R",
            "toggle_recompile",
            "Compile when the source is saved, or only with r",
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

MAIN_GROUPS = (LESSON, COMPARE, FIND, EXPORT, PANELS, APP)
# The bindings of the main screen in the order of the bottom line; those of its panels come in addition.
MAIN = (
    BACK,
    *(binding for group in MAIN_GROUPS for binding in group.bindings if binding not in (*EVERYWHERE, BACK)),
)
# The main screen's actions by name.
ACTIONS = {action.id: action for action in (*MAIN, *EXPORT_A) if action.run}
