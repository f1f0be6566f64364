"""Find which version of the compiler, or which commit, made a kernel worse, and which layer and pass did it.

The kernel is compiled with each version of --triton. Between the last good and the first bad one, each stage
of either is built to the end by the other: the front end, the middle (TTGIR, pass by pass), LLVM or ptxas is
at fault if both directions say so. If they do not, or a stage is not accepted, the layer is unknown, and the
report says what is known. A version is a release, or the path of a Python, of a virtual environment or of a
folder with a Triton of your own. With --git, commits of your repository are compiled in a temporary folder.
No GPU is needed. The exit code is 1 if nothing got worse. If it is interrupted, also by a time limit such as
timeout(1)'s, it prints what it has found until then.

example: irscope bisect matmul.py::matmul --guess --triton 3.7.1..3.9.0 --fact registers
  irscope bisect sweep.irscope --variant "#3" --triton 3.8.0..3.9.0 --check "spills == 0"
  irscope bisect matmul.py::matmul --guess --git v1.0..HEAD --fact registers --format markdown -o issue.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import consent, options
from irscope.model import UserError
from irscope.model.errors import print_note

if TYPE_CHECKING:
    from irscope.jobs.bisect.bisection import Bisection, Bisector
    from irscope.jobs.bisect.compiling import Subject
    from irscope.jobs.bisect.toolchains import SideOptions
    from irscope.jobs.versions.environments import Environment

NAME = "bisect"
GROUP = "check"
SUMMARY = "find the version, layer, pass or commit that made a kernel worse"

_ROWS = 40
# Files with these suffixes have kernels; others are captures.
_SOURCES = (".py", ".ipynb", "")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what to bisect, over what, and what got worse."""
    parser.add_argument(
        "kernel", metavar="FILE.py::KERNEL|CAPTURE", help="the @triton.jit function, or a capture with it"
    )
    parser.add_argument("--variant", metavar="V", help="which variant: #3, or any part of its name")
    consent.add_trust(parser)
    what = parser.add_argument_group("what got worse")
    what.add_argument("--fact", metavar="NAME", help="registers, spills, shared, instructions, ...")
    what.add_argument("--check", metavar="EXPR", help='what a good variant meets, for example "spills == 0"')
    _add_axes(parser)
    compilation = parser.add_argument_group("compiling FILE.py::KERNEL")
    compilation.add_argument("--guess", action="store_true", help="guess missing types and constexprs")
    options.add_compilation(compilation)
    options.add_format(parser, "text", "json", "markdown")
    parser.add_argument("--rows", metavar="N", type=options.count, default=_ROWS, help="lines of a diff (40)")
    options.add_width(parser)
    options.add_file(parser, "write the report to FILE")


def _add_axes(parser: argparse.ArgumentParser) -> None:
    axes = parser.add_argument_group("over what")
    axes.add_argument(
        "--triton",
        metavar="GOOD..BAD",
        help="two versions and the releases between them, or a list V1,V2,...; a version may be a path",
    )
    axes.add_argument(
        "--git",
        metavar="GOOD..BAD",
        help="commits of the repository that FILE.py is in; first these, then versions",
    )
    axes.add_argument(
        "--ptxas", metavar="GOOD..BAD", help="a ptxas per end, or one for both: a version or a path"
    )
    for end in ("good", "bad"):
        axes.add_argument(
            f"--env-{end}",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help=f"an environment variable of the {end} end; can be repeated",
        )


def run(args: argparse.Namespace) -> int:
    """Bisects and prints the report; returns 1 if nothing got worse."""
    from irscope.jobs.bisect.bisection import Bisector
    from irscope.jobs.bisect.criteria import criterion_of
    from irscope.jobs.bisect.interruption import interruptible

    options.check_workers(args)
    criterion = criterion_of(args.fact, args.check)
    bisector = Bisector(criterion, args.jobs or 2, args.timeout)
    try:
        with interruptible(), _progress() as bisector.report:
            bisection = _bisect(args, bisector, bisector.report)
    except KeyboardInterrupt as error:
        _end_early(args, bisector, error)
        raise
    _write(args, bisection)
    worse = bisection.cause is not None or bisection.source_cause is not None
    return 0 if worse else 1


def _end_early(args: argparse.Namespace, bisector: Bisector, error: KeyboardInterrupt) -> None:
    """Write what a bisection that was interrupted has found, and end the process.

    Threads may still wait for compilers, which end with it.
    """
    from irscope.jobs.bisect.interruption import end_process, signal_of

    try:
        if bisector.latest is not None:
            _write(args, replace(bisector.latest, interrupted=signal_of(error).name))
        sys.stdout.flush()
    except (UserError, OSError) as problem:
        print_note(problem)
    bisector.kept.discard_unfinished()
    end_process(error)


def _bisect(args: argparse.Namespace, bisector: Bisector, report: Callable[[str], None]) -> Bisection:
    from irscope.jobs.bisect.toolchains import make_sides, parse_versions

    side_options = _side_options(args)
    versions = parse_versions(args.triton, side_options)
    if args.git is None and len(versions) < 2:
        raise UserError("specify --triton GOOD..BAD or --git GOOD..BAD, or two different --ptxas or --env")
    # Before anything is installed for a capture that cannot be used.
    captured = _captured(args, Path(args.kernel)) if args.git is None and _names_capture(args) else None
    sides = list(make_sides(versions, side_options, report))
    if args.git is not None:
        from irscope.jobs.bisect.commits import CommitRequest

        request = options.sweep_request(args, args.kernel)
        commits = CommitRequest(args.git, request, args.variant, bisector.criterion, args.timeout)
        return bisector.commits(commits, sides, versions)
    subject, name = captured or _subject(args, sides, bisector)
    return bisector.versions(sides, versions, subject, name)


def _subject(
    args: argparse.Namespace, sides: list[Environment | UserError], bisector: Bisector
) -> tuple[Subject, str]:
    """Return the variant of a file to bisect and its name, as the first version plans it."""
    from irscope.jobs.bisect.toolchains import choose, planned_subjects

    request = options.sweep_request(args, args.kernel)
    side = next((side for side in sides if not isinstance(side, UserError)), None)
    if side is None:
        raise UserError("; ".join(str(side) for side in sides))
    return choose(planned_subjects(side, request, bisector.kept, args.timeout), args.variant)


def _names_capture(args: argparse.Namespace) -> bool:
    path = Path(args.kernel)
    return "::" not in args.kernel and path.suffix not in _SOURCES and path.is_file()


def _captured(args: argparse.Namespace, path: Path) -> tuple[Subject, str]:
    """Return a variant of a capture, whose kernel must be in its file as it was. Raises UserError."""
    from irscope.jobs.bisect.compiling import Subject
    from irscope.workspace import Workspace
    from irscope.workspace.trust import has_kernel, untrusted_files

    name = args.variant
    with Workspace(path) as workspace:
        if name is None and len(workspace.variants) != 1:
            raise UserError(f"{path} has {len(workspace.variants)} variants; name one with --variant")
        variant = workspace.variants[0] if name is None else workspace.variant(name)
        short = workspace.names[variant.id]
    file = Path(variant.kernel.source.file)
    if not has_kernel(file, variant.kernel):
        problem = f"has no {variant.kernel.name} as {path} has it"
        raise UserError(f"{file}: {problem}; give FILE.py::{variant.kernel.name} instead of the capture")
    consent.require_consent(args, path, list(untrusted_files([variant.kernel])))
    return Subject(file, variant.kernel.name, variant.target, variant.specialization, variant.config), short


def _side_options(args: argparse.Namespace) -> SideOptions:
    from irscope.jobs.bisect.toolchains import SideOptions, split_range

    ptxas = (split_range(args.ptxas) or (args.ptxas, args.ptxas)) if args.ptxas else (None, None)
    good, bad = (tuple(options.assigned_texts(texts).items()) for texts in (args.env_good, args.env_bad))
    return SideOptions(ptxas[0], ptxas[1], good, bad)


def _write(args: argparse.Namespace, found: Bisection) -> None:
    if args.format == "json":
        from irscope.document.json.records import json_pieces
        from irscope.jobs.bisect.formats import bisect_document

        text = "".join(json_pieces(bisect_document(found, args.rows))) + "\n"
    elif args.format == "markdown":
        from irscope.jobs.bisect.formats import bisect_markdown

        text = "".join(f"{line}\n" for line in bisect_markdown(found, args.rows))
    else:
        from irscope.jobs.bisect.formats import bisect_text

        to_terminal = args.output is None
        width = options.width_of(args) if to_terminal else args.width
        lines = bisect_text(found, args.rows, width, *([options.paint()] if to_terminal else []))
        text = "".join(f"{line}\n" for line in lines)
    options.write_text(args, text)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Print what is being done: on the last line of a terminal, or a line each in a log."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield print_note
        return
    with console.status("") as status:
        yield lambda text: status.update(text.replace("[", r"\["))
