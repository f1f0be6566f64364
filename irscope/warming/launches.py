"""The part of a build of a warm folder that may add varied and pinned launches, as the build sees it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from irscope.model import Target


class Launches(Protocol):
    """Adds to a build what inputs need beyond the variants that they launch: varied launches, pinned choices.

    `notes` and `problems` are lines for the user.
    """

    notes: list[str]
    problems: list[str]

    def input(self, name: str) -> AbstractContextManager[None]:
        """Surrounds the run of a program, which is the input with this name."""

    def add_launched(self, capture: Path, name: str) -> None:
        """Adds to the build what a program needs beyond its own launches, which are in this capture."""

    def add_capture(self, capture: Path, name: str) -> frozenset[tuple[str, Target]]:
        """Adds to the build; returns kernels and targets whose own variants in the capture are not needed."""

    def finish(self, done: set[str]) -> dict[str, tuple[str, ...]]:
        """The files with autotuned choices and their inputs, after the inputs in `done` were built again."""
