"""The options of `irscope warm` about launches and autotuned choices: --vary, --plan, --pins."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import Target, UserError
from irscope.model.files import write_output
from irscope.model.text import pluralize, printable

if TYPE_CHECKING:
    from irscope.warming.variations import KernelLaunches, VaryOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    launches = parser.add_argument_group("launches and autotuned choices")
    launches.add_argument(
        "--vary",
        metavar="KERNEL:NAME=VALUES",
        action="append",
        default=[],
        help="also compile for these values: 'matmul:M=1..8192:x16;N=64,128'",
    )
    launches.add_argument("--plan", metavar="FILE", type=Path, help="compile the kernels of a plan file")
    launches.add_argument(
        "--pins",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="autotuners choose what FILE says: only that is compiled, nothing is measured in production",
    )
    launches.add_argument(
        "--no-prices",
        action="store_true",
        help="do not say what do_not_specialize would cost, which compiles more",
    )
    written = parser.add_argument_group("writing a plan or pins instead of building")
    written.add_argument(
        "--write-plan", metavar="FILE", type=Path, help="write the captures' launches and --vary to FILE"
    )
    written.add_argument(
        "--write-pins",
        metavar="FILE",
        type=Path,
        help="write the choices in captures made on a GPU, merged with --pins, to FILE",
    )
    written.add_argument("--force", action="store_true", help="overwrite the file that is written")


def vary_options(args: argparse.Namespace, target: Target | None) -> VaryOptions:
    """The launches that the options add. Raises UserError that names the option that is wrong."""
    from irscope.warming.pins import merged
    from irscope.warming.pins_file import read_pins
    from irscope.warming.variations import VaryOptions, parse_axes

    pins, conflicts = merged({str(path): read_pins(path) for path in args.pins})
    _print(conflicts)
    return VaryOptions(
        axes=parse_axes(args.vary),
        pins=pins,
        target=target,
        kernels=args.kernel,
        processes=args.jobs,
        seconds=args.timeout,
        prices=not args.no_prices,
    )


def plan_kernels(args: argparse.Namespace) -> tuple[KernelLaunches, ...]:
    """The kernels of --plan; none without it."""
    from irscope.warming.plan_file import read_plan

    return read_plan(args.plan) if args.plan is not None else ()


def write_plan(args: argparse.Namespace) -> int:
    """Writes the launches of the captures, and what --vary says, to a plan file."""
    from irscope.warming.plan_file import plan_text
    from irscope.warming.variations import launches_of

    options = vary_options(args, None)
    kernels = [each for path in _captures(args, "--write-plan") for each in launches_of(path, options)]
    text = plan_text(kernels, args.write_plan.absolute().parent)
    write_output(args.write_plan, text.encode(), args.force)
    launches = pluralize(sum(len(each.cases) for each in kernels), "launch")
    print(printable(f"{args.write_plan}: {launches} of {pluralize(len(kernels), 'kernel')}"))
    return 0


def write_pins(args: argparse.Namespace) -> int:
    """Writes the autotuned choices of captures to a pin file."""
    from irscope.warming.pins import merged, pins_in
    from irscope.warming.pins_file import pins_text, read_pins

    sets = {str(path): read_pins(path) for path in args.pins}
    sets |= {str(path): pins_in(path) for path in (_captures(args, "--write-pins") if args.inputs else ())}
    pins, conflicts = merged(sets)
    _print(conflicts)
    if not pins:
        raise UserError("--write-pins: the inputs have no autotuned choice; capture on a GPU: irscope run")
    write_output(args.write_pins, pins_text(pins).encode(), args.force)
    kernels = pluralize(len({pin.kernel for pin in pins}), "kernel")
    print(printable(f"{args.write_pins}: {pluralize(len(pins), 'pin')} of {kernels}"))
    return 0


def _captures(args: argparse.Namespace, option: str) -> list[Path]:
    """The inputs, which must be captures."""
    if not args.inputs:
        raise UserError(f"{option}: give the captures to read")
    if scripts := [text for text in args.inputs if text.endswith(".py") or not Path(text).is_file()]:
        raise UserError(f"{option}: {scripts[0]} is no capture; make one with irscope run")
    return list(map(Path, args.inputs))


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(printable(line))
