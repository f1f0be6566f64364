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
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import consent, option_values, options, warm_launches
from irscope.model import UserError
from irscope.model.text import pluralize, printable

if TYPE_CHECKING:
    from irscope.capturing.messages import Program
    from irscope.warming.build import WarmBuild
    from irscope.warming.options import WarmOptions

NAME = "warm"
GROUP = "choose and ship"
SUMMARY = "build a cache folder so that nothing compiles in production"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares what to build, and the commands on a folder."""
    parser.add_argument(
        "inputs",
        metavar="SCRIPT|CAPTURE",
        nargs="*",
        help="train.py, 'train.py --steps 1', '-m pkg.bench', or a capture",
    )
    _add_build(parser)
    warm_launches.add_arguments(parser)
    _add_folder(parser)


def _add_build(parser: argparse.ArgumentParser) -> None:
    build = parser.add_argument_group("building")
    build.add_argument("-o", "--output", metavar="DIR", type=Path, help="the cache folder")
    build.add_argument("--target", metavar="TARGET", help="the GPU of production (default: cuda:90)")
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
    """Builds, verifies or relocates a folder; returns 1 if a kernel failed or keys will not match."""
    for name, command in _COMMANDS.items():
        if getattr(args, name) is not None:
            return command(args)
    return _build(args)


def _build(args: argparse.Namespace) -> int:
    from irscope.report.terminal.warm_text import new_entry_text, result_text
    from irscope.warming.build import WarmBuild
    from irscope.warming.launch_build import LaunchBuild
    from irscope.warming.run_program import parse_program
    from irscope.workspace.trust import kernels_of, untrusted_files

    if not (args.inputs or args.plan) or args.output is None:
        raise UserError("specify a script or capture and -o DIR; see irscope warm --help")
    if args.vary and not args.inputs:
        raise UserError(f"--vary: is for scripts and captures; write the values into `vary` of {args.plan}")
    programs = {text: parse_program(options.script_path(text)) for text in args.inputs}
    for text in (text for text, program in programs.items() if program is None and (args.vary or args.pins)):
        consent.require_consent(args, Path(text), list(untrusted_files(kernels_of(Path(text)))))
    code = 0
    warm = _options(args)
    vary = warm_launches.vary_options(args, warm.target)
    kernels = warm_launches.plan_kernels(args)
    with WarmBuild(args.output, warm) as build:
        launches = LaunchBuild(build.folder, vary, build.cache_here, build.old.choices, build.add_compiled)
        build.launches, build.run_options = launches, replace(build.run_options, pins=vary.pins)
        if kernels:
            launches.add_kernels(kernels, str(args.plan))
            build.complete(str(args.plan))
        for text, program in programs.items():
            if program is None:
                build.add_capture(Path(text), text)
            else:
                code = _add_program(build, program, text) or code
        result = build.finish(shlex.join(sys.argv))
    print(result_text(args.output, result))
    new = result.new if args.expect_warm else ()
    for line in (*result.failures, *result.problems, *map(new_entry_text, new)):
        print(f"irscope: {printable(line)}", file=sys.stderr)
    return int(bool(code or result.failures or result.problems or new))


def _add_program(build: WarmBuild, program: Program, text: str) -> int:
    from irscope.cli.progress import recording_bar

    with recording_bar() as report:
        return build.add_program(program, text, report)


def _options(args: argparse.Namespace) -> WarmOptions:
    from irscope.warming.options import WarmOptions

    options.check_positive(args, "-j")
    options.check_timeout(args)
    return WarmOptions(
        target=option_values.target(args.target) if args.target else None,
        kernels=args.kernel,
        prune=args.prune,
        binary_only=args.binary_only,
        at=args.at or "",
        libcuda=tuple(args.libcuda),
        libhip=tuple(args.libhip),
        processes=args.jobs,
        seconds=args.timeout,
    )


def _verify(args: argparse.Namespace) -> int:
    from irscope.report.terminal.warm_text import checks_text
    from irscope.warming.verify import DIFFERS, verify

    checks = verify(args.verify)
    print(checks_text(args.verify, checks))
    return int(any(check.state == DIFFERS for check in checks))


def _relocate(args: argparse.Namespace) -> int:
    from irscope.warming.relocate import add_driver_modules, relocate

    folder = args.relocate
    try:
        groups, changed = relocate(folder, args.at or "")
        added = add_driver_modules(folder)
    except OSError as error:
        raise UserError(f"{folder}: cannot be relocated: {error.strerror}") from error
    if not groups:
        raise UserError(f"{folder}: has no kernel; specify a folder that irscope warm -o built")
    more = "".join(f", {name} for this machine" for name in added)
    at = args.at or folder.absolute()
    print(f"{folder}: {pluralize(groups, 'kernel')}, {changed} relocated to {at}{more}")
    return 0


def _check(args: argparse.Namespace) -> int:
    from irscope.cli.warm_check import check_programs

    return check_programs(args.inputs, args.output)


# The options that replace the build, and the functions that they run.
_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "verify": _verify,
    "relocate": _relocate,
    "check": _check,
    "write_plan": warm_launches.write_plan,
    "write_pins": warm_launches.write_pins,
}
