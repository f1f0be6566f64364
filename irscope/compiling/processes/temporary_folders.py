"""Temporary folders that are removed even if the process is killed.

Python removes a temporary folder when its block ends, which kill -9, a time limit or SIGTERM prevent. A small
process (folder_keeper.py), which is started with the first folder and gets no signal, removes what is left.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_KEEPER = Path(__file__).with_name("folder_keeper.py")


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[str]:
    """Make a temporary folder for the block; in `parent`, not with other temporary files, if there is one."""
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True) as folder:
        _keeper.tell(b"+", folder)
        try:
            yield folder
        finally:
            _keeper.tell(b"-", folder)


def remove_at_end(folder: str) -> None:
    """Have a folder removed once this process has ended."""
    _keeper.tell(b"+", folder)


class _Keeper:
    """The pipe to the process that removes the folders of this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._started = False

    def tell(self, what: bytes, folder: str) -> None:
        """Add a folder (`+`), or say that this process has removed it (`-`)."""
        # Where a sandbox refuses the process, a killed process leaves its folders.
        with self._lock, suppress(OSError, ValueError):
            if not self._started:
                self._started = True
                self._process = _start()
            if self._process is not None and self._process.stdin is not None:
                name = os.fsencode(Path(folder).absolute())
                self._process.stdin.write(what + name + b"\0")

    def forget(self) -> None:
        """Leave the folders to the process that made them, in one forked from it."""
        self._lock = threading.Lock()
        self._close_pipe()
        if self._process is not None:
            self._process.returncode = 0  # it is no child of this process
        self._process, self._started = None, False

    def end(self) -> None:
        """End the process, which has nothing left to do."""
        self._close_pipe()
        if self._process is not None:
            self._process.wait()

    def _close_pipe(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError, ValueError):
                self._process.stdin.close()


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", _KEEPER],
        # A buffered pipe has a lock. A process forked while another thread writes could never close it.
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


_keeper = _Keeper()
atexit.register(_keeper.end)
os.register_at_fork(after_in_child=_keeper.forget)
