"""Draw what is in flight when in a kernel's main loop, and what waits for what, over a few iterations.

A row per partition, a row for the tensor cores, and a row per slot of a buffer: its copy in flight, what
waits in it, and the product that uses it. Below: how much of each copy is hidden, and what still waits. With
two variants, both are drawn on one scale, and the sentences say what moved. Needs no GPU.

example: irscope timeline matmul.irscope num_stages=2 num_stages=4
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from irscope.cli import options
from irscope.model import UserError, Variant
from irscope.model.kernel_timeline import KernelTimeline
from irscope.workspace import Workspace

NAME = "timeline"
GROUP = "show"
SUMMARY = "draw what is in flight when in a pipelined loop, and what waits for what"

_ITERATIONS = 4
# The columns of a picture that goes to a pipe or a file.
_COLUMNS = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "variant", "VARIANT")
    parser.add_argument("other", metavar="VARIANT", nargs="?", help="compare this variant with the first")
    parser.add_argument(
        "--iterations",
        metavar="N",
        type=_iterations,
        default=_ITERATIONS,
        help=f"iterations of the steady state, 2 to 64 ({_ITERATIONS})",
    )
    options.add_format(parser, "text", "svg", "json")
    parser.add_argument(
        "--width",
        metavar="COLUMNS",
        type=options.columns,
        help=f"fit this width (default: the terminal's; {_COLUMNS} in a pipe)",
    )
    options.add_file(parser, "write to FILE; NAME.svg as SVG")


def run(args: argparse.Namespace) -> int:
    """Print or write the timeline. Raises UserError without a variant or a timeline, or if FILE exists."""
    options.check_output(args, args.capture)
    if args.output and args.output.suffix == ".svg":
        args.format = "svg"
    with Workspace(args.capture) as workspace:
        variants = [workspace.variant(name) for name in (args.variant, args.other) if name]
        timelines = [workspace.kernel_timeline(variant, args.iterations) for variant in variants]
        text = _text(args, workspace, variants, timelines)
    options.write_text(args, text)
    return 0


def _text(
    args: argparse.Namespace,
    workspace: Workspace,
    variants: Sequence[Variant],
    timelines: Sequence[KernelTimeline],
) -> str:
    if args.format == "json":
        from irscope.document.json.records import to_json
        from irscope.document.json.variant import timeline_document

        names = [workspace.names[variant.id] for variant in variants]
        return to_json(timeline_document(str(args.capture), variants, names, timelines))
    if not any(timeline.spans for timeline in timelines):
        raise UserError("; ".join(dict.fromkeys(note for timeline in timelines for note in timeline.notes)))
    headings = [
        f"{letter}#{variant.id} {workspace.names[variant.id]}  {variant.kernel.name}  {variant.target}"
        for letter, variant in zip(("A  ", "B  ") if args.other else ("",), variants, strict=True)
    ]
    if args.format == "svg":
        from irscope.document.html.timeline_svg import timeline_svg

        return timeline_svg(timelines, headings)
    from irscope.document.terminal.document_text import text_lines
    from irscope.document.timeline_content import timeline_content

    width = options.width_of(args) or _COLUMNS
    paint = options.paint() if args.output is None else None
    lines = text_lines(timeline_content(timelines, headings, width), width, *([paint] if paint else []))
    return "".join(f"{line}\n" for line in lines)


def _iterations(text: str) -> int:
    number = options.count(text)
    if not 2 <= number <= 64:
        raise argparse.ArgumentTypeError("must be a number, 2 to 64")
    return number
