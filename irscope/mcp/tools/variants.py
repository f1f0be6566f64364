"""The tool `variants`: a row per variant of a capture.

Variants as rows: what an agent needs to choose among them.
"""

from __future__ import annotations

from collections.abc import Sequence

from irscope.mcp.answers import Item, ToolAnswer
from irscope.mcp.session import Session
from irscope.mcp.tools.tool import CAPTURE, Arguments, Tool, table, text
from irscope.model import UserError, Variant
from irscope.model.text import microseconds_text, one_line
from irscope.workspace import Workspace

COLUMNS = ("id", "config", "registers", "stack", "shared", "occupancy", "estimate_us", "note")
_HEADING = "#id config | regs stack_B shared_B occupancy estimate_us | note"


def header(variants: Sequence[Variant]) -> str:
    """Return the line above the rows."""
    kernels = dict.fromkeys(f"{variant.kernel.name} {variant.target}" for variant in variants)
    return "\n".join(filter(None, [one_line("; ".join(kernels)), _HEADING if variants else ""]))


def variant_items(workspace: Workspace, variants: Sequence[Variant], estimated: bool = False) -> list[Item]:
    """Return a row per variant.

    If `estimated`, rows with the estimates of their first launches come first.
    """
    entries = {entry.variant.id: entry for section in workspace.sections() for entry in section.entries}
    several = len({variant.kernel.name for variant in variants}) > 1
    rows: list[tuple[float, Item]] = []
    for variant in variants:
        entry = entries[variant.id]
        microseconds = _estimate(workspace, variant) if estimated else None
        facts = [entry.value(name) for name in ("registers", "stack", "shared", "occupancy")]
        occupancy = facts[3]
        note = one_line(entry.problem or entry.note)
        name = f"{variant.kernel.name}: {entry.name}" if several else entry.name
        texts = [_shown(value) for value in facts[:3]]
        texts.append(f"{round(occupancy * 100, 1):g}%" if isinstance(occupancy, float) else "-")
        texts.append("-" if microseconds is None else microseconds_text(microseconds))
        line = f"#{variant.id} {name} | {' '.join(texts)}{f' | {note}' if note else ''}"
        record = [
            variant.id,
            name,
            *facts[:3],
            occupancy,
            microseconds and round(microseconds, 2),
            note or None,
        ]
        rows.append((microseconds or float("inf"), Item(one_line(line), record)))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def _shown(value: object) -> str:
    return "-" if value is None else str(value)


def _estimate(workspace: Workspace, variant: Variant) -> float | None:
    if variant.failure is not None or not variant.launches:
        return None
    try:
        return workspace.estimate(variant).microseconds
    except UserError:
        return None


def run(session: Session, arguments: Arguments, _: object) -> ToolAnswer:
    """Return the rows, sorted by a fact or config value if one is named."""
    workspace = session.workspace(arguments.get("capture"))
    sections = workspace.sections(arguments.get("kernel"), sort=arguments.get("sort"))
    variants = [entry.variant for section in sections for entry in section.entries]
    return ToolAnswer(
        header(variants), {"columns": list(COLUMNS)}, "rows", variant_items(workspace, variants)
    )


TOOL = Tool(
    "variants",
    "List the variants of a capture, or of this session, with registers, spills and notes.",
    {"capture": CAPTURE, "kernel": text("a glob"), "sort": text("a fact or config value")},
    table(*COLUMNS),
    run,
    paged=True,
)
