"""Draw the layouts of a variant: which thread holds which element, its address, and its memory bank.

VALUE is a variable of the kernel (a, or a:88 with its line), a line (:88), a value of TTGIR (%a_12) or a
layout (#blocked). Without VALUE: the kernel's tensors, its accesses to shared memory with their bank
conflicts, and its layout conversions. A Gluon kernel has its layouts twice: as written (glir) and as lowered
(ttgir); --stage glir draws the first.

example: irscope layout matmul.irscope '#3' acc
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import (
    ColorBy,
    DrawingOptions,
    LayoutComparison,
    LayoutDrawing,
    Tensor,
    ValuePair,
    VariantLayouts,
    Window,
    Workspace,
)
from irscope.workspace.variant_layouts import ask_triton_for_layouts, listed_tensors
from irscope.workspace.variant_texts import written_stage

NAME = "layout"
GROUP = "show"
SUMMARY = "draw which thread holds which element, and the banks of shared memory"

_STAGES = ("ttgir", "glir", "source")
_COLORS = ("warp", "thread", "register", "bank")
# The rows and columns of a compact drawing; without a terminal, it is not limited by its width.
_COMPACT_ROWS, _COMPACT_COLUMNS = 32, 128
_MARGIN = 6
_RANGE = re.compile(r"(\d{1,7}):(\d{1,7})")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "variant", "VARIANT")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="a, a:88, :88, %%a_12 or #blocked")
    parser.add_argument("--against", metavar="VARIANT", help="draw this variant next to the first")
    parser.add_argument(
        "--stage",
        choices=_STAGES,
        default=_STAGES[0],
        help="glir: the layouts as a Gluon kernel writes them (source before Triton 3.9)",
    )
    parser.add_argument(
        "--compact",
        metavar="BY",
        choices=_COLORS,
        help="the whole value, a glyph per cell: by warp, thread, register, or bank of shared memory",
    )
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
    options.add_file(parser, "write to FILE; NAME.svg as SVG")


def run(args: argparse.Namespace) -> int:
    """Print or write the drawing. Raises UserError if there is nothing to draw."""
    options.check_output(args, args.capture)
    if args.output and args.output.suffix == ".svg":
        args.format = "svg"
    if args.format == "svg" and args.value is None and args.access is None:
        raise UserError("name a value to draw, for example acc, or an access with --access")
    with Workspace(args.capture) as workspace:
        names = [name for name in (args.variant, args.against) if name]
        sides = [_layouts(workspace, name, args.stage) for name in names]
        listed = args.value is None and args.access is None and args.format == "text"
        written_layouts = [_written(workspace, side) if listed else None for side in sides]
        pair = workspace.compare(sides[0].variant, sides[-1].variant)
        comparison = None if pair.single else LayoutComparison(pair, args.stage != _STAGES[0])
        text = _text(args, sides, written_layouts, comparison)
    options.write_text(args, text)
    return 0


def _layouts(workspace: Workspace, name: str, stage: str) -> VariantLayouts:
    variant = workspace.variant(name)
    ask_triton_for_layouts(workspace, variant)
    return VariantLayouts(workspace, variant, stage)


def _written(workspace: Workspace, side: VariantLayouts) -> VariantLayouts | None:
    """Return the layouts of a Gluon kernel as written, or None for other kernels."""
    stage = written_stage(side.variant)
    return VariantLayouts(workspace, side.variant, stage) if stage and side.stage == _STAGES[0] else None


def _text(
    args: argparse.Namespace,
    sides: Sequence[VariantLayouts],
    written: Sequence[VariantLayouts | None],
    comparison: LayoutComparison | None,
) -> str:
    swizzle = not args.no_swizzle
    if args.access is not None:
        return _drawings(args, sides, [side.draw_access(side.access(args.access), swizzle) for side in sides])
    if args.value is None:
        return _list(args, sides, written, comparison)
    matches = [side.find(args.value) for side in sides]
    how = DrawingOptions(Window(args.rows, args.cols, args.plane), thread=args.thread, swizzle=swizzle)
    if args.compact:
        shapes = [first.layout_shape for first, *_ in matches]
        how = how.as_map(shapes, _COMPACT_ROWS, _map_columns(args, len(shapes)), ColorBy(args.compact))
    drawings = [
        _draw(args, side, matching_tensors, how)
        for side, matching_tensors in zip(sides, matches, strict=True)
    ]
    difference = comparison.difference(ValuePair(matches[0][0], matches[1][0])) if comparison else ""
    if args.format == "json":
        return _json(args, sides, drawings, difference=difference)
    if difference and args.format == "text":
        text = f"#{sides[1].variant.id} compared with #{sides[0].variant.id}: {difference}."
        lines = textwrap.wrap(text, options.width_of(args) or len(text))
        return "\n".join([_drawings(args, sides, drawings), *lines, ""])
    return _drawings(args, sides, drawings)


def _list(
    args: argparse.Namespace,
    sides: Sequence[VariantLayouts],
    written: Sequence[VariantLayouts | None],
    comparison: LayoutComparison | None,
) -> str:
    """Return the tensors, accesses and conversions of each variant.

    Of two variants, also return how their layouts differ.
    """
    rows = list(comparison.differences()) if comparison else []
    if args.format == "json":
        return _json(args, sides, [None for _ in sides], differences=rows if comparison else None)
    from irscope.document.terminal.document_text import text_lines
    from irscope.document.variant_content import layout_differences_content, layouts_content

    blocks = list(layouts_content(sides, written))
    if comparison:
        title = f"Layouts of #{sides[1].variant.id} compared with #{sides[0].variant.id}"
        blocks += layout_differences_content(title, rows)
    return "".join(f"{line}\n" for line in text_lines(blocks, None, options.paint()))


def _map_columns(args: argparse.Namespace, maps: int) -> int:
    """Return the columns of cells that each of `maps` compact drawings has side by side."""
    width = options.width_of(args)
    return _COMPACT_COLUMNS if width is None else max(1, width // maps - _MARGIN)


def _draw(
    args: argparse.Namespace, side: VariantLayouts, found: Sequence[Tensor], how: DrawingOptions
) -> LayoutDrawing:
    """Draw the tensor that VALUE matches best; a file does not list the others."""
    tensor, *other_tensors = found
    drawing = side.draw(tensor, how)
    if not other_tensors or args.format == "svg" or args.value.startswith("#"):
        return drawing
    also = f"{args.value} is also {listed_tensors(other_tensors)}."
    return replace(drawing, sentences=[*drawing.sentences, also])


def _drawings(
    args: argparse.Namespace, sides: Sequence[VariantLayouts], drawings: Sequence[LayoutDrawing]
) -> str:
    titles = [side.title for side in sides]
    grids = [drawing.grid for drawing in drawings]
    sentences = [drawing.sentences for drawing in drawings]
    if args.format == "svg":
        from irscope.document.html.layout_svg import layout_svg

        return layout_svg(grids, "   |   ".join(titles), sentences)
    from irscope.document.terminal.layout_text import layout_drawings

    return layout_drawings(titles, grids, sentences, options.width_of(args), options.paint())


def _json(
    args: argparse.Namespace,
    sides: Sequence[VariantLayouts],
    drawings: Sequence[LayoutDrawing | None],
    difference: str = "",
    differences: Sequence[tuple[str, str]] | None = None,
) -> str:
    from irscope.document.json.records import to_json
    from irscope.document.json.variant import layout_document

    pictures = [drawing.picture if drawing else None for drawing in drawings]
    document = layout_document(str(args.capture), sides, pictures)
    if difference:
        document["difference"] = difference
    if differences is not None:
        document["differences"] = [{"value": name, "difference": how} for name, how in differences]
    return to_json(document)


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is None or int(match[1]) >= int(match[2]):
        raise argparse.ArgumentTypeError("must be a range, for example 0:32")
    return int(match[1]), int(match[2])
