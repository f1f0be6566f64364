"""Rank the configs of each kernel by estimated time, and say why the others need not be measured.

The estimate comes from the machine code, the grid and the arguments of each recorded launch; no GPU is
needed. Configs that cannot launch or are duplicates of others are left out. The list is also printed as
Python, to paste into @triton.autotune. For a kernel that was never launched, --launch says how it would be:
its values are expressions of each other and of the config.

example: irscope pick matmul.irscope --launch "grid=(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), M=4096, N=M, K=M"
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from irscope.cli import options
from irscope.model import UserError
from irscope.model.text import one_line
from irscope.workspace import Pick, Workspace
from irscope.workspace.picking import never_launched, picks

NAME = "pick"
GROUP = "choose and ship"
SUMMARY = "rank the configs by estimated time: which few are worth measuring"

# A person sees a tenth of the configs; JSON has all, in order.
_TOP = "10%"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "capture", metavar="CAPTURE", type=Path, nargs="+", help="the capture file; several to calibrate"
    )
    options.add_selection(parser)
    parser.add_argument(
        "--top",
        metavar="N",
        help=f"configs worth measuring per launch: 8, or 10%% of them (default: {_TOP}%, JSON: all)",
    )
    parser.add_argument(
        "--launch",
        metavar="LAUNCH",
        action="append",
        default=[],
        help='pick for this launch: "grid=(cdiv(M, BLOCK_M),), M=4096"; can be repeated',
    )
    parser.add_argument(
        "--same-bits-as",
        metavar="VARIANT",
        help="pick among the configs that compute the same bits as this one: #3, or any part of its name",
    )
    parser.add_argument("--explain", action="store_true", help="show what each estimate is made of")
    parser.add_argument(
        "--device", metavar="NAME", help="estimate for this device: H100, A100, ... or a file of --calibrate"
    )
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="fit the model's constants to the times in the captures, and use them from now on",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the file of --calibrate (default: the user's own)",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    options.add_document_format(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Print the ranking. Raises UserError if nothing was launched or an argument is wrong."""
    if args.calibrate:
        return _calibrate(args)
    if len(args.capture) > 1:
        raise UserError("several captures need --calibrate; irscope merge joins captures")
    with Workspace(args.capture[0]) as workspace:
        ranked = _picks(workspace, args)
        unlisted = args.launch or args.same_bits_as
        if not unlisted and (names := never_launched(workspace, args.kernel, args.target)):
            listed = ", ".join(map(one_line, names))
            sys.stderr.write(f"irscope: never launched, so not ranked: {listed}; see --launch\n")
        if args.format == "json":
            from irscope.document.json.estimates import pick_document

            options.print_json(pick_document(ranked))
            return 0
        from irscope.document.pick_content import picks_content

        options.print_document(picks_content(ranked, args.explain), args)
    return 0


def _picks(workspace: Workspace, args: argparse.Namespace) -> list[Pick]:
    from irscope.cli.progress import counting_bar

    top = args.top or (None if args.format == "json" else _TOP)
    same = None if args.same_bits_as is None else workspace.variant(args.same_bits_as)
    with counting_bar("estimating") as report:
        return picks(workspace, args.kernel, args.target, args.launch, top, args.device, report, same)


def _calibrate(args: argparse.Namespace) -> int:
    from irscope.cli.progress import counting_bar
    from irscope.document.pick_content import calibration_content
    from irscope.workspace.picking import calibrate_captures

    with counting_bar("calibrating"):
        calibration = calibrate_captures(args.capture, args.output, args.device, args.force)
    options.print_document(calibration_content(calibration), args)
    return 0
