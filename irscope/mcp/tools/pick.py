"""The tool `pick`: the configs of a launch, the most promising first, by estimated time."""

from __future__ import annotations

from collections.abc import Iterator

from irscope.mcp.answers import Item, ToolAnswer
from irscope.mcp.session import Session
from irscope.mcp.tools.tool import CAPTURE, LAUNCH, VARIANT, Arguments, Tool, table, text
from irscope.model.text import one_line, pluralize
from irscope.workspace import Pick
from irscope.workspace.problem_sizes import problem_titles

_COLUMNS = ("id", "config", "estimate_us", "bound", "rejected")


def run(session: Session, arguments: Arguments, _: object) -> ToolAnswer:
    """Return the ranking of each problem; rejected configs come last, with the reason."""
    workspace = session.workspace(arguments.get("capture"))
    name = arguments.get("same_bits_as")
    picks = workspace.pick(
        arguments.get("kernel"),
        arguments.get("target"),
        arguments.get("launch") or (),
        device=arguments.get("device"),
        same_bits_as=None if name is None else workspace.variant(name),
    )
    titles = problem_titles([pick.problem for pick in picks])
    items = [item for pick, title in zip(picks, titles, strict=True) for item in _items(pick, title)]
    head = f"{pluralize(len(picks), 'problem')}; in the order to measure them, estimates are not measurements"
    return ToolAnswer(head, {"columns": list(_COLUMNS)}, "rows", items)


def _items(pick: Pick, title: str) -> Iterator[Item]:
    heading = one_line(f"{pick.problem.kernel} {pick.problem.target} {title} {pick.device}".rstrip())
    trouble = [f"not estimated: {one_line(pick.trouble)}"] if pick.trouble else []
    same_bits = [pick.same_bits.text] if pick.same_bits else []
    notes = [*same_bits, *trouble, *pick.limits]
    yield Item("; ".join([heading, *notes]), [None, heading, None, None, "; ".join(notes) or None])
    for choice in pick.choices:
        time = choice.estimate.microseconds if choice.estimate else None
        time_text = f"{choice.estimate.text} us" if choice.estimate else "-"
        why = one_line(choice.rejected or "")
        bound = f", bound by {choice.bound}" if choice.bound else ""
        line = f"#{choice.variant.id} {choice.name}: {time_text}{bound}{f' | {why}' if why else ''}"
        record = [choice.variant.id, choice.name, time and round(time, 2), choice.bound or None, why or None]
        yield Item(one_line(line), record)


TOOL = Tool(
    "pick",
    "Rank the configs for a launch by estimated time: which to measure, and why not the others.",
    {
        "launch": LAUNCH,
        "kernel": text("a glob"),
        "target": text(),
        "same_bits_as": VARIANT,
        "device": text("H100, A100, ..."),
        "capture": CAPTURE,
    },
    table(*_COLUMNS),
    run,
    paged=True,
)
