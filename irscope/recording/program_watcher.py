"""Kills the program of `irscope run` if irscope itself is killed: on Linux and macOS alike.

A program is not moved to a process group or given a thread for that, which it could notice. This small
process waits instead, with one end of a socket of which only irscope has the other: it reads the number of
the program's process, then either a byte, if the program has ended, or the end of the stream, if irscope
has. It is started as `python -I -S program_watcher.py FD`.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress


def main(descriptor: int) -> None:
    """Serve one program."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    process = b""
    while not process.endswith(b"\n"):
        read = os.read(descriptor, 1)
        if not read:
            return
        process += read
    if os.read(descriptor, 1):
        return
    with suppress(ProcessLookupError):
        os.kill(int(process), signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]))
