"""One app and the page that shows it: terminal data to the page, input to the app, both within bounds.

The page sends JSON: ["stdin", text], ["resize", {"width": columns, "height": rows}], ["focus"] or ["blur"].
It receives JSON of the same form, and binary messages: a packet's type and its content.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Sequence
from enum import Enum
from typing import Any

from irscope.serve import packets, policy

_MAX_ERRORS = 4000
_GRACE = 2.0


class End(Enum):
    """Why a session ended: the websocket's close code, and what the page says (123 bytes at most)."""

    QUIT = 4000, "You quit the app."
    FAILED = 4001, "The app ended with an error, which the server printed."
    IDLE = 4002, "The session ended because nothing was typed for too long."
    FULL = 4003, "All sessions are in use. Close another page, or start the server with a larger --sessions."
    STOPPED = 4004, "The server was stopped."
    MALFORMED = 4005, "The server refused a message."
    LOST = 1000, ""


class AppSession:
    """An app's process. `close` ends it and everything it started."""

    def __init__(
        self, process: Process, stdin: StreamWriter, stdout: StreamReader, stderr: StreamReader
    ) -> None:
        self._process = process
        self._stdin, self._stdout = stdin, stdout
        self._errors = asyncio.ensure_future(_end_of(stderr))
        self._last_input = asyncio.get_running_loop().time()

    @classmethod
    async def start(cls, command: Sequence[str], columns: int, rows: int) -> AppSession:
        """Start the app in a session of its own, so that Ctrl+C reaches only the server."""
        environment = _environment(columns, rows)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
        )
        streams: Any = (process.stdin, process.stdout, process.stderr)
        return cls(process, *streams)

    async def close(self) -> None:
        """End the app, which then store what it derived; kills it, and whatever it started, after 2 s."""
        self._stdin.close()
        read = asyncio.ensure_future(self._discard_output())  # it cannot end while it waits for a reader
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), _GRACE)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await asyncio.wait([read], timeout=1)

    async def _discard_output(self) -> None:
        """Read stdout to its end, which closes the pipe."""
        with contextlib.suppress(OSError, ValueError):
            while await self._stdout.read(1 << 16):
                pass

    async def errors(self) -> str:
        """Return the end of what the app printed to stderr, once it has ended."""
        return (await self._errors).decode("utf-8", "replace").strip()

    def type(self, text: str) -> None:
        """Types `text`; drops it if the app has not yet read what was typed before."""
        self._last_input = asyncio.get_running_loop().time()
        self._write(packets.packet(packets.DATA, text.encode("utf-8", "replace")))

    def send(self, **values: object) -> None:
        """Send what is not typed, such as a size."""
        self._write(packets.meta(**values))

    def _write(self, packet: bytes) -> None:
        pending = self._stdin.transport.get_write_buffer_size()
        if not self._stdin.is_closing() and pending + len(packet) <= policy.MAX_PENDING:
            self._stdin.write(packet)

    async def show_in(self, websocket: Any) -> End:
        """Send what the app writes, until it ends."""
        if await self._stdout.readline() != packets.PRELUDE:
            return End.FAILED
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                kind, content = await packets.read_packet(self._stdout)
                if kind != packets.META:
                    await websocket.send_bytes(kind + content)
                elif (message := json.loads(content))["type"] == "exit":
                    return End.QUIT
                else:
                    await websocket.send_json([message["type"], message])
        return End.FAILED

    async def wait_until_idle(self, seconds: float) -> End:
        """Return once nothing was typed for `seconds`; never if it is 0."""
        if not seconds:
            await asyncio.Event().wait()
        now = asyncio.get_running_loop().time
        while (left := self._last_input + seconds - now()) > 0:
            await asyncio.sleep(left)
        return End.IDLE


async def read_input(session: AppSession, websocket: Any) -> End:
    """Pass the page's messages to the app, no faster than the policy's rate, until the page is closed."""
    from aiohttp import WSMsgType

    messages, bytes_read = policy.Rate(*policy.MESSAGES), policy.Rate(*policy.BYTES)
    while True:
        message = await websocket.receive()
        if message.type == WSMsgType.PING:
            await websocket.pong(message.data)
        elif message.type == WSMsgType.TEXT:
            if not _handle(session, message.data):
                return End.MALFORMED
        elif message.type == WSMsgType.BINARY:
            return End.MALFORMED
        elif message.type != WSMsgType.PONG:
            return End.LOST
        length = len(message.data) if message.data else 0
        if (delay := max(messages.delay(), bytes_read.delay(length))) > 0:
            await asyncio.sleep(delay)


def _handle(session: AppSession, text: str) -> bool:
    """Handle a message of the page; False if it is malformed."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return False
    match message:
        case ["stdin", str(typed)]:
            session.type(typed)
        case ["resize", {"width": int(width), "height": int(height)}]:
            columns, rows = policy.bounded(width, policy.COLUMNS, 80), policy.bounded(height, policy.ROWS, 24)
            session.send(type="resize", width=columns, height=rows)
        case ["focus" | "blur" as kind]:
            session.send(type=kind)
        case _:
            return False
    return True


async def first_of(*coroutines: Awaitable[End]) -> End:
    """Return the result of the first that returns; the others are cancelled.

    A lost connection raises nothing.
    """
    tasks = [asyncio.ensure_future(winner) for winner in coroutines]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        winner = next(task for task in tasks if task in done)
        error = winner.exception()
        if error is not None and not isinstance(error, ConnectionError | RuntimeError):
            raise error
        return End.LOST if error is not None else winner.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _end_of(stream: StreamReader) -> bytes:
    """Return the last bytes of a stream, once it has ended."""
    last_bytes = b""
    while read := await stream.read(1 << 16):
        last_bytes = (last_bytes + read)[-_MAX_ERRORS:]
    return last_bytes


def _environment(columns: int, rows: int) -> dict[str, str]:
    """Return the app's environment without Textual's settings for developers.

    Those write files and open ports.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TEXTUAL")}
    return inherited | {
        "TEXTUAL_DRIVER": "irscope.serve.driver:ServedDriver",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "TERM_PROGRAM": "irscope-serve",
        "COLUMNS": str(columns),
        "ROWS": str(rows),
        "LINES": str(rows),
    }
