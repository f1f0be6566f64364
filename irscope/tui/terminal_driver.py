"""Textual's driver for terminals, which tells text that is pasted from keys that are pressed.

Most terminals mark pasted text (bracketed paste). Without the marks, each character of a pasted text would be
a command: a q quits, an A starts an editor.
"""

from __future__ import annotations

import os
import select
import time
from codecs import getincrementaldecoder
from itertools import groupby

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

_BYTES = 4096
# How long one look for input takes at most, so that the thread sees the end of the app.
_LOOK_SECONDS = 0.1
# As many different keys never arrive at once from a keyboard, not even over a slow connection.
_MOST_KEYS = 16
# What follows a pasted text so soon is the rest of it.
_REST_SECONDS = 0.05
# The keys whose prompt takes what is typed ahead: a path, a query, values.
_OPENING_PROMPTS = "/:F\\w+UP"


class TerminalDriver(LinuxDriver):
    """Reports many characters that arrive at once as one pasted text."""

    def run_input_thread(self) -> None:
        """Reports what is typed and pasted until the app ends."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")(errors="replace").decode
        pasted_at = 0.0
        while not self.exit_event.is_set():
            readable, _, _ = select.select([self.fileno], [], [], _LOOK_SECONDS)
            text = decode(os.read(self.fileno, _BYTES)) if readable else ""
            is_rest = "\x1b" not in text and time.monotonic() - pasted_at < _REST_SECONDS
            if text and (is_rest or is_pasted(text)):
                pasted_at = time.monotonic()
                self.process_message(events.Paste(text.replace("\r", "\n").replace("\x00", "")))
            elif text:
                for event in parser.feed(text):
                    self.process_message(event)
            for event in parser.tick():
                self.process_message(event)


def is_pasted(text: str) -> bool:
    """Return True if characters that arrived at once are a text, and not keys.

    Not a key that is held down, and not a line typed ahead into the prompt that its first key opens.
    """
    if "\x1b" in text or sum(1 for _ in groupby(text)) < _MOST_KEYS:
        return False
    is_line = len(text.rstrip("\r\n").split()) == 1
    return not (is_line and text[0] in _OPENING_PROMPTS)
