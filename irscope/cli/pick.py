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

from irscope.cli import options
from irscope.workspace import DeviceRates, Pick, Workspace, picks

NAME = "pick"
SUMMARY = "rank the configs by estimated time: which few are worth measuring"

# A person sees a tenth of the configs; JSON has all, in order.
_TOP = "10%"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
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
    parser.add_argument("--explain", action="store_true", help="show what each estimate is made of")
    options.add_format(parser, "text", "json")
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the ranking. Raises UserError if nothing was launched or an argument is wrong."""
    with Workspace(args.capture) as workspace:
        found = _picks(workspace, args, None)
        if args.format == "json":
            from irscope.report.json.pick_json import pick_document

            options.print_json(pick_document(found))
            return 0
        from irscope.report.terminal.pick_text import picks_text

        lines = picks_text(found, options.width_of(args), options.paint(), args.explain)
        sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def _picks(workspace: Workspace, args: argparse.Namespace, device: DeviceRates | None) -> list[Pick]:
    from irscope.cli.progress import counting_bar

    top = args.top or (_TOP if args.format == "text" else None)
    with counting_bar("estimating") as report:
        return picks(workspace, args.kernel, args.target, args.launch, top, device, report)
