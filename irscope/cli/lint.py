"""Find common mistakes in Triton kernels: in Python files, without running them, or in a capture.

Each rule has a name and a code, which --select and --ignore take; irscope explain NAME describes it. A
comment `# irscope: ignore[NAME]` on the line, or on the kernel's def or decorators, suppresses it. Exit
code 1 if there are problems, 2 if a file cannot be read.

example: irscope lint samples/ --ignore one-config
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.cli import consent, options
from irscope.model import UserError
from irscope.model.errors import print_note

if TYPE_CHECKING:
    from irscope.jobs.prove import Proof
    from irscope.workspace import LintResult

NAME = "lint"
GROUP = "check"
SUMMARY = "find common mistakes in kernels' source or in a capture"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "paths", metavar="PATH", nargs="+", type=Path, help="a Python file, a folder of them, or a capture"
    )
    parser.add_argument("--select", metavar="RULES", action="append", help="only these, by name or code")
    parser.add_argument(
        "--advisories", action="store_true", help="only known bugs of the compiler that made the code"
    )
    parser.add_argument(
        "--prove",
        action="store_true",
        help="launch reported kernels on this GPU, under compute-sanitizer and Triton's sanitizers",
    )
    parser.add_argument("--ignore", metavar="RULES", action="append", help="all except these")
    options.add_launches(
        parser, "execute this launch of a capture's kernels instead of the recorded ones; M=1..8192: some M"
    )
    options.add_ci_format(parser, "text", "json")
    consent.add_trust(parser)


def run(args: argparse.Namespace) -> int:
    """Print the problems; returns 1 if there are any, 2 if a file could not be read.

    Raises UserError for wrong use.
    """
    from irscope.model.text import one_line
    from irscope.workspace.linting import advisory_names, lint

    select, ignore = (options.split_names(names) or [] for names in (args.select, args.ignore))
    if args.advisories:
        select += advisory_names()
    paths = [path if path.exists() else Path(options.script_path(str(path))) for path in args.paths]
    if args.prove and args.format in options.CI_FORMATS:
        raise UserError("--prove prints text or JSON, no format for CI")
    result = lint(paths, select, ignore, args.launch)
    proofs: list[Proof] = []
    if args.format == "json":
        from irscope.document.json.capture import lint_document

        document = lint_document(result)
        if args.prove:
            proofs = _proofs(paths, result, args)
            document["proofs"] = [
                {"tool": proof.tool, "outcome": proof.outcome, "text": proof.text} for proof in proofs
            ]
        options.print_json(document)
    elif args.format in options.CI_FORMATS:
        from irscope.document.ci.reports import lint_report

        options.print_ci(lint_report(result), args)
    else:
        from irscope.document.variant_content import lint_content

        options.print_document(lint_content(result), args)
        sys.stdout.flush()
        for file, reason in result.unread:
            print_note(one_line(f"{file}: {reason}"))
        proofs = _proofs(paths, result, args) if args.prove else []
        sys.stdout.writelines(f"{proof.text}\n" for proof in proofs)
    if args.format != "json":
        for note in result.notes:
            print_note(one_line(note))
    failed = bool(result.problems) or any(proof.outcome == "error" for proof in proofs)
    return 2 if result.unread else int(failed)


def _proofs(paths: Sequence[Path], result: LintResult, args: argparse.Namespace) -> list[Proof]:
    """Launch the kernels of captures. Raises UserError without a GPU, or if the user declines."""
    from irscope.jobs.prove import launched_variants, prove
    from irscope.workspace import Workspace
    from irscope.workspace.trust import has_trusted_text

    proofs = []
    for path in paths:
        if path.suffix == ".py" or path.is_dir():
            raise UserError(f"--prove {path}: only captures have launches; irscope run records them")
        with Workspace(path) as workspace:
            variants = launched_variants(workspace, result.problems)
            untrusted = [variant for variant in variants if not has_trusted_text(path, variant)]
            code = [f"the Python text of {variant.kernel.name} that it has" for variant in untrusted]
            consent.require_consent(args, path, code)
            proofs += prove(workspace, variants, print_note)
    return proofs
