"""The command line: one flat list of commands, of which only the one that is asked for is imported.

A command is a module with NAME, SUMMARY, `add_arguments(parser)`, which declares its own arguments, and
`run(args)`, which does it, returns the exit code and may raise UserError. Its docstring is its help.
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
    from typing import NoReturn

# Name, module and summary; the summary stands in the module as well (a test compares them), so that
# `irscope --help` needs to import none.
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("compile", "irscope.cli.compile", "compile a kernel under each of its configs and keep every stage"),
    ("run", "irscope.cli.run", "run a script as it is and capture every kernel it launches"),
    ("import", "irscope.cli.import_", "import a Triton cache, a dump folder or a tritonparse trace"),
    ("tui", "irscope.cli.tui", "browse a capture in the terminal (also: irscope CAPTURE)"),
    ("list", "irscope.cli.list", "list the kernels and variants of a capture"),
    ("table", "irscope.cli.table", "compare the variants: registers, spills, shared memory, ..."),
    ("show", "irscope.cli.show", "print one stage of a variant"),
    ("diff", "irscope.cli.diff", "say and show what differs between two variants"),
    ("why", "irscope.cli.why", "say why a kernel was compiled again, and whether that was worth it"),
    ("passes", "irscope.cli.passes", "say what each compiler pass did, or in which one two variants part"),
    ("layout", "irscope.cli.layout", "draw which thread holds which element, and the banks of shared memory"),
    ("check", "irscope.cli.check", "check facts against what is expected of them, for CI"),
    ("lint", "irscope.cli.lint", "find the mistakes that people make, in kernels' source or in a capture"),
    ("report", "irscope.cli.report", "write a page to hand on: table, plots, findings and diffs"),
    ("learn", "irscope.cli.learn", "learn why autotune recompiles, lesson by lesson, on IR made here"),
    ("explain", "irscope.cli.explain", "explain a word of the stages, the table or the tuning"),
    ("dump", "irscope.cli.dump", "write every stage of every variant under a readable name"),
    ("serve", "irscope.cli.serve", "show the app in a browser, on this machine alone unless told otherwise"),
    ("config", "irscope.cli.config", "print where the app's config file is, and what it says"),
    ("merge", "irscope.cli.merge", "join captures: the ranks of a run, several sweeps"),
    ("doctor", "irscope.cli.doctor", "say which versions and tools are there and what works here"),
)

EPILOG = "irscope CAPTURE opens the capture as irscope tui does; irscope COMMAND --help has an example each."


class Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Exits with 2; `message` is argparse's."""
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv: list[str] | None = None) -> int:
    """Runs the command that `argv` (default: the process's own arguments) names; returns the exit code.

    0 done; 1 done, but some variant failed; 2 wrong use or unreadable input; 130 interrupted; 141 the
    reader of the output went away.
    """
    words = _with_command(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks must not end the program.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        code = _run(words)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered would raise again when Python exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except KeyboardInterrupt:
        return 130
    return code


def _run(words: list[str]) -> int:
    module = _module(words[0]) if words else None
    parser = _parser(words[0] if words else "", module)
    if module is None:
        parser.parse_args(words or ["--help"])
        parser.error("name a command")
    args = parser.parse_args(words)

    from irscope.model.errors import UserError

    try:
        code: int = module.run(args)
    except UserError as error:
        from irscope.model.text import one_line

        print(f"irscope: {one_line(error.command_line_text)}", file=sys.stderr)
        return 2
    return code


def _parser(command: str, module: ModuleType | None) -> Parser:
    """The parser of all commands, of which only `command` has its arguments."""
    parser = Parser(
        prog="irscope",
        description="See what the Triton compiler made of a kernel under each config, and what differs.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"irscope {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, _, summary in COMMANDS:
        if module is None or name != command:
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


def _module(command: str) -> ModuleType | None:
    for name, path, _ in COMMANDS:
        if name == command:
            return import_module(path)
    return None


def _with_command(words: list[str]) -> list[str]:
    """`words` with `tui` put before a first word that is no command but a capture's path."""
    if not words or words[0].startswith("-") or any(words[0] == name for name, _, _ in COMMANDS):
        return words
    is_path = words[0].endswith(".irscope") or os.path.exists(words[0])  # noqa: PTH110 - no pathlib for --help
    return ["tui", *words] if is_path else words
