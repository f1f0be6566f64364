"""The command line: a flat list of commands; only the requested one is imported.

A command is a module of this package with NAME, GROUP (one of GROUPS) and SUMMARY, string literals on a line
each, `add_arguments(parser)`, and `run(args)`, which returns the exit code and may raise UserError. Its
docstring is its help. To add a command, add a module.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from types import ModuleType

from irscope import __version__

TYPE_CHECKING = False  # typing takes a fifth of the time that --help may take
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, NoReturn

    from _typeshed import SupportsWrite


_DECLARED = ("NAME = ", "GROUP = ", "SUMMARY = ")


def _commands() -> Iterator[tuple[str, str, str, str]]:
    """Yield the name, module, summary and group of each command.

    A command is a module here that defines NAME, GROUP and SUMMARY. Reads the start of the modules instead of
    importing them, which takes 1 ms for all.
    """
    folder = os.path.dirname(__file__)  # noqa: PTH120 - no pathlib for --help
    for file in sorted(os.listdir(folder)):  # noqa: PTH208
        if file.endswith(".py"):
            with open(os.path.join(folder, file), encoding="utf-8") as lines:  # noqa: PTH118, PTH123
                literals = _literals(lines)
            if literals:
                yield literals["NAME"], f"irscope.cli.{file[:-3]}", literals["SUMMARY"], literals["GROUP"]


def _literals(lines: Iterable[str]) -> dict[str, str]:
    """Return NAME, GROUP and SUMMARY in the lines of a module; they come before its first function."""
    values = {}
    for line in lines:
        if line.startswith(_DECLARED):
            key, _, value = line.partition(" = ")
            values[key] = value.strip().strip('"')
            if len(values) == len(_DECLARED):
                break
        elif line.startswith(("def ", "class ", "@")):
            break
    return values


COMMANDS = tuple(_commands())
# The headings of `irscope --help`, in their order.
GROUPS = ("capture", "show", "choose and ship", "check", "share", "learn and set up")
EPILOG = "irscope opens the app, irscope CAPTURE a capture in it; irscope help COMMAND shows an example."


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    def print_help(self, file: SupportsWrite[str] | None = None) -> None:
        """Write the help. Raises OSError if that fails, which argparse ignores."""
        (file or sys.stdout).write(self.format_help())


class _GroupedParser(Parser):
    """The parser of all commands: its help lists them by what they are for."""

    def format_help(self) -> str:
        """Return the help."""
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in GROUPS:
            formatter.start_section(group)
            for name, _, summary, command_group in COMMANDS:
                if command_group == group:
                    formatter.add_argument(argparse.Action([], name, metavar=name, help=summary))
            formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments(action for action in self._actions if action.option_strings)
        formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


class _CommandParser(Parser):
    """The parser of one command, built when it is first used: a list of commands needs their names only."""

    def __init__(self, **settings: Any) -> None:
        self._settings: dict[str, Any] | None = settings

    def __getattr__(self, name: str) -> Any:
        settings, self._settings = self._settings, None
        if settings is None:
            raise AttributeError(name)
        super().__init__(**settings)
        return getattr(self, name)


def main(argv: list[str] | None = None) -> int:
    """Run the command in `argv` (default: the process's arguments) and return the exit code.

    0: done; 1: done, but a variant failed or a check did not hold; 2: wrong use, unreadable input or output
    that cannot be written; 70: a bug in irscope; 130: interrupted; 141: the reader of the output exited.
    """
    if "_ARGCOMPLETE" in os.environ:  # the shell asks; see completion.py
        from irscope.cli.completion import complete_line

        complete_line(lambda words: _parser(_modules(words)))
    _open_standard_streams()
    words = _with_command(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot encode must not end the program.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        try:
            code = _run(words)
        finally:  # also after --help
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # noqa: BLE001 - a bug becomes one line and a file
        from irscope.cli.last_resort import discard_output, report

        code = 141 if isinstance(error, BrokenPipeError) else report(error, " ".join(words))
        discard_output()
    return code


def _note_incomplete(capture: object) -> None:
    """Say on stderr if the writer of a command's capture ended before it had compiled everything."""
    if not isinstance(capture, os.PathLike) or not os.path.lexists(f"{os.path.realpath(capture)}-lock"):
        return
    from pathlib import Path

    from irscope.model.errors import UserError, print_note
    from irscope.workspace.growth import incomplete_note

    path = Path(capture)
    try:
        note = incomplete_note(path)
    except UserError:  # the command says what is wrong with the file
        return
    if note:
        print_note(note)


def _open_standard_streams() -> None:
    """Open the standard streams that are closed, so that no file gets their numbers.

    Writing to a closed output then fails as writing to a full disk does; messages go nowhere.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY), number)
            stream = open(number, "r" if name == "stdin" else "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


def _run(words: list[str]) -> int:
    modules = _modules(words)
    parser = _parser(modules)
    if not modules:
        if words and not words[0].startswith("-"):
            parser.error(
                f"no command or file '{words[0]}'{_meant(words[0], [name for name, *_ in COMMANDS])}"
            )
        parser.parse_args(words or ["--help"])
        parser.error("specify a command")
    args, unknown = parser.parse_known_args(words)
    if unknown:
        command = f"irscope {words[0]}"
        text = f"unrecognized arguments: {' '.join(unknown)}"
        options = _long_options(modules[words[0]])
        parser.exit(2, f"{command}: {text}{_meant(unknown[0], options)}; see {command} --help\n")

    from irscope.model.errors import UserError, print_note

    if words[0] not in ("tui", "serve"):  # the app shows it itself
        _note_incomplete(getattr(args, "capture", None))
    try:
        code: int = modules[words[0]].run(args)
    except UserError as error:
        from irscope.model.text import one_line

        print_note(one_line(error.command_line_text))
        return 2
    return code


def _meant(word: str, known: Iterable[str]) -> str:
    """Return ` (do you mean --kernel?)`, or "" if no known word is like this one."""
    from difflib import get_close_matches

    close = get_close_matches(word.partition("=")[0], list(known), n=1)
    return f" (do you mean {close[0]}?)" if close else ""


def _long_options(module: ModuleType) -> list[str]:
    """Return the options of a command that have names: --kernel."""
    import re

    parser = Parser(prog="irscope")
    module.add_arguments(parser)
    return re.findall(r"(?<![\w-])--[a-z][\w-]*", parser.format_usage())


def full_parser() -> Parser:
    """Return the parser of all commands with all their arguments, for the man page."""
    return _parser({name: import_module(path) for name, path, *_ in COMMANDS})


def _parser(modules: Mapping[str, ModuleType]) -> Parser:
    """Return the parser of all commands; only those in `modules` have arguments."""
    parser = _GroupedParser(
        prog="irscope",
        description="See what the Triton compiler made of a kernel under each config, and what differs.",
        epilog=EPILOG,
    )
    parser.add_argument("-V", "--version", action="version", version=f"irscope {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", parser_class=_CommandParser)
    for name, _, summary, _ in COMMANDS:
        if (module := modules.get(name)) is None:
            commands.add_parser(name, help=summary)
            continue
        chosen = commands.add_parser(
            name,
            help=summary,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(chosen)
    return parser


def _modules(words: list[str]) -> dict[str, ModuleType]:
    """Return the module of the command that is the first word, by its name; {} if that is no command."""
    return {name: import_module(path) for name, path, *_ in COMMANDS if words[:1] == [name]}


def _with_command(words: list[str]) -> list[str]:
    """Return `words`, with `tui` in front if the first word is not a command but the path of a capture.

    In a terminal, no words are `tui` too, which then opens the home screen. `help diff` is `diff --help`.
    """
    if words[:1] == ["help"]:
        return [*words[1:2], "--help"]
    if not words and sys.stdin.isatty() and sys.stdout.isatty():
        return ["tui"]
    if not words or words[0].startswith("-") or any(words[0] == name for name, *_ in COMMANDS):
        return words
    is_path = words[0].endswith(".irscope") or os.path.exists(words[0])  # noqa: PTH110 - no pathlib for --help
    return ["tui", *words] if is_path else words
