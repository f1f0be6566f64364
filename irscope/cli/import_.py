"""Import what Triton has already compiled: its cache, a dump folder, or a tritonparse trace.

PATH is a Triton cache folder (~/.triton/cache), a folder written by TRITON_KERNEL_DUMP=1, a tritonparse
trace (.ndjson, .ndjson.gz) or a folder of such traces; irscope detects which. Nothing is executed, and
triton is not needed. Caches do not contain the values of tl.constexpr parameters; irscope infers those that
the IR shows.

example: irscope import ~/.triton/cache -o cache.irscope
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model.errors import print_note

if TYPE_CHECKING:
    from irscope.recording.importers.import_capture import ImportSummary

NAME = "import"
GROUP = "capture"
SUMMARY = "import a Triton cache, a dump folder or a tritonparse trace"

# The data that each kind of source lacks, by the name of the kind.
_LACKS = {
    "Triton cache": "constexpr values except those that tl.arange shows; arguments equal to 1; signedness",
    "TRITON_KERNEL_DUMP folder": (
        "num_stages, metadata such as shared memory, Triton's version, constexpr values except those that "
        "tl.arange shows; all but the last of the configs with equal constants"
    ),
    "tritonparse trace": "cubin or hsaco, the ptxas log, signedness of arguments",
}
# The number of skipped entries that are listed.
_MAX_LISTED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare PATH and the output options."""
    parser.add_argument("path", metavar="PATH", type=Path, help="the folder or trace")
    options.add_output(parser, "NAME.irscope")


def run(args: argparse.Namespace) -> int:
    """Import; returns 1 if an entry was skipped. Raises UserError if nothing can be imported."""
    from irscope.cli.progress import counting_bar
    from irscope.model.text import pluralize
    from irscope.recording.importers.import_capture import import_source, recognize
    from irscope.workspace import Workspace

    start = time.monotonic()
    options.check_output(args, args.path)
    source = recognize(args.path)
    path = args.output or Path(f"{args.path.resolve().name.partition('.ndjson')[0]}.irscope")

    with counting_bar("import") as report:
        parts = len(source.parts)
        summary = import_source(
            source,
            partial(options.open_writer, args, path),
            shlex.join(sys.argv),
            lambda done: report(done, parts),
        )
    with counting_bar("facts") as report:
        Workspace(path).store_facts(report)
    _print_notes(summary, source.kind)
    name = shlex.quote(str(path))
    kernels = pluralize(len(summary.kernels), "kernel")
    done = [f"{pluralize(summary.added, 'variant')} of {kernels} from a {source.kind}"]
    done += [f"{summary.known} already there"] if summary.known else []
    done += [f"{summary.measured} with measured times"] if summary.measured else []
    print(f"{name}: {', '.join(done)}, {time.monotonic() - start:.1f} s")
    options.print_next(path)
    return 1 if summary.left_out else 0


def _print_notes(summary: ImportSummary, kind: str) -> None:
    """Print to stderr which entries were skipped and what this kind of source lacks."""
    from irscope.model.text import one_line, pluralize

    lines = [f"skipped {item.place}: {item.reason}" for item in summary.left_out[:_MAX_LISTED]]
    if (more := len(summary.left_out) - _MAX_LISTED) > 0:
        lines.append(f"skipped {more} more")
    lines.append(f"a {kind} does not contain: {_LACKS[kind]}")
    without_source = [name for (name, _, _), has_source in summary.kernels.items() if not has_source]
    if without_source:
        names = ", ".join(without_source[:_MAX_LISTED]) + (
            ", ..." if len(without_source) > _MAX_LISTED else ""
        )
        kernels = pluralize(len(without_source), "kernel")
        lines.append(f"no Python source (deleted, or changed since) for {kernels}: {names}")
    for line in lines:
        print_note(one_line(line))
