"""Every key of the app, in one place. The help screen, the palette and the bottom line are made from it.

A binding's `id` is its action: what a keymap names it by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from textual.app import App
from textual.binding import Binding


def _key(keys: str, action: str, tooltip: str, short: str = "", display: str | None = None) -> Binding:
    """A binding. `tooltip` says what it does; with a `short` name it also stands in the bottom line."""
    return Binding(
        keys, action, short or tooltip, show=bool(short), key_display=display, tooltip=tooltip, id=action
    )


# In every panel.
MOVE = [
    _key("j,down", "down", "Next line"),
    _key("k,up", "up", "Previous line"),
    _key("pagedown,space", "page_down", "Page down"),
    _key("pageup", "page_up", "Page up"),
    _key("g,home", "first", "First line"),
    _key("G,end", "last", "Last line"),
]

# In the texts.
TEXT = [
    _key("l,right", "pan(8)", "Move the texts to see more of the right"),
    _key("h,left", "pan(-8)", "Move the texts back"),
    _key("0", "pan_home", "Back to the start of the lines"),
    _key("enter", "open_fold", "Open the fold under the cursor"),
]

# In the table of variants.
TABLE = [
    _key("a", "mark('a')", "Make this variant A", "is A"),
    _key("b,enter", "mark('b')", "Make this variant B", "is B"),
    _key("l,right", "column(1)", "Next column"),
    _key("h,left", "column(-1)", "Previous column"),
    _key("s", "sort", "Sort by the column; again: the other way round", "sort"),
    _key("F,backslash", "screen.filter", "Filter: words in a row, or registers>128", "filter"),
]

# In the list of findings.
FINDINGS = [_key("enter", "jump", "Go to the lines that prove it", "go there")]

# In the Python beside the stage, and in the list of what its line became.
SOURCE = [_key("enter", "follow", "Go to the next operation that the line became", "follow")]
WORK = [_key("enter", "go", "Go to the stage of these operations", "go there")]

# In the chart, a screen of its own.
CHART = [
    _key("l,right", "move(1)", "Next point", "point"),
    _key("h,left", "move(-1)", "Previous point"),
    _key("j,down", "fact(1)", "Next fact", "fact"),
    _key("k,up", "fact(-1)", "Previous fact"),
    _key("tab,x", "axis", "Lay the variants out by the next name of the configs", "x axis"),
    _key("s", "split", "Make series by the next name of the configs, or none", "series"),
    _key("a", "mark('a')", "Make this variant A", "is A"),
    _key("b,enter", "mark('b')", "Make this variant B", "is B"),
]

# In the list of reasons, a screen of its own.
WHY = [_key("enter", "go", "Go to the line that it is about", "go there")]

# In the passes, a screen of its own; the first in their list alone.
PASS_LIST = [_key("enter", "open", "The diff of the pass large", "large")]
PASSES = [
    _key("c", "changed", "Only passes that changed the module, or all", "changed"),
    _key("slash,F", "filter", "Filter by name", "filter", "/"),
    _key("f", "parting", "Go to the first pass in which A and B part", "parting"),
    _key("d", "compare", "What the diff is of: A and B after the pass, the pass in A, or in B", "A/B"),
]

# In the layouts, a screen of its own.
LAYOUT = [
    _key("l,right", "cell(0, 1)", "Next cell", "cell"),
    _key("h,left", "cell(0, -1)", "Previous cell"),
    _key("j,down", "cell(1, 0)", "Cell below"),
    _key("k,up", "cell(-1, 0)", "Cell above"),
    _key("pagedown,space", "cells_down(1)", "A screen down"),
    _key("pageup", "cells_down(-1)", "A screen up"),
    _key("tab,n", "value(1)", "Next tensor or buffer of the kernel", "value"),
    _key("shift+tab,N", "value(-1)", "Previous tensor or buffer"),
    _key("z", "whole", "The whole tensor, or the part that repeats", "whole"),
    _key("s", "swizzle", "Shared memory without its swizzle, or with it", "swizzle"),
    _key("b", "banks", "The banks of each access to the buffer, then the buffer", "banks"),
]

# In a lesson.
LESSON = [
    _key("full_stop", "lesson(1)", "The answer, then the next question", "go on", "."),
    _key("comma", "lesson(-1)", "Back to the page before", display=","),
]

# In every screen over the main one.
LEAVE = [_key("q,escape", "close", "Back to the texts", "back")]

# Everywhere.
COMPARE = [
    _key("right_square_bracket", "change(1)", "Next change", "next", "]"),
    _key("left_square_bracket", "change(-1)", "Previous change", display="["),
    _key("J", "step(1)", "Next variant as B"),
    _key("K", "step(-1)", "Previous variant as B"),
    _key("x", "swap", "Swap A and B", "swap"),
    _key("u", "toggle_unified", "Two sides, or one column", "unify"),
    _key("f", "toggle_folded", "Fold what is equal, or show it", "fold"),
    _key("t", "detail", "Only real changes, shapes too, or every difference of the texts", "detail"),
    _key("L", "toggle_locations", "Show source locations, or hide them"),
]
EXPORT = [
    _key("y", "copy_line(True)", "Copy the line (where there are two: of B)"),
    _key("c", "copy_operation", "Copy the operation, of A and of B where they differ"),
    _key("Y", "copy_stage(True)", "Copy the whole stage (of B)"),
    _key("o", "page(True)", "Open the stage (of B) in $PAGER"),
    _key("E", "edit(True)", "Open the stage (of B) in $EDITOR"),
    _key("w", "save(True)", "Save the stage (of B) to a file"),
    _key("P", "picture", "Save a picture of the screen as SVG"),
]
# The same of A, by name in the palette alone: action and what it does.
EXPORT_A = [
    ("copy_line(False)", "Copy the line of A"),
    ("copy_stage(False)", "Copy the whole stage of A"),
    ("page(False)", "Open the stage of A in $PAGER"),
    ("edit(False)", "Open the stage of A in $EDITOR"),
    ("save(False)", "Save the stage of A to a file"),
]
SEARCH = [
    _key("slash", "search", "Search; capitals count only where you type some", "search", "/"),
    _key("n", "match(1)", "Next match"),
    _key("N", "match(-1)", "Previous match"),
    _key("colon", "go_to_line", "Go to a line: its number; a12 is line 12 of A", display=":"),
    _key("e", "explain", "Explain the words on the line, or the column", "explain"),
]
PANELS = [
    *(_key(str(n), f"stage({n})", f"Stage tab {n}") for n in range(1, 10)),
    _key("v", "toggle_variants", "Show or hide the table of variants", "table"),
    _key("T", "layout", "Tensor layouts: which thread holds what, where it lies in memory", "layouts"),
    _key("C", "chart", "Chart a fact (that of the table's column) over the configs", "chart"),
    _key("W", "why", "Why it was compiled again, what that led to, and was it worth it", "why"),
    _key("p", "passes", "The compiler's passes, and the one in which A and B part", "passes"),
    _key("S", "toggle_source", "Show or hide the Python beside the stage", "source"),
    _key("i", "toggle_findings", "Show or hide the findings", "findings"),
    _key("z", "zoom", "This panel alone, or all again"),
    _key("m", "app.toggle_mouse", "Let go of the mouse, or take it back"),
]
RECOMPILE = _key("r", "recompile", "Compile the source as it is now; of a capture alone, read on in its file")
QUIT = _key("q", "app.quit", "Quit", "quit")
APP = [RECOMPILE, _key("question_mark", "help", "Help", "help", "?"), QUIT]

# Title and keys of each group, as the help lists them.
SECTIONS: Sequence[tuple[str, Sequence[Binding]]] = (
    ("Compare", COMPARE),
    ("In the table of variants", TABLE),
    ("In the texts", TEXT),
    ("In the findings", FINDINGS),
    ("In the Python", SOURCE),
    ("In what a line became", WORK),
    ("In a lesson", LESSON),
    ("In the chart", CHART),
    ("In the reasons", WHY),
    ("In the list of passes", PASS_LIST),
    ("In the layouts", LAYOUT),
    ("In the passes", PASSES),
    ("In a screen over the main one", LEAVE),
    ("Move, in every panel", MOVE),
    ("Find", SEARCH),
    ("Copy, open, save", EXPORT),
    ("Panels and stages", PANELS),
    ("The app", APP),
)

_MAIN = [*LESSON, *COMPARE, *SEARCH, *EXPORT, *PANELS, *APP, *MOVE]
# The bindings that are at work at the same time: in a panel of the main screen, in another screen.
SCOPES: Sequence[Sequence[Binding]] = (
    *([*_MAIN, *panel] for panel in (TABLE, TEXT, FINDINGS, SOURCE, WORK)),
    [*LAYOUT, *LEAVE],
    [*CHART, *LEAVE],
    [*WHY, *LEAVE, *MOVE],
    *([*PASSES, *panel, *LEAVE, *MOVE] for panel in (PASS_LIST, TEXT)),
)


def conflicts(keymap: Mapping[str, str]) -> list[str]:
    """The keys that `keymap` gives to an action though another has them where both are at work."""
    found: dict[str, None] = {}
    for scope in SCOPES:
        owners: dict[str, dict[str, None]] = {}
        for binding in scope:
            for one in Binding.make_bindings([_as_mapped(binding, keymap)]):
                owners.setdefault(one.key, {})[binding.id or ""] = None
        for key, actions in owners.items():
            if len(actions) > 1 and not actions.keys().isdisjoint(keymap):
                found[f"'{key}' is a key of {' and of '.join(actions)}"] = None
    return list(found)


def shown(app: App[None], binding: Binding, keymap: Mapping[str, str]) -> str:
    """The keys of a binding as they are called, those of the user's keymap in place of its own."""
    bindings = Binding.make_bindings([_as_mapped(binding, keymap)])
    return ", ".join(app.get_key_display(one) for one in bindings)


def _as_mapped(binding: Binding, keymap: Mapping[str, str]) -> Binding:
    own = keymap.get(binding.id or "")
    return binding if own is None else replace(binding, key=own, key_display=None)
