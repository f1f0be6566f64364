"""Build a Triton cache folder without a GPU, so that nothing compiles in production.

Each SCRIPT is run as `irscope run` does, on a simulated GPU; of each CAPTURE, the entries are written from
its stages. The folder has every kernel and config, and the shared objects that Triton builds with the C
compiler at first use. In production, set TRITON_CACHE_DIR to it, and with --pins TRITON_CACHE_AUTOTUNING=1.
Running the command again adds what is missing and removes what its scripts no longer use. The exit code is 1
if anything is missing in the folder, or if --verify or --check find a difference.

example: irscope warm train.py --target cuda:90 -o warm
  irscope warm train.py --vary 'matmul:M=1..8192' --pins pins.toml -o warm
  irscope warm tuned.irscope --write-pins pins.toml
  irscope warm --verify warm
  irscope warm --check 'train.py --steps 1' -o warm
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import consent, options
from irscope.model import UserError
from irscope.model.errors import print_note
from irscope.model.files import write_output
from irscope.model.text import pluralize, printable

if TYPE_CHECKING:
    from irscope.jobs.warm.launch_plans import WarmOptions

NAME = "warm"
GROUP = "choose and ship"
SUMMARY = "build a cache folder so that nothing compiles in production"


_NO_GPU = (
    "no GPU found: --check runs programs as they are; without a GPU, irscope warm PROGRAM --expect-warm -o "
    "FOLDER fails if the folder lacks a kernel, and --verify compares keys"
)


def _check_program(text: str, folder: Path | None) -> int:
    """Run a program and print a line per cold start on stderr.

    Returns its exit code, else 1 if something was cold. Raises UserError if it did not use Triton.
    """
    from irscope.jobs.warm.checking import check_program, command_of
    from irscope.jobs.warm.expecting import cold_sentence
    from irscope.recording.process_recorder import has_gpu

    check = check_program(command_of(text), folder)
    if not check.processes:
        missing = "none of its processes imported Triton in a Python that has irscope"
        raise UserError(f"{text}: exit code {check.code}, and {missing}")
    verdict = f"{pluralize(check.hits, 'kernel')} from {folder or 'the cache of Triton'}"
    if check.cold:
        verdict = f"not warm: {cold_sentence(check.cold)}; {verdict}"
    elif check.code:
        verdict = f"nothing cold until the program failed: {verdict}"
    else:
        verdict = f"warm: {verdict}, nothing was compiled, benchmarked or built"
    lines = [verdict, *(f"  {cold_start}" for cold_start in check.cold)]
    if check.code:
        lines += [f"{text}: exit code {check.code}", *([] if has_gpu() else [_NO_GPU])]
    for line in lines:
        print_note(line)
    return check.code or int(bool(check.cold))


def warm_options(args: argparse.Namespace) -> WarmOptions:
    """Return how to build; prints conflicts of pins. Raises UserError that names the option that is wrong."""
    from irscope.compiling.launch_grid import parse_axes
    from irscope.jobs.warm.launch_plans import WarmOptions
    from irscope.jobs.warm.pins import merged, pins_for, read_pins

    options.check_workers(args)
    device, usual = _device(args.device) if args.device else (None, None)
    named: str | None = args.target or usual
    target = options.target(named) if named else None
    if usual and target != options.target(usual):
        raise UserError(f"--device {args.device} is a GPU of {usual}: leave out --target {named}")
    pins, conflicts = merged({str(path): read_pins(path) for path in args.pins})
    _print(conflicts)
    return WarmOptions(
        target=target,
        kernels=args.kernel,
        axes=tuple(axis for text in args.vary for axis in parse_axes(text)),
        pins=pins_for(pins, device),
        prices=not args.no_prices,
        prune=args.prune,
        binary_only=args.binary_only,
        at=args.at or "",
        libcuda=tuple(args.libcuda),
        libhip=tuple(args.libhip),
        processes=args.jobs,
        seconds=args.timeout,
    )


def _device(name: str) -> tuple[str, str | None]:
    """Return what the driver calls a GPU that irscope knows, and its target; other names are as they are."""
    from irscope.workspace.picking import device_named

    try:
        rates, _ = device_named(name)
    except UserError:
        return name, None
    return rates.driver_name, rates.target


def write_plan(args: argparse.Namespace) -> int:
    """Write the launches of the captures, and what --vary says, to a plan file."""
    from irscope.jobs.warm.launch_plans import launches_of
    from irscope.jobs.warm.plan_file import plan_text

    warm = replace(warm_options(args), target=None)
    kernels = [kernel for path in _captures(args, "--write-plan") for kernel in launches_of(path, warm)]
    text = plan_text(kernels, args.write_plan.absolute().parent)
    write_output(args.write_plan, text.encode(), args.force)
    launches = pluralize(sum(len(kernel.cases) for kernel in kernels), "launch")
    print(printable(f"{args.write_plan}: {launches} of {pluralize(len(kernels), 'kernel')}"))
    return 0


def write_pins(args: argparse.Namespace) -> int:
    """Write the autotuned choices of captures to a pin file."""
    from irscope.jobs.warm.pins import merged, pins_in, pins_text, read_pins

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
    """Return the inputs, which must be captures."""
    if not args.inputs:
        raise UserError(f"{option}: give the captures to read")
    if scripts := [text for text in args.inputs if text.endswith(".py") or not Path(text).is_file()]:
        raise UserError(f"{option}: {scripts[0]} is no capture; make one with irscope run")
    return list(map(Path, args.inputs))


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(printable(line))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what to build, and the commands on a folder."""
    parser.add_argument(
        "inputs",
        metavar="SCRIPT|CAPTURE",
        nargs="*",
        help="train.py, 'train.py --steps 1', '-m pkg.bench', or a capture",
    )
    _add_build(parser)
    _add_launches(parser)
    _add_folder(parser)


def _add_build(parser: argparse.ArgumentParser) -> None:
    build = parser.add_argument_group("building")
    build.add_argument("-o", "--output", metavar="DIR", type=Path, help="the cache folder")
    build.add_argument(
        "--target", metavar="TARGET", help="the GPU of production (default: that of --device, else cuda:90)"
    )
    build.add_argument("--at", metavar="PATH", help="the folder's path in production")
    build.add_argument("--kernel", metavar="GLOB", default="*", help="only kernels matching GLOB")
    build.add_argument(
        "--prune", action="store_true", help="only the configs that a capture says were chosen"
    )
    build.add_argument("--binary-only", action="store_true", help="keep no stage but the binary")
    build.add_argument(
        "--libcuda",
        metavar="DIR",
        action="append",
        default=[],
        help="the folder of libcuda.so.1 in production (default: the usual ones)",
    )
    build.add_argument(
        "--libhip", metavar="FILE", action="append", default=[], help="libamdhip64.so in production"
    )
    build.add_argument(
        "--expect-warm",
        action="store_true",
        help="exit code 1 if the folder lacked a kernel that inputs need",
    )
    consent.add_trust(build)
    options.add_workers(build)


def _add_launches(parser: argparse.ArgumentParser) -> None:
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
        "--device", metavar="NAME", help="use the pins of this GPU model: H200, or as its driver calls it"
    )
    launches.add_argument(
        "--no-prices",
        action="store_true",
        help="do not say what do_not_specialize would cost, which compiles more",
    )
    writing = parser.add_argument_group("writing a plan or pins instead of building")
    writing.add_argument(
        "--write-plan", metavar="FILE", type=Path, help="write the captures' launches and --vary to FILE"
    )
    writing.add_argument(
        "--write-pins",
        metavar="FILE",
        type=Path,
        help="write the choices in captures made on a GPU, merged with --pins, to FILE",
    )
    writing.add_argument("--force", action="store_true", help="overwrite the file that is written")


def _add_folder(parser: argparse.ArgumentParser) -> None:
    folder = parser.add_argument_group("instead of building")
    folder.add_argument("--verify", metavar="DIR", type=Path, help="whether this machine's keys will match")
    folder.add_argument("--relocate", metavar="DIR", type=Path, help="correct the paths of a moved folder")
    folder.add_argument(
        "--check",
        action="store_true",
        default=None,
        help="run programs on the GPU with the folder of -o; exit code 1 if anything is compiled or measured",
    )


def run(args: argparse.Namespace) -> int:
    """Build, verifies or relocates a folder; returns 1 if a kernel failed or keys will not match."""
    for name, command in _COMMANDS.items():
        if getattr(args, name) is not None:
            return command(args)
    return _build(args)


def _build(args: argparse.Namespace) -> int:
    from irscope.cli.progress import recording_bar
    from irscope.jobs.warm.build import build, new_entry_text, result_text
    from irscope.jobs.warm.compile_input import Input, parse_program
    from irscope.jobs.warm.plan_file import read_plan
    from irscope.workspace.trust import kernels_of, untrusted_files

    if not (args.inputs or args.plan) or args.output is None:
        raise UserError("specify a script or capture and -o DIR; see irscope warm --help")
    if args.vary and not args.inputs:
        raise UserError(f"--vary: is for scripts and captures; write the values into `vary` of {args.plan}")
    sources: dict[str, Input] = {
        text: parse_program(options.script_path(text)) or Path(text) for text in args.inputs
    }
    for path in sources.values():
        if isinstance(path, Path) and (args.vary or args.pins):
            consent.require_consent(args, path, list(untrusted_files(kernels_of(path))))
    warm = warm_options(args)
    if args.plan is not None and (kernels := read_plan(args.plan)):
        sources = {str(args.plan): kernels, **sources}
    result = build(args.output, sources, warm, shlex.join(sys.argv), recording_bar)
    print(result_text(args.output, result))
    new = result.new if args.expect_warm else ()
    for line in (*result.failures, *result.problems, *map(new_entry_text, new)):
        print_note(line)
    return int(bool(result.failures or result.problems or new))


def _verify(args: argparse.Namespace) -> int:
    from irscope.jobs.warm.verify import DIFFERS, checks_text, verify

    checks = verify(args.verify)
    print(checks_text(args.verify, checks))
    return int(any(check.state == DIFFERS for check in checks))


def _relocate(args: argparse.Namespace) -> int:
    from irscope.jobs.warm.relocate import add_driver_modules, relocate

    folder = args.relocate
    try:
        groups, changed = relocate(folder, args.at or "")
        added = add_driver_modules(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot be relocated: {error.strerror}") from error
    if not groups:
        raise UserError(f"{folder}: has no kernel; specify a folder that irscope warm -o built")
    more = "".join(f", {name} for this machine" for name in added)
    new_path = args.at or folder.absolute()
    print(f"{folder}: {pluralize(groups, 'kernel')}, {changed} relocated to {new_path}{more}")
    return 0


def check_programs(programs: Sequence[str], folder: Path | None) -> int:
    """Run each program; returns the first exit code that is not 0, else 1 if something was cold.

    Raises UserError for wrong use, and if no program used Triton.
    """
    if not programs:
        raise UserError("--check needs a program: irscope warm --check 'train.py --steps 1' -o warm")
    codes = [_check_program(text, folder) for text in programs]
    return next(filter(None, codes), 0)


# The options that replace the build, and the functions that they run.
_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "verify": _verify,
    "relocate": _relocate,
    "check": lambda args: check_programs(args.inputs, args.output),
    "write_plan": write_plan,
    "write_pins": write_pins,
}
