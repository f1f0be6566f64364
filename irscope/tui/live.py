"""Variants that are compiled while the app looks on: what it is told of them, and whom it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from irscope.model import Kernel, Variant


@dataclass(frozen=True, slots=True)
class Planned:
    """These variants will be compiled; `kernel` is what the source says now.

    What was under way before and is not among them never will be. `notes` say what to know of the plan.
    """

    kernel: Kernel
    variants: tuple[Variant, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """The variant with this id is being compiled."""

    variant: int


@dataclass(frozen=True, slots=True)
class StageMade:
    """A variant under way has one more stage."""

    variant: int
    stage: str
    content: bytes


@dataclass(frozen=True, slots=True)
class VariantFinished:
    """A variant is compiled, or failed, and the capture has it."""

    variant: Variant


@dataclass(frozen=True, slots=True)
class Unchanged:
    """There is nothing to compile that the last plan did not have; `words` say so."""

    words: str


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no plan, or no way to go on with it: what is wrong."""

    problem: str


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing is under way any more."""


Event = Planned | Started | StageMade | VariantFinished | Unchanged | Refused | Ended
Tell = Callable[[Event], None]


class Producer(Protocol):
    """Who compiles. It works outside the app's thread and writes into the capture that the app shows."""

    @property
    def name(self) -> str:
        """What is compiled: FILE.py::KERNEL."""

    def begin(self, tell: Tell) -> None:
        """Plans, and compiles what the capture lacks; returns at once.

        Answers with one of Planned, Unchanged and Refused. After Planned come the others, Ended last.
        What is under way goes on until there is another plan.
        """


class Live:
    """A producer and what it told; its events are handed over to the app's own thread."""

    # Often enough to be watched; seldom enough that 1,000 variants from a cache leave time for keys.
    _SECONDS = 0.1

    def __init__(self, producer: Producer) -> None:
        self.producer = producer
        self.asked = False  # and not answered yet
        self._events: list[Event] = []
        self._arrived = asyncio.Event()

    def ask(self) -> None:
        """Has it compile what there is to compile now."""
        self.asked = True
        loop = asyncio.get_running_loop()

        def tell(event: Event) -> None:
            with suppress(RuntimeError):  # the app has ended, and its loop is closed
                loop.call_soon_threadsafe(self._add, event)

        self.producer.begin(tell)

    async def take(self) -> Event:
        """The next event; waits for it."""
        await self._arrived.wait()
        event = self._events.pop(0)
        if not self._events:
            self._arrived.clear()
        return event

    async def take_all(self) -> list[Event]:
        """The next events, one at least; waits for them."""
        await self._arrived.wait()
        await asyncio.sleep(self._SECONDS)
        events, self._events = self._events, []
        self._arrived.clear()
        return events

    def _add(self, event: Event) -> None:
        self._events.append(event)
        self._arrived.set()
