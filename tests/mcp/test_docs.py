"""docs/agents.md and docs/llms.txt: the calls answer as shown, and the format is that of llmstxt.org."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from irscope.mcp.tools import TOOLS
from tests.docs.pages import fits
from tests.mcp.agent import ROOT

sys.path.append(str(ROOT / "docs" / "scripts"))

from agent_outputs import PAGE, answers, calls

LLMS = ROOT / "docs" / "llms.txt"


@pytest.mark.slow
async def test_the_calls_of_the_guide_answer_as_shown(triton_cache: Path) -> None:
    page = calls(PAGE.read_text(encoding="utf-8"))
    assert [call.tool for call in page] == ["compile", "lines", "compile", "compare"]
    for call, answer in zip(page, await answers(page, triton_cache), strict=True):
        if call.output is not None:
            assert fits(call.output.splitlines(), answer.splitlines()), answer


def test_the_guide_and_the_command_name_every_tool() -> None:
    guide, command = (
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("agents.md", "commands/mcp.md")
    )
    for tool in TOOLS:
        assert f"| `{tool.name}` |" in command
        assert f"`{tool.name}`" in guide or tool.name in ("lint", "variants", "verdict")


def test_llms_txt_has_the_format_of_llmstxt_org() -> None:
    """A title, a quoted summary, text without headings, then sections that are lists of links."""
    text = LLMS.read_text(encoding="utf-8")
    head, *sections = re.split(r"^## .+$", text, flags=re.M)
    assert re.match(r"# irscope\n\n> [^\n]+\n\n", head)
    assert text.count("\n# ") == 0
    assert "\n## Optional\n" in text
    for section in sections:
        for line in section.strip().splitlines():
            assert re.fullmatch(r"- \[[^\]]+\]\([^)]+\)(: .+)?", line), line
