"""Browse variants in the terminal: their facts, and two of them side by side in every stage.

`irscope CAPTURE` does the same; `irscope` without arguments opens the home screen: recent captures,
captures in this folder, lessons and samples. A capture opens as it was left, unless --fresh is
given. Several captures, oldest first, open as one: } and { step through the versions of a variant. With
FILE.py[::KERNEL] and the options of irscope compile, the app opens immediately and shows each stage as soon
as it is compiled; saving the file compiles again and compares old with new. That executes FILE.py; opening
a capture executes nothing. In the app, ? lists the keys and q goes back or quits.

example: irscope tui matmul.irscope
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError
from irscope.model.process import importing
from irscope.model.text import pluralize
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.jobs.live_sweep import LiveSweep
    from irscope.jobs.variant_compiler import LiveCapture, WhatIfCompiler
    from irscope.tui.home_entries import HomeEntry, Section
    from irscope.tui.home_visits import AppExit
    from irscope.tui.live_connection import VariantCompiler
    from irscope.workspace.live import Publish
    from irscope.workspace.what_if import PassRequest, StageEdit, WhatIf

NAME = "tui"
GROUP = "show"
SUMMARY = "browse a capture in the terminal (also: irscope CAPTURE)"


# The time limit of a what-if's variant, as --timeout has it.
_WHAT_IF_SECONDS = 300.0
# Terminals that only append text, as in an editor or a log.
_CANNOT_DRAW = ("dumb", "unknown")
# The arguments that apply only to FILE.py.
_COMPILING = (
    "signature", "const", "config", "target", "jobs", "reasons", "passes", "output", "force", "resume",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "capture",
        metavar="CAPTURE|FILE.py[::KERNEL]",
        nargs="?",
        help="the capture file, or a kernel to compile (default: the home screen)",
    )
    parser.add_argument(
        "--fresh",
        action="store_true",
        help="ignore how the capture was left: A, B, stage, sort, filter, panels",
    )
    parser.add_argument(
        "later",
        metavar="CAPTURE",
        type=Path,
        nargs="*",
        help="later captures of the same kernels: } and { step through the versions of a variant",
    )
    compiling = parser.add_argument_group("to compile FILE.py[::KERNEL]")
    options.add_compilation(compiling)
    options.add_output(compiling, "default: a temporary file")


def run(args: argparse.Namespace) -> int:
    """Run the app until the user quits. Raises UserError without a terminal or a capture."""
    if args.capture is None:
        check_terminal("irscope --help lists the commands that work without one")
        return visit()
    ended = _run(args)
    return visit(ended=ended) if ended.choice else ended.code


def show_sample(name: str) -> AppExit:
    """Compiles a sample while the app shows it. Raises UserError if there is no such sample."""
    parser = argparse.ArgumentParser(prog="irscope tui")
    add_arguments(parser)
    return _compile(parser.parse_args([f"samples/{name}"]), from_home=True)


def _run(args: argparse.Namespace) -> AppExit:
    if _is_kernel(args.capture):
        if args.later:
            raise UserError(f"{args.later[0]}: FILE.py[::KERNEL] cannot be opened with others")
        return _compile(args)
    for name in _COMPILING:
        if getattr(args, name):
            raise UserError(f"--{name} applies only to FILE.py[::KERNEL]; {args.capture} is a capture")
    return _show_capture(Path(args.capture), args.later, args.fresh)


def _is_kernel(text: str) -> bool:
    """Return True if this is FILE.py[::KERNEL] or a sample, rather than a capture."""
    from irscope.learn.sample_commands import sample_file

    name = text.partition("::")[0]
    return name.endswith(".py") or (not Path(name).exists() and sample_file(name) is not None)


def _show_capture(path: Path, later: Sequence[Path], fresh: bool) -> AppExit:
    """Run the app; then print where the variants are that the user compiled."""
    compiler = _CaptureCompiler(path)
    try:
        with Workspace(path, also=later) as workspace:
            check_terminal(f"irscope table {path} works without one")
            # In a browser, the user of the app may be somebody else.
            return _show(workspace, compiler=None if _in_browser() else compiler, fresh=fresh)
    finally:
        print(compiler.finish(), end="")


class _CaptureCompiler:
    """Compiles the what-ifs of a capture; imported when the first one is asked for, after the first paint."""

    trusted: Path | None = None

    def __init__(self, capture: Path) -> None:
        self._capture = capture

    @cached_property
    def _made(self) -> tuple[WhatIfCompiler, LiveCapture]:
        from irscope.jobs.variant_compiler import WhatIfCompiler, own_capture

        capture = own_capture(self._capture)
        return WhatIfCompiler(capture, _WHAT_IF_SECONDS), capture

    def prepare(self) -> None:
        """Start to load the compiler."""
        self._made[0].prepare()

    def begin(self, what_if: WhatIf, publish: Publish) -> None:
        """Compiles the variants of a what-if."""
        self._made[0].begin(what_if, publish)

    def record_passes(self, request: PassRequest, publish: Publish) -> None:
        """Compiles a variant once more with its passes."""
        self._made[0].record_passes(request, publish)

    def edit(self, edit: StageEdit, publish: Publish) -> None:
        """Build a variant from an edited stage."""
        self._made[0].edit(edit, publish)

    def finish(self) -> str:
        """Stop; the lines that say where the variants are, "" if there are none."""
        if "_made" not in vars(self):
            return ""
        compiler, own_capture = self._made
        compiler.stop()
        own_capture.finish()
        if not own_capture.added:
            return ""
        name, of = shlex.quote(str(own_capture.path)), shlex.quote(str(self._capture))
        return (
            f"{name}: {pluralize(own_capture.added, 'variant')} compiled in the app; {of} was not changed\n"
            f"both in one: irscope merge {of} {name} -o NEW.irscope\n"
        )


def _compile(args: argparse.Namespace, from_home: bool = False) -> AppExit:
    """Compiles while the app runs, then prints the path of the capture."""
    from irscope.cli.written_options import with_options
    from irscope.jobs.live_sweep import LiveSweep
    from irscope.jobs.variant_compiler import WhatIfCompiler

    request = options.sweep_request(args, args.capture, quiet=True)
    check_terminal("irscope compile works without one")
    path = args.output or Path(tempfile.mkdtemp(prefix="irscope-"), f"{request.file.stem}.irscope")
    options.open_writer(args, path).close()
    sweep = LiveSweep(request, path, args.jobs, args.timeout, with_options)
    compiler = WhatIfCompiler(sweep.capture, args.timeout, request.file)
    try:
        with Workspace(path, writable=True) as workspace:
            try:
                ended = _show(workspace, sweep, compiler, from_home=from_home)
            finally:
                compiler.stop()
                sweep.stop()
    finally:
        empty = _tidy(path, temporary=args.output is None)
    if not empty:
        remaining = f", {sweep.capture.added} more in the app" if sweep.capture.added else ""
        remaining += f", {sweep.left} not compiled yet" if sweep.left else ""
        name = shlex.quote(str(path))
        print(f"{name}: {sweep.compiled} compiled, {sweep.failed} failed{remaining}")
        options.print_next(path)
        if sweep.options:
            print(f"again: irscope tui {shlex.quote(args.capture)} {sweep.options}")
    elif sweep.problem:
        raise UserError(sweep.problem)
    return ended


def check_terminal(instead: str) -> None:
    """Raise UserError, which suggests `instead`, if there is no terminal that the app can draw on."""
    if _in_browser():
        return
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UserError(f"the app needs a terminal; {instead}")
    if os.environ.get("TERM") in _CANNOT_DRAW:
        raise UserError(f"the app cannot draw on this terminal (TERM={os.environ['TERM']}); {instead}")


def _show(
    workspace: Workspace,
    producer: LiveSweep | None = None,
    compiler: VariantCompiler | None = None,
    fresh: bool = False,
    from_home: bool = False,
) -> AppExit:
    """Run the app until the user quits or picks what to open next."""
    with importing():
        from irscope.tui.app import run as run_app
    from irscope.tui.home_visits import Start
    from irscope.tui.settings import StateFolder

    # In a browser, a visitor must neither see the captures of this user nor change how they open.
    states = None if _in_browser() else StateFolder()
    return run_app(workspace, producer, start=Start(states, fresh, from_home=from_home), compiler=compiler)


def _in_browser() -> bool:
    """Return True if textual-serve runs the app: on pipes, with its own driver."""
    return "TEXTUAL_DRIVER" in os.environ


def _tidy(path: Path, temporary: bool) -> bool:
    """Leaves the capture as a single file, or removes it if it is empty; returns whether it was."""
    from irscope.workspace import CaptureWriter

    # Merges SQLite's log, which was open while the app was reading.
    with CaptureWriter.resume(path, amends=True):
        pass
    empty = CaptureWriter.remove_if_empty(path)
    if empty and temporary:
        path.parent.rmdir()
    return empty


def visit(section: Section | None = None, ended: AppExit | None = None) -> int:
    """Show the home screen, lessons and samples until the user quits; returns the exit code.

    `ended` is how an app ended that ran before: its choice is opened first.
    """
    with importing():
        from irscope.tui.app import run as run_app
    from irscope.tui.home_entries import Section as Sections
    from irscope.tui.home_visits import Start
    from irscope.tui.settings import StateFolder

    section = section or Sections.RECENT
    entry = message = ""
    while True:
        if ended is None or ended.home:
            start = Start(StateFolder(), section=section, entry=entry, message=message)
            ended = run_app(None, start=start)
        if ended.choice is None:
            if ended.home:
                continue
            return ended.code
        section, entry, message = ended.choice.section, ended.choice.name, ""
        try:
            ended = _open(ended.choice)
        except (UserError, KeyboardInterrupt) as error:
            message = str(error) or "Interrupted"
            ended = None


def _open(entry: HomeEntry) -> AppExit:
    """Compiles a lesson or a sample, if needed, and shows it."""
    from irscope.cli import learn

    if entry.lesson is not None:
        return learn.show_lesson(str(entry.lesson), from_home=True)
    return show_sample(entry.path.name if entry.path else "")
