"""An agent for tests: calls the tools of a real server through the SDK's client, and counts the tokens."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from irscope.mcp.answers import MOST_TOKENS, compact_json, tokens

ROOT = Path(__file__).parents[2]

ADD = """\
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x + 1, mask=i < n)
"""
# One thread computes much, with few registers: it spills.
SPILLING = """\
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    total = tl.sum(x * x, axis=0)
    tl.store(y_ptr + i, x / total, mask=i < n)
"""
SPILLED = {"BLOCK": 4096, "num_warps": 4, "maxnreg": 24}


@dataclass
class Agent:
    """A connected client. `total` are the tokens of all answers, text and structured content together."""

    client: Client
    total: int = 0
    texts: list[str] = field(default_factory=list)

    async def call(self, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """The answer of a tool that succeeds: its text and its structured content."""
        text, data, is_error = await self.answer(tool, arguments)
        assert not is_error, text
        return text, data

    async def error(self, tool: str, **arguments: Any) -> str:
        """The line that says why a tool failed."""
        text, data, is_error = await self.answer(tool, arguments)
        assert is_error, text
        assert "\n" not in data["error"]
        return str(data["error"])

    async def answer(self, tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any], bool]:
        """The answer of a tool, which is within the limit."""
        result = await self.client.call_tool(tool, arguments)
        text, data = result.content[0].text, result.structured_content
        own = tokens(text) + tokens(compact_json(data))
        assert own <= arguments.get("max_tokens", MOST_TOKENS), (tool, own, text)
        self.total += own
        self.texts.append(text)
        return text, data, bool(result.is_error)


def command(folder: Path, *options: str) -> list[str]:
    """The command of a server that reads `folder`."""
    return [sys.executable, "-m", "irscope", "mcp", "--root", str(folder), *options]


@asynccontextmanager
async def connected(folder: Path, cache: Path, options: Sequence[str] = ()) -> AsyncIterator[Agent]:
    """An agent connected to a server over stdio."""
    words = command(folder, *options)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    server = StdioServerParameters(command=words[0], args=words[1:], env=environment, cwd=folder)
    async with Client(server) as client:
        yield Agent(client)
