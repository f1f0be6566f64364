"""The transports: stdio, and streamable HTTP with a token and checks of the Host and Origin headers."""

from __future__ import annotations

import socket
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from starlette.types import ASGIApp, Receive, Scope, Send

from irscope.mcp_server.http_sessions import RoomForSessions
from irscope.mcp_server.invalid_messages import pass_on
from irscope.serving.policy import Access

PATH = "/mcp"
_MOST_BODY = 2 << 20
_MOST_SESSIONS = 16
_CLOSE_SECONDS = 2


def serve_stdio(server: Server[dict[str, Any]]) -> None:
    """Serves stdin and stdout until the client closes them."""

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing), anyio.create_task_group() as tasks:
            valid, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
            tasks.start_soon(pass_on, incoming, valid, outgoing.clone())
            await server.run(received, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(run)


def serve_http(server: Server[dict[str, Any]], listening: socket.socket, access: Access) -> None:
    """Serves HTTP on a socket until interrupted."""
    config = uvicorn.Config(
        http_app(server, access),
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_CLOSE_SECONDS,
    )
    anyio.run(uvicorn.Server(config).serve, [listening])


def http_app(server: Server[dict[str, Any]], access: Access) -> ASGIApp:
    """The ASGI application: only requests with the token, for a name of this machine, reach the server."""
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
    return _with_token(RoomForSessions(app, _MOST_SESSIONS), access)


def _with_token(app: ASGIApp, access: Access) -> ASGIApp:
    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not access.is_valid(_token(scope)):
            headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body", "body": b"irscope mcp: wrong or missing token\n"})
            return
        await app(scope, receive, send)

    return checked


def _token(scope: Scope) -> str:
    """The token of `Authorization: Bearer TOKEN`; "" without one."""
    found = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _, token = found.decode("latin-1").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
