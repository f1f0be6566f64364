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
    _key("S", "toggle_source", "Show or hide the Python beside the stage", "source"),
    _key("i", "toggle_findings", "Show or hide the findings", "findings"),
    _key("z", "zoom", "This panel alone, or all again"),
    _key("m", "app.toggle_mouse", "Let go of the mouse, or take it back"),
]
APP = [
    _key("question_mark", "help", "Help", "help", "?"),
    _key("q", "app.quit", "Quit", "quit"),
]

# Title and keys of each group, as the help lists them.
SECTIONS: Sequence[tuple[str, Sequence[Binding]]] = (
    ("Compare", COMPARE),
    ("In the table of variants", TABLE),
    ("In the texts", TEXT),
    ("In the findings", FINDINGS),
    ("In the Python", SOURCE),
    ("In what a line became", WORK),
    ("Move, in every panel", MOVE),
    ("Find", SEARCH),
    ("Copy, open, save", EXPORT),
    ("Panels and stages", PANELS),
    ("The app", APP),
)


def shown(app: App[None], binding: Binding, keymap: Mapping[str, str]) -> str:
    """The keys of a binding as they are called, those of the user's keymap in place of its own."""
    own = keymap.get(binding.id or "")
    if own is not None:
        binding = replace(binding, key=own, key_display=None)
    return ", ".join(app.get_key_display(one) for one in Binding.make_bindings([binding]))
