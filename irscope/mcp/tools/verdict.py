"""The tool `verdict`: the same as `irscope verdict`."""

from __future__ import annotations

from typing import Any

from irscope.document.json.estimates import verdict_record
from irscope.document.terminal.document_text import text_lines
from irscope.document.variant_content import verdict_content
from irscope.mcp.answers import ToolAnswer
from irscope.mcp.session import Session
from irscope.mcp.tools.tool import CAPTURE, LAUNCH, OBJECT, VARIANT, Arguments, Tool
from irscope.model import Variant
from irscope.workspace import Workspace


def run(session: Session, arguments: Arguments, _: object) -> ToolAnswer:
    """Return the verdict on a variant."""
    workspace, variant = session.variant(arguments.get("capture"), arguments["variant"])
    return verdict_answer(workspace, variant, arguments.get("against"), launch=arguments.get("launch"))


def verdict_answer(
    workspace: Workspace,
    variant: Variant,
    against: str | int | None,
    head: str = "",
    data: dict[str, Any] | None = None,
    launch: str | None = None,
) -> ToolAnswer:
    """Return the verdict, after `head` and next to `data`."""
    against_variant = None if against is None else workspace.variant(against)
    verdict = workspace.verdict(variant, against_variant, launch)
    text = "\n".join([*([head] if head else []), *text_lines(verdict_content(verdict))])
    return ToolAnswer(text, {**(data or {}), "verdict": verdict_record(verdict)})


TOOL = Tool(
    "verdict",
    "What matters about a variant: can it launch, resources against limits, the bound (needs a launch), "
    "three findings with lines, what to try. With against, also how it differs from that variant.",
    {"variant": VARIANT, "against": VARIANT, "launch": LAUNCH, "capture": CAPTURE},
    {"verdict": OBJECT},
    run,
    required=("variant",),
)
