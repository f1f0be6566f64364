"""Makes room for a new session over HTTP: if there are too many, the one that was unused longest ends.

Clients that end without saying so leave their sessions open until the SDK's limit of time. What they compiled
stays: it belongs to the server. A client whose session ended gets 404 and begins another one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_ID = b"mcp-session-id"
_ENDED = (404, 410)


@dataclass
class _Use:
    """How a session is used: its requests that are not answered yet, and when the last one was."""

    requests: int = 0
    last: float = field(default_factory=time.monotonic)


class RoomForSessions:
    """An application that keeps fewer than `most` unused sessions of `app` when another one begins."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app, self._most = app, most
        self._uses: dict[bytes, _Use] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; make room first if it begins a session."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        name = _header(scope["headers"], _ID)
        use = self._uses.get(name, _Use())
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

    def _note(self, name: bytes, use: _Use, scope: Scope, status: int) -> None:
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
