"""The tool `variants`: a row per variant of a capture."""

from __future__ import annotations

from irscope.mcp_server.answers import Answer
from irscope.mcp_server.session import Session
from irscope.mcp_server.tools.tool import CAPTURE, Arguments, Tool, table, text
from irscope.mcp_server.tools.variant_rows import COLUMNS, header, variant_items


def run(session: Session, arguments: Arguments, _: object) -> Answer:
    """The rows, sorted by a fact or config value if one is named."""
    workspace = session.workspace(arguments.get("capture"))
    sections = workspace.sections(arguments.get("kernel"), sort=arguments.get("sort"))
    variants = [entry.variant for section in sections for entry in section.entries]
    return Answer(header(variants), {"columns": list(COLUMNS)}, "rows", variant_items(workspace, variants))


TOOL = Tool(
    "variants",
    "List the variants of a capture, or of this session, with registers, spills and notes.",
    {"capture": CAPTURE, "kernel": text("a glob"), "sort": text("a fact or config value")},
    table(*COLUMNS),
    run,
    paged=True,
)
