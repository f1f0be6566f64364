"""The interface between the recorders and the process that writes the capture."""

from __future__ import annotations

from typing import Protocol

from irscope.capturing.messages import Answer, Question, Record

# The note of a capture without kernels.
NO_KERNEL_LAUNCHED = "this process launched no @triton.jit kernel"
# The note if the kernels ran without being compiled, so that there is nothing to capture.
INTERPRETED = "TRITON_INTERPRET is set, so that Triton compiles no kernel: run the program without it"

NEEDS_TRITON = "needs triton, which is not installed: pip install 'irscope[run]' (Linux)"


class Link(Protocol):
    """The destination of this process's records."""

    def put(self, record: Record) -> None:
        """Sends a record."""

    def ask(self, question: Question) -> Answer | None:
        """Sends a question and waits for its answer; None if the other process has ended."""
