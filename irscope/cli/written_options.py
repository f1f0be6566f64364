"""Options of compilation that are written elsewhere than on the command line: in a docstring, in the app."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from irscope.cli import options
from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.compiling.messages import SweepRequest


class _Rejected(Exception):  # noqa: N818 - never leaves this module
    """The text has something that is not an option of compilation."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _Rejected(message)


def complete(args: argparse.Namespace, file: Path, kernel: str | None) -> tuple[str | None, str]:
    """Add to `args` what the docstring of `file` says about `kernel` and the command line does not.

    Without a signature on the command line, the docstring's is used, and its constants, values and targets
    for each name that the command line leaves out. Returns the kernel, which the docstring may name, and a
    line for the user, "" if nothing was added.
    """
    command = written_arguments(file)
    if args.signature is not None or getattr(args, "guess", False) or command is None:
        return kernel, ""
    named, docstring_args = command
    if kernel is not None and named not in (None, kernel):
        return kernel, ""
    assigned = options.assigned_texts(args.const) | options.assigned_texts(args.config)
    args.signature = docstring_args.signature
    args.const = [*args.const, *_missing(docstring_args.const, assigned)]
    args.config = [*_missing(docstring_args.config, assigned), *args.config]
    args.target = args.target or docstring_args.target
    return kernel or named, f"{file.name}: with the arguments in its docstring"


def with_options(request: SweepRequest, text: str) -> SweepRequest:
    """Return the request with the options in `text`, which replace those of the same name.

    Raises UserError if `text` is anything but options of compilation.
    """
    try:
        args = parsed(tuple(shlex.split(text)))
    except (_Rejected, ValueError) as error:
        raise UserError(f"{error}; write options as irscope compile has them") from error
    return replace(
        request,
        signature=args.signature or request.signature,
        constants={**request.constants, **options.constants(args.const)},
        axes={**request.axes, **options.axes(args.config)},
        targets=tuple(map(options.target, args.target)) or request.targets,
    )


def written_arguments(file: Path) -> tuple[str | None, argparse.Namespace] | None:
    """Return the kernel and the parsed arguments of the command in a docstring.

    Return None if there is none to use.
    """
    from irscope.learn.sample_commands import written_command

    words = written_command(file) if file.suffix == ".py" else ()
    try:
        arguments = parsed(words[1:]) if words else None
    except _Rejected:  # a command of another version
        return None
    if arguments is None or arguments.signature is None:
        return None
    return words[0].partition("::")[2] or None, arguments


def parsed(words: tuple[str, ...]) -> argparse.Namespace:
    """Parse the options of compilation in `words`. Raises _Rejected if there is anything else."""
    parser = _Parser(add_help=False)
    options.add_compilation(parser)
    return parser.parse_args(words)


def _missing(assignments: list[str], given: dict[str, str]) -> list[str]:
    """Return the assignments to names that are not given."""
    return [assignment for assignment in assignments if assignment.partition("=")[0].strip() not in given]
