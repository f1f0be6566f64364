"""Write one variant as a small folder that reproduces it without your project, and check that it does.

The folder has kernel.py (the kernel with the functions, classes and constants that it uses), reproduce.py and
README.md. reproduce.py compiles exactly this variant without a GPU; with --launch it also launches it on one,
with arguments of the recorded shapes, types, strides and alignment, or with the values that irscope run
--values kept. It is run once in a clean process: the machine code must be the recorded one. That executes the
kernel's Python as the capture has it, so irscope asks first if it was not compiled here; --no-check executes
nothing.

--minimize then removes statements, parameters and constants as long as --check EXPR holds, or --fact stays.

example: irscope reproduce matmul.irscope '#3' -o repro/
  irscope reproduce matmul.irscope '#3' -o small/ --minimize --check 'n_spills > 0'
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import consent, options
from irscope.model import UserError, Variant
from irscope.model.text import one_line, pluralize
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.jobs.reproduce.writing import Minimization

NAME = "reproduce"
GROUP = "share"
SUMMARY = "write a stand-alone reproducer of a variant"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "variant", "VARIANT")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, help="default: repro-KERNEL-N")
    parser.add_argument("--against", metavar="VARIANT", help="the README says how it differs from this one")
    parser.add_argument(
        "--minimize", action="store_true", help="make the kernel smaller while a condition holds"
    )
    conditions = parser.add_mutually_exclusive_group()
    conditions.add_argument("--check", metavar="EXPR", help="the condition, as irscope check --expect has it")
    conditions.add_argument("--fact", metavar="NAME", help="the condition: this fact stays as bad as it is")
    parser.add_argument(
        "--seconds", metavar="SECONDS", type=float, default=300.0, help="for --minimize (default: 300)"
    )
    parser.add_argument(
        "-j", "--jobs", metavar="N", type=int, help="processes for --minimize (default: all cores)"
    )
    parser.add_argument(
        "--test",
        action="store_true",
        help="add test_launch.py, which launches it under the sanitizers of a machine with a GPU",
    )
    parser.add_argument("--force", action="store_true", help="write into a folder that has files")
    parser.add_argument("--no-check", action="store_true", help="execute nothing of the capture")
    consent.add_trust(parser)
    parser.add_argument(
        "--python", metavar="PYTHON", default="", help="the interpreter for the check (default: this one)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the folder; 1 if it does not reproduce the variant. Raises UserError."""
    from irscope.jobs.reproduce.writing import reproduce
    from irscope.workspace.trust import has_trusted_text

    minimized = _minimization(args)
    with Workspace(args.capture) as workspace:
        variant = workspace.variant(args.variant)
        name, findings = workspace.names[variant.id], _findings(workspace, args.against, variant)
        if args.test:
            findings += _problems(args.capture, variant)
        if not args.no_check or minimized is not None:
            text = f"the Python text of {variant.kernel.name} that it has"
            code = [] if has_trusted_text(args.capture, variant) else [text]
            consent.require_consent(args, args.capture, code, "" if minimized else ", or --no-check")
        folder = args.output or Path(f"repro-{variant.kernel.name}-{variant.id}")
        reproducer = reproduce(
            args.capture,
            variant,
            folder,
            name=name,
            findings=findings,
            check=not args.no_check,
            python=args.python,
            force=args.force,
            minimized=minimized,
            test=args.test,
        )
    lines = (
        f"kernel.py {pluralize(reproducer.kernel_lines, 'line')}, reproduce.py {reproducer.scaffold_lines}"
    )
    print(f"{folder}: {lines}")
    if minimized is not None:
        print(one_line(reproducer.findings[-1]))
    print(one_line(reproducer.outcome))
    return 0 if reproducer.equal or args.no_check else 1


def _minimization(args: argparse.Namespace) -> Minimization | None:
    """Return the condition of --minimize. Raises UserError if a condition is given without it."""
    from irscope.jobs.reproduce.writing import Minimization

    options.check_positive(args, "-j")
    if not args.minimize:
        if args.check or args.fact:
            raise UserError("--check and --fact are conditions of --minimize: add it")
        return None
    return Minimization(args.check or "", args.fact or "", args.seconds, args.jobs or 0)


def _findings(workspace: Workspace, against: str | None, variant: Variant) -> list[str]:
    """Return how the variant differs from another one, in sentences; none if no other is given."""
    if against is None:
        return []
    other_variant = workspace.variant(against)
    if other_variant.id == variant.id:
        raise UserError(f"--against {against}: that is the variant itself")
    return workspace.compare(other_variant, variant).main_sentences


def _problems(capture: Path, variant: Variant) -> list[str]:
    """Return what lint reports of the variant's kernel, in sentences."""
    from irscope.jobs.prove import is_about
    from irscope.workspace.linting import lint

    problems = [problem for problem in lint([capture]).problems if is_about(problem, variant.kernel)]
    return [f"{problem.rule.name}, line {problem.line}: {problem.message}" for problem in problems]
