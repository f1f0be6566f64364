"""The tool `bits`: which variants compute the same bits at a launch, and the lines that decide."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.document.bits_content import PROMISE, ids_text, invariance_text
from irscope.mcp.answers import Item, ToolAnswer
from irscope.mcp.session import Session
from irscope.mcp.tools.tool import CAPTURE, LAUNCH, VARIANT, Arguments, Tool, table, text
from irscope.model.records import grouped
from irscope.model.text import one_line, pluralize
from irscope.workspace.bits import ProblemBits
from irscope.workspace.problem_sizes import problem_titles

_COLUMNS = ("class", "variants", "text")


def run(session: Session, arguments: Arguments, _: object) -> ToolAnswer:
    """Return the classes of each problem, what separates them from the reference's, and what is unknown."""
    workspace = session.workspace(arguments.get("capture"))
    name = arguments.get("reference")
    reference = None if name is None else workspace.variant(name)
    answers = workspace.bits(
        arguments.get("kernel"),
        launch=arguments.get("launch") or (),
        reference=reference,
        invariant=arguments.get("invariant") or (),
    )
    titles = problem_titles([answer.problem for answer in answers])
    items = [item for answer, title in zip(answers, titles, strict=True) for item in _items(answer, title)]
    head = f"{pluralize(len(answers), 'problem')}. {PROMISE}"
    return ToolAnswer(head, {"columns": list(_COLUMNS)}, "rows", items)


def _items(answer: ProblemBits, title: str) -> Iterator[Item]:
    heading = one_line(f"{answer.problem.kernel} {answer.problem.target} {title}".rstrip())
    yield Item(heading, [None, None, heading])
    yield from _invariance(answer)
    for item in answer.classes:
        role = "reference" if item.name == answer.reference_class else ""
        what = ", ".join(filter(None, [role, "" if item.repeatable else "not repeatable"]))
        line = f"class {item.name}: {ids_text(sorted(item.variants))}{f' ({what})' if what else ''}"
        yield Item(line, [item.name, sorted(item.variants), what or None])
    for difference in answer.from_first:
        why = one_line("; ".join(answer.reason_texts(difference)))
        yield Item(f"A = {difference.a}, B = {difference.b}: {why}", [difference.b, None, why])
    for reason, numbers in grouped(answer.unknown, answer.unknown.__getitem__).items():
        yield Item(
            f"unknown: {ids_text(numbers)}: {one_line(reason)}", ["unknown", numbers, one_line(reason)]
        )


def _invariance(answer: ProblemBits) -> Iterator[Item]:
    if answer.invariance is None:
        return
    rows = [invariance_text(answer.invariance), *answer.invariance.unknown]
    for difference in answer.invariance.differences:
        a, b = (f"#{side.variant.id} with {side.size}" for side in (difference.a, difference.b))
        rows.append(f"A = {a}, B = {b}: {'; '.join(answer.reason_texts(difference))}")
    for line in map(one_line, rows):
        yield Item(line, ["invariance", None, line])


TOOL = Tool(
    "bits",
    "Which configs compute the same bits from the same inputs at a launch, and which line decides.",
    {
        "launch": LAUNCH,
        "reference": VARIANT,
        "invariant": text("M,N or grid: do the bits of a row depend on it (batch invariance)?"),
        "kernel": text("a glob"),
        "capture": CAPTURE,
    },
    table(*_COLUMNS),
    run,
    paged=True,
)
