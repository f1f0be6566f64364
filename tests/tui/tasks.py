"""Thirty tasks of a user in the real program, each in at most four keys and without a dead end.

A word that the user types (a search, a filter, a name in the palette) counts as one key. `Until` is a key
that the user presses until the answer is on screen, so zero times if it is there at once. `Action` is a key
that the user presses if the screen names it, and else picks in the palette, which is three keys. Every key
must be on the screen before it is pressed: in the bottom line, or in front of a stage's tab. Only the keys
that every program has need not be: those that move, and Enter.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.tui.terminal import Terminal

MOST_KEYS = 4
SIZES = ((80, 24), (120, 40), (200, 50))
# The prompt of the shell after irscope, with its exit code.
ENDED = "irscope ended with"
_PATIENCE_SECONDS = 120.0
# The longest a key may take to act before it counts as without effect, also on a busy machine.
_ANSWER_SECONDS = 15.0
# The longest the program may take to end before the question whether to quit counts as the answer.
_LEAVING_SECONDS = 4.0
# A screen that has not changed for this long is complete.
_STILL_SECONDS = 0.4
# The findings come this long after the last stage was compared.
_FINDINGS_SECONDS = 0.7
_POLL_SECONDS = 0.03
_MOST_ESCAPES = 4

Seen = Callable[[str], object]


@dataclass(frozen=True)
class Until:
    """A key to press until the answer is on screen."""

    key: str


@dataclass(frozen=True)
class Typed:
    """A word to type."""

    text: str


@dataclass(frozen=True)
class Action:
    """A key, and the words by which the palette finds the same action."""

    key: str
    words: str


# What the app writes where an answer is still to come.
_WORKING = re.compile(r"(comparing|estimating|executing|reading|Disassembling)[^.]*\.\.\.")
Step = str | Until | Typed | Action
# Keys of all programs, which no hint needs to name.
UNIVERSAL = {"Enter", "Escape", "Tab", "BTab", "Up", "Down", "Right", "End", "PageUp", "PageDown"}
# What the bottom line calls a key.
_WRITTEN = {"C-p": "^p", "C-o": "^o"}
PALETTE = "C-p"


@dataclass(frozen=True)
class Task:
    """A question, the keys that answer it, and what the screen shows then.

    `capture` is one of "registers" (two variants, of which the second needs twice the registers), "narrow"
    (the second loads fewer bytes at once), "sweep" (all), "passes" ("registers", with the compiler's passes)
    and "builds" (two earlier builds of "registers", and that). `leaves`: the program ends.
    """

    name: str
    steps: Sequence[Step]
    seen: Seen
    capture: str = "registers"
    leaves: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a task went: the number of keys, and what was wrong ("": nothing)."""

    task: Task
    keys: int
    problem: str
    screen: str


def shows(*patterns: str) -> Seen:
    """Whether all patterns are on the screen; a space matches across the ends of lines."""
    compiled = [re.compile(pattern) for pattern in patterns]
    return lambda screen: all(one.search(" ".join(screen.split())) for one in compiled)


def ready(screen: str) -> bool:
    """Whether the main screen shows two variants whose stages are compared."""
    comparing = working(screen) or re.search(r"\b(ttir|ttgir|llir|ptx) ·", screen)
    return "? help" in screen and re.search(r"change \d+/\d+", screen) is not None and not comparing


def working(screen: str) -> bool:
    """Return True if the screen says that an answer is still to come."""
    return _WORKING.search(screen) is not None


def on_main_screen(screen: str) -> bool:
    """Whether the main screen is on top, without a field or a dialog."""
    return re.search(r"1 python\b.*2 ", screen) is not None


# The shapes of the matrix instructions of A and B.
_SHAPE_A, _SHAPE_B = r"\[16, 64, 16\]", r"\[16, 128, 16\]"

TASKS = (
    Task("choose two configs", ("BTab", "End", "b"), shows(r"A #1\b", r"B #5\b"), "sweep"),
    Task(
        "why registers doubled",
        (Until("W"), Until("PageDown")),
        shows(r"[Rr]eg\w*( per thread)?:? *\d+ *(->|→|│|\|)? *\d+", r"acc\b.*64x64.*64x128"),
    ),
    Task(
        "which load narrowed",
        (Until("W"), Until("PageDown")),
        shows(r"loads?\b.*line 8[89]", r"16-byte -> .*2-byte|16 B.*2 B|16 *│ *2\b"),
        "narrow",
    ),
    Task(
        "the #mma difference",
        ("4", Until("]")),
        shows(rf"{_SHAPE_A}.*{_SHAPE_B}"),
    ),
    Task(
        "Python behind PTX",
        ("6", "S"),
        shows(r"def matmul_kernel|tl\.\w+", r"\b(ld|st|mov|setp|cvta|mad|wgmma|bar)\."),
    ),
    Task("copy", (Action("y", "copy the line"),), shows("Copied")),
    Task("save", (Action("w", "save the stage"), "Enter"), shows(r"\b(Saved|Wrote|saved|wrote)\b")),
    Task(
        "search",
        ("/", Typed("warp_group_dot"), "Enter"),
        shows(r"warp_group_dot.* \d+ of \d+|\d+/\d+ .*warp_group_dot"),
    ),
    Task("next change", ("]",), shows(r"change [2-9]\d*/\d+")),
    Task(
        "filter",
        ("BTab", "F", Typed("warps=8"), "Enter"),
        lambda screen: re.search(r"\b2 of 5\b", screen) or not re.search(r"^ +[AB]? +5 ", screen, re.M),
        "sweep",
    ),
    Task("sort", ("BTab", "Right", "s"), shows(r"[▲▼↑↓]"), "sweep"),
    Task("chart", (Action("C", "chart"),), shows(r"\bover \w+", "┤"), "sweep"),
    Task(
        "lessons",
        (Action("H", "home"), Until("PageDown")),
        shows(r"[Ll]essons?\b", r"[Ww]hat autotune|Layouts|layouts"),
    ),
    Task("theme", ("C-p", Typed("theme"), "Enter"), shows("nord|dracula|gruvbox|monokai")),
    Task("quit", (Until("q"),), shows(f"{ENDED} 0"), leaves=True),
    # The second fifteen.
    Task(
        "value in a line's registers that costs most",
        (Until("W"), Until("PageDown")),
        shows(r"acc 64x64 f32 -> 64x128 f32 over 128 threads takes 32 -> 64"),
    ),
    Task(
        "load that became narrow",
        ("6", "/", Typed("ld.global"), "Enter"),
        shows(r"py8[89]\b.*ld\.global[.\w:]*b16"),
        "narrow",
    ),
    Task(
        "pass that introduced a conversion",
        ("p", "/", Typed("layout-conversions"), Until("Down")),
        shows(r"convert_layout"),
        "passes",
    ),
    Task("owner of an element", (Action("T", "layouts"), "Down"), shows(r"\(1, 0\)", r"thread", r"warp")),
    Task(
        "nth match of a search",
        ("/", Typed("warp_group_dot"), "Enter", "n"),
        shows(r"\b2 of \d+|\b2/\d+ "),
    ),
    Task(
        "lines of one Python line in all stages",
        ("Enter", "S"),
        shows(r"py90: (sass \S+ )?ptx \d+(→\d+)? llir \d+→\d+ ttgir \d+ ttir 1\b"),
    ),
    Task(
        "copy a variant's config",
        (Action("Y", "copy the config"),),
        shows(r"Copied.*BLOCK_N=128"),
    ),
    Task("export a stage", (Action("w", "save the stage"), "Enter"), shows(r"ttgir\b.*Saved|Saved.*ttgir\b")),
    Task(
        "compare with the previous build",
        (Action("}", "in the next version"),),
        shows(r"A #2\b.*B #3\b"),
        "builds",
    ),
    Task(
        "wgmma's operand layout",
        ("Enter", Action("T", "layouts")),
        shows(r"acc %acc_\d+, line 87", r"shape 16x128x16 instead of 16x64x16"),
    ),
    Task("explain a term", (Action("e", "explain"),), shows(r"sizePerThread|threadsPerWarp|blocked")),
    Task("swap A and B", (Action("x", "swap"),), shows(r"A #2\b", r"B #1\b")),
    Task("what every key does", ("?",), shows(r"Next change", r"Swap A and B|Search")),
    Task(
        "back from a search",
        ("/", Typed("warp_group_dot"), "Enter", "C-o"),
        shows(r"change 1/\d+"),
    ),
    Task("one column", (Action("u", "two columns or one"),), shows(r"A #1.* B #2")),
)  # fmt: skip


def hinted(screen: str, key: str) -> bool:
    """Return True if the screen names a key.

    That is in the bottom line, in the line above it (`n: next`) or, for a number, in front of a stage.
    """
    written = re.escape(_WRITTEN.get(key, key))
    *above, status, keys = ["", *screen.rstrip().split("\n")]
    places = [rf"(^|\s){written} \w", "\n".join([*above, keys]) if key.isdigit() else keys]
    return any(re.search(pattern, text) for pattern, text in (places, (rf"(^|\s){written}: \w", status)))


class Driver:
    """A terminal in which each task starts with a new program."""

    def __init__(self, terminal: Terminal, command: Callable[[Sequence[Path]], list[str]]) -> None:
        self._terminal = terminal
        self._command = command

    def run(self, task: Task, captures: Sequence[Path]) -> Outcome:
        """Does a task; the terminal is left as the task leaves it."""
        self._terminal.restart(self._command(captures))
        self._terminal.wait(ready, _PATIENCE_SECONDS)
        self._settled(lambda _: False, _FINDINGS_SECONDS)
        keys, screen, unnamed = self._press_all(task)
        if unnamed:
            return Outcome(task, keys, f"no hint names {', '.join(unnamed)}", screen)
        if not task.seen(screen):
            return Outcome(task, keys, "the answer is not on screen", screen)
        if keys > MOST_KEYS:
            return Outcome(task, keys, f"{keys} keys", screen)
        if task.leaves:
            return Outcome(task, keys, "", screen)
        return Outcome(task, keys, "" if self._returns() else "a dead end", screen)

    def _press_all(self, task: Task) -> tuple[int, str, list[str]]:
        """Press the keys of a task; return their number, the screen, and the keys that no hint names."""
        keys, screen, unnamed = 0, self._terminal.screen(), list[str]()

        def press(key: str) -> None:
            nonlocal keys
            keys += 1
            if key not in UNIVERSAL and not self._names(key):
                unnamed.append(key)
            self._terminal.press(key)

        for index, step in enumerate(task.steps):
            if isinstance(step, Until):
                screen = self._settled(task.seen) if index == 0 else screen
                while not task.seen(screen) and keys < MOST_KEYS:
                    before = screen
                    press(step.key)
                    screen = self._answer(task.seen, before)
                    if task.leaves:  # ending takes longer than drawing
                        screen = self._wait_for(task.seen, _LEAVING_SECONDS)
                    if screen == before:
                        break
                screen = self._wait_for(task.seen, _ANSWER_SECONDS)
                continue
            before = self._terminal.screen()
            if isinstance(step, Typed):
                keys += 1
                self._terminal.type(step.text)
            elif isinstance(step, str):
                press(step)
            elif self._names(step.key, _STILL_SECONDS):
                press(step.key)
            else:
                press(PALETTE)
                opened = self._answer(lambda _: False, before)
                keys += 1
                self._terminal.type(step.words)
                before = self._answer(lambda _: False, opened)
                press("Enter")
            last = index == len(task.steps) - 1
            screen = self._wait_for(task.seen) if last else self._answer(task.seen, before)
        return keys, screen, unnamed

    def _names(self, key: str, seconds: float = _ANSWER_SECONDS) -> bool:
        """Return True if the screen names a key, at once or when it has answered the key before."""
        return hinted(self._wait_for(lambda screen: hinted(screen, key), seconds), key)

    def _answer(self, seen: Seen, before: str) -> str:
        """The screen after a key: the one asked for, or a changed one that stays as it is."""
        self._wait_for(lambda now: now != before or seen(now), _ANSWER_SECONDS)
        return self._settled(seen)

    def _settled(self, seen: Seen, seconds: float = _STILL_SECONDS) -> str:
        """The screen asked for, or one that stays as it is and waits for nothing."""
        screen, since = self._terminal.screen(), time.monotonic()
        end = since + _PATIENCE_SECONDS
        while not seen(screen) and time.monotonic() < min(since + seconds, end):
            time.sleep(_POLL_SECONDS)
            now = self._terminal.screen()
            since = since if now == screen and not working(now) else time.monotonic()
            screen = now
        return screen

    def _wait_for(self, seen: Seen, seconds: float = _PATIENCE_SECONDS) -> str:
        """The screen as soon as it shows something, or after a while."""
        end = time.monotonic() + seconds
        while not seen(screen := self._terminal.screen()) and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
        return screen

    def _returns(self) -> bool:
        """Whether Escape, pressed a few times, returns to the main screen."""
        for _ in range(_MOST_ESCAPES):
            if on_main_screen(self._wait_for(on_main_screen, _STILL_SECONDS)):
                return True
            self._terminal.press("Escape")
        return bool(on_main_screen(self._wait_for(on_main_screen, _ANSWER_SECONDS)))
