"""One daemon thread for work that takes long, so that the screen never waits and quitting never does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


class Background:
    """Runs jobs one after the other, in an event loop of its own.

    Not a pool of concurrent.futures: Python waits for those at exit, and a diff can take seconds.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._serve, name="irscope-background", daemon=True).start()

    async def run(self, job: Callable[..., Result], *arguments: Any) -> Result:
        """What `job(*arguments)` returns or raises; never started where the caller is cancelled first."""

        async def call() -> Result:
            return job(*arguments)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call(), self._loop))

    def close(self) -> None:
        """Ends the thread after the job under way; does not wait for it."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self) -> None:
        self._loop.run_forever()
        self._loop.close()
