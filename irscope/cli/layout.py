"""Draw the layouts of a variant: which thread holds which element, its address, and its memory bank.

VALUE is a variable of the kernel (a, or a:88 with its line), a line (:88), a value of TTGIR (%a_12) or a
layout (#blocked). Without VALUE: the kernel's tensors, its accesses to shared memory with their bank
conflicts, and its layout conversions.

example: irscope layout matmul.irscope '#3' acc
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import Grid, LayoutView, Picture, TensorDrawing, Window, Workspace, encoded

NAME = "layout"
SUMMARY = "draw which thread holds which element, and the banks of shared memory"

_RANGE = re.compile(r"(\d{1,7}):(\d{1,7})")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "variant", "VARIANT")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="a, a:88, :88, %%a_12 or #blocked")
    parser.add_argument("--against", metavar="VARIANT", help="draw this variant next to the first")
    parser.add_argument("--rows", metavar="A:B", type=_range, help="only rows A to B (exclusive)")
    parser.add_argument("--cols", metavar="A:B", type=_range, help="only columns A to B (exclusive)")
    parser.add_argument(
        "--plane", metavar="N", type=options.count, default=0, help="which plane of a 3D tensor"
    )
    parser.add_argument("--thread", metavar="N", type=options.count, help="mark the elements of thread N")
    parser.add_argument("--no-swizzle", action="store_true", help="draw it as if it had no swizzle")
    parser.add_argument(
        "--access", metavar="N", type=options.count, help="draw the banks of access N in the list"
    )
    options.add_format(parser, "text", "svg", "json")
    options.add_width(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE; NAME.svg as SVG")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")


def run(args: argparse.Namespace) -> int:
    """Prints or writes the drawing. Raises UserError if there is nothing to draw."""
    if args.output and args.output.suffix == ".svg":
        args.format = "svg"
    if args.format == "svg" and args.value is None and args.access is None:
        raise UserError("name a value to draw, for example acc, or an access with --access")
    with Workspace(args.capture) as workspace:
        names = [name for name in (args.variant, args.against) if name]
        views = [LayoutView(workspace, workspace.variant(name)) for name in names]
        text = _text(args, views)
    if args.output is None:
        sys.stdout.write(text)
    else:
        options.write_output(args.output, encoded(text), args.force)
    return 0


def _text(args: argparse.Namespace, views: Sequence[LayoutView]) -> str:
    swizzle = not args.no_swizzle
    if args.access is not None:
        grids = [view.draw_access(args.access, swizzle) for view in views]
        return _drawings(args, views, grids, [() for _ in grids])
    if args.value is None:
        if args.format == "json":
            return _json(args, views, [None for _ in views])
        from irscope.report.terminal.layout_text import layout_list

        return layout_list(views, options.paint())
    window = Window(args.rows, args.cols, args.plane)
    drawings = [view.draw(args.value, window, args.thread, swizzle) for view in views]
    pictures = [drawing.picture for drawing in drawings]
    if args.format == "json":
        return _json(args, views, pictures)
    sentences = [_sentences(args, drawing) for drawing in drawings]
    return _drawings(args, views, [picture.grid for picture in pictures], sentences)


def _sentences(args: argparse.Namespace, drawing: TensorDrawing) -> Sequence[str]:
    """The sentences below a drawing; a file does not list the other tensors that match."""
    if not drawing.others_text or args.format == "svg" or args.value.startswith("#"):
        return drawing.sentences
    return [*drawing.sentences, f"{args.value} is also {drawing.others_text}."]


def _drawings(
    args: argparse.Namespace,
    views: Sequence[LayoutView],
    grids: Sequence[Grid],
    sentences: Sequence[Sequence[str]],
) -> str:
    titles = [view.title for view in views]
    if args.format == "svg":
        from irscope.report.html.layout_svg import layout_svg

        return layout_svg(grids, "   |   ".join(titles), sentences)
    from irscope.report.terminal.layout_text import layout_drawings

    return layout_drawings(titles, grids, sentences, options.width_of(args), options.paint())


def _json(args: argparse.Namespace, views: Sequence[LayoutView], pictures: Sequence[Picture | None]) -> str:
    from irscope.report.json.layout_json import layout_document
    from irscope.report.json.records import to_json

    return to_json(layout_document(str(args.capture), views, pictures))


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is None or int(match[1]) >= int(match[2]):
        raise argparse.ArgumentTypeError("must be a range, for example 0:32")
    return int(match[1]), int(match[2])
