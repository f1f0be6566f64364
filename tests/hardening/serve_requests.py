"""Requests and messages for `irscope serve`: malformed, huge, slow, half-open, without the token."""

from __future__ import annotations

import atexit
import contextlib
import json
import random
import shutil
import socket
import struct
import tempfile
import time
from functools import cache
from pathlib import Path
from urllib.parse import quote

from irscope.serve import policy
from tests.cli.conftest import write_capture
from tests.hardening.views import BugError
from tests.serve.served import Served, WebSocket, app_processes, parse, received, wait_until_none_left

MAX_APP_MEGABYTES = 500
_WELL_FORMED = 0.98
_APP = '<div id="terminal">'
_METHODS = (
    "GET",
    "GET",
    "GET",
    "HEAD",
    "POST",
    "PUT",
    "OPTIONS",
    "CONNECT",
    "TRACE",
    "PRI",
    "get",
    "G" * 300,
    "",
)
_TARGETS = (
    "/", "/?token=", "/?token=x&token=y", "/ws", "/ws?width=-1", "/static/terminal.js",
    "/static/../../etc/passwd",
    "/static/%2e%2e/%2e%2e/etc/passwd", "/static/%00", "//evil.example/", "http://evil.example/", "*", "",
    "/?token=" + "%ff" * 50, "/" + "a" * 9000, "/?" + "a=1&" * 2000, "/\x01\x02", "/%",
    "/?token=%F0%9F%98%80", "/[", "/static/",
)  # fmt: skip
_HOSTS = (
    "127.0.0.1", "localhost:1", "[::1]", "[::1", "evil.example", "", "a" * 5000, "127.0.0.1, evil.example",
    "::", "%00",
    "user@127.0.0.1", "127.0.0.1:999999", "\xe9vil", "127.0.0.1#", "0x7f.1", "\uff11.0.0.1",
)  # fmt: skip
_ORIGINS = (
    "null",
    "http://evil.example",
    "",
    "file://",
    "http://127.0.0.1",
    "http://[::1",
    "\xff",
    "h" * 9000,
)
_LINES = (
    "Transfer-Encoding: chunked", "Content-Length: 5", "Content-Length: -1", "Content-Length: 99999999999999",
    "Content-Length: 1\r\nContent-Length: 2", "Expect: 100-continue", "Upgrade: websocket", "Upgrade: h2c",
    "Connection: keep-alive", "Connection: upgrade", "Sec-WebSocket-Version: 99", "Sec-WebSocket-Key: x",
    "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99999", "Range: bytes=0-1,5-9,-1",
    "Accept-Encoding: gzip;q=x", "If-Modified-Since: yesterday", "Cookie: " + "a=b; " * 900,
    "Cookie: =;;=\x7f;\"",
    " folded", "no colon", ": no name", "X: \x00", "X: \r", "X" * 9000 + ": 1", "Sec-Fetch-Site: cross-site",
    "Content-Encoding: gzip", "Content-Type: multipart/form-data; boundary=" + "b" * 3000,
)  # fmt: skip
_BODIES = (
    b"",
    b"12345",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"\x00" * 50_000,
    b"GET / HTTP/1.1\r\n\r\n" * 500,
)
_TYPED = (
    "j", "k", "]", "x", "\t", "\r", "?", "\x1b", "v", "4", "5", "/", "w", "P", "o", "E", "r", "T", "C", "W",
    "p", "e", "y",
    "\x1b[200~" + "paste" * 500, "\x1b[201~", "\x1b[48;99999999;99999999;1;1t",
    "\x1b[48;99999999;9999999;0;0t",
    "\x1b[<0;999999999;999999999M", "\x1b[<64;5;5M", "\x1b[<35;;M", "\x1b[M\xff\xff\xff",
    "\x1b[999999999999u",
    "\x1b[1114112u", "\x1b[55296;1u", "\x1b[;;;;u", "\x1b[99999;99999R", "\x1b[?2026;2$y", "\x1b[?2048;2$y",
    "\x1b]52;c;" + "A" * 5000 + "\x07",
    "\x1bP" + "q" * 3000, "\x00", "\x7f", "\x80\x9b31m", "é😀\u202e\u0301", "\ud800", "\x1b\x1b\x1b",
    "\x1b[I", "\x1b[O", "\x10", "\x1a",
)  # fmt: skip
_SIZES = (
    1, 0, -1, 80, 600, 601, 10**9, 10**30, 1.5, 1e308, True, None, "80", [], {"a": 1},
)  # fmt: skip
_MALFORMED = (
    b"", b"null", b"[]", b"{}", b"[" * 60_000, b'["stdin"]', b'["stdin", 5]', b'["stdin", "x", 1]',
    b'["resize", {}]', b'"\xff"',
    b'["resize", {"width": 1e999, "height": NaN}]', b"9" * 60_000, b'["quit"]',
    b'["deliver_chunk_request", {"key": "x"}]',
    b'[["stdin"], "x"]', b'["meta", {"type": "exit"}]', b"\x00",
)  # fmt: skip


@cache
def _served() -> tuple[Served, Path]:
    """The server of this process, which ends with it, and the capture that it serves."""
    folder = Path(tempfile.mkdtemp(prefix="irscope-serve-cases-"))
    capture = write_capture(folder / "add.irscope")
    served = Served(capture, sessions=2)

    def end() -> None:
        served.stop()
        wait_until_none_left(capture)
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
    return served, capture


def request(rng: random.Random, folder: Path) -> None:
    """Sends a request that has no token, or is malformed, or both: it gets no app."""
    served, _ = _served()
    with contextlib.ExitStack() as half_open:
        for _ in range(rng.choice((0, 0, 0, 5, 30))):
            connection = half_open.enter_context(served.connect())
            with contextlib.suppress(OSError):
                connection.sendall(_head(rng, served)[: rng.randrange(60)])
        answer = _answer(rng, served)
    if answer[:5] == b"HTTP/":
        status, _, body = parse(answer)
        assert status in range(200, 500), answer[:2000]
        assert status != 101, answer[:2000]
        assert _APP not in body, answer[:2000]
    _check(served)


def _answer(rng: random.Random, served: Served) -> bytes:
    sent = _head(rng, served) + rng.choice(_BODIES)
    if rng.random() < 0.1:
        sent = bytes(rng.randrange(256) if rng.random() < 0.05 else byte for byte in sent)
    with served.connect() as connection, contextlib.suppress(OSError):
        for _ in range(rng.choice((0, 0, 3))):  # a slow sender
            cut = rng.randrange(1 + len(sent))
            connection.sendall(sent[:cut])
            sent = sent[cut:]
            time.sleep(0.001)
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        return received(connection).removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    return b""


def _head(rng: random.Random, served: Served) -> bytes:
    host = f"127.0.0.1:{served.port}" if rng.random() < 0.6 else rng.choice(_HOSTS)
    lines = [f"Host: {host}"] if rng.random() < 0.95 else []
    if rng.random() < 0.3:
        lines.append(f"Origin: {rng.choice(_ORIGINS)}")
    if rng.random() < 0.3:
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        lines.append("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
    lines += rng.choices(_LINES, k=rng.choice((0, 1, 3)))
    lines += ["X: y"] * rng.choice((0, 0, 0, 200, 4000))
    version = rng.choice(("1.1", "1.1", "1.1", "1.0", "2", "9.9", ""))
    first = f"{rng.choice(_METHODS)} {rng.choice(_TARGETS)} HTTP/{version}"
    rng.shuffle(lines)
    return ("\r\n".join([first, *lines]) + "\r\n\r\n").encode("utf-8", "replace")


def session(rng: random.Random, folder: Path) -> None:
    """Attacks an app through its websocket, with the token; then nothing of it is left."""
    served, capture = _served()
    client = served.websocket(
        f"?width={quote(str(rng.choice(_SIZES)))}&height={quote(str(rng.choice(_SIZES)))}"
    )
    if client.status != 101:
        _check(served)
        raise AssertionError(client.status)
    client.connection.settimeout(5)
    with contextlib.suppress(OSError, AssertionError):  # the server may end the session at any message
        if rng.random() < 0.8:
            client.wait_for_app()
        kinds = rng.choice((1, _WELL_FORMED))
        for _ in range(rng.choice((1, 30, 300, 2000))):
            _attack(rng, client, rng.random() * kinds)
    memory = max(app_processes(capture).values(), default=0)
    if rng.random() < 0.5:
        client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
    client.connection.close()
    wait_until_none_left(capture)
    assert memory < MAX_APP_MEGABYTES, memory
    _check(served)


def _attack(rng: random.Random, client: WebSocket, kind: float) -> None:
    """Sends a message; a kind of _WELL_FORMED or more ends the session."""
    if kind < 0.6:
        client.send("stdin", "".join(rng.choices(_TYPED, k=rng.choice((1, 1, 5, 10)))))
    elif kind < 0.9:
        client.send("resize", {"width": _size(rng), "height": _size(rng)})
    elif kind < 0.96:
        client.frame(9, b"p" * rng.randrange(126))
    elif kind < _WELL_FORMED:
        client.send("stdin", rng.choice(("x", "é", "\x1b[200~")) * rng.choice((100, 4096)))
    elif kind < 0.985:
        client.frame(1, rng.choice(_MALFORMED))
    elif kind < 0.986:
        client.send("resize", {"width": rng.choice(_SIZES), "height": rng.choice(_SIZES)})
    elif kind < 0.99:
        client.frame(rng.randrange(16), rng.randbytes(rng.randrange(200)), rng.choice((0x80, 0, 0xF0)))
    elif kind < 0.995:
        client.frame(1, json.dumps(["stdin", "x" * policy.MAX_MESSAGE * 4]).encode())
    else:
        client.frame(1, b"short", length=rng.choice((1 << 62, 1 << 63, 1 << 40)))


def _size(rng: random.Random) -> object:
    return rng.randrange(2000) if rng.random() < 0.9 else rng.choice((0, -1, 10**9, 10**30))


def _check(served: Served) -> None:
    """Raises BugError if something raised in the server, AssertionError if it does not answer."""
    status, _, body = served.get("/", Cookie=served.cookie)
    failures, served.failures.texts = served.failures.texts, []
    if failures:
        raise BugError("\n".join(failures))
    assert status == 200, status
    assert _APP in body
