"""A connection carries one request: its head within a time and a size, then an answer, or a websocket.

aiohttp does not limit the time that a head takes, and its older versions parse any number of requests ahead.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import cast

from irscope.serve import policy

_END_OF_HEAD = b"\r\n\r\n"
# All that browsers send: aiohttp would print a traceback for other requests, and repeat them in its answer.
_HEAD = re.compile(rb"(GET|HEAD) /[!-~]* HTTP/1\.[01]\r\n([!-9;-~]+:[\t -~\x80-\xff]*\r\n){1,100}\r\n")
_BAD_REQUEST = "\r\n".join(
    [
        "HTTP/1.1 400 Bad Request",
        *(f"{name}: {value}" for name, value in policy.HEADERS.items()),
        "Content-Length: 0",
        "Connection: close",
        "\r\n",
    ]
).encode()


class Connections:
    """The protocol of each new connection; those beyond the limit are closed."""

    def __init__(self, new_handler: Callable[[], asyncio.Protocol]) -> None:
        self._new_handler = new_handler
        self.count = 0

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return OneRequest(self, self._new_handler)


class OneRequest(asyncio.Protocol):
    """Passes one request's head to aiohttp, and everything after it only if that became a websocket."""

    def __init__(self, connections: Connections, new_handler: Callable[[], asyncio.Protocol]) -> None:
        self._connections = connections
        self._new_handler = new_handler
        self._handler: asyncio.Protocol | None = None
        self._head = bytearray()
        self._served = self._is_websocket = False
        self._transport: asyncio.Transport
        self._timer: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the head of a request."""
        self._transport = cast("asyncio.Transport", transport)
        self._connections.count += 1
        self._end_in(policy.HEAD_SECONDS)
        if self._connections.count > policy.MAX_CONNECTIONS:
            self._transport.abort()
            return
        self._handler = self._new_handler()
        self._handler.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Collect the head; drops what follows, unless it belongs to a websocket."""
        if self._handler is None:
            return
        if self._is_websocket:
            self._handler.data_received(data)
        elif not self._served:
            searched = max(0, len(self._head) - len(_END_OF_HEAD))
            self._head += data
            end = self._head.find(_END_OF_HEAD, searched) + len(_END_OF_HEAD)
            if end >= len(_END_OF_HEAD):
                self._serve(bytes(self._head[:end]))
            elif len(self._head) > policy.MAX_HEAD:
                self._transport.abort()

    def _serve(self, head: bytes) -> None:
        self._served = True
        self._head.clear()
        self._timer.cancel()
        self._end_in(policy.RESPONSE_SECONDS)
        if not _HEAD.fullmatch(head):
            self._transport.write(_BAD_REQUEST)
            self._transport.close()
        elif self._handler is not None:
            self._handler.data_received(head)

    def become_websocket(self) -> None:
        """Pass on what follows, for as long as the connection lasts."""
        self._is_websocket = True
        self._timer.cancel()

    def eof_received(self) -> bool | None:
        """Close the connection."""
        return None if self._handler is None else self._handler.eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        """End the request."""
        self._connections.count -= 1
        self._timer.cancel()
        if self._handler is not None:
            self._handler.connection_lost(error)

    def pause_writing(self) -> None:
        """Wait for a client that reads slowly."""
        if self._handler is not None:
            self._handler.pause_writing()

    def resume_writing(self) -> None:
        """Goes on."""
        if self._handler is not None:
            self._handler.resume_writing()

    def _end_in(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._transport.abort)
