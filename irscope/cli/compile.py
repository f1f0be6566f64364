"""Compile a kernel under each of its configs and keep every stage, with no GPU.

The kernel is named FILE.py::KERNEL; where the file has just one, FILE.py will do. Its configs are those
of @triton.autotune, and the product of all --config values laid over them. The signature is in Triton's
own ahead-of-time notation: a type for each argument, `:16` for divisible by 16, `1` for equal to 1;
constexpr parameters may be left out of it.

  irscope compile add.py --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" --config BLOCK_SIZE=256,1024
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from irscope.model import TARGETS, Target, UserError, Value, parse_target, parse_value

NAME = "compile"
SUMMARY = "compile a kernel under each of its configs and keep every stage"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares FILE.py[::KERNEL] and what to compile it for."""
    parser.add_argument("kernel", metavar="FILE.py[::KERNEL]", help="the file and the @triton.jit function")
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
    parser.add_argument("--sass", action="store_true", help="disassemble every cubin too")
    parser.add_argument(
        "--reasons", action="store_true", help="keep what the coalescing pass knew of each load and store"
    )
    parser.add_argument("-o", "--output", metavar="FILE", type=Path, help="the capture (KERNEL.irscope)")
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument("--force", action="store_true", help="replace FILE where it exists")
    existing.add_argument("--resume", action="store_true", help="add to FILE what it does not have yet")


def run(args: argparse.Namespace) -> int:
    """Compiles and writes the capture; 1 where a variant failed."""
    from irscope.capture.request import SweepRequest
    from irscope.capture.sweep import compile_plan, planned
    from irscope.cli.progress import progress_bar
    from irscope.store import CaptureWriter

    if args.jobs is not None and args.jobs < 1:
        raise UserError("-j must be at least 1")
    file, _, kernel = args.kernel.partition("::")
    request = SweepRequest(
        file=Path(file),
        kernel=kernel or None,
        signature=args.signature,
        constants={name: parse_value(value) for name, value in map(_assignment, args.const)},
        axes=_axes(args.config),
        targets=tuple(dict.fromkeys(map(_target, args.target or ["cuda:90"]))),
        reasons=args.reasons,
    )
    if not request.file.is_file():
        raise UserError(f"{request.file}: no such file")
    begun = time.monotonic()
    with planned(request, args.jobs) as (plan, workers):
        path = args.output or Path(f"{plan.source.name}.irscope")
        for note in plan.notes:
            print(f"irscope: {note}", file=sys.stderr)
        again = args.resume and path.exists()
        writer = CaptureWriter.resume(path) if again else CaptureWriter.create(path, args.force)
        with writer, progress_bar(plan) as report:
            progress = compile_plan(plan, workers, writer, shlex.join(sys.argv), args.timeout, report)
    _add_derived(path, args.sass)
    name = shlex.quote(str(path))
    kept = f", {progress.kept} there already" if progress.kept else ""
    spent = time.monotonic() - begun
    compiled = progress.done - progress.failed
    print(f"{name}: {compiled} compiled{kept}, {progress.failed} failed, {spent:.1f} s")
    print(f"browse: irscope {name}   compare: irscope table {name}")
    return 1 if progress.failed else 0


def _add_derived(path: Path, sass: bool) -> None:
    """Adds what is made from the stages: the facts of the table, and SASS where it is asked for."""
    from irscope.analysis.facts import FACTS_VERSION, measure, to_json
    from irscope.cli.stages import Stages
    from irscope.store import CaptureWriter

    with Stages(path) as stages:
        variants = stages.capture.variants()
        known = stages.capture.facts(FACTS_VERSION)
        if sass:
            with ThreadPoolExecutor() as threads:
                list(threads.map(lambda variant: stages.read(variant, "sass"), variants))
        facts = {
            variant.id: to_json(measure(variant, partial(stages.capture.read, variant)))
            for variant in variants
            if variant.id not in known
        }
    with CaptureWriter.resume(path) as writer:
        for variant_id, values in facts.items():
            writer.add_facts(variant_id, FACTS_VERSION, values)


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip().isidentifier()):
        raise UserError(f"'{text}' is not NAME=VALUE")
    return name.strip(), value


def _axes(texts: list[str]) -> dict[str, tuple[Value, ...]]:
    """The `--config` values by name. Raises UserError for a name without values."""
    from irscope.capture.signature import split_signature

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
