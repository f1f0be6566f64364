"""The connection to the producer that compiles variants while the app runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from irscope.workspace.live import Event, Publish
    from irscope.workspace.what_if import PassRequest, StageEdit, WhatIf


class Producer(Protocol):
    """Compiles variants, outside the app's thread, into the capture that the app shows."""

    @property
    def name(self) -> str:
        """Return the kernel being compiled: FILE.py::KERNEL."""

    @property
    def files(self) -> Sequence[Path]:
        """Return the files that the user named."""

    def begin(self, publish: Publish) -> None:
        """Plans, and compiles the variants that the capture lacks; returns at once.

        Calls `publish` with Planned, Unchanged or Refused; after Planned with the other events, Ended last.
        Compilation continues until another plan is made.
        """

    def add_options(self, options: str) -> str:
        """Take options of `irscope compile` for the next plan; returns the problem with them, "" if none."""


class VariantCompiler(Protocol):
    """Compiles single variants again with other values, outside the app's thread: see WhatIf."""

    @property
    def trusted(self) -> Path | None:
        """Return the file that the user named to be compiled; None if each file needs consent."""

    def prepare(self) -> None:
        """Start to load the compiler, but execute no file; returns at once."""

    def begin(self, what_if: WhatIf, publish: Publish) -> None:
        """Compiles the variants of a what-if, which executes its file; returns at once.

        Calls `publish` with Added or NotAdded, then with the events of each variant.
        """

    def record_passes(self, request: PassRequest, publish: Publish) -> None:
        """Compiles a variant once more with its passes, which executes its file; returns at once.

        Calls `publish` with PassesRecorded or PassesRefused.
        """

    def edit(self, edit: StageEdit, publish: Publish) -> None:
        """Build a variant from an edited stage, which executes no file; returns at once.

        Calls `publish` with Added and VariantFinished, or with EditRejected or NotAdded.
        """


class EventQueue:
    """The events of compilations that other threads publish; it belongs to the app's thread."""

    # Short enough to watch; long enough that 1,000 variants from Triton's cache leave time for keys.
    _SECONDS = 0.1

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._arrived = asyncio.Event()

    def publisher(self) -> Publish:
        """Return a function that other threads call with events."""
        loop = asyncio.get_running_loop()

        def publish(event: Event) -> None:
            with suppress(RuntimeError):  # the app has ended, and its loop is closed
                loop.call_soon_threadsafe(self._add, event)

        return publish

    async def take(self) -> Event:
        """Wait for the next event."""
        await self._arrived.wait()
        event = self._events.pop(0)
        if not self._events:
            self._arrived.clear()
        return event

    async def take_all(self) -> list[Event]:
        """Wait for at least one event; returns all that arrived."""
        await self._arrived.wait()
        await asyncio.sleep(self._SECONDS)
        events, self._events = self._events, []
        self._arrived.clear()
        return events

    def _add(self, event: Event) -> None:
        self._events.append(event)
        self._arrived.set()


class LiveConnection(EventQueue):
    """A producer and the queue of its events."""

    def __init__(self, producer: Producer) -> None:
        super().__init__()
        self.producer = producer
        # Whether a request has not been answered yet.
        self.requested = False

    def request(self) -> None:
        """Asks the producer to compile the kernel as it is now."""
        self.requested = True
        self.producer.begin(self.publisher())
