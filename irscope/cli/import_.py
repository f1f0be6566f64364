"""Import what Triton has already compiled: its cache, a dump folder, or a tritonparse trace.

PATH is a Triton cache folder (~/.triton/cache), a folder that TRITON_KERNEL_DUMP=1 left, a tritonparse
trace (.ndjson, .ndjson.gz) or a folder of such traces; which of them, its content says. Nothing is
executed and triton is not needed. Values of tl.constexpr parameters are in no cache: those that the IR
shows are read off it.

example: irscope import ~/.triton/cache -o cache.irscope
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import UserError

if TYPE_CHECKING:
    from irscope.capture.importing import Summary

NAME = "import"
SUMMARY = "import a Triton cache, a dump folder or a tritonparse trace"

# How many entries that were left out are named one by one.
_NAMED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares PATH and where the capture goes."""
    parser.add_argument("path", metavar="PATH", type=Path, help="the folder or trace")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="the capture (NAME.irscope)")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--force", action="store_true", help="replace FILE where it exists")
    existing.add_argument("--resume", action="store_true", help="add to FILE what it does not have yet")


def run(args: argparse.Namespace) -> int:
    """Imports; 1 where an entry had to be left out. Raises UserError where nothing can be imported."""
    from irscope.capture.importing import import_source, recognise
    from irscope.store import CaptureWriter

    begun = time.monotonic()
    source = recognise(args.path)
    path = args.output or Path(f"{args.path.resolve().name.partition('.ndjson')[0]}.irscope")
    again = args.resume and path.exists()
    writer = CaptureWriter.resume(path) if again else CaptureWriter.create(path, args.force)
    with writer, _bar(len(source.parts)) as report:
        try:
            summary = import_source(source, writer, shlex.join(sys.argv), report)
        except UserError:
            _forget(path, again)
            raise
    if not summary.added and not summary.known:
        _forget(path, again)
        raise UserError(f"{args.path}: no entry of this {source.kind} can be imported{_reasons(summary)}")
    _say(summary, source.kind)
    name = shlex.quote(str(path))
    known = f", {summary.known} there already" if summary.known else ""
    print(
        f"{name}: {summary.added} variants of {len(summary.kernels)} kernels from a {source.kind}{known}, "
        f"{time.monotonic() - begun:.1f} s"
    )
    print(f"browse: irscope {name}   compare: irscope table {name}")
    return 1 if summary.left_out else 0
