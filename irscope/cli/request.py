"""What to compile: the arguments that `irscope compile` and `irscope tui FILE.py` share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.backends import TARGETS, parse_target
from irscope.model import Target, UserError, Value, parse_value

if TYPE_CHECKING:
    from irscope.capturing.messages import SweepRequest

# A parser, or a group of its arguments.
Arguments = argparse._ActionsContainer


def add_request(parser: Arguments) -> None:
    """--signature, --const, --config, --target, --reasons, --passes; how to compile it: -j, --timeout."""
    parser.add_argument(
        "--signature", metavar="SIG", help='argument types, such as "*fp16:16, i32:16, i32, 1"'
    )
    parser.add_argument(
        "--const", metavar="NAME=VALUE", action="append", default=[], help="a constexpr that no config sets"
    )
    parser.add_argument(
        "--config",
        metavar="NAME=V1,V2",
        action="append",
        default=[],
        help="values of a constexpr or of num_warps, num_stages, num_ctas, maxnreg; repeat for the product",
    )
    parser.add_argument(
        "--target",
        metavar="TARGET",
        action="append",
        default=[],
        help=f"one of {', '.join(map(str, TARGETS))}; may be repeated (default: cuda:90)",
    )
    parser.add_argument("-j", "--jobs", metavar="N", type=int, help="worker processes (default: one a core)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=300.0, help="per variant (300)")
    parser.add_argument(
        "--reasons", action="store_true", help="keep what the coalescing pass knew of each load and store"
    )
    parser.add_argument(
        "--passes", action="store_true", help="keep each compiler pass and the module after it"
    )


def add_output(parser: Arguments, default: str) -> None:
    """-o, and what to do where the capture exists. `default` says where it goes without -o."""
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help=f"the capture ({default})")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--force", action="store_true", help="replace FILE where it exists")
    existing.add_argument("--resume", action="store_true", help="add to FILE what it does not have yet")


def sweep_request(args: argparse.Namespace, kernel: str) -> SweepRequest:
    """The request in the arguments, for `kernel`: FILE.py::KERNEL. Raises UserError for what is none."""
    from irscope.capturing.messages import SweepRequest

    if args.jobs is not None and args.jobs < 1:
        raise UserError("-j must be at least 1")
    file, _, name = kernel.partition("::")
    request = SweepRequest(
        file=Path(file),
        kernel=name or None,
        signature=args.signature,
        constants={name: parse_value(value) for name, value in map(_assignment, args.const)},
        axes=_axes(args.config),
        targets=tuple(dict.fromkeys(map(_target, args.target or ["cuda:90"]))),
        reasons=args.reasons,
        passes=args.passes,
    )
    if not request.file.is_file():
        raise UserError(f"{request.file}: no such file")
    return request


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip().isidentifier()):
        raise UserError(f"'{text}' is not NAME=VALUE")
    return name.strip(), value


def _axes(texts: list[str]) -> dict[str, tuple[Value, ...]]:
    """The `--config` values by name. Raises UserError for a name without values."""
    from irscope.toolchain.signature import split_signature

    axes: dict[str, tuple[Value, ...]] = {}
    for name, values in map(_assignment, texts):
        axes[name] = tuple(parse_value(value) for value in split_signature(values))
        if not axes[name]:
            raise UserError(f"--config {name}=: give at least one value")
    return axes


def _target(text: str) -> Target:
    try:
        return parse_target(text)
    except ValueError as error:
        raise UserError(str(error)) from error
