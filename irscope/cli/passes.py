"""Say what each compiler pass did to a variant, or where in the compiler two variants part.

The capture must have been made with --passes. A pass is named by its number in the list or by its name.
With two variants the passes stand side by side, under the first after which the two differ in more than
shapes; --show then compares the two modules after the pass, instead of those before and after it.

example: irscope passes matmul.irscope '#1' '#2' --changed
"""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from irscope.cli import options
from irscope.model import UserError, Variant
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.analysis.pass_history import Documents, PassEvent, PassStep
    from irscope.diff.rows import StageDiff
    from irscope.report.passes import Pair, PassSummary

NAME = "passes"
SUMMARY = "say what each compiler pass did, or in which one two variants part"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the command's arguments."""
    options.add_capture(parser)
    options.add_variant(parser, "a", "VARIANT")
    parser.add_argument("b", metavar="B", nargs="?", help="another variant, to compare with")
    parser.add_argument("--changed", action="store_true", help="only passes that changed the module")
    parser.add_argument("--name", metavar="GLOB", default="*", help="only passes called so")
    parser.add_argument(
        "--line", metavar="N", type=options.count, help="only passes that touched line N of the Python source"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", metavar="PASS", help="print what a pass changed; its number or name")
    what.add_argument(
        "--operation", metavar="STAGE:LINE", help="say which passes made that line of a stage what it is"
    )
    options.add_format(parser, "text", "json")
    options.add_context(parser)
    options.add_width(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the report. Raises UserError where there is no such variant, or its passes were not kept."""
    with Workspace(args.capture) as workspace:
        chosen = [workspace.variant(name) for name in (args.a, args.b) if name is not None]
        sides = [steps_of(workspace, variant) for variant in chosen]
        document = workspace.module
        if args.show is not None:
            lines = list(_shown(args, sides, document))
        elif args.operation is not None:
            lines = list(_history(args.operation, sides[0], document))
        else:
            names = [workspace.names[variant.id] for variant in chosen]
            lines = list(_list(args, chosen, names, sides, document))
    for line in lines:
        sys.stdout.write(line + "\n")
    return 0


def steps_of(workspace: Workspace, variant: Variant) -> list[PassStep]:
    """The passes of a variant. Raises UserError where they were not kept."""
    found = workspace.passes(variant)
    if not found:
        raise UserError(
            f"#{variant.id} has no passes: they are kept by irscope compile --passes and run --passes"
        )
    return found


def _list(
    args: argparse.Namespace,
    chosen: Sequence[Variant],
    names: Sequence[str],
    sides: Sequence[Sequence[PassStep]],
    document: Documents,
) -> Iterator[str]:
    from irscope.analysis.divergence import divergences
    from irscope.report.passes import PassReport

    found = divergences(sides[0], sides[1], document, document) if len(sides) > 1 else None
    rows = list(_rows(args, sides, document))
    report = PassReport(str(args.capture), chosen, names, rows, sides[0], found)
    if args.format == "json":
        from irscope.report.json.passes_json import passes_document
        from irscope.report.json.records import to_json

        yield to_json(passes_document(report)).rstrip("\n")
    else:
        from irscope.report.terminal.passes_text import passes_text

        yield from passes_text(report, document, options.width_of(args), options.paint())


def _rows(
    args: argparse.Namespace, sides: Sequence[Sequence[PassStep]], document: Documents
) -> Iterator[Pair]:
    from irscope.analysis.divergence import pairs

    alone = ((step, None) for step in sides[0])
    for a, b in pairs(sides[0], sides[1]) if len(sides) > 1 else alone:
        there = [step for step in (a, b) if step is not None]
        if not any(fnmatch.fnmatchcase(step.name, args.name) for step in there):
            continue
        if args.changed and not any(step.changed for step in there):
            continue
        left, right = (_told(step, args.line, document) for step in (a, b))
        if args.line is None or any(told is not None and told.touched for told in (left, right)):
            yield left, right


def _told(step: PassStep | None, line: int | None, document: Documents) -> PassSummary | None:
    from irscope.analysis.pass_history import summary, touched
    from irscope.report.passes import PassSummary

    if step is None:
        return None
    if line is None:
        return PassSummary(step, summary(step, document))
    return PassSummary(step, summary(step, document) if step.changed else "", touched(step, line, document))


def _shown(
    args: argparse.Namespace, sides: Sequence[Sequence[PassStep]], document: Documents
) -> Iterator[str]:
    from irscope.analysis.pass_history import step_diff
    from irscope.diff.summary import summarize
    from irscope.model.text import one_line

    paint = options.paint()
    for pair in _named(args.show, sides):
        step = pair[0]
        diff = step_diff(step, document) if len(pair) == 1 else _after_both(pair, document)
        what = "changed nothing" if diff is None else summarize(diff)
        of = "" if len(pair) == 1 else ", A and B after it"
        yield paint(one_line(f"{step.number} {step.name} ({step.stage}){of}: {what}"), "heading")
        if diff is not None:
            yield from _diff_lines(diff, args)


def _named(text: str, sides: Sequence[Sequence[PassStep]]) -> list[tuple[PassStep, ...]]:
    """The passes with that number or name, as A (and B) ran them. Raises UserError where there are none."""
    from irscope.analysis.divergence import pairs

    both = pairs(sides[0], sides[1]) if len(sides) > 1 else ((step, None) for step in sides[0])
    there: list[tuple[PassStep, ...]] = [(a, b) if b is not None else (a,) for a, b in both if a is not None]
    found = [pair for pair in there if text in (str(pair[0].number), pair[0].name)]
    if not found:
        raise UserError(f"no pass '{text}' here; irscope passes without --show lists them")
    # Of a pass that ran several times, those that did something.
    return [pair for pair in found if any(step.changed for step in pair)] or found


def _after_both(pair: Sequence[PassStep], document: Documents) -> StageDiff | None:
    from irscope.diff.stage_diff import diff_stage

    left, right = (step.after for step in pair)
    if left is None or right is None or left.language != right.language:
        return None
    return diff_stage(pair[0].stage, document(left), document(right))


def _diff_lines(diff: StageDiff, args: argparse.Namespace) -> Iterator[str]:
    from irscope.report.terminal.diff_rows import side_by_side, unified
    from irscope.report.terminal.diff_text import SIDE_BY_SIDE_WIDTH

    width = options.width_of(args)
    if width is not None and width >= SIDE_BY_SIDE_WIDTH:
        yield from side_by_side(diff, args.context, width, options.paint())
    else:
        yield from unified(diff, args.context, options.paint())


def _history(place: str, through: Sequence[PassStep], document: Documents) -> Iterator[str]:
    from irscope.analysis.pass_history import history
    from irscope.model.text import one_line

    stage, colon, line = place.partition(":")
    there = dict.fromkeys(step.stage for step in through)
    if not colon or not line.isdecimal() or int(line) < 1 or stage not in there:
        raise UserError(f"--operation {place}: not STAGE:LINE; stages with passes: {', '.join(there)}")
    events = history(through, stage, int(line) - 1, document)
    if not events:
        raise UserError(f"--operation {place}: no operation there that a pass made or changed")
    for event in events:
        yield one_line(_event_text(event, document))


def _event_text(event: PassEvent, document: Documents) -> str:
    from irscope.languages.registry import line_without_location
    from irscope.report.hunks import kinds_of

    step = event.step
    text = ""
    if step.after is not None:
        after = document(step.after)
        text = line_without_location(after.lines[event.line], after.language).strip()
    kinds = ", ".join(kinds_of(event.change))
    return f"{step.number:>3}  {step.stage:<5}  {step.name}: {kinds}  {text}"
