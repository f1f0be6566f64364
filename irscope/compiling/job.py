"""The compiler's input and output as plain data: a job, and the outcome, which it reports in pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from irscope.model import Argument, Config, Dtype, Failure, Target, parse_value
from irscope.model.records import frozen
from irscope.model.stage import pass_name
from irscope.store.encoding import Blob, pack, unpack
from irscope.store.new_variant import NewPass, NewVariant

# The error if a constexpr should have been an object and is a string.
_STRING_USED = "'str' object has no attribute"


@frozen
class Job:
    """One variant to compile.

    Jobs that differ only in num_stages share a `group`: their TTGIR is often identical, and a worker that
    gets the whole group compiles the later stages once. `reasons` records the coalescing pass's debug
    output, `passes` each compiler pass; both make the passes run even if Triton's cache has the variant.
    `environment` has the components of Triton's cache key that are known before the compilation.
    `expressions` are the texts from which constexpr values were evaluated. `problem` says why the variant
    cannot be compiled, if that is known before.
    """

    file: Path
    kernel: str
    target: Target
    specialization: tuple[Argument, ...]
    config: Config
    group: int
    reasons: bool = False
    passes: bool = False
    environment: tuple[tuple[str, str], ...] = ()
    expressions: tuple[str, ...] = ()
    problem: str = ""


def job_group(groups: dict[object, int], config: Config, *shared: object) -> int:
    """Return the group of a job (see `Job`); `shared` is what its jobs share beside the config."""
    rest = tuple(pair for pair in config.values if pair[0] != "num_stages")
    return groups.setdefault((*shared, rest), len(groups))


@dataclass(slots=True)
class PassLog:
    """The passes of one compilation that were reported so far."""

    passes: tuple[NewPass, ...] = ()

    def add(self, entry: NewPass) -> None:
        """Append a pass that begins; replaces it with the complete entry when it ends."""
        before = self.passes[:-1] if self.running else self.passes
        self.passes = (*before, entry)

    @property
    def running(self) -> str | None:
        """Return the pass that has begun but not ended: after a failed compilation, the one that failed."""
        last = self.passes[-1] if self.passes else None
        return last.name if last is not None and last.name and not last.seconds else None


def with_failed_pass(failure: Failure, passes: PassLog) -> Failure:
    """Prefix the failure's summary with the pass that was running, if any."""
    if passes.running is None:
        return failure
    return replace(failure, summary=f"in pass {pass_name(passes.running)}: {failure.summary}")


def with_dtype_hint(failure: Failure, job: Job) -> Failure:
    """Name the constexpr that looks like a type in the summary, if a string was used as an object.

    A word is a string (`DT=fp16`), and the compiler reads attributes of it: 'str' object has no
    attribute. Any other failure is returned as it is.
    """
    if _STRING_USED not in failure.summary:
        return failure
    constants = {argument.name: argument.value for argument in job.specialization} | dict(job.config.values)
    for name, value in constants.items():
        dtype = parse_value(f"tl.{value}") if isinstance(value, str) else None
        if isinstance(dtype, Dtype):
            hint = f"{name}={value} is a string; the element type is {dtype.attribute}"
            return replace(failure, summary=f"{failure.summary} ({hint})")
    return failure


@dataclass(slots=True)
class Outcome:
    """The result of a job; the fields are those of `store.NewVariant`.

    The compiler reports it piece by piece: each event is an outcome with only what is new, for example a
    stage, or a pass that has begun (no seconds yet) or ended; see `PassLog`. A stage without seconds comes
    from another variant or Triton's cache.
    """

    artifacts: dict[str, bytes | Blob] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    cache_key: dict[str, str] = field(default_factory=dict)
    cached: bool = False
    log: str | None = None
    output: str = ""
    reasons: str | None = None
    passes: tuple[NewPass, ...] = ()
    failure: Failure | None = None
    attachments: dict[str, bytes | Blob] = field(default_factory=dict)

    def content(self, stage: str) -> bytes | None:
        """Return the content of a stage, or None if it was not compiled."""
        artifact = self.artifacts.get(stage)
        return None if artifact is None else unpack(artifact)

    def packed(self) -> Outcome:
        """Return the outcome with all contents compressed as in a capture: a fifteenth of the bytes."""
        return replace(
            self,
            artifacts={stage: pack(content) for stage, content in self.artifacts.items()},
            attachments={name: pack(content) for name, content in self.attachments.items()},
            passes=tuple(
                entry if entry.content is None else replace(entry, content=pack(entry.content))
                for entry in self.passes
            ),
        )

    def add(self, event: Outcome) -> None:
        """Add what an event reports."""
        for name in ("artifacts", "seconds", "metadata", "cache_key", "attachments"):
            getattr(self, name).update(getattr(event, name))
        log = PassLog(self.passes)
        for entry in event.passes:
            log.add(entry)
        self.passes = log.passes
        self.cached |= event.cached
        self.log = self.log if event.log is None else event.log

    def added_to(self, variant: NewVariant) -> NewVariant:
        """Return `variant` with everything in this outcome."""
        values = {outcome_field.name: getattr(self, outcome_field.name) for outcome_field in fields(self)}
        # A compilation that ended before its key was computed keeps the known part of the key, and one that
        # failed keeps its source stages.
        merged_names = ("cache_key", "artifacts", "metadata", "attachments")
        merged = {name: {**getattr(variant, name), **values[name]} for name in merged_names}
        return replace(variant, **values | merged)


# Takes each event as it happens.
Emit = Callable[[Outcome], None]
