"""Delivers keys, pastes and clicks one by one, each after the one before it has had its effect.

Textual gives a key to the panel that has the focus when it arrives. Of `:5`, typed quickly, the `5` would
reach the texts before the `:` opened its prompt, and a second Enter would answer a prompt that is closed.
Keys that come one at a time wait for nothing: only a burst is queued.

Textual's driver for terminals, which tells text that is pasted from keys that are pressed.

Most terminals mark pasted text (bracketed paste). Without the marks, each character of a pasted text would be
a command: a q quits, an A starts an editor.
"""

from __future__ import annotations

import asyncio
import os
import select
import time
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import groupby
from typing import Any

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.command import CommandPalette
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message_pump import MessagePump
from textual.screen import ModalScreen
from textual.widgets import Input
from textual.worker import WorkerState

# If a key has not had its effect after this time, the next one is delivered all the same.
_PATIENCE_SECONDS = 5.0
# After this time, the queue looks only now and then whether a key has had its effect.
_SPINNING_SECONDS = 0.02
# How often the queue looks whether the dialog that is about to open is there.
_DIALOG_SECONDS = 0.01
_LOOKING_SECONDS = 0.002
# A key has had its effect if every panel waits for messages so many times in a row.
_QUIET_ROUNDS = 3
# These quit at once, whatever waits.
_URGENT = ("ctrl+c", "ctrl+q")
# These are delivered in their order, but nothing waits for their effect.
_PASSING = (events.MouseMove, events.MouseScrollDown, events.MouseScrollUp)


class InputQueue:
    """The keys, pastes and clicks that `app` has not handled yet."""

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._waiting: deque[events.Event] = deque()
        self._delivered: events.Event | None = None
        self._delivery: asyncio.Task[None] | None = None
        self._holds = 0
        # True while what a key changed in one panel may still change another: then all is drawn at once.
        self.is_settling = False

    def admits(self, event: events.Event) -> bool:
        """Return True if `event` is to be handled now; otherwise queue it, unless it is no input."""
        is_input = isinstance(event, events.InputEvent | events.Paste) and not event.is_forwarded
        if not is_input or event is self._delivered:
            return True
        if isinstance(event, events.Key) and event.key in _URGENT:
            return True
        if isinstance(event, _PASSING) and self.is_idle:
            return True
        self._waiting.append(event)
        self._start()
        return False

    def deliver_next(self, event: events.Event) -> None:
        """Deliver `event` before those that wait."""
        self._waiting.appendleft(event)
        self._start()

    @property
    def is_idle(self) -> bool:
        """True if every key has had its effect."""
        return self._delivery is None

    @property
    def is_empty(self) -> bool:
        """True if no key waits behind the one that is being handled."""
        return not self._waiting

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the keys back while no dialog is open: they are for the dialog that is about to open."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1

    def _start(self) -> None:
        if self._delivery is None:
            self._delivery = asyncio.create_task(self._deliver())

    async def _deliver(self) -> None:
        try:
            while self._waiting and self._app.is_running:
                self._delivered = event = self._waiting.popleft()
                self._app.post_message(event)
                if not isinstance(event, _PASSING):
                    self.is_settling = self.is_empty
                    try:
                        await self._effect()
                    finally:
                        self._settle()
        finally:
            self._delivery = None

    async def _effect(self) -> None:
        """Wait until all that was posted for the last key is handled, and its dialog is open."""
        start = time.monotonic()
        quiet = 0
        while quiet < _QUIET_ROUNDS and self._app.is_running:
            passed = time.monotonic() - start
            if passed > _PATIENCE_SECONDS:
                return
            if passed > _SPINNING_SECONDS:
                self._settle()
            if self._holds and not isinstance(self._app.screen, ModalScreen):
                # What the dialog needs is prepared in another thread, which gets the processor meanwhile.
                await asyncio.sleep(_DIALOG_SECONDS)
                quiet = 0
                continue
            quiet = 0 if self._is_busy() else quiet + 1
            await asyncio.sleep(0 if passed < _SPINNING_SECONDS else _LOOKING_SECONDS)

    def _settle(self) -> None:
        """Draw what has changed."""
        if self.is_settling:
            self.is_settling = False
            for screen in self._app.screen_stack:
                screen.check_idle()

    def _is_busy(self) -> bool:
        """Return True if a panel has a message to handle or handles one, or a command is about to run."""
        screen = self._app.screen
        return (
            any(not _waits(pump) for pump in self._pumps())
            or any(worker.state is WorkerState.PENDING for worker in self._app.workers)
            # Enter runs the first command that the palette lists.
            or (
                isinstance(screen, CommandPalette)
                and any(worker.node is screen and worker.is_running for worker in self._app.workers)
            )
        )

    def _pumps(self) -> Iterator[MessagePump]:
        """Yield what handles messages: also lower screens, which get the answers of dialogs over them."""
        stack = self._app.screen_stack
        yield self._app
        yield from stack
        if stack:
            yield from stack[-1].walk_children()


def _waits(pump: MessagePump) -> bool:
    """Return True if a panel waits for its next message: it has handled all before, with what they called."""
    ready: Any = pump._message_queue.ready_event
    return not pump.message_queue_size and bool(ready._waiters)


class InputApp(App[None]):
    """An app that handles keys, pastes and clicks one by one."""

    def __init__(self) -> None:
        super().__init__()
        self.input = InputQueue(self)

    def get_driver_class(self) -> type[Driver]:
        """Return Textual's driver; for a terminal, one that does not take pasted text for keys."""
        chosen = super().get_driver_class()
        if chosen.__name__ != "LinuxDriver":  # Windows, a browser
            return chosen

        return TerminalDriver

    async def on_paste(self, event: events.Paste) -> None:
        """Says that text pasted into a panel does nothing."""
        from textual.widgets import TextArea  # no screen has one at the first paint

        if not isinstance(self.focused, Input | TextArea):
            self.notify("Pasted text runs no commands; open a prompt first, as with / or :", timeout=4)

    async def on_event(self, event: events.Event) -> None:
        """Handle what happens to the app; input waits for its turn."""
        if self.input.admits(event):
            await super().on_event(event)


def hold_input(app: App[object]) -> AbstractContextManager[None]:
    """Hold the keys back while no dialog of `app` is open: they are for the dialog that is about to open."""
    return app.input.hold() if isinstance(app, InputApp) else nullcontext()


_BYTES = 4096
# How long one look for input takes at most, so that the thread sees the end of the app.
_LOOK_SECONDS = 0.1
# As many different keys never arrive at once from a keyboard, not even over a slow connection.
_MOST_KEYS = 16
# What follows a pasted text so soon is the rest of it.
_REST_SECONDS = 0.05
# Begins what a terminal writes before and after a pasted text, if it marks it.
_PASTE_MARK = "\x1b[20"
# The keys whose prompt takes what is typed ahead: a path, a query, values.
_OPENING_PROMPTS = "/:F\\w+UP"


class TerminalDriver(LinuxDriver):
    """Reports many characters that arrive at once as one pasted text."""

    def run_input_thread(self) -> None:
        """Report what is typed and pasted until the app ends."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        pasted_at = 0.0
        while not self.exit_event.is_set():
            text = ""
            if select.select([self.fileno], [], [], _LOOK_SECONDS)[0]:
                try:
                    content = os.read(self.fileno, _BYTES)
                except OSError:
                    content = b""
                if not content:  # the terminal was closed
                    self._app.call_later(self._app.exit)
                    return
                text = decode(content)
            # A key such as Escape may follow a pasted text in one read.
            head = "" if _PASTE_MARK in text else text.partition("\x1b")[0]
            if head and (time.monotonic() - pasted_at < _REST_SECONDS or is_pasted(head)):
                pasted_at = time.monotonic()
                self.process_message(events.Paste(head.replace("\r", "\n").replace("\x00", "")))
                text = text.removeprefix(head)
            if text:
                for event in parser.feed(text):
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)


def is_pasted(text: str) -> bool:
    """Return True if characters that arrived at once are a text, and not keys.

    Not a key that is held down, and not a line typed ahead into the prompt that its first key opens.
    """
    if sum(1 for _ in groupby(text)) < _MOST_KEYS:
        return False
    is_line = len(text.rstrip("\r\n").split()) == 1
    return not (is_line and text[0] in _OPENING_PROMPTS)
