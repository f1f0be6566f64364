"""A server in a thread of the test process, and a plain client: raw requests and websocket frames."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from irscope.cli.serve import app_command
from irscope.serve import policy
from irscope.serve.web_server import Options, Server, serve

TOKEN = "0123456789abcdef" * 3
# How long a test waits for what an app draws.
_MOST_SECONDS = 30.0


class Failures(logging.Handler):
    """Collects what aiohttp and asyncio log as errors: exceptions in the server."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(logging.Formatter().format(record))


class Served:
    """A running server; `failures` has the exceptions in it."""

    def __init__(
        self, capture: Path, token: str = TOKEN, sessions: int = 4, idle: float = 0, host: str = "127.0.0.1"
    ) -> None:
        self.token = token
        self.failures = Failures()
        listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = listening.getsockname()[1]
        access = policy.AccessRules(host, f"http://127.0.0.1:{self.port}", token)
        self._server = Server(Options(capture, app_command(capture), access, sessions, idle))
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listening,), daemon=True)
        for name in ("irscope.serve", "aiohttp", "asyncio"):
            logging.getLogger(name).addHandler(self.failures)
        self._thread.start()
        assert self._ready.wait(10)

    def _run(self, listening: socket.socket) -> None:
        async def main() -> None:
            self._loop = asyncio.get_running_loop()
            await serve(self._server, listening, self._ready.set)

        asyncio.run(main())

    def stop(self) -> None:
        """Stops the server; it must end all sessions."""
        self._loop.call_soon_threadsafe(self._server.stop)
        self._thread.join(30)
        assert not self._thread.is_alive()
        for name in ("irscope.serve", "aiohttp", "asyncio"):
            logging.getLogger(name).removeHandler(self.failures)

    @property
    def cookie(self) -> str:
        return f"irscope-{self.port}={self.token}"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def get(self, path: str = "/", **headers: str) -> tuple[int, dict[str, str], str]:
        """Status, headers (names in lower case) and body; `Sec_Fetch_Site` is the header `Sec-Fetch-Site`."""
        sent = {"Host": f"127.0.0.1:{self.port}"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items())]
        with self.connect() as connection:
            connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
            return parse(received(connection))

    def websocket(self, query: str = "", cookie: str | None = None, **headers: str) -> WebSocket:
        """A websocket with the token's cookie."""
        return WebSocket(self, query, self.cookie if cookie is None else cookie, headers)


class WebSocket:
    """A client; `status` is 101 if the server accepted it."""

    def __init__(self, served: Served, query: str, cookie: str, headers: dict[str, str]) -> None:
        self.connection = served.connect()
        sent = {
            "Host": f"127.0.0.1:{served.port}", "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
            "Cookie": cookie, **headers,
        }  # fmt: skip
        lines = [f"GET /ws{query} HTTP/1.1", *(f"{name}: {value}" for name, value in sent.items() if value)]
        self.connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self._buffer = b""
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in self._buffer and (read := self.connection.recv(65536)):
                self._buffer += read
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        self.status = int(head.split()[1]) if head else 0

    def send(self, *message: object) -> None:
        self.frame(1, json.dumps(message).encode())

    def frame(self, opcode: int, content: bytes, first: int = 0x80, length: int | None = None) -> None:
        """Sends a frame; `first` has the bits of the first byte, `length` replaces the content's."""
        size = len(content) if length is None else length
        head = bytes([first | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack(">Q", size)
        self.connection.sendall(head + bytes(4) + content)  # masked with zeros

    def frames(self) -> Iterator[tuple[int, bytes]]:
        """Opcode and content of each frame, until the connection ends."""
        while True:
            head = self._take(2)
            if len(head) < 2:
                return
            size = head[1] & 0x7F
            if size == 126:
                size = int.from_bytes(self._take(2), "big")
            elif size == 127:
                size = int.from_bytes(self._take(8), "big")
            opcode, content = head[0] & 0xF, self._take(size)
            if opcode == 9:
                with contextlib.suppress(OSError):
                    self.frame(10, content)
            yield opcode, content

    def wait_for_app(self) -> None:
        """Returns once the app has drawn something."""
        shown = 0
        for opcode, content in self._frames_for_a_while():
            shown += len(content) if opcode == 2 else 0
            if shown > 2000:
                return
        raise AssertionError("the session ended")

    def wait_for(self, text: str) -> None:
        """Returns once the app has drawn `text`."""
        for opcode, content in self._frames_for_a_while():
            if opcode == 2 and text.encode() in content:
                return
        raise AssertionError("the session ended")

    def _frames_for_a_while(self) -> Iterator[tuple[int, bytes]]:
        """Return the frames; fail after some time. A cursor that blinks sends frames without end."""
        deadline = time.monotonic() + _MOST_SECONDS
        for frame in self.frames():
            yield frame
            assert time.monotonic() < deadline, "the app has not drawn that in time"

    def close_code(self) -> int:
        """Reads to the end and returns the code of the server's close frame; 0 without one."""
        code = 0
        with contextlib.suppress(OSError):
            for opcode, content in self.frames():
                if opcode == 8:
                    code = int.from_bytes(content[:2], "big")
                    self.frame(8, content[:2])
        self.connection.close()
        return code

    def _take(self, count: int) -> bytes:
        with contextlib.suppress(ConnectionError):
            while len(self._buffer) < count and (read := self.connection.recv(1 << 16)):
                self._buffer += read
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken


def received(connection: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(1 << 16):
            parts.append(part)
    return b"".join(parts)


def parse(answer: bytes) -> tuple[int, dict[str, str], str]:
    head, _, body = answer.decode("utf-8", "replace").partition("\r\n\r\n")
    first, *lines = head.split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    return int(first.split()[1]), {name.lower(): value for name, _, value in pairs}, body


def app_processes(capture: Path) -> dict[int, float]:
    """The apps that show `capture`: megabytes by process id."""
    lines = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,rss=,args="], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return {
        int(line.split()[0]): int(line.split()[1]) / 1024
        for line in lines
        if "served_app.py" in line and str(capture) in line
    }


def wait_until_none_left(capture: Path) -> None:
    """Returns once no app shows `capture`."""
    deadline = time.monotonic() + 15
    while left := app_processes(capture):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


@contextlib.contextmanager
def serving(capture: Path) -> Iterator[Served]:
    """A server of `capture` that must neither fail nor leave a process."""
    served = Served(capture)
    yield served
    served.stop()
    assert served.failures.texts == []
    wait_until_none_left(capture)
