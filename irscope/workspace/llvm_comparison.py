"""LLVM's passes of two variants, line by line: what each pass changed in A and in B, and what ptxas says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from irscope.model.text import pluralize
from irscope.workspace.llvm_passes import LlvmReport, effect_text, llvm_report
from irscope.workspace.why_lines import TextLine

if TYPE_CHECKING:
    from irscope.toolchain.llvm_passes import LlvmPass
    from irscope.workspace.comparison import Comparison


def llvm_lines(comparison: Comparison) -> list[TextLine]:
    """LLVM's passes of A and B; those that changed neither module are `rest`.

    Compiles the TTGIR of both again, which takes seconds. Raises UserError if that is not possible here.
    """
    sides = comparison.variants[: 1 if comparison.single else 2]
    reports = [llvm_report(comparison.workspace, variant) for variant in sides]
    return list(_lines(reports, [comparison.heading(index) for index, _ in enumerate(sides)]))


def _lines(reports: Sequence[LlvmReport], headings: Sequence[str]) -> Iterator[TextLine]:
    letters = "AB" if len(reports) > 1 else " "
    for letter, report, heading in zip(letters, reports, headings, strict=True):
        passes = f"{pluralize(report.total, 'pass')}, {report.changed} changed the module"
        yield TextLine(f"{letter}  {heading}: {passes}".lstrip(), 0, title=True)
        for function, statistics in report.functions:
            yield TextLine(f"ptxas: {function}: {statistics}")
        for warning in report.advice:
            yield TextLine(f"ptxas: {warning}")
    yield TextLine("LLVM's passes, by how many instructions each added or removed", 0, title=True)
    pairs = list(_aligned(*([each for _, each in report.passes] for report in reports)))
    changing = [each for pair in pairs for each in pair if each is not None and each.changed]
    wide = max((len(_name(each)) for each in changing), default=0)
    for number, (a, b) in enumerate(pairs, 1):
        either = a or b
        if either is not None:
            text = f"{number:>3}  {either.stage:<6}  {_name(either):<{wide}}  {_effects(a, b, len(reports))}"
            yield TextLine(text, rest=not any(each.changed for each in (a, b) if each))


def _aligned(
    a: Sequence[LlvmPass], b: Sequence[LlvmPass] = ()
) -> Iterator[tuple[LlvmPass | None, LlvmPass | None]]:
    """The passes of A and B in order, None for a side that did not run one."""
    names = [[(each.stage, each.name) for each in side] for side in (a, b)]
    for _, start_a, end_a, start_b, end_b in SequenceMatcher(
        a=names[0], b=names[1], autojunk=False
    ).get_opcodes():
        left, right = a[start_a:end_a], b[start_b:end_b]
        if names[0][start_a:end_a] == names[1][start_b:end_b]:
            yield from zip(left, right, strict=True)
        else:
            yield from ((each, None) for each in left)
            yield from ((None, each) for each in right)


def _name(each: LlvmPass) -> str:
    return each.flag or each.name


def _effects(a: LlvmPass | None, b: LlvmPass | None, sides: int) -> str:
    """What a pass did, of both sides if they differ."""
    left, right = ("" if each is None else effect_text(each) for each in (a, b))
    if sides == 1 or left == right:
        return left
    return "   ".join(f"{letter} {text}" for letter, text in (("A", left), ("B", right)) if text)
