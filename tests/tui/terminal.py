"""A real terminal: tmux, with one window."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATIENCE_SECONDS = 30.0
# These would be taken for the size of the terminal.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}


class Terminal:
    """A tmux server of its own with one window; `more` is added to the environment of what runs in it."""

    def __init__(
        self,
        socket: Path,
        command: list[str],
        size: tuple[int, int] = (160, 50),
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", os.devnull]
        self._environment = _ENVIRONMENT | dict(more or {})
        columns, lines = map(str, size)
        start = ["new-session", "-d", "-x", columns, "-y", lines, *command]
        # `external` is tmux's default: it takes no copy from a program inside.
        self.run("start-server", ";", "set", "-s", "set-clipboard", "on", ";", *start)

    def run(self, *arguments: str) -> str:
        """Runs a tmux command; returns its output."""
        command = [*self._tmux, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=self._environment)
        return done.stdout

    def restart(self, command: list[str]) -> None:
        """Ends what runs in the window and runs something else there."""
        self.run("respawn-pane", "-k", *command)

    def press(self, *keys: str) -> None:
        """Sends keys by tmux's names."""
        self.run("send-keys", *keys)

    def type(self, text: str) -> None:
        """Sends text as it is."""
        self.run("send-keys", "-l", text)

    def screen(self) -> str:
        """The terminal's contents."""
        return self.run("capture-pane", "-p")

    @property
    def ended(self) -> bool:
        """Whether the program has ended, and with it the server."""
        has_session = [*self._tmux, "has-session"]
        return subprocess.run(has_session, capture_output=True, check=False).returncode != 0

    def wait(self, seen: Callable[[str], bool], seconds: float = PATIENCE_SECONDS) -> str:
        """The screen, as soon as it shows the expected text."""
        end = time.monotonic() + seconds
        while not seen(shown := self.screen()):
            assert time.monotonic() < end, shown
            time.sleep(0.05)
        return shown

    def close(self) -> None:
        """Ends the server and what runs in it, if it still does."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)
