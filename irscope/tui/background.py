"""One daemon thread for slow work, so that neither the screen nor quitting waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
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
        """Returns what `job(*arguments)` returns, or raises what it raises.

        The job is never started if the caller is canceled first.
        """

        async def call() -> Result:
            return job(*arguments)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), self._loop))

    def later(self, job: Callable[[], object]) -> None:
        """Runs `job` after the ones before it; nobody waits for it."""
        self._loop.call_soon_threadsafe(job)

    def close(self) -> None:
        """Ends the thread after the current job; does not wait for it."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self) -> None:
        self._loop.run_forever()
        waiting = asyncio.all_tasks(self._loop)
        for task in waiting:  # else asyncio prints a warning for each
            task.cancel()
        if waiting:
            self._loop.run_until_complete(asyncio.wait(waiting))
        self._loop.close()
