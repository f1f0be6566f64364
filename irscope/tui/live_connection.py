"""The connection to the producer that compiles variants while the app runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from irscope.workspace.live import Event

Publish = Callable[["Event"], None]


class Producer(Protocol):
    """Compiles variants, outside the app's thread, into the capture that the app shows."""

    @property
    def name(self) -> str:
        """The kernel being compiled: FILE.py::KERNEL."""

    def begin(self, publish: Publish) -> None:
        """Plans, and compiles the variants that the capture lacks; returns at once.

        Calls `publish` with Planned, Unchanged or Refused; after Planned with the other events, Ended last.
        Compilation continues until another plan is made.
        """


class LiveConnection:
    """A producer and a queue of its events, which belongs to the app's thread."""

    # Short enough to watch; long enough that 1,000 variants from Triton's cache leave time for keys.
    _SECONDS = 0.1

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        # Whether a request has not been answered yet.
        self.requested = False
        self._events: list[Event] = []
        self._arrived = asyncio.Event()

    def request(self) -> None:
        """Asks the producer to compile the kernel as it is now."""
        self.requested = True
        loop = asyncio.get_running_loop()

        def publish(event: Event) -> None:
            with suppress(RuntimeError):  # the app has ended, and its loop is closed
                loop.call_soon_threadsafe(self._add, event)

        self.producer.begin(publish)

    async def take(self) -> Event:
        """Waits for the next event."""
        await self._arrived.wait()
        event = self._events.pop(0)
        if not self._events:
            self._arrived.clear()
        return event

    async def take_all(self) -> list[Event]:
        """Waits for at least one event; returns all that arrived."""
        await self._arrived.wait()
        await asyncio.sleep(self._SECONDS)
        events, self._events = self._events, []
        self._arrived.clear()
        return events

    def _add(self, event: Event) -> None:
        self._events.append(event)
        self._arrived.set()
