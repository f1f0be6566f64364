"""`irscope compile` for a Helion kernel."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import option_values, options
from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.capturing.messages import SweepRequest
    from irscope.capturing.record.background_writer import OpenCapture, WrittenCounts
    from irscope.model import Target


def compile_helion_kernel(args: argparse.Namespace, sweep: SweepRequest, kernel: str) -> tuple[Path, int]:
    """Compiles the Helion kernel called `kernel`; returns the capture and the exit code.

    Prints the summary. Raises UserError if an option does not apply to Helion.
    """
    from irscope.capturing.compile.helion import HelionRequest, compile_helion
    from irscope.capturing.messages import RunOptions
    from irscope.cli.progress import recording_bar
    from irscope.workspace import holds_nothing, remove_capture

    if args.reasons:
        raise UserError("--reasons does not apply to a Helion kernel; irscope run records none either")
    constants, axes = option_values.assigned_texts(args.const), option_values.value_texts(args.config)
    request = HelionRequest(sweep.file, kernel, args.signature or "", constants, axes, args.configs)
    path = args.output or Path(f"{kernel}.irscope")
    run = RunOptions(None, processes=args.jobs, seconds=args.timeout, passes=args.passes)
    start, command = time.monotonic(), shlex.join(sys.argv)
    with recording_bar() as bar:

        def report(written: WrittenCounts) -> None:
            if written.kernels:  # else the program has said why
                bar(written)

        open_ = partial(_opener, args, path, sweep.targets[0])
        code, written = compile_helion(request, sweep.targets, run, open_, command, report)
    if holds_nothing(path):
        remove_capture(path)
        return path, code or 1
    _print_summary(path, written, time.monotonic() - start)
    return path, code or int(any(each.failed for each in written))


def _opener(args: argparse.Namespace, path: Path, first: Target, target: Target) -> OpenCapture:
    """Opens the capture: as asked for the first target, to add to it for the others."""
    from irscope.workspace import CaptureWriter

    return (
        partial(options.open_writer, args, path) if target == first else partial(CaptureWriter.resume, path)
    )


def _print_summary(path: Path, written: list[WrittenCounts], seconds: float) -> None:
    name = shlex.quote(str(path))
    failed, kept = (sum(getattr(each, of) for each in written) for of in ("failed", "kept"))
    compiled = sum(each.variants for each in written) - failed
    there = f", {kept} already there" if kept else ""
    print(f"{name}: {compiled} compiled{there}, {failed} failed, {seconds:.1f} s")
    if failed:
        options.print_failures(path)
    print(f"browse: irscope {name}   compare: irscope table {name}")
