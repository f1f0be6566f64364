"""Browse variants in the terminal: their facts, and two of them side by side in every stage.

With a capture, `irscope CAPTURE` is the same. With FILE.py[::KERNEL] and what irscope compile takes, the
app opens at once and compiles while you look; r compiles again after an edit, old against new.
In the app, ? lists the keys and q quits.

example: irscope tui matmul.irscope
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import request
from irscope.model import UserError
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.cli.live import LiveSweep

NAME = "tui"
SUMMARY = "browse a capture in the terminal (also: irscope CAPTURE)"

# The arguments that a capture has no use for.
_COMPILING = (
    "signature", "const", "config", "target", "jobs", "reasons", "passes", "output", "force", "resume",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    parser.add_argument(
        "capture", metavar="CAPTURE|FILE.py[::KERNEL]", help="the capture file, or a kernel to compile"
    )
    compiling = parser.add_argument_group("to compile FILE.py[::KERNEL]")
    request.add_request(compiling)
    request.add_output(compiling, "default: a temporary file")


def run(args: argparse.Namespace) -> int:
    """Runs the app until the user quits. Raises UserError where there is no terminal or no capture."""
    if args.capture.partition("::")[0].endswith(".py"):
        return _compile(args)
    for name in _COMPILING:
        if getattr(args, name):
            raise UserError(f"--{name} is for FILE.py[::KERNEL], to be compiled; {args.capture} is a capture")
    path = Path(args.capture)
    with Workspace(path) as workspace:
        _check_terminal(f"irscope table {path} prints to a pipe")
        return _show(workspace)


def _compile(args: argparse.Namespace) -> int:
    """Compiles while the app runs, then says where the capture is."""
    from irscope.cli.live import LiveSweep
    from irscope.store import CaptureWriter

    wanted = request.sweep_request(args, args.capture)
    _check_terminal("irscope compile needs none")
    path = args.output or Path(tempfile.mkdtemp(prefix="irscope-"), f"{wanted.file.stem}.irscope")
    again = args.resume and path.exists()
    (CaptureWriter.resume(path) if again else CaptureWriter.create(path, args.force)).close()
    sweep = LiveSweep(wanted, path, args.jobs, args.timeout)
    try:
        with Workspace(path) as workspace:
            try:
                code = _show(workspace, sweep)
            finally:
                sweep.stop()
    finally:
        empty = _put_away(path, temporary=args.output is None)
    if not empty:
        left = f", {sweep.left} not compiled yet" if sweep.left else ""
        name = shlex.quote(str(path))
        print(f"{name}: {sweep.compiled} compiled, {sweep.failed} failed{left}")
        print(f"browse: irscope {name}   compare: irscope table {name}")
    elif sweep.problem:
        raise UserError(sweep.problem)
    return code


def _check_terminal(instead: str) -> None:
    """Raises UserError, saying what to do `instead`, where the app has nothing to draw on."""
    # A driver of its own is what textual-serve draws with, on pipes.
    if not (sys.stdin.isatty() and sys.stdout.isatty()) and "TEXTUAL_DRIVER" not in os.environ:
        raise UserError(f"the app needs a terminal; {instead}")


def _show(workspace: Workspace, producer: LiveSweep | None = None) -> int:
    """Runs the app until the user quits."""
    from irscope.tui.app import run as run_app

    return run_app(workspace, producer)


def _put_away(path: Path, temporary: bool) -> bool:
    """Leaves the capture as one file, or none at all where nothing is in it; whether that is so."""
    from irscope.store import CaptureReader, CaptureWriter
    from irscope.store.writer import remove_capture

    with CaptureWriter.resume(path):  # folds SQLite's log in, which the app's reading put off
        pass
    with CaptureReader(path) as capture:
        empty = not capture.variants()
    if empty:
        remove_capture(path)
        if temporary:
            path.parent.rmdir()
    return empty
