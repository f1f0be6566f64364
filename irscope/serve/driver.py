"""Textual's driver for an app whose terminal is a page: WebDriver, with bounds and an end.

Input comes from a stranger, so it is read no faster than the app handles it, a size comes only from the
server, and nothing in it ends the reader. The process ends with the server, also if that was killed.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO

from textual import events, messages
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers._byte_stream import ByteStream
from textual.drivers.web_driver import WebDriver
from textual.message import Message
from textual.message_pump import MessagePump

from irscope.serve import packets

# The most events that are sent before the app has handled them, and the longest wait for that.
_AHEAD, _MOST_SECONDS = 32, 2.0
# The longest paste, in characters; more is dropped.
_MAX_PASTE = 1 << 20
# The seconds that the app has to end after the server is gone.
_GRACE = 2.0
_PIECE = 64 << 10
_ESCAPE = "\x1b"
# Half of a character, which UTF-8 cannot encode: a page can type one as the key `ESC [ 55296 u`.
_SURROGATE = re.compile("[\ud800-\udfff]")

_output = 1


def use_stdout() -> None:
    """Take stdout for packets; from now on, what is printed goes to stderr."""
    global _output  # noqa: PLW0603 - there is one stdout
    _output = os.dup(1)
    os.dup2(2, 1)


class ServedDriver(WebDriver):
    """The terminal is a page, connected by packets on stdin and stdout."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._lock, self._file_lock = threading.Lock(), threading.Lock()
        self._write = partial(self._write_all)
        self._sent = 0
        self._since_event = 0
        self._parser = XTermParser()

    def write(self, data: str) -> None:
        """Write what the app draws; a surrogate is shown as the character for unknown ones."""
        super().write(_SURROGATE.sub("\ufffd", data))

    def _write_all(self, data: bytes) -> int:
        """Write a packet, and not in between another. Nothing is written once the server is gone."""
        with self._lock:
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[os.write(_output, rest) :]
            except OSError:
                _end_soon()
        return len(data)

    def run_input_thread(self) -> None:
        """Read packets until the app ends or the server is gone."""
        stream = ByteStream()
        decode = getincrementaldecoder("utf-8")("replace").decode
        for data in self._input_reader:
            for kind, content in stream.feed(data) if data else ():
                if kind == packets.DATA.decode():
                    self._type(decode(content))
                else:
                    self._on_meta(kind, content)
            self._handle(self._parser.tick)
        if not self.exit_event.is_set():
            _end_soon()
            self._app.post_message(messages.ExitApp())

    def _type(self, text: str) -> None:
        """Types what a page sent in one message: a key, a click, or part of a paste."""
        if text == _ESCAPE and not self._since_event:
            # Not the beginning of a sequence, as it could be in a terminal: no need to wait for the rest.
            self.process_message(events.Key("escape", _ESCAPE))
            return
        self._since_event += len(text)
        if self._since_event > _MAX_PASTE:
            self._parser = XTermParser()  # it keeps a paste until its end
            self._since_event = 0
        self._handle(lambda: self._parser.feed(text))

    def _handle(self, parse: Callable[[], Iterable[Message]]) -> None:
        try:
            parsed = list(parse())
        except Exception:  # noqa: BLE001 - no terminal sends that, and the next key must work
            self._parser, parsed = XTermParser(), []
        for event in parsed:
            self._since_event = 0
            self.process_message(event)

    def process_message(self, message: Message) -> None:
        """Send an event to the app. Ignores sizes that were typed; waits for the app once in a while."""
        if isinstance(message, events.Resize | messages.InBandWindowResize):
            return
        super().process_message(message)
        self._wait_in_turn()

    def send_message(self, message: Message) -> None:
        """Send an event to the app, if that has not ended meanwhile."""
        posted = self._app._post_message(message)
        try:
            asyncio.run_coroutine_threadsafe(posted, self._loop)
        except RuntimeError:  # its event loop is closed
            posted.close()

    def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
        """Handle a size or the focus; downloads need no requests."""
        if packet_type in ("resize", "focus", "blur"):
            super().on_meta(packet_type, payload)
            self._wait_in_turn()

    def _wait_in_turn(self) -> None:
        """Wait until the app, its screen and the focused widget have handled what they got."""
        self._sent += 1
        if self._sent % _AHEAD == 0 and self._app.is_running:
            handled = threading.Event()
            nodes: list[MessagePump] = [self._app]
            if self._app._screen_stack:
                screen = self._app.screen
                nodes += [screen, *filter(None, [screen.focused])]
            _after(nodes, handled.set)
            handled.wait(_MOST_SECONDS)

    def open_url(self, url: str, new_tab: bool = True) -> None:
        """Open a page of the web in a new tab."""
        if url.startswith(("https://", "http://")):
            self.write_meta({"type": "open_url", "url": url})

    def deliver_binary(
        self,
        binary: BinaryIO | TextIO,
        *,
        delivery_key: str,
        save_path: Path,
        open_method: Literal["browser", "download"] = "download",
        encoding: str | None = None,
        mime_type: str | None = None,
        name: str | None = None,
    ) -> None:
        """Send a file to the browser, which saves it. Nothing is written on this machine."""
        binary.seek(0)
        content = binary.read()
        if isinstance(content, str):
            content = content.encode(encoding or "utf-8", "surrogateescape")
        arguments = (content, delivery_key, save_path.name, name)
        threading.Thread(target=self._send_file, args=arguments, daemon=True).start()

    def _send_file(self, content: bytes, key: str, file_name: str, name: str | None) -> None:
        with self._file_lock:
            self.write_meta({"type": "file_start", "name": file_name})
            for start in range(0, len(content), _PIECE):
                self._write(packets.packet(packets.FILE, content[start : start + _PIECE]))
            self.write_meta({"type": "file_end"})
        self._delivery_complete(key, save_path=None, name=name)


def _after(nodes: Sequence[MessagePump], callback: Callable[[], object]) -> None:
    """Call `callback` once each of the nodes, in this order, has handled its messages."""
    if not (nodes and nodes[0].call_later(lambda: _after(nodes[1:], callback))):
        callback()


def _end_soon() -> None:
    """End this process in 2 s, whatever it is doing."""
    timer = threading.Timer(_GRACE, lambda: os._exit(1))
    timer.daemon = True
    timer.start()
