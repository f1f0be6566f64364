"""Asks before a command executes code that a capture names or has, and that may be somebody else's.

Compiling the configs of a capture for the targets of other devices, which executes such code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.cli.options import Arguments
from irscope.model import Target, UserError
from irscope.model.errors import print_note
from irscope.model.text import one_line
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.workspace.device_matrix import DeviceMatrix

_YES = ("y", "yes")
_MOST_LISTED = 3


def add_trust(parser: Arguments) -> None:
    """--trust."""
    parser.add_argument(
        "--trust", action="store_true", help="execute code of a CAPTURE that was not compiled here"
    )


def add_devices(parser: argparse.ArgumentParser) -> None:
    """--devices, with what it needs: the arguments of `matrices`."""
    group = parser.add_argument_group("other devices")
    group.add_argument(
        "--devices",
        metavar="NAME,...",
        action="append",
        help="which configs these devices can launch, and how fast they are by estimate: A100,L4, or all",
    )
    options.add_launches(
        group, 'estimate this launch: "grid=(cdiv(M, BLOCK_M),), M=4096" (default: the recorded ones)'
    )
    add_compiling(group)


def add_compiling(parser: Arguments) -> None:
    """-j, --timeout and --trust, for `compiled_for`."""
    parser.add_argument(
        "-j", "--jobs", metavar="N", type=int, help="worker processes (default: one per core)"
    )
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=300.0, help="per variant to compile (300)"
    )
    add_trust(parser)


def require_consent(
    args: argparse.Namespace, capture: Path, code: Sequence[str], otherwise: str = ""
) -> None:
    """Ask on a terminal whether to execute the code of a capture, each a line; do nothing without any.

    `otherwise` is what to do if not. Raise UserError if the user declines, or there is no terminal.
    """
    if args.trust or not code:
        return
    listed = [one_line(line) for line in code[:_MOST_LISTED]]
    listed += [f"and {len(code) - _MOST_LISTED} more"] if len(code) > _MOST_LISTED else []
    if sys.stdin.isatty() and sys.stderr.isatty():
        print_note(f"{one_line(str(capture))} was not made here, and this executes")
        print("\n".join(f"  {line}" for line in listed), file=sys.stderr)
        print("Execute it? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() in _YES:
            return
        raise UserError("nothing was executed")
    advice = f"add --trust if you would run it{otherwise}"
    raise UserError(f"{capture}: was not made here, and this executes {', '.join(listed)}: {advice}")


def compiled_for(args: argparse.Namespace, capture: Path, targets: Sequence[Target]) -> Path:
    """Return a capture that has the variants for all `targets`: the given one if it has them.

    `args` has the arguments of `add_compiling`, and --kernel.
    """
    from irscope.cli.progress import counting_bar
    from irscope.jobs.device_capture import compile_for, missing_targets

    with Workspace(capture) as workspace:
        missing = missing_targets(workspace.select(args.kernel), targets)
    if not missing:
        return capture
    from irscope.jobs.versions.requests import captured_request, left_out
    from irscope.workspace.trust import untrusted_files

    options.check_workers(args)
    request = captured_request(capture, args.kernel, [], passes=False)
    require_consent(args, capture, list(untrusted_files(request.files)))
    for line in left_out(capture, request, args.kernel):
        print_note(line)
    with counting_bar("variants") as report:
        path, rejected = compile_for(capture, request, missing, args.jobs, args.timeout, report)
    for line in rejected:
        print_note(line)
    Workspace(path).store_facts()
    return path


def matrices(args: argparse.Namespace) -> list[DeviceMatrix]:
    """Return the matrices that --devices asks for; none without it. Compiles what the capture lacks."""
    from irscope.cli.progress import counting_bar
    from irscope.workspace.device_matrix import chosen_devices, device_matrices

    if not args.devices:
        return []
    devices = chosen_devices(options.split_names(args.devices) or [])
    path = compiled_for(args, args.capture, [options.target(rates.target) for rates in devices.values()])
    with Workspace(path) as workspace, counting_bar("launches") as report:
        return device_matrices(workspace, devices, args.kernel, args.launch, report)
