"""`irscope mcp` with the official SDK's client: over stdio and HTTP, what agents do and what goes wrong."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client

from irscope.mcp.answers import compact_json, tokens
from tests.mcp.agent import ADD, ROOT, SPILLED, SPILLING, Agent, command, connected

MOST_LISTED = 4350


async def test_an_agent_finds_a_spill_removes_it_and_compares(tmp_path: Path, triton_cache: Path) -> None:
    async with connected(tmp_path, triton_cache) as agent:
        listed = (await agent.client.list_tools()).tools
        size = tokens(compact_json([tool.model_dump(by_alias=True, exclude_none=True) for tool in listed]))
        assert size < MOST_LISTED
        text, data = await agent.call("compile", source=SPILLING, configs=SPILLED)
        verdict = data["verdict"]
        assert verdict["launchable"] is True
        assert verdict["findings"][0]["kind"] == "spills"
        assert "try without maxnreg: maxnreg=24" in text
        line = verdict["findings"][0]["line"]
        text, data = await agent.call("lines", variant=1, line=line)
        assert data["python"] in SPILLING
        config = {name: value for name, value in SPILLED.items() if name != "maxnreg"}
        text, data = await agent.call("compile", source=SPILLING, configs=config, against=1)
        assert data["verdict"]["variant"] == 2
        assert data["verdict"]["against"]["change"] == "maxnreg 24 -> unset"
        assert "stack (spills)" not in data["verdict"]["resources"]
        text, data = await agent.call("compare", a=1, b=2)
        assert data["findings"][0]["text"].startswith("A spills, B does not")
        assert agent.total < 6000


@pytest.mark.slow
async def test_resources_are_pages_of_stages_and_facts(tmp_path: Path, triton_cache: Path) -> None:
    async with connected(tmp_path, triton_cache) as agent:
        assert not (await agent.client.list_resources()).resources
        await agent.call("compile", source=ADD, configs={"BLOCK": 256})
        uris = [resource.uri for resource in (await agent.client.list_resources()).resources]
        assert {"irscope://session/variants", "irscope://session/1/facts", "irscope://session/1/ptx"} <= {
            *uris
        }
        assert len((await agent.client.list_resource_templates()).resource_templates) == 5
        page = (await agent.client.read_resource("irscope://session/1/ptx")).contents[0].text
        assert tokens(page) <= 1500
        following = page.rpartition(": ")[2]
        assert following.startswith("irscope://session/1/ptx?offset=")
        second = (await agent.client.read_resource(following)).contents[0].text
        assert int(second.split()[0]) == int(following.rpartition("=")[2]) + 1
        assert (
            "registers: " in (await agent.client.read_resource("irscope://session/1/facts")).contents[0].text
        )
        for subject, part in (
            ("1/verdict", "can be launched"),
            ("1/registers", "per thread"),
            ("why", "in this capture"),
        ):
            page = (await agent.client.read_resource(f"irscope://session/{subject}")).contents[0].text
            assert part in page
        with pytest.raises(MCPError, match="no such"):
            await agent.client.read_resource("irscope://session/1/2/3")


@pytest.mark.slow
async def test_what_goes_wrong_is_an_answer_and_the_next_call_works(
    tmp_path: Path, triton_cache: Path
) -> None:
    (tmp_path.parent / "outside.py").write_text(ADD)
    (tmp_path / "link.py").symlink_to(tmp_path.parent / "outside.py")
    async with connected(tmp_path, triton_cache) as agent:
        assert "call compile first" in await agent.error("verdict", variant=1)
        assert "SyntaxError: '(' was never closed" in await agent.error(
            "compile", source="@triton.jit\ndef f("
        )
        assert "outside of the folders" in await agent.error("compile", file="../outside.py")
        assert "outside of the folders" in await agent.error("compile", file="link.py")
        assert "no such file" in await agent.error("lint", file="missing.py")
        assert "source (the Python text) or file" in await agent.error("compile")
        assert "'blocks' was unexpected" in await agent.error("compile", source=ADD, blocks=3)
        assert "unknown target" in await agent.error("compile", source=ADD, target="cuda:1")
        broken = ADD.replace("x + 1", "x + missing_name")
        text, data, is_error = await agent.answer("compile", {"source": broken, "configs": {"BLOCK": 64}})
        assert is_error
        assert data["error"].startswith("CompilationError: NameError('missing_name is not defined')")
        assert data["line"] == 9
        assert "at 4:" in data["message"]
        assert "Traceback" not in text
        await agent.call("compile", source=ADD, configs={"BLOCK": 64})
        assert "#99" in await agent.error("verdict", variant=99)


@pytest.mark.slow
async def test_limits_on_time_and_memory_stop_user_code_only(tmp_path: Path, triton_cache: Path) -> None:
    endless = f"{ADD}\nwhile True:\n    pass\n"
    hungry = f"{ADD}\ntry:\n    bytearray(4 << 30)\nexcept MemoryError:\n    raise SystemExit('no memory')\n"
    gone = f"{ADD}\nimport os\nos._exit(3)\n"
    async with connected(tmp_path, triton_cache, ["--timeout", "10", "--memory", "1.5"]) as agent:
        start = time.monotonic()
        assert "takes more than 10 s" in await agent.error("compile", source=endless)
        assert time.monotonic() - start < 60
        assert "no memory" in await agent.error("compile", source=hungry, configs={"BLOCK": 64})
        assert "exit code 3" in await agent.error("compile", source=gone)
        await agent.call("compile", source=ADD, configs={"BLOCK": 128})


@pytest.mark.slow
async def test_a_cancelled_request_ends_its_worker(tmp_path: Path, triton_cache: Path) -> None:
    waiting = f"import time\nprint('imported', flush=True)\n{ADD}\ntime.sleep(600)\n"
    async with connected(tmp_path, triton_cache) as agent:
        with anyio.move_on_after(3) as scope:
            await agent.call("compile", source=waiting)
        assert scope.cancelled_caught
        start = time.monotonic()
        await agent.call("compile", source=ADD, configs={"BLOCK": 64})
        assert time.monotonic() - start < 60


@pytest.fixture
def over_http(tmp_path: Path, triton_cache: Path) -> Iterator[tuple[str, str]]:
    """The URL and the header of a server that listens on a free port."""
    environment = {**os.environ, "TRITON_CACHE_DIR": str(triton_cache), "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(
        command(tmp_path, "--http", "0"), stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    )
    try:
        assert server.stderr is not None
        url, header = server.stderr.readline().strip(), server.stderr.readline().strip()
        yield url, header.partition(": ")[2]
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.slow
async def test_http_needs_the_token_and_a_name_of_this_machine(over_http: tuple[str, str]) -> None:
    url, token = over_http
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    good = {"Authorization": token, "Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient() as http:
        assert (await http.post(url, json=body, headers={"Accept": good["Accept"]})).status_code == 401
        wrong = {**good, "Authorization": "Bearer 0000"}
        assert (await http.post(url, json=body, headers=wrong)).status_code == 401
        rebound = {**good, "Host": "evil.example:80"}
        assert (await http.post(url, json=body, headers=rebound)).status_code == 421
        foreign = {**good, "Origin": "http://evil.example"}
        assert (await http.post(url, json=body, headers=foreign)).status_code == 403
    async with (
        httpx2.AsyncClient(headers={"Authorization": token}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        text, data = await Agent(client).call("compile", source=ADD, configs={"BLOCK": [64, 128]})
        assert data["rows"][0][0] == 1
        assert text.endswith("next: verdict of one, compare of two")
