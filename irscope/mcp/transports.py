"""The transports: stdio, and streamable HTTP with a token and checks of the Host and Origin headers.

Answers messages on stdin that the SDK drops because they are not valid: their sender would wait forever.

A lone surrogate, `"\ud800"`, is valid JSON for most encoders and no valid text: it becomes U+FFFD.

Makes room for a new session over HTTP: if there are too many, the one that was unused longest ends.

Clients that end without saying so leave their sessions open until the SDK's limit of time. What they compiled
stays: it belongs to the server. A client whose session ended gets 404 and begins another one.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from irscope.model.text import clipped, one_line

# An escaped backslash, a pair of surrogates, or a lone one, which is the group.
_ESCAPE = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_MOST_MESSAGE = 200


async def pass_on(
    incoming: ObjectReceiveStream[SessionMessage | Exception],
    valid: ObjectSendStream[SessionMessage | Exception],
    answers: ObjectSendStream[SessionMessage],
) -> None:
    """Pass valid messages on, repaired if need be, and answer the others with an error."""
    async with valid, answers:
        async for item in incoming:
            message = _repaired(item) if isinstance(item, ValidationError) else item
            if isinstance(message, types.JSONRPCError):
                await answers.send(SessionMessage(message))
            else:
                await valid.send(message)


def _repaired(error: ValidationError) -> SessionMessage | types.JSONRPCError:
    """Return the message of a line without its lone surrogates, or an error for its sender."""
    line = next((detail["input"] for detail in error.errors() if detail["type"] == "json_invalid"), None)
    if not isinstance(line, str):
        return _error(types.INVALID_REQUEST, error)
    repaired = _ESCAPE.sub(lambda match: r"\ufffd" if match[1] else match[0], line)
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(repaired, by_name=False))
    except ValidationError as second:
        is_json = all(detail["type"] != "json_invalid" for detail in second.errors())
        return _error(types.INVALID_REQUEST if is_json else types.PARSE_ERROR, second)


def _error(code: int, error: ValidationError) -> types.JSONRPCError:
    problem = error.errors()[0]["msg"]
    inputs: list[Any] = [detail["input"] for detail in error.errors()]
    ids = [
        message["id"]
        for message in inputs
        if isinstance(message, dict) and type(message.get("id")) in (int, str)
    ]
    text = clipped(one_line(f"not a valid message: {problem}"), _MOST_MESSAGE)
    return types.JSONRPCError(
        jsonrpc="2.0", id=ids[0] if ids else None, error=types.ErrorData(code=code, message=text)
    )


_ID = b"mcp-session-id"
_ENDED = (404, 410)


@dataclass
class _SessionUse:
    """How a session is used: its requests that are not answered yet, and when the last one was."""

    requests: int = 0
    last: float = field(default_factory=time.monotonic)


class RoomForSessions:
    """An application that keeps fewer than `most` unused sessions of `app` when another one begins."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._uses: dict[bytes, _SessionUse] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; make room first if it begins a session."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = _header(scope["headers"], _ID)
        use = self._uses.get(name, _SessionUse())
        if not name and len(self._uses) >= self._most:
            await self._end_unused(scope)

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(name or _header(message.get("headers", ()), _ID), use, scope, message["status"])
            await send(message)

        use.requests += 1
        try:
            await self._app(scope, receive, noting)
        finally:
            use.requests -= 1
            use.last = time.monotonic()

    def _note(self, name: bytes, use: _SessionUse, scope: Scope, status: int) -> None:
        """Note what the answer to a request says of its session."""
        if status in _ENDED or (scope["method"] == "DELETE" and status < 400):
            self._uses.pop(name, None)
        elif name and status < 400:
            self._uses[name] = use

    async def _end_unused(self, scope: Scope) -> None:
        """End the session that was unused longest, as its client would; do nothing if all are in use."""
        unused = {name: use for name, use in self._uses.items() if not use.requests}
        if not unused:
            return
        oldest = min(unused, key=lambda name: unused[name].last)
        del self._uses[oldest]
        host = (b"host", _header(scope["headers"], b"host"))
        ending = {**scope, "method": "DELETE", "headers": [host, (_ID, oldest)]}
        await self._app(ending, _no_body, _nowhere)


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nowhere(_: Message) -> None:
    """Drop the answer to a request of our own."""


def _header(headers: object, name: bytes) -> bytes:
    """Return the first header of this name; b"" if there is none."""
    pairs = headers if isinstance(headers, list | tuple) else ()
    return next((bytes(value) for key, value in pairs if bytes(key).lower() == name), b"")


PATH = "/mcp"
_MOST_BODY = 2 << 20
_MOST_SESSIONS = 16
_CLOSE_SECONDS = 2


def serve_stdio(server: Server[dict[str, Any]]) -> None:
    """Serve stdin and stdout until the client closes them."""

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            valid, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            tasks.start_soon(pass_on, incoming, valid, outgoing.clone())
            await server.run(received, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(run)


# Return True if a client's token ("": none) is the server's.
TokenCheck = Callable[[str], bool]


def serve_http(server: Server[dict[str, Any]], listening: socket.socket, is_valid: TokenCheck) -> None:
    """Serve HTTP on a socket until interrupted."""
    config = uvicorn.Config(
        http_app(server, is_valid),
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
    )
    anyio.run(uvicorn.Server(config).serve, [listening])


def http_app(server: Server[dict[str, Any]], is_valid: TokenCheck) -> ASGIApp:
    """Return the ASGI application.

    Only requests with the token, for a name of this machine, reach the server.
    """
    hosts = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=_MOST_BODY,
        max_sessions=_MOST_SESSIONS,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=hosts,
            allowed_origins=[f"http://{host}" for host in hosts],
        ),
    )
    return _with_token(RoomForSessions(app, _MOST_SESSIONS), is_valid)


def _with_token(app: ASGIApp, is_valid: TokenCheck) -> ASGIApp:
    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not is_valid(_token(scope)):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"irscope mcp: wrong or missing token\n"})
            return
        await app(scope, receive, send)

    return checked


def _token(scope: Scope) -> str:
    """Return the token of `Authorization: Bearer TOKEN`, or "" without one."""
    authorization = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _, token = authorization.decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
