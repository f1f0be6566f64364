"""Why a stage, or a program of it, could not be executed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irscope.interpreting.stage_program import Op


class UnansweredError(Exception):
    """The machine cannot go on; the message says why, and `step` is the operation, if known."""

    def __init__(self, reason: str, step: Op | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.step = step
