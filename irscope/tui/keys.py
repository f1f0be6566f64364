"""The actions of the main screen, an entry each: its keys, its name, what it does, when it is possible.

Panels and other screens declare theirs beside them; `key_help` makes the help, the palette and the docs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irscope.tui.bindings import (
    EXPLAIN,
    HELP,
    NEXT_MATCH,
    PALETTE,
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
from irscope.tui.screens import OPENING_KEYS
from irscope.workspace.variant_texts import PYTHON
from irscope.workspace.what_if import can_build_from

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen

_SAME = "A and B are the same variant; J makes the next one B, and so does Enter in the table"


def _same_variant(screen: CompareScreen) -> str:
    return _SAME if screen.pair.single else ""


def _differing_stage(screen: CompareScreen) -> str:
    """Return where A and B differ instead: "; A and B differ in 4 ttgir"."""
    pair = screen.pair
    numbered = (f"{number} {stage}" for number, stage in enumerate(pair.stages, 1) if pair.differs_in(stage))
    first = next(numbered, "")
    return f"; A and B differ in {first}" if first else ""


def _not_compared(screen: CompareScreen) -> str:
    if screen.texts.page.compared:
        return ""
    if screen.pair.single:
        return _SAME
    if screen.texts.page.right is None:
        return f"Only one text is on screen{_differing_stage(screen)}"
    return f"{screen.stage} is not compared yet"


def _no_change(screen: CompareScreen) -> str:
    no_change = f"{screen.stage} has no changes{_differing_stage(screen)}"
    return _not_compared(screen) or ("" if screen.texts.page.runs else no_change)


def _one_detail(screen: CompareScreen) -> str:
    is_python = screen.stage == PYTHON
    return _not_compared(screen) or ("The Python source has one level of detail" if is_python else "")


def _one_text(screen: CompareScreen) -> str:
    return _not_compared(screen) if screen.texts.page.right is None else ""


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
        key(":", "go_to_line", "Go to a line (a12: line 12 of A), variant or finding by number"),
        shared(EXPLAIN, lambda s: s.navigation.explain()),
        BACK,
        act("escape", "escape", "Undo zoom, search, filter, jump: one per press", lambda s: s.undo_view()),
    ),
)


EXPORT = KeyGroup(
    "Copy, open, save",
    (
        act("y", "copy_line", "Copy the line (of B if there are two)", lambda s: s.export.copy_line()),
        act("Y", "copy_config", "Copy the config of B", lambda s: s.export.copy_config()),
        act(
            "c",
            "copy_operation",
            "Copy the operation, of both A and B if they differ",
            lambda s: s.export.copy_operation(),
        ),
        act("o", "page", "Open the stage (of B) in $PAGER", lambda s: s.export.open_in_pager()),
        act("w", "save", "Save the stage (of B) to a file", lambda s: s.export.save_stage()),
    ),
)
STAGES = tuple(map(_stage, range(1, 10)))
PANELS = KeyGroup(
    "Panels and stages",
    (
        *STAGES,
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
            "Choose the kernel and target of the table",
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
    ),
)
# Also a key of the screen that waits for the first plan.
RECOMPILE = key("r", "recompile", "Compile the source again; reload a capture that grew")
HOME = key("H", "app.home", "Home: recent captures, lessons, samples", name="home")
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
        HOME,
        RETURN,
        HELP,
        PALETTE,
        SUSPEND,
        QUIT,
    ),
)
# The bindings of the app itself, which every screen has.
EVERYWHERE = (HELP, PALETTE, SUSPEND, QUIT)

MAIN_GROUPS = (LESSON, COMPARE, FIND, EXPORT, PANELS, APP)
# What the bottom line shows first, after the keys of the panel; what fits at 80 columns is the first line.
_HINTED = (
    "back", "lesson(1)", "change(1)", "why", "passes", "toggle_source", "search", "what_if",
    "layout", "chart", "explain", "swap", "estimate", "bits", "timeline", "toggle_findings", "detail",
    "toggle_folded", "toggle_unified", "toggle_variants", "edit_stage", "return_home",
)  # fmt: skip


def _rank(action: Action) -> int:
    """Return the place of an action in the bottom line."""
    return _HINTED.index(action.id) if action.id in _HINTED else len(_HINTED)


# The bindings of the main screen in the order of the bottom line; those of its panels come in addition.
MAIN = tuple(
    sorted(
        (binding for group in MAIN_GROUPS for binding in group.bindings if binding not in EVERYWHERE),
        key=_rank,
    )
)
# The main screen's actions by name.
ACTIONS = {action.id: action for action in MAIN if action.run}
