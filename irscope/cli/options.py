"""Arguments that several commands share.

`irscope list` imports this module, so anything slow is imported inside the functions.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from irscope.compiling.messages import SweepRequest
    from irscope.document.blocks import Document
    from irscope.document.ci.problems import CiReport
    from irscope.document.terminal.styles import Paint
    from irscope.model import Expression, Target, Value
    from irscope.workspace import CaptureWriter


def target(text: str) -> Target:
    """Return the target called `text`. Raises UserError if it is unknown."""
    from irscope.compiling.compile_targets import requested_target
    from irscope.model import UserError

    if "," in text:
        raise UserError(f"'{text}' has several targets: repeat the option, as in --target A --target B")
    return requested_target(text)


def split_names(values: Sequence[str] | None) -> list[str] | None:
    """Return the names in the values of a repeated option such as `--stage a,b`.

    Return None if it was not given.
    """
    if not values:
        return None
    names = (name.strip() for value in values for name in value.split(","))
    return list(dict.fromkeys(filter(None, names)))


def count(text: str) -> int:
    """Parse a number that is 0 or more, for argparse."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("must be a number, 0 or more")
    return int(text)


def duration(text: str) -> float:
    """Seconds of a time such as 90, 90s, 5m or 2h, for argparse."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1:]) if text[-1:] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError("must be a time such as 90, 90s, 5m or 2h")
    return seconds


def columns(text: str) -> int:
    """Parse a width, 20 or more, for argparse."""
    if not text.isdecimal() or int(text) < 20:
        raise argparse.ArgumentTypeError("must be a number of columns, 20 or more")
    return int(text)


def _assignment(text: str) -> tuple[str, str]:
    from irscope.model import UserError

    name, equals, value = text.partition("=")
    if not (equals and name.strip().isidentifier()):
        raise UserError(f"'{text}' is not NAME=VALUE")
    return name.strip(), value


def assigned_texts(texts: Sequence[str]) -> dict[str, str]:
    """Return the value of each NAME=VALUE as it was written. Raises UserError for anything else."""
    return dict(map(_assignment, texts))


def value_texts(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each NAME=V1,V2 as they were written: split at commas outside of brackets."""
    from irscope.model.text import split_entries

    return {name: split_entries(values) for name, values in assigned_texts(texts).items()}


def constants(texts: Sequence[str]) -> dict[str, Value | Expression]:
    """Return the value of each `--const`, by name. Raises UserError if one is not NAME=VALUE."""
    from irscope.model import parse_argument

    return {name: parse_argument(value) for name, value in map(_assignment, texts)}


def axes(texts: Sequence[str]) -> dict[str, tuple[Value | Expression, ...]]:
    """Return the values of each `--config`, by name. Raises UserError if a name has none."""
    from irscope.model import UserError, parse_argument
    from irscope.model.text import split_entries

    values_by_name: dict[str, tuple[Value | Expression, ...]] = {}
    for name, values in map(_assignment, texts):
        values_by_name[name] = tuple(map(parse_argument, split_entries(values)))
        if not values_by_name[name]:
            raise UserError(f"--config {name}=: specify at least one value")
    return values_by_name


# A parser, or a group of its arguments.
Arguments = argparse._ActionsContainer

_CONTEXT = 3
# The formats for continuous integration, which check, lint and diff --fail-on share.
CI_FORMATS = ("github", "junit", "sarif", "markdown")


# Arguments about a capture.


def add_capture(parser: argparse.ArgumentParser) -> None:
    """CAPTURE."""
    parser.add_argument("capture", metavar="CAPTURE", type=Path, help="the capture file")


def add_variant(parser: argparse.ArgumentParser, name: str, metavar: str) -> None:
    """Declare the name of a variant."""
    parser.add_argument(name, metavar=metavar, help="#3, or any part of its name in irscope list")


def add_launches(parser: Arguments, what: str) -> None:
    """Declare --launch, which can be repeated. `what` describes LAUNCH."""
    parser.add_argument("--launch", metavar="LAUNCH", action="append", default=[], help=what)


def add_pair_launch(parser: argparse.ArgumentParser) -> None:
    """Declare --launch of a command that compares two variants."""
    add_launches(parser, 'compare for this launch: "grid=(cdiv(M, BLOCK_M),), M=4096"; can be repeated')


def add_selection(parser: argparse.ArgumentParser) -> None:
    """--kernel and --target."""
    parser.add_argument("--kernel", metavar="GLOB", help="only kernels matching GLOB")
    parser.add_argument(
        "--target", metavar="TARGET", help="only variants for this target, for example cuda:90"
    )


# Arguments about the output.


def add_format(parser: argparse.ArgumentParser, *choices: str) -> None:
    """--format; the first choice is the default."""
    parser.add_argument("--format", choices=choices, default=choices[0], help=f"default: {choices[0]}")


def add_ci_format(parser: argparse.ArgumentParser, *choices: str) -> None:
    """--format with the formats for continuous integration, and --report-url."""
    command_formats = [name for name in choices if name not in CI_FORMATS]
    add_format(parser, *command_formats, *CI_FORMATS)
    parser.add_argument(
        "--report-url", metavar="URL", help="the address of a full report, which --format markdown links"
    )


def print_ci(report: CiReport, args: argparse.Namespace) -> None:
    """Print a report in the chosen format for continuous integration."""
    from irscope.document.ci.reports import ci_lines

    sys.stdout.writelines(f"{line}\n" for line in ci_lines(report, args.format, args.report_url))


def add_all_findings(parser: argparse.ArgumentParser) -> None:
    """Declare --all-findings."""
    parser.add_argument(
        "--all-findings",
        action="store_true",
        help="show every finding (default: at most ten, and none that another one explains)",
    )


def add_context(parser: argparse.ArgumentParser) -> None:
    """--context: the number of equal rows around a change."""
    parser.add_argument(
        "--context",
        metavar="N",
        type=count,
        default=_CONTEXT,
        help=f"equal rows around a change ({_CONTEXT})",
    )


def add_width(parser: argparse.ArgumentParser) -> None:
    """--width."""
    parser.add_argument(
        "--width",
        metavar="COLUMNS",
        type=columns,
        help="fit this width (default: the terminal's; unlimited in a pipe)",
    )


def width_of(args: argparse.Namespace, file: TextIO | None = None) -> int | None:
    """Return the columns to fit: --width, or the terminal's; None if `file` (stdout) is no terminal."""
    if getattr(args, "width", None) is not None:
        return int(args.width)
    if (file or sys.stdout).isatty():
        return shutil.get_terminal_size().columns
    return None


def paint() -> Paint:
    """Return the styles for output to stdout: none if it is not a terminal.

    NO_COLOR (https://no-color.org) removes colors, but not bold and reverse.
    """
    from irscope.document.terminal.styles import Paint

    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    return Paint(attributes=terminal, color=terminal and not os.environ.get("NO_COLOR"))


def add_document_format(parser: argparse.ArgumentParser) -> None:
    """--format of a command that prints a document: every format there is for one, and JSON."""
    add_format(parser, "text", "json", "markdown", "html")
    parser.set_defaults(title=parser.prog)


def print_document(document: Document, args: argparse.Namespace) -> None:
    """Print a document in the chosen format; as a page, its title is the command."""
    if args.format == "html":
        from irscope.document.html.document_html import document_html

        sys.stdout.write(document_html(args.title, document))
        return
    if args.format == "markdown":
        from irscope.document.markdown.document_markdown import markdown_lines

        lines = markdown_lines(document)
    else:
        from irscope.document.terminal.document_text import text_lines

        lines = text_lines(document, width_of(args), paint())
    sys.stdout.writelines(f"{line}\n" for line in lines)


def print_json(document: dict[str, object] | list[dict[str, object]]) -> None:
    """Print a JSON document, piece by piece."""
    from irscope.document.json.records import json_pieces

    sys.stdout.writelines(json_pieces(document))
    sys.stdout.write("\n")


# Arguments about compiling into a capture.


def add_compilation(parser: Arguments) -> None:
    """--signature, --const, --config, --target, --reasons, --passes, -j and --timeout."""
    parser.add_argument(
        "--signature", metavar="SIG", help='argument types, for example "*fp16:16, i32:16, i32, 1"'
    )
    parser.add_argument(
        "--const",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="the value of a constexpr that no config sets",
    )
    parser.add_argument(
        "--config",
        metavar="NAME=V1,V2",
        action="append",
        default=[],
        help="values of a constexpr or of an option such as num_warps, num_stages, num_ctas, maxnreg, "
        "enable_fp_fusion; repeat for the product",
    )
    add_target(parser)
    add_workers(parser)
    parser.add_argument(
        "--reasons",
        action="store_true",
        help="record the coalescing pass's decision for each load and store",
    )
    add_passes(parser)


def add_helion_configs(parser: Arguments, default: str) -> None:
    """--configs; `default` describes how many are compiled without it."""
    parser.add_argument(
        "--configs",
        metavar="N",
        type=int,
        help=f"compile N of the configs that Helion's autotuner would measure first ({default})",
    )


def add_target(parser: Arguments) -> None:
    """--target."""
    action = parser.add_argument(
        "--target",
        metavar="TARGET",
        action="append",
        default=[],
        help="one of %(targets)s; can be repeated (default: cuda:90)",
    )
    action.targets = _Targets()  # type: ignore[attr-defined]  # argparse formats help with what an action has


class _Targets:
    """The names of all targets as text, looked up only if help is printed: plug-ins have some."""

    def __str__(self) -> str:
        from irscope.compiling.compile_targets import target_names

        return ", ".join(target_names())


def add_workers(parser: Arguments) -> None:
    """-j and --timeout."""
    parser.add_argument(
        "-j", "--jobs", metavar="N", type=int, help="worker processes (default: one per core)"
    )
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=300.0, help="per variant (300)")


def add_passes(parser: Arguments) -> None:
    """Declare --passes."""
    parser.add_argument(
        "--passes", action="store_true", help="record each compiler pass and the module after it"
    )


def add_output(parser: Arguments, default: str) -> None:
    """-o, --force and --resume. `default` describes where the capture goes without -o."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=f"the capture ({default})")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--force", action="store_true", help="replace FILE if it exists")
    existing.add_argument("--resume", action="store_true", help="add to FILE what it does not have yet")


def add_file(parser: Arguments, what: str, required: bool = False) -> None:
    """-o and --force. `what` describes FILE."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, required=required, help=what)
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")


def write_text(args: argparse.Namespace, text: str) -> None:
    """Write to FILE, or to stdout. Raises UserError if FILE cannot be written."""
    if args.output is None:
        sys.stdout.write(text)
        return
    from irscope.model.files import write_output
    from irscope.model.text import encoded

    write_output(args.output, encoded(text), args.force)


def open_writer(args: argparse.Namespace, path: Path) -> CaptureWriter:
    """Create the capture, or resumes it. Raises UserError if it exists without --force or --resume."""
    from irscope.workspace import CaptureWriter

    resume = args.resume and path.exists()
    return CaptureWriter.resume(path) if resume else CaptureWriter.create(path, args.force)


def compiled_text(path: Path, compiled: int, kept: int, failed: int, seconds: float, reused: str = "") -> str:
    """Return the line that counts what a command compiled into a capture."""
    existing = f", {kept} already there" if kept else ""
    name = shlex.quote(str(path))
    return f"{name}: {compiled} compiled{existing}{reused}, {failed} failed, {seconds:.1f} s"


def print_next(path: Path) -> None:
    """Print the commands that show a capture."""
    name = shlex.quote(str(path))
    print(f"browse: irscope {name}   compare: irscope table {name}")


def print_failures(path: Path, prefix: str = "") -> None:
    """Print a line to stderr per distinct failure in a capture, each after `prefix`."""
    from irscope.document.terminal.list_text import failures_text
    from irscope.workspace import Workspace

    with Workspace(path) as workspace:
        text = failures_text(workspace.variants, workspace.names, width_of(argparse.Namespace(), sys.stderr))
    for line in text.splitlines():
        print(f"{prefix}{line}", file=sys.stderr)


def sweep_request(args: argparse.Namespace, kernel: str, quiet: bool = False) -> SweepRequest:
    """Return the request in the arguments for `kernel`.

    It is FILE.py::KERNEL, MODULE::KERNEL or samples/NAME. A missing signature is taken from the
    docstring of the file, which is printed unless `quiet`. Raises UserError if the arguments are
    invalid.
    """
    from irscope.cli import written_options
    from irscope.model.errors import print_note

    check_workers(args)
    file_name, _, name = kernel.partition("::")
    file = _kernel_file(file_name)
    check_output(args, file)
    kernel_name, note = written_options.complete(args, file, name or None)
    if note and not quiet:
        print_note(note)
    return _request(args, file, kernel_name)


def folder_requests(args: argparse.Namespace, folder: Path) -> list[SweepRequest]:
    """Return the request for each kernel in the files of a folder. Raises UserError without --guess."""
    from irscope.compiling.folder import folder_kernels
    from irscope.model import UserError

    check_workers(args)
    if not args.guess:
        raise UserError(f"{folder} is a folder: add --guess, which compiles every kernel in its files")
    return [_request(args, file, kernel) for file, kernel in folder_kernels(folder)]


def _request(args: argparse.Namespace, file: Path, kernel: str | None) -> SweepRequest:
    """Return the request in the arguments for a kernel of a file."""
    from irscope.compiling.messages import SweepRequest

    return SweepRequest(
        file=file,
        kernel=kernel,
        signature=args.signature,
        constants=constants(args.const),
        axes=axes(args.config),
        targets=tuple(dict.fromkeys(map(target, args.target or ["cuda:90"]))),
        reasons=args.reasons,
        passes=args.passes,
        guess=getattr(args, "guess", False),
    )


def _kernel_file(name: str) -> Path:
    """Return the file at a path, of a sample or of a module. Raises UserError if there is none."""
    if Path(name).is_file():
        return Path(name)
    from irscope.compiling.python_files import module_file
    from irscope.learn.sample_commands import sample_file
    from irscope.model import UserError

    file = sample_file(name) or module_file(name)
    if file is None:
        raise UserError(f"{name}: no such file, module or sample; irscope samples lists the samples")
    return file


def script_path(name: str) -> str:
    """`name`, or the path of the sample that it names if there is no such file."""
    from irscope.learn.sample_commands import sample_path

    sample = None if Path(name).exists() else sample_path(name)
    return name if sample is None else str(sample)


def check_positive(args: argparse.Namespace, *options: str) -> None:
    """Raise UserError if one of these options is less than 1; "-j" means --jobs."""
    from irscope.model import UserError

    for option in options:
        number = getattr(args, "jobs" if option == "-j" else option.strip("-").replace("-", "_"))
        if number is not None and number < 1:
            raise UserError(f"{option} must be at least 1")


def check_workers(args: argparse.Namespace, *options: str) -> None:
    """Check -j, --timeout, and that these options are at least 1. Raises UserError."""
    check_positive(args, "-j", *options)
    check_timeout(args)


def check_timeout(args: argparse.Namespace) -> None:
    """Raise UserError if --timeout is not more than 0."""
    from irscope.model import UserError

    if not args.timeout > 0:
        raise UserError("--timeout must be more than 0")


def check_output(args: argparse.Namespace, source: Path) -> None:
    """Raise UserError if -o names the file that the command reads: --force would replace it."""
    from irscope.model import UserError

    with contextlib.suppress(OSError, ValueError):  # one of them does not exist
        if args.output is not None and args.output.samefile(source):
            raise UserError(
                f"{args.output}: cannot be replaced: the command reads it; choose another name with -o"
            )
