"""Draw the layouts of a variant: which thread holds which element, where it lies in memory, which banks.

VALUE is a variable of the kernel (a, or a:88 with its line), a line (:88), a value of TTGIR (%a_12) or a
layout (#blocked). Without it: the kernel's tensors, its accesses to shared memory with their bank
conflicts, and its layout conversions with what each moves.

example: irscope layout matmul.irscope '#3' acc
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.layouts.grid import Grid, Window
    from irscope.layouts.kernel_layouts import KernelLayouts, Picture
    from irscope.layouts.shared_accesses import Counted
    from irscope.layouts.tensors import Tensor

NAME = "layout"
SUMMARY = "draw which thread holds which element, and the banks of shared memory"

_RANGE = re.compile(r"(\d{1,7}):(\d{1,7})")
_MOST_LISTED = 12


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "variant", "VARIANT")
    parser.add_argument("value", metavar="VALUE", nargs="?", help="a, a:88, :88, %%a_12 or #blocked")
    parser.add_argument("--against", metavar="VARIANT", help="the same of another variant beside it")
    parser.add_argument("--rows", metavar="A:B", type=_range, help="only the rows from A up to B")
    parser.add_argument("--cols", metavar="A:B", type=_range, help="only the columns from A up to B")
    parser.add_argument("--plane", metavar="N", type=options.count, default=0, help="of three dimensions")
    parser.add_argument("--thread", metavar="N", type=options.count, help="what this thread holds, marked")
    parser.add_argument("--no-swizzle", action="store_true", help="what it would be without the swizzle")
    parser.add_argument("--access", metavar="N", type=options.count, help="the banks of access N in the list")
    options.add_format(parser, "text", "svg", "json")
    options.add_width(parser)
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to FILE; .svg draws")
    parser.add_argument("--force", action="store_true", help="replace FILE where it exists")


def run(args: argparse.Namespace) -> int:
    """Prints or writes the picture. Raises UserError where there is no such thing."""
    from irscope.layouts.attribute import UnknownLayoutError

    if args.output and args.output.suffix == ".svg":
        args.format = "svg"
    if args.format == "svg" and args.value is None and args.access is None:
        raise UserError("name a value to draw, such as acc, or an access with --access; see irscope layout")
    with Workspace(args.capture) as workspace:
        sides = [_Side(workspace, name) for name in (args.variant, args.against) if name]
        try:
            text = _document(args, sides)
        except UnknownLayoutError as error:
            raise UserError(f"not known: {error}") from error
    _write(args, text)
    return 0


class _Side:
    """One variant, and what is asked of it."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.variant = workspace.variant(name)
        self.name = workspace.names[self.variant.id]
        workspace.ask_triton_for_layouts(self.variant)
        self.kernel: KernelLayouts = workspace.layouts(self.variant)

    @property
    def title(self) -> str:
        """The variant in a line."""
        return f"#{self.variant.id} {self.name}  {self.variant.kernel.name}  {self.variant.target}"

    def tensors(self, text: str) -> list[Tensor]:
        """The tensors that `text` names, one of each kind, the likeliest first. Raises UserError for none."""
        from irscope.layouts.tensors import distinct, find_tensors

        found = find_tensors(self.kernel.tensors, text)
        if not found:
            variables = dict.fromkeys(tensor.python for tensor in self.kernel.tensors if tensor.python)
            raise UserError(
                f"#{self.variant.id} has no '{text}'; variables: {', '.join(variables) or 'none'}"
            )
        return [group[0] for group in distinct(found)]

    def access(self, number: int) -> Counted:
        """Access N of the list, from 1. Raises UserError where there is none."""
        accesses = self.kernel.accesses
        if not 1 <= number <= len(accesses):
            raise UserError(f"#{self.variant.id} has no access {number}; it has {len(accesses)}")
        return accesses[number - 1]


def _document(args: argparse.Namespace, sides: Sequence[_Side]) -> str:
    if args.access is not None:
        grids = [side.kernel.turns(side.access(args.access), not args.no_swizzle) for side in sides]
        return _drawn(args, sides, grids, [() for _ in grids])
    if args.value is None:
        return _json(args, sides, []) if args.format == "json" else _listing(sides)
    named = [side.tensors(args.value) for side in sides]
    pictures = [
        side.kernel.picture(tensors[0], _window(args), args.thread, not args.no_swizzle)
        for side, tensors in zip(sides, named, strict=True)
    ]
    if args.format == "json":
        return _json(args, sides, pictures)
    words = [
        [*_words(args, side, picture), *_others(args, tensors[1:])]
        for side, picture, tensors in zip(sides, pictures, named, strict=True)
    ]
    return _drawn(args, sides, [picture.grid for picture in pictures], words)


def _window(args: argparse.Namespace) -> Window:
    from irscope.layouts.grid import Window

    return Window(args.rows, args.cols, args.plane)


def _words(args: argparse.Namespace, side: _Side, picture: Picture) -> list[str]:
    """The sentences below a picture."""
    from irscope.layouts.describe import turns_text
    from irscope.layouts.kernel_layouts import held_words

    words = list(picture.words)
    for one in side.kernel.accesses_to(picture.tensor) if picture.tensor.shared else ():
        found = one.plain if args.no_swizzle else one.conflicts
        line = f" of line {one.access.line}" if one.access.line else ""
        told = turns_text(found) if found else one.why_not
        words.append(f"{one.access.opcode}{line}: {told}.")
    if args.thread is not None and picture.layout.in_registers:
        words += held_words(picture.layout, args.thread)
    version = side.variant.toolchain.versions.get("triton", "")
    own = f"Linear layout: Triton {version}'s own." if picture.source == "Triton" else None
    words.append(own or "Linear layout: converted by irscope, not asked of Triton.")
    return words


def _others(args: argparse.Namespace, tensors: Sequence[Tensor]) -> list[str]:
    """What else the name stands for; in a picture to keep, nothing."""
    if not tensors or args.format == "svg" or args.value.startswith("#"):
        return []
    listed = ", ".join(f"{tensor.name} {tensor.type}" for tensor in tensors[:_MOST_LISTED])
    more = ", ..." if len(tensors) > _MOST_LISTED else ""
    return [f"{args.value} is also {listed}{more}."]


def _drawn(
    args: argparse.Namespace,
    sides: Sequence[_Side],
    grids: Sequence[Grid],
    words: Sequence[Sequence[str]],
) -> str:
    if args.format == "svg":
        from irscope.report.html.layout_svg import layout_svg

        return layout_svg(grids, "   |   ".join(side.title for side in sides), words)
    from irscope.model.text import one_line
    from irscope.report.terminal.layout_text import beside, grid_lines, visible

    paint = options.paint()
    width = options.width_of(args)
    blocks = [
        [paint(one_line(side.title), "heading"), *grid_lines(grid, paint, width), *map(one_line, own)]
        for side, grid, own in zip(sides, grids, words, strict=True)
    ]
    if len(blocks) == 2 and width is not None:
        widths = [max(map(visible, block)) for block in blocks]
        if sum(widths) + 3 <= width:
            return "\n".join(beside(blocks[0], blocks[1], (widths[0], widths[1]))) + "\n"
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _listing(sides: Sequence[_Side]) -> str:
    from irscope.layouts.tensors import distinct
    from irscope.model.text import one_line
    from irscope.report.terminal.layout_text import access_rows, conversion_rows, tensor_rows

    paint = options.paint()
    lines: list[str] = []
    for side in sides:
        kernel = side.kernel
        lines += [paint(one_line(side.title), "heading"), "", "Tensors"]
        lines += tensor_rows(list(distinct(kernel.tensors)))
        if kernel.accesses:
            lines += ["", "Accesses to shared memory", *access_rows(kernel.accesses)]
        if kernel.conversions:
            lines += ["", "Layout conversions", *conversion_rows(kernel.conversions)]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


def _json(args: argparse.Namespace, sides: Sequence[_Side], pictures: Sequence[Picture]) -> str:
    from irscope.report.json.layout_json import SCHEMA, layout_document
    from irscope.report.json.records import to_json, variant_record

    documents = []
    for index, side in enumerate(sides):
        picture = pictures[index] if pictures else None
        own = side.kernel.accesses_to(picture.tensor) if picture else side.kernel.accesses
        record = variant_record(side.variant, side.name)
        documents.append(layout_document(record, side.kernel, picture, own))
    return to_json({"schema": SCHEMA, "capture": str(args.capture), "sides": documents})


def _write(args: argparse.Namespace, text: str) -> None:
    if args.output is None:
        sys.stdout.write(text)
        return
    try:
        with args.output.open("w" if args.force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise UserError(f"{args.output} exists; choose another name or replace it with --force") from error
    except OSError as error:
        raise UserError(f"{args.output}: cannot be written: {error.strerror}") from error


def _range(text: str) -> tuple[int, int]:
    match = _RANGE.fullmatch(text)
    if match is None or int(match[1]) >= int(match[2]):
        raise argparse.ArgumentTypeError("a range, such as 0:32")
    return int(match[1]), int(match[2])
