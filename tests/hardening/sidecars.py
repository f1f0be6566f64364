"""Files next to a capture: named pipes, links, folders and noise where SQLite and irscope keep theirs."""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path

from tests.hardening.captures import some_capture
from tests.hardening.views import BugError, run, some_views

_NAMES = ("-journal", "-wal", "-shm", "-wal2", "-mj1")
# The seconds after which a view waits for something that never comes.
_HANGS = 60.0


def viewed(rng: random.Random, folder: Path) -> None:
    """Shows a capture that has hostile files next to it, in a process that can be ended."""
    capture = Path(shutil.copy(some_capture(rng), folder / "case.irscope"))
    for suffix in rng.sample(_NAMES, rng.randrange(1, 4)):
        _make(rng, Path(f"{capture}{suffix}"), capture)
    (words,) = some_views(rng, 1)
    _in_child(lambda: run(words, capture, folder), f"irscope {' '.join(words)}")


def _make(rng: random.Random, path: Path, capture: Path) -> None:
    match rng.randrange(8):
        case 0 | 1:
            os.mkfifo(path)
        case 2:
            path.mkdir()
        case 3:
            path.symlink_to(
                rng.choice((path, capture, Path("/dev/zero"), Path("/etc/passwd"), Path("nowhere")))
            )
        case 4:
            path.write_bytes(b"")
        case 5:
            path.write_bytes(rng.randbytes(rng.randrange(9000)))
        case 6:  # the magic of a journal, then what says which files it belongs to
            path.write_bytes(bytes.fromhex("d9d505f920a163d7") + rng.randbytes(520) + b"/etc/passwd\0")
        case _:
            with path.open("wb") as file:
                file.truncate(rng.choice((1 << 20, 1 << 40)))


def _in_child(work: object, name: str) -> None:
    """Run `work` in a forked process. Raises BugError with its traceback, or if it hangs."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        problem = ""
        try:
            work()  # type: ignore[operator]
        except BaseException:  # noqa: BLE001 - the parent raises it
            problem = traceback.format_exc()
        os.write(writer, problem.encode("utf-8", "replace")[-60_000:])
        sys.stdout.flush()
        os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + _HANGS
    try:
        while not os.waitpid(child, os.WNOHANG)[0]:
            if time.monotonic() > deadline:
                raise BugError(f"{name}: hangs for {_HANGS:g} s")
            time.sleep(0.01)
        child = 0
        if problem := os.read(reader, 65_536).decode("utf-8", "replace"):
            raise BugError(problem)
    finally:
        os.close(reader)
        if child:
            with suppress(ProcessLookupError):
                os.kill(child, 9)
            os.waitpid(child, 0)
