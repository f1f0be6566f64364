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
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irscope.capturing.importers.import_capture import ImportSummary

NAME = "import"
SUMMARY = "import a Triton cache, a dump folder or a tritonparse trace"

# What each kind of source does not say, by the kind's name.
_LACKS = {
    "Triton cache": "constexpr values, but for those that tl.arange shows; arguments equal to 1; signedness",
    "TRITON_KERNEL_DUMP folder": (
        "num_stages, metadata such as shared memory, Triton's version, constexpr values but for those that "
        "tl.arange shows; of configs with the same constants only the last is there"
    ),
    "tritonparse trace": "cubin or hsaco, the ptxas log, signedness of arguments",
}
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
    from irscope.capturing.importers.import_capture import import_source, recognize
    from irscope.cli.progress import counting_bar
    from irscope.model.text import pluralize
    from irscope.store import CaptureWriter
    from irscope.workspace import Workspace

    begun = time.monotonic()
    source = recognize(args.path)
    path = args.output or Path(f"{args.path.resolve().name.partition('.ndjson')[0]}.irscope")

    def open_writer() -> CaptureWriter:
        again = args.resume and path.exists()
        return CaptureWriter.resume(path) if again else CaptureWriter.create(path, args.force)

    with counting_bar("import") as report:
        parts = len(source.parts)
        summary = import_source(source, open_writer, shlex.join(sys.argv), lambda done: report(done, parts))
    with counting_bar("facts") as report:
        Workspace(path).store_facts(report)
    _say(summary, source.kind)
    name = shlex.quote(str(path))
    kernels = pluralize(len(summary.kernels), "kernel")
    done = [f"{pluralize(summary.added, 'variant')} of {kernels} from a {source.kind}"]
    done += [f"{summary.known} there already"] if summary.known else []
    done += [f"{summary.measured} with measured times"] if summary.measured else []
    print(f"{name}: {', '.join(done)}, {time.monotonic() - begun:.1f} s")
    print(f"browse: irscope {name}   compare: irscope table {name}")
    return 1 if summary.left_out else 0


def _say(summary: ImportSummary, kind: str) -> None:
    """Tells on stderr what was left out and what such a source does not hold."""
    from irscope.model.text import one_line, pluralize

    lines = [f"left out {item.place}: {item.reason}" for item in summary.left_out[:_NAMED]]
    if (more := len(summary.left_out) - _NAMED) > 0:
        lines.append(f"left out {more} more")
    lines.append(f"not in a {kind}: {_LACKS[kind]}")
    bare = [name for (name, _, _), found in summary.kernels.items() if not found]
    if bare:
        names = ", ".join(bare[:_NAMED]) + (", ..." if len(bare) > _NAMED else "")
        lines.append(
            f"no Python source (gone, or changed since) for {pluralize(len(bare), 'kernel')}: {names}"
        )
    for line in lines:
        print(f"irscope: {one_line(line)}", file=sys.stderr)
