"""One daemon thread for slow work, so that neither the screen nor quitting waits for it.

Notices that a source file was saved: its size, time or inode changed, and then stayed for a moment.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

Result = TypeVar("Result")


class Background:
    """Runs jobs one by one in its own event loop.

    This is not a pool of concurrent.futures, because Python waits for those at exit and a diff can take
    seconds.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._serve, name="irscope-background", daemon=True).start()

    async def run(self, job: Callable[..., Result], *arguments: Any) -> Result:
        """Return what `job(*arguments)` returns, or raise what it raises.

        The job is never started if the caller is canceled first.
        """

        async def call() -> Result:
            return job(*arguments)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), self._loop))

    def later(self, job: Callable[[], object]) -> None:
        """Run `job` after the ones before it; nobody waits for it."""
        self._loop.call_soon_threadsafe(job)

    def close(self) -> None:
        """End the thread after the current job; does not wait for it."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self) -> None:
        self._loop.run_forever()
        waiting = asyncio.all_tasks(self._loop)
        for task in waiting:  # else asyncio prints a warning for each
            task.cancel()
        if waiting:
            self._loop.run_until_complete(asyncio.wait(waiting))
        self._loop.close()


# Seconds between two looks; one takes a system call per file.
INTERVAL = 0.5

_State = tuple[tuple[int, int, int], ...]


class SourceWatch:
    """Looks at the files that a kernel is in. Editors write a file in parts, or replace it by a new one."""

    def __init__(self) -> None:
        self._files: tuple[Path, ...] = ()
        self._known: _State = ()
        self._last: _State = ()

    def follow(self, files: Iterable[Path]) -> None:
        """Look at these files from now on; those followed already keep their state."""
        before = dict(zip(self._files, self._known, strict=True))
        self._files = tuple(dict.fromkeys(files))
        self._known = self._last = tuple(before.get(file) or _state(file) for file in self._files)

    def saved(self) -> bool:
        """Return True if a file changed since this was last true, and not since the last call."""
        now = tuple(map(_state, self._files))
        settled, self._last = now == self._last, now
        if not settled or now == self._known:
            return False
        self._known = now
        return True


def _state(file: Path) -> tuple[int, int, int]:
    """Return the identity, size and time of a file, which change if it is saved; zeros for no file."""
    try:
        state = os.stat(file)  # noqa: PTH116 - Path.stat takes twice as long
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_size, state.st_mtime_ns
