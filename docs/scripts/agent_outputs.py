"""Writes what the tool calls in docs/agents.md answer now into the page.

    python docs/scripts/agent_outputs.py

A block of JSON with `tool` and `arguments` is a call; a block of text after it is the text of its answer. All
calls of the page are made in order, of one server.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.docs.pages import fits  # noqa: E402

PAGE = ROOT / "docs" / "agents.md"
_CALL = re.compile(r"^```json\n(\{\"tool\".*?)\n```\n(?:\n```text\n(.*?)\n```\n)?", re.M | re.S)


@dataclass(frozen=True)
class Call:
    """A tool call of the page, and the text that the page shows of its answer (None: none)."""

    tool: str
    arguments: dict[str, Any]
    output: str | None
    span: tuple[int, int]


def calls(text: str) -> list[Call]:
    """The calls of a page, in order."""
    found = []
    for match in _CALL.finditer(text):
        call = json.loads(match[1])
        found.append(Call(call["tool"], call["arguments"], match[2], match.span(2)))
    return found


async def answers(page: Sequence[Call], cache: Path) -> list[str]:
    """The texts that a server answers to the calls."""
    from tests.mcp.agent import connected

    async with connected(ROOT, cache) as agent:
        return [(await agent.call(call.tool, **call.arguments))[0] for call in page]


def main() -> None:
    """Rewrites the page."""
    text = PAGE.read_text(encoding="utf-8")
    page = calls(text)
    with tempfile.TemporaryDirectory() as folder:
        printed = asyncio.run(answers(page, Path(folder)))
    for call, output in reversed(list(zip(page, printed, strict=True))):
        if call.output is not None and not fits(call.output.splitlines(), output.splitlines()):
            text = text[: call.span[0]] + output + text[call.span[1] :]
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
