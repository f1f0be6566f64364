"""How many tokens and seconds the tools of `irscope mcp` take, and what happens when something goes wrong.

    python -m benchmarks.mcp_session [--corpus FILE.py::KERNEL] [--tokenizer tokenizer.json] [--errors]

Drives a real server over stdio with the SDK's client, as an agent would, with empty caches. Per call it
prints the tokens of the text and of the structured content (irscope's estimate from above; those of a real
tokenizer too, if a file of the `tokenizers` package is named), the seconds until the answer, what of it the
worker took to import and compile, and the processor time of the server and the tools that it ran (nvdisasm),
which a busy machine changes less; of a call that ends the worker of an earlier source, whose time does not
count, only the server's own (marked *). Asked: a session (compile, see the spill, change the config,
compare) under 6,000 tokens, and every tool under 1 s beyond compile time.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from benchmarks.processes import ROOT
from irscope.mcp.answers import compact_json, tokens
from tests.mcp.agent import ADD, Agent, connected

LAUNCH = (
    "grid=(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), M=4096, N=M, K=M, stride_am=K, stride_bk=N, stride_cm=N"
)
MATMUL = {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "GROUP_M": 8, "num_warps": 4, "num_stages": 3}
SESSION_TOKENS, BEYOND_SECONDS = 6000, 1.0


class Session:
    """Makes calls and prints a line for each."""

    def __init__(self, agent: Agent, count: Callable[[str], int] | None) -> None:
        self.agent, self.count = agent, count
        self.slowest = 0.0
        self.source: str | None = None
        self.real = 0
        self.server = _children()

    async def call(self, tool: str, label: str = "", **arguments: Any) -> dict[str, Any]:
        """Calls a tool and prints what it took."""
        source = arguments.get("source") or arguments.get("file")
        other = tool == "compile" and source != self.source
        self.source = source if tool == "compile" else self.source
        start, before = time.monotonic(), _processor_seconds(self.server, not other)
        text, data, is_error = await self.agent.answer(tool, arguments)
        wall, used = time.monotonic() - start, _processor_seconds(self.server, not other) - before
        compiled = data.get("seconds", 0.0)
        if not is_error:
            self.slowest = max(self.slowest, used)
        both = tokens(text), tokens(compact_json(data))
        real = f" {self.count(text) + self.count(compact_json(data)):5}" if self.count else ""
        self.real += int(real or 0)
        outcome = f"  error: {data['error'][:70]}" if is_error else ""
        print(
            f"{tool:9} {label:34} {both[0]:5} + {both[1]:5}{real}  {wall:6.2f} s, compile {compiled:5.2f}, "
            f"beyond {max(0.0, wall - compiled):5.2f}, processor {used:5.2f}{'*' if other else ''}{outcome}",
            flush=True,
        )
        return data


async def agent_session(session: Session) -> None:
    """Compile, see the spill, change the config, compare."""
    file = "samples/matmul.py"
    await session.call("compile", "a config that spills", file=file, configs=MATMUL, launch=LAUNCH)
    await session.call("lines", "the line that spills", variant=1, line=90)
    changed = {**MATMUL, "num_warps": 8}
    await session.call("compile", "its remedy", file=file, configs=changed, launch=LAUNCH, against=1)
    await session.call("compare", "both", a=1, b=2)
    total = session.agent.total
    verdict = "met" if total < SESSION_TOKENS else "MISSED"
    real = f", {session.real:,} by the tokenizer" if session.count else ""
    print(f"session: {total:,} tokens{real}; asked: under {SESSION_TOKENS:,}: {verdict}\n")


async def every_tool(session: Session) -> None:
    """The other tools on the same capture."""
    file = "samples/matmul.py"
    await session.call("verdict", variant=1, against=2)
    await session.call("lines", "all Python lines", variant=1)
    await session.call("lines", "a page of PTX", variant=1, stage="ptx", offset=400)
    await session.call("lines", "a page of SASS", variant=1, stage="sass")
    await session.call("explain", "a word", word="ttng.warp_group_dot")
    await session.call("explain", "a fact", variant=1, word="conversions")
    await session.call("explain", "all facts", variant=1)
    await session.call("pick", launch=LAUNCH)
    await session.call("lint", "the capture")
    await session.call("lint", "a file", file=file)
    await session.call("variants")
    six = {**MATMUL, "BLOCK_N": [64, 128], "BLOCK_K": 32, "num_stages": [2, 3, 4]}
    await session.call("compile", "six configs", file=file, configs=six, launch=LAUNCH)


async def on_corpus(session: Session, kernel: str) -> None:
    """A larger kernel of a library."""
    file, _, name = kernel.partition("::")
    data = await session.call("compile", Path(file).name, file=file, **({"kernel": name} if name else {}))
    rows = data.get("rows") or [[data.get("verdict", {}).get("variant")]]
    first, last = rows[0][0], rows[-1][0]
    if first is not None:
        await session.call("verdict", variant=first)
        await session.call("lines", variant=first)
        await session.call("compare", a=first, b=last)


async def errors(session: Session) -> None:
    """User code that fails; after each, the server has to answer again."""
    broken = {
        "syntax error": "@triton.jit\ndef f(",
        "missing name in the kernel": ADD.replace("x + 1", "x + missing_name"),
        "missing module": f"import no_such_module\n{ADD}",
        "endless loop at import": f"{ADD}\nwhile True:\n    pass\n",
        "64 GB at import, in a function": f"{ADD}\nwaste = [bytearray(1 << 30) for _ in range(64)]\n",
        "ends its process": f"{ADD}\nimport os\nos._exit(3)\n",
        "prints without end": f"while True:\n    print('x' * 1000)\n{ADD}",
    }
    for label, source in broken.items():
        await session.call("compile", label, source=source, configs={"BLOCK": 64})
        await session.call("compile", "  the next request", source=ADD, configs={"BLOCK": 64})
    start = time.monotonic()
    with anyio.move_on_after(2):
        await session.agent.answer("compile", {"source": f"{ADD}\nimport time\ntime.sleep(600)\n"})
    print(f"cancelled after {time.monotonic() - start:.1f} s")
    await session.call("compile", "  the next request", source=ADD, configs={"BLOCK": 128})


def _children() -> list[int]:
    """The processes that this one started."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def _processor_seconds(processes: list[int], children: bool) -> float:
    """Processor time of processes, and of their children that have ended; not of workers, which still run."""
    total = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
        total += sum(map(int, fields[11 : 15 if children else 13]))
    return total / os.sysconf("SC_CLK_TCK")


def _tokenizer(path: Path | None) -> Callable[[str], int] | None:
    if path is None:
        return None
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(path))
    return lambda text: len(loaded.encode(text).ids)


async def run(args: argparse.Namespace) -> None:
    """Connects, makes the calls, prints the totals."""
    import tempfile

    roots = [
        word for kernel in args.corpus for word in ("--root", str(Path(kernel.partition("::")[0]).parent))
    ]
    with tempfile.TemporaryDirectory() as cache:
        os.environ["IRSCOPE_CACHE"] = f"{cache}/irscope"  # SASS that an earlier run disassembled
        options = [*roots, "--timeout", "20", "--memory", "4"] if args.errors else [*roots]
        async with connected(ROOT, Path(cache), options) as agent:
            listed = (await agent.client.list_tools()).tools
            text = compact_json([tool.model_dump(by_alias=True, exclude_none=True) for tool in listed])
            count = _tokenizer(args.tokenizer)
            real = f", {count(text):,} by the tokenizer" if count else ""
            print(f"tools/list: {tokens(text):,} tokens{real}, {len(text):,} characters")
            await asyncio.sleep(3)  # as long as an agent needs for its first call
            session = Session(agent, count)
            await agent_session(session)
            await every_tool(session)
            for kernel in args.corpus:
                await on_corpus(session, kernel)
            verdict = "met" if session.slowest < BEYOND_SECONDS else "MISSED"
            asked = f"asked: under {BEYOND_SECONDS:g}: {verdict}"
            print(f"slowest tool: {session.slowest:.2f} s of processor; {asked}")
            if args.errors:
                await errors(session)


def main() -> None:
    """Parses the arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", metavar="FILE.py::KERNEL", action="append", default=[])
    parser.add_argument("--tokenizer", metavar="FILE", type=Path)
    parser.add_argument("--errors", action="store_true")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
