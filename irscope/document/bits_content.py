"""Which variants compute the same bits, launch by launch, what decides, and what is not known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from irscope.document.blocks import Column, Line, Table, title
from irscope.model.records import grouped
from irscope.model.text import pluralize
from irscope.workspace.launched_bits import CONTRADICTION, agreement
from irscope.workspace.problem_sizes import problem_titles

if TYPE_CHECKING:
    from irscope.workspace import TextLine
    from irscope.workspace.bits import ProblemBits
    from irscope.workspace.invariance import Invariance

PROMISE = (
    "Same bits are a promise: from the same finite data, at these arguments and grids, if tensors "
    "do not overlap and outputs begin alike, with zeros if atomics add to them. Classes differ for "
    "some data, perhaps not for yours."
)
# A class with more values of a config has no short description.
_MOST_VALUES = 4
_MOST_DIFFERENCES = 2
# Which configs may serve another number of rows; see `Invariance`.
_CHOICES = {
    "key": "whichever config serves another size, for which the autotuner chooses again",
    "fixed": "if one config serves all sizes, as the key of the autotuner says",
    "launch": "with the configs that are launched for each size",
    "open": "if one config serves all sizes",
}


def bits_content(
    answers: Sequence[ProblemBits], names: Mapping[int, str], numbers: Sequence[str] = ()
) -> Iterator[Line | Table]:
    """Yield the classes of each problem; `names` are those of the variants by id.

    `numbers` are those of the problems, for views that refer to them.
    """
    titles = problem_titles([answer.problem for answer in answers])
    for answer, text, number in zip(answers, titles, numbers or [""] * len(titles), strict=True):
        problem = answer.problem
        yield title(f"{number}  {problem.kernel}  {problem.target}  {text}".strip())
        if answer.invariance:
            yield from _invariance(answer, answer.invariance, names)
        yield from _classes(answer)
        yield from _differences(answer, names)
        yield from _unknown(answer)
        yield from _launched(answer)
    if any(answer.classes for answer in answers):
        yield Line(PROMISE, gap=True, fit="wrapped")


def invariance_text(item: Invariance) -> str:
    """Say in one line whether the bits of a row depend on how many rows there are."""
    sizes = ", ".join(item.sizes)
    return {
        "invariant": f"batch-invariant: the bits of a row are the same with {sizes}",
        "not invariant": f"not batch-invariant: the bits of a row depend on {', '.join(item.vary)}",
    }.get(item.answer, f"unknown whether the bits of a row are the same with {sizes}")


def _invariance(answer: ProblemBits, item: Invariance, names: Mapping[int, str]) -> Iterator[Line]:
    """Yield whether the bits of a row depend on what varies, for which configs, and why."""
    yield Line(invariance_text(item), gap=True, fit="wrapped")
    even = "even " if item.answer == "not invariant" and item.choice in ("fixed", "open") else ""
    yield Line(f"{even}{_CHOICES[item.choice]}", 1, fit="wrapped")
    for difference in item.differences[:_MOST_DIFFERENCES]:
        sides = ((side.variant.id, f", {side.size}") for side in (difference.a, difference.b))
        yield from _compared(sides, answer.reason_lines(difference), names)
    if (more := len(item.differences) - _MOST_DIFFERENCES) > 0:
        yield Line(f"and {more} more", 1)
    for text in item.unknown:
        yield Line(f"unknown: {text}", 1, fit="wrapped")
    if item.unanswered:
        text = f"not compiled, so not answered: {', '.join(item.unanswered)}"
        yield Line(text, 1, fit="wrapped")


def _classes(answer: ProblemBits) -> Iterator[Line | Table]:
    classes = answer.classes
    if not classes:
        return
    count = sum(len(item.variants) for item in classes)
    same = "all compute the same bits" if len(classes) == 1 else f"{len(classes)} classes of the same bits"
    yield Line(f"{pluralize(count, 'config')}: {'1 class' if count == 1 else same}")
    columns = [
        Column(
            "class",
            [f"{c.name} (reference)" if c.name == answer.reference_class else c.name for c in classes],
        ),
        Column("configs", [str(len(item.variants)) for item in classes], right=True),
    ]
    if not all(item.repeatable for item in classes):
        columns.append(Column("repeatable", ["yes" if item.repeatable else "no" for item in classes]))
    if any(common := [_config_text(answer.common_config(item)) for item in classes]):
        columns.append(Column("only these have", common))
    columns.append(Column("variants", [ids_text(sorted(item.variants)) for item in classes]))
    yield Table(columns, gap=True)


def _config_text(values: Mapping[str, Sequence[str]]) -> str:
    if any(len(texts) > _MOST_VALUES for texts in values.values()):
        return ""
    return ", ".join(f"{name}={' or '.join(texts)}" for name, texts in values.items())


def _differences(answer: ProblemBits, names: Mapping[int, str]) -> Iterator[Line]:
    """Yield what separates each class from the first."""
    members = {item.name: item.variants[0] for item in answer.classes}
    for difference in answer.from_first:
        yield title(f"{difference.b} differs from {difference.a}")
        sides = ((members[name], "") for name in (difference.a, difference.b))
        yield from _compared(sides, answer.reason_lines(difference), names)


def wrapped(lines: Iterable[TextLine]) -> Iterator[Line]:
    """Yield lines that are wrapped at the width of the page."""
    return (Line(line.text, line.level, fit="wrapped", target=line.target) for line in lines)


def _compared(
    sides: Iterable[tuple[int, str]], reasons: Iterable[TextLine], names: Mapping[int, str]
) -> Iterator[Line]:
    """Yield two variants, each with what is to be said of it, and the lines that decide."""
    for letter, (number, text) in zip("AB", sides, strict=True):
        yield Line(f"{letter}: #{number} {names[number]}{text}", 1, fit="wrapped")
    yield from wrapped(reasons)


def _unknown(answer: ProblemBits) -> Iterator[Line]:
    if not answer.unknown:
        return
    yield title(f"unknown: {pluralize(len(answer.unknown), 'config')}")
    for reason, numbers in grouped(answer.unknown, answer.unknown.__getitem__).items():
        yield Line(f"{ids_text(numbers)}: {reason}", 1, fit="wrapped")


def _launched(answer: ProblemBits) -> Iterator[Line]:
    """Yield what launches on a GPU computed, and whether that is what was predicted."""
    launched = answer.launched
    if launched is None:
        return
    if launched.hashes:
        where = f" on {launched.device}" if launched.device else ""
        yield title(f"launched{where}, each variant twice, from {launched.inputs} values")
    else:
        yield title("no variant was launched")
    for point in agreement(answer):
        if point.kind == CONTRADICTION:
            yield Line([("CONTRADICTION", "warning"), (f"  {point.text}", "")], 1, fit="wrapped")
        else:
            yield Line(point.text, 1, fit="wrapped")
    for reason, numbers in grouped(launched.failed, launched.failed.__getitem__).items():
        yield Line(f"{ids_text(numbers)} not launched: {reason}", 1, fit="wrapped")


def ids_text(numbers: Iterable[int]) -> str:
    """Return the names of variants in one text: "#1, #3 to #6"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        f"#{run[0]} to #{run[-1]}" if len(run) > 2 else ", ".join(f"#{number}" for number in run)
        for run in runs
    )
