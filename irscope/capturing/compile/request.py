"""What passes between the command, the planner and the workers: plain data, no triton in sight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irscope.model import Argument, Config, Failure, SourceFunction, Target, Value
from irscope.store.writer import NewPass


@dataclass(frozen=True, slots=True)
class SweepRequest:
    """What the user asked to compile.

    `kernel` may be None where the file has just one. `axes` are the `--config` names with their values:
    the product of all, laid over the configs of `@triton.autotune` where the kernel has them.
    `reasons` asks the coalescing pass for its own, `passes` for the compiler's passes one by one.
    """

    file: Path
    kernel: str | None
    signature: str | None
    constants: Mapping[str, Value]
    axes: Mapping[str, tuple[Value, ...]]
    targets: tuple[Target, ...]
    reasons: bool = False
    passes: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One variant to compile.

    `group` is the same for jobs that differ in num_stages alone: they often come out equal at TTGIR,
    and one worker that has them all compiles the rest once. `reasons` asks the coalescing pass for its
    own, `passes` for the compiler's passes one by one; they then run even where Triton's cache has the
    variant.
    """

    file: Path
    kernel: str
    target: Target
    specialization: tuple[Argument, ...]
    config: Config
    group: int
    reasons: bool = False
    passes: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The jobs of a request, and the kernel and toolchain they belong to.

    `notes` say what the user should know of how the request was read (a prune function that is not
    run, say).
    """

    source: SourceFunction
    helpers: tuple[SourceFunction, ...]
    parameters: tuple[str, ...]
    versions: Mapping[str, str]
    jobs: tuple[Job, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What became of a job, filled as its stages come; the fields are those of `store.NewVariant`."""

    artifacts: dict[str, bytes] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    cache_key: dict[str, str] = field(default_factory=dict)
    cached: bool = False
    log: str | None = None
    output: str = ""
    reasons: str | None = None
    passes: tuple[NewPass, ...] = ()
    failure: Failure | None = None
