"""Say which configs compute the same bits from the same inputs, and which line of the kernel decides.

For each launch that the capture has, or --launch. Needs no GPU: the final TTGIR is executed for some programs
of the launch, with the expression that computes a number in place of the number. What cannot be executed is
unknown, with the reason.

--run also launches the variants on this machine's GPU, and exits with 1 if a prediction is wrong.

example: irscope bits softmax.irscope --launch "grid=(n_rows,), n_rows=4096, n_columns=1000"
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from irscope.cli import consent, options
from irscope.model import UserError
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.workspace.bits import ProblemBits

NAME = "bits"
GROUP = "choose and ship"
SUMMARY = "say which configs compute the same bits, and which line decides"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    options.add_capture(parser)
    parser.add_argument(
        "variants",
        metavar="VARIANT",
        nargs="*",
        help="compare only these: #3, or any part of a name in irscope list (default: all)",
    )
    options.add_selection(parser)
    options.add_launches(
        parser, 'answer for this launch: "grid=(cdiv(M, BLOCK_M),), M=4096"; can be repeated'
    )
    parser.add_argument(
        "--reference", metavar="VARIANT", help="compare the others with this variant (default: the first)"
    )
    parser.add_argument(
        "--invariant",
        metavar="M,N",
        help="say whether the bits of a row depend on these sizes of the launch, or on its grid",
    )
    parser.add_argument(
        "--run",
        action="store_true",
        help="launch the variants on this machine's GPU, twice each, and compare what they computed",
    )
    consent.add_trust(parser)
    options.add_document_format(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Print the classes; 1 if a launch contradicts them, or --run could launch nothing.

    Raises UserError if a variant does not exist, a launch fits none, or --run finds no GPU.
    """
    if args.variants and (args.kernel or args.target):
        raise UserError("--kernel and --target select variants; leave them out with VARIANT")
    with Workspace(args.capture) as workspace:
        answers = _answers(workspace, args)
        if args.run:
            answers = _launched(workspace, answers, args)
        if args.format == "json":
            from irscope.document.json.estimates import bits_document

            options.print_json(bits_document(answers))
        else:
            from irscope.document.bits_content import bits_content

            options.print_document(bits_content(answers, workspace.names), args)
    launched = [answer.launched for answer in answers if answer.launched is not None]
    proves_nothing = args.run and not any(item.hashes for item in launched)
    return 1 if proves_nothing or any(answer.contradicted for answer in answers) else 0


def _answers(workspace: Workspace, args: argparse.Namespace) -> list[ProblemBits]:
    from irscope.cli.progress import counting_bar

    reference = None if args.reference is None else workspace.variant(args.reference)
    variants = [workspace.variant(name) for name in args.variants] or None
    if variants and reference and reference not in variants:
        variants.insert(0, reference)
    with counting_bar("executing") as report:
        return workspace.bits(
            args.kernel, args.target, args.launch, variants, reference, report, args.invariant or ()
        )


def _launched(
    workspace: Workspace, answers: list[ProblemBits], args: argparse.Namespace
) -> list[ProblemBits]:
    """Launch the variants of all problems. Raises UserError without a GPU, or if the user declines."""
    from irscope.cli.progress import counting_bar
    from irscope.jobs.bit_launches import launch_problems
    from irscope.workspace.trust import has_trusted_binary

    untrusted = [
        f"the machine code of #{variant.id}"
        for answer in answers
        for variant in answer.problem.variants
        if not has_trusted_binary(variant)
    ]
    consent.require_consent(args, args.capture, list(dict.fromkeys(untrusted)))
    with counting_bar("launching") as report:
        return launch_problems(workspace, args.capture, answers, report)
