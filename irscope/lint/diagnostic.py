"""What a rule is, and what it finds: a place, what is wrong there, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of mistake. `code` is stable ("IRS101": 1xx from source, 2xx from a capture).

    `name` is what silences it; `summary` says in one sentence what it finds. docs/lint.md has a section
    for each name.
    """

    code: str
    name: str
    summary: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake. `line` and `column` count from 1; `fix` says what to do, in a sentence.

    `silenced_at` are more lines at which a comment silences it: those of the decorated function.
    """

    rule: Rule
    file: str
    line: int
    column: int
    message: str
    fix: str
    silenced_at: tuple[int, ...] = ()
