"""Fifteen tasks of a user in the real program, each in at most four keys and without a dead end.

A word that the user types (a search, a filter, a name in the palette) counts as one key. `Until` is a key
that the user presses until the answer is on screen, so zero times if it is there at once.
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
_PATIENCE_SECONDS = 15.0
# The longest a key may take to act before it counts as without effect.
_ANSWER_SECONDS = 1.5
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


Step = str | Until | Typed


@dataclass(frozen=True)
class Task:
    """A question, the keys that answer it, and what the screen shows then.

    `capture` is one of "registers" (two variants, of which the second needs twice the registers), "narrow"
    (the second loads fewer bytes at once) and "sweep" (all). `leaves`: the program ends.
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
    comparing = "comparing" in screen or re.search(r"\b(ttir|ttgir|llir|ptx) ·", screen)
    return "? help" in screen and re.search(r"change \d+/\d+", screen) is not None and not comparing


def on_main_screen(screen: str) -> bool:
    """Whether the main screen is on top, without a field or a dialog."""
    return re.search(r"1 python\b.*2 ", screen) is not None


# The shapes of the matrix instructions of A and B.
_SHAPE_A, _SHAPE_B = r"\[16, 64, 16\]", r"\[16, 128, 16\]"

TASKS = (
    Task("choose two configs", ("BTab", "G", "b"), shows(r"A #1\b", r"B #5\b"), "sweep"),
    Task(
        "why registers doubled",
        (Until("i"), Until("PageDown"), Until("W")),
        shows(r"[Rr]eg\w*( per thread)?:? *\d+ *(->|→|│|\|)? *\d+", r"acc\b.*64x64.*64x128"),
    ),
    Task(
        "which load narrowed",
        (Until("i"), Until("PageDown"), Until("W")),
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
    Task("copy", ("y",), shows("Copied")),
    Task("save", ("w", "Enter"), shows(r"\b(Saved|Wrote|saved|wrote)\b")),
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
    Task("sort", ("BTab", "l", "s"), shows(r"[▲▼↑↓]"), "sweep"),
    Task("chart", ("C",), shows(r"\bover \w+", "┤"), "sweep"),
    Task("lessons", ("H", Until("PageDown")), shows(r"[Ll]essons?\b", r"[Ww]hat autotune|Layouts|layouts")),
    Task("theme", ("C-p", Typed("theme"), "Enter"), shows("nord|dracula|gruvbox|monokai")),
    Task("quit", (Until("q"),), shows(f"{ENDED} 0"), leaves=True),
)  # fmt: skip


class Driver:
    """A terminal in which each task starts with a new program."""

    def __init__(self, terminal: Terminal, command: Callable[[Path], list[str]]) -> None:
        self._terminal = terminal
        self._command = command

    def run(self, task: Task, capture: Path) -> Outcome:
        """Does a task; the terminal is left as the task leaves it."""
        self._terminal.restart(self._command(capture))
        self._terminal.wait(ready, _PATIENCE_SECONDS)
        self._settled(lambda _: False, _FINDINGS_SECONDS)
        keys, screen = self._press_all(task)
        if not task.seen(screen):
            return Outcome(task, keys, "the answer is not on screen", screen)
        if keys > MOST_KEYS:
            return Outcome(task, keys, f"{keys} keys", screen)
        if task.leaves:
            return Outcome(task, keys, "", screen)
        return Outcome(task, keys, "" if self._returns() else "a dead end", screen)

    def _press_all(self, task: Task) -> tuple[int, str]:
        """Presses the keys of a task; returns their number and the screen."""
        keys, screen = 0, self._terminal.screen()
        for index, step in enumerate(task.steps):
            if isinstance(step, Until):
                screen = self._settled(task.seen) if index == 0 else screen
                while not task.seen(screen) and keys < MOST_KEYS:
                    keys += 1
                    before = screen
                    self._terminal.press(step.key)
                    screen = self._answer(task.seen, before)
                    if task.leaves:  # ending takes longer than drawing
                        screen = self._wait_for(task.seen, _ANSWER_SECONDS)
                    if screen == before:
                        break
                continue
            keys += 1
            before = self._terminal.screen()
            if isinstance(step, Typed):
                self._terminal.type(step.text)
            else:
                self._terminal.press(step)
            last = index == len(task.steps) - 1
            screen = self._wait_for(task.seen) if last else self._answer(task.seen, before)
        return keys, screen

    def _answer(self, seen: Seen, before: str) -> str:
        """The screen after a key: the one asked for, or a changed one that stays as it is."""
        self._wait_for(lambda now: now != before or seen(now), _ANSWER_SECONDS)
        return self._settled(seen)

    def _settled(self, seen: Seen, seconds: float = _STILL_SECONDS) -> str:
        """The screen asked for, or one that stays as it is."""
        screen, since = self._terminal.screen(), time.monotonic()
        while not seen(screen) and time.monotonic() - since < seconds:
            time.sleep(_POLL_SECONDS)
            now = self._terminal.screen()
            since = since if now == screen else time.monotonic()
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
