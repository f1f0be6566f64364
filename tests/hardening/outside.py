"""Notices what this process writes outside of the folders that it may write to, with an audit hook."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events whose first arguments are paths that change (Python, "Audit events table").
_CHANGES = {
    **{"os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.truncate": 1, "os.chmod": 1, "os.chown": 1},
    **{"os.rename": 2, "os.link": 2, "os.symlink": 2, "os.utime": 1},
}


class OutsideWrites:
    """The writes of this process, from now on, outside of `allowed`; `take` returns and forgets them."""

    def __init__(self) -> None:
        self.allowed: tuple[str, ...] = ()
        self._found: list[str] = []
        sys.dont_write_bytecode = True
        sys.addaudithook(self._hook)

    def take(self) -> list[str]:
        """Return what was written outside since the last call."""
        found, self._found = self._found, []
        return found

    def _hook(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING:
                self._check(event, path)
        elif event in _CHANGES:
            # A symbolic link may name anything; only the second path is made.
            for path in arguments[event == "os.symlink" : _CHANGES[event]]:
                self._check(event, path)

    def _check(self, event: str, path: object) -> None:
        if not self.allowed or isinstance(path, int) or path is None:
            return
        try:
            place = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]
        except (ValueError, TypeError):
            return
        # A name without a folder may belong to an open folder (dir_fd), as in rmtree.
        if Path(os.fsdecode(path)).name == os.fsdecode(path) or place.startswith(("/dev/", "/proc/")):  # type: ignore[arg-type]
            return
        # A temporary file without a name opens its folder.
        if not f"{place}{os.sep}".startswith(self.allowed):
            self._found.append(f"{event} {place}")
