"""Clients of `irscope mcp` that send what is not valid, or that leave without saying so."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import mcp_types as types
import pytest
from pydantic import ValidationError

from irscope.mcp.resources import listed, read
from irscope.mcp.transports import _repaired
from irscope.model import UserError
from tests.mcp.agent import ROOT, command

HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "a", "version": "1"},
    },
}


@contextmanager
def server(folder: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command(folder, *options), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, env=environment, cwd=folder,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()


def call(line: str, process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def tool_call(id_: str, text: str) -> str:
    params = f'{{"name": "lint", "arguments": {{"file": "{text}"}}}}'
    return f'{{"jsonrpc": "2.0", "id": {id_}, "method": "tools/call", "params": {params}}}'


@pytest.mark.slow
def test_every_message_gets_an_answer(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        assert "result" in call(json.dumps(HANDSHAKE), process)
        surrogate = call(tool_call("2", r"a\ud800b"), process)
        assert surrogate["id"] == 2
        assert "no such file" in surrogate["result"]["content"][0]["text"]
        assert call(tool_call(r'"\udfff"', "x"), process)["id"] == "\ufffd"
        broken = call('{"jsonrpc": "2.0", "id": 3, "method":', process)
        assert (broken["id"], broken["error"]["code"]) == (None, types.PARSE_ERROR)
        wrong = call('{"jsonrpc": "2.0", "id": 4, "method": "ping", "params": 7}', process)
        assert (wrong["id"], wrong["error"]["code"]) == (4, types.INVALID_REQUEST)
        uri = '{"jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": {"uri": "irscope://[::1/x"}}'
        address = call(uri, process)
        assert address["error"] == {
            "code": types.INVALID_PARAMS,
            "message": "irscope://[::1/x: not a URI: Invalid IPv6 URL",
        }
        process.stdin.close()  # type: ignore[union-attr]
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize(
    ("text", "means"),
    [
        (r"a\ud800b", "a\ufffdb"),
        (r"\udc00\ud83d\ude00", "\ufffd\U0001f600"),
        (r"\\ud800\ud800", "\\ud800\ufffd"),
        (r"\ud800\ud83d\ude00", "\ufffd\U0001f600"),
    ],
)
def test_only_lone_surrogates_are_replaced(text: str, means: str) -> None:
    line = tool_call("1", text)
    with pytest.raises(ValidationError) as invalid:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    message = _repaired(invalid.value)
    assert not isinstance(message, types.JSONRPCError)
    assert message.message.params["arguments"] == {"file": means}  # type: ignore[union-attr, index]


def test_names_in_resources_command_no_terminal() -> None:
    variant = SimpleNamespace(id=1, kernel=SimpleNamespace(name="k\x1b[2J\u202e"))
    workspace = SimpleNamespace(variants=[variant], names={1: "A=\x1b]0;x\x07"}, stages=lambda _: ["ttir"])
    session: Any = SimpleNamespace(captures=lambda: [("session", workspace)])
    texts = [text for each in listed(session) for text in (each.uri, each.name, each.description)]
    assert all(text.isprintable() for text in texts)
    with pytest.raises(UserError) as error:
        read(session, "irscope://[\x1b[2J/x")
    assert str(error.value).isprintable()


@pytest.mark.slow
def test_abandoned_sessions_make_room_for_others(tmp_path: Path) -> None:
    with server(tmp_path, "--http", "0") as process:
        assert process.stderr is not None
        url, header = process.stderr.readline().strip(), process.stderr.readline().strip()
        token = header.partition(": ")[2]
        headers = {"Accept": "application/json, text/event-stream", "Authorization": token}
        with httpx2.Client(headers=headers, timeout=60) as http:
            names = []
            for _ in range(40):
                begun = http.post(url, json=HANDSHAKE)
                assert begun.status_code == 200
                names.append(begun.headers["mcp-session-id"])
                kept = {"mcp-session-id": names[0], "mcp-protocol-version": "2025-06-18"}
                ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
                assert http.post(url, json=ping, headers=kept).status_code == 200
            gone = http.post(url, json=ping, headers={**kept, "mcp-session-id": names[1]})
            assert gone.status_code == 404
            assert http.delete(url, headers=kept).status_code == 200
