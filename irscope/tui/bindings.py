"""Key bindings. The help, the palette, the bottom line, the docs and the config file are made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from textual.binding import Binding

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen


@dataclass(frozen=True, kw_only=True)
class Action(Binding):
    """An action of a screen or a panel: its keys, what it does, and when it is possible.

    Its `id` is its name. `run` runs it; without, Textual calls its owner's method of that name.
    `problem` returns why it cannot act now, in one line, or "" if it can; its key is dimmed then, and shows
    the line. Where `applies` is False, the key is hidden.
    """

    run: Callable[[Any], object] | None = None
    problem: Callable[[Any], str] = lambda owner: ""
    applies: Callable[[Any], bool] = lambda owner: True


@dataclass(frozen=True)
class KeyGroup:
    """The bindings of a panel or screen, and the title under which the help lists them."""

    title: str
    bindings: tuple[Action, ...]


def key(
    keys: str,
    action: str,
    tooltip: str,
    hint: str = "",
    name: str = "",
    applies: Callable[[Any], bool] = Action.applies,
) -> Action:
    """Create an action. `tooltip` says what it does; with a short `hint`, the bottom line shows it.

    `name` is what the config file calls the action, if not `action`.
    """
    return Action(
        keys,
        action,
        hint or tooltip,
        show=bool(hint),
        tooltip=tooltip,
        id=name or action,
        applies=applies,
    )


def shared(action: Action, run: Callable[[CompareScreen], object]) -> Action:
    """Return an action that other screens have, too, as the main screen runs it."""
    return replace(action, action=f"run({action.id!r})", run=run)


def act(
    keys: str,
    name: str,
    tooltip: str,
    run: Callable[[CompareScreen], object],
    hint: str = "",
    problem: Callable[[CompareScreen], str] = Action.problem,
    applies: Callable[[CompareScreen], bool] = Action.applies,
) -> Action:
    """Create an action of the main screen."""
    action = key(keys, name, tooltip, hint, applies=applies)
    return replace(shared(action, run), problem=problem)


MOVE = KeyGroup(
    "Move, in every panel",
    (
        key("j,down", "down", "Next line"),
        key("k,up", "up", "Previous line"),
        key("pagedown,space,ctrl+f", "page_down", "Page down"),
        key("pageup,ctrl+b", "page_up", "Page up"),
        key("ctrl+d", "half_page(1)", "Half a page down"),
        key("ctrl+u", "half_page(-1)", "Half a page up"),
        key("g,home", "first", "First line"),
        key("G,end", "last", "Last line"),
    ),
)
# The same on every screen where they have a meaning, and one name each in the config file.
SEARCH = key("/", "search", "Search; ignores case unless you type a capital", "search")
NEXT_MATCH = key("n", "match(1)", "Next match")
PREVIOUS_MATCH = key("N", "match(-1)", "Previous match")
EXPLAIN = key("e", "explain", "Explain the line: its layouts (#mma), its terms; or the column", "explain")
# Of the app, so that every screen has them.
HELP = key("?,f1", "app.help", "Help: first the keys of this panel", "help", name="help")
PALETTE = key("ctrl+p", "app.command_palette", "Every action by its name", "all", name="palette")
SUSPEND = key("ctrl+z", "app.suspend_process", "Suspend irscope; fg continues it", name="suspend")
QUIT = key("q", "app.ask_to_quit", "Quit; then q or y quits, any other key stays", "quit", name="app.quit")
# In every screen over the main one.
CLOSE = key("q,escape", "close", "Go back", "back")
GO_TO = key(":", "go_to_line", "Go to a line number, in the layouts to an element; :q goes back")
LEAVE = KeyGroup("In a screen over the main one", (EXPLAIN, GO_TO, CLOSE))
# In screens that show a text from top to bottom.
READ = KeyGroup(
    "In a screen of text",
    (
        SEARCH,
        NEXT_MATCH,
        PREVIOUS_MATCH,
        key("]", "change(1)", "Next arrow, section or change", "next"),
        key("[", "change(-1)", "Previous arrow, section or change"),
    ),
)
# The same in screens whose `/` filters a list.
FILTER = key("/", "search", "Filter: words of a line, in any case", "filter", name="search")
FILTER_KEYS = (FILTER, *READ.bindings[1:], GO_TO)
IN_HOME = KeyGroup(
    "In the home screen",
    (
        key(
            "enter",
            "choose",
            "Open what is under the cursor; on a title, show all of it",
            "open",
            name="open",
        ),
        key("r", "screen.refresh_lists", "Look for captures again", "refresh", name="refresh_lists"),
    ),
)
ASK = KeyGroup(
    "When irscope asks whether to quit",
    (
        key("q,y", "answer('quit')", "Quit", "quit", name="confirm"),
        key("escape,n", "answer('')", "Stay", "stay", name="stay"),
    ),
)
