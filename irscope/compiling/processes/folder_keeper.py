"""Removes the temporary folders of a process that was killed; see temporary_folders.py.

It reads, from the pipe that is its input, `+PATH` and a NUL for each folder that the process makes, `-PATH`
and a NUL for each that the process has removed itself. The end of the stream is the end of the process: what
is left is removed. It is started as `python -I -S folder_keeper.py`.
"""

from __future__ import annotations

import shutil
import signal
import sys
import time
from pathlib import Path

# A process that is being killed may write into its folder for a moment, in seconds.
_PATIENCE, _PAUSE = 5.0, 0.05


def main() -> None:
    """Serve one process."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    folders: dict[bytes, None] = {}
    for word in sys.stdin.buffer.read().split(b"\0"):
        if word[:1] == b"+":
            folders[word[1:]] = None
        elif word[:1] == b"-":
            folders.pop(word[1:], None)
    deadline = time.monotonic() + _PATIENCE
    for folder in map(_path, folders):
        while folder.exists() and time.monotonic() < deadline:
            shutil.rmtree(folder, ignore_errors=True)
            if folder.exists():
                time.sleep(_PAUSE)


def _path(name: bytes) -> Path:
    return Path(name.decode(errors="surrogateescape"))


if __name__ == "__main__":
    main()
