"""The tools: a module each, listed here in the order in which clients see them."""

from __future__ import annotations

from irscope.mcp.tools import bits, compare, compile_, explain, lines, lint, pick, variants, verdict
from irscope.mcp.tools.tool import Tool

TOOLS: tuple[Tool, ...] = (
    compile_.TOOL,
    verdict.TOOL,
    compare.TOOL,
    lines.TOOL,
    explain.TOOL,
    pick.TOOL,
    bits.TOOL,
    lint.TOOL,
    variants.TOOL,
)
TOOL_NAMED = {tool.name: tool for tool in TOOLS}
