"""The jobs of the processes that compile for an autotuner, and their results, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from irscope.capturing.compile.worker import failure_of
from irscope.model import Failure, Launch, Variant
from irscope.toolchain.job import Job
from irscope.toolchain.source_text import SourceText


class DeferredText:
    """The text of a candidate, generated when its job is sent: workers compile while others are generated."""

    def __init__(self, generate: Callable[[], SourceText]) -> None:
        self._generate = generate

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as the SourceText, or as the Failure of generating it."""
        try:
            return _same, (self._generate(),)
        except Exception as error:  # noqa: BLE001 - the kernel's own code
            return _same, (failure_of(error),)


def _same(value: SourceText | Failure) -> SourceText | Failure:
    return value


@dataclass(frozen=True, slots=True)
class CandidateJob(Job):
    """One candidate of an autotuner: allocates its memory or, if `launch` is given, compiles it.

    `number` is its place among the candidates. `options` are the backend's parsed options, `most_shared`
    the bytes of shared memory that a block may have.
    """

    number: int = 0
    text: DeferredText | SourceText | Failure = field(default_factory=lambda: Failure("", "", ""))
    options: Any = None
    most_shared: int | None = None
    launch: Launch | None = None


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled candidate: the variant, its facts (`facts.measure.to_json`), and the estimated time.

    `microseconds` is None if the candidate could not be estimated; `note` says why. `bound` is what limits
    it ("memory").
    """

    variant: Variant
    facts: Mapping[str, Any]
    microseconds: float | None = None
    bound: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class CandidateResult:
    """The result of checking or compiling a candidate.

    `problem` says why it cannot be launched (None: it can), `failure` why it has no result.
    """

    problem: str | None = None
    failure: Failure | None = None
    compiled: Compiled | None = None
