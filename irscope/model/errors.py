"""What is meant for a person: exceptions, for which the command line exits with 2, and lines on stderr."""

from __future__ import annotations

import sys


class UserError(Exception):
    """Wrong use or unreadable input: one line that names the thing, the problem and the remedy."""

    @property
    def command_line_text(self) -> str:
        """Return the line as the command line prints it."""
        return str(self)


class ArgumentError(UserError):
    """A UserError about one argument, which Python and the command line spell differently.

    `argument` is the Python name (max_variants); the command line prints the flag (--max-variants).
    `guess` is a value to try, `command` how to give it on the command line.
    """

    def __init__(self, argument: str, problem: str, guess: str = "", command: str = "") -> None:
        super().__init__(f"{argument}: {_with_guess(problem, guess)}")
        self.argument, self.problem, self.guess, self.command = argument, problem, guess, command

    @property
    def command_line_text(self) -> str:
        """Return the line with the argument's flag."""
        return f"--{self.argument.replace('_', '-')}: {_with_guess(self.problem, self.command or self.guess)}"


def print_note(line: object) -> None:
    """Print a line of irscope to stderr, also within a program that it runs."""
    from irscope.model.text import printable

    print(f"irscope: {printable(str(line))}", file=sys.stderr, flush=True)


def error_text(error: BaseException) -> str:
    """Return the text of an exception of user code, which may be unable to say it."""
    try:
        return str(error)
    except BaseException as second:  # noqa: BLE001 - user code
        return f"(its text cannot be read: {type(second).__name__})"


def error_line(error: BaseException) -> str:
    """Return the type and text of an exception, as one line."""
    text = " ".join(error_text(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _with_guess(problem: str, guess: str) -> str:
    return f"{problem}; a guess to check: {guess}" if guess else problem
