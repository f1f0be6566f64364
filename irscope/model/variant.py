"""Kernels and their variants: one variant is one compilation, kernel x specialization x config x target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irscope.model.config import Config, Value
from irscope.model.target import Target


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function's source text as it stood when it was compiled; `line` is its first, counted from 1."""

    name: str
    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """A `@triton.jit` function. `helpers` are the jit functions that it calls, directly or not."""

    id: int
    name: str
    source: SourceFunction
    helpers: tuple[SourceFunction, ...]
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Argument:
    """What the JIT compiled for in one parameter.

    `type` is Triton's ("*fp16", "i32", "tensordesc<fp16[64, 64]>", "constexpr"); `key` its
    specialization key: "D" divisible by 16, "S" within 2 GiB (hip), "" nothing known, None not
    specialized; `value` the constant where type is "constexpr".
    """

    name: str
    type: str
    key: str | None = None
    value: Value = None

    def __str__(self) -> str:
        """The argument in Triton's ahead-of-time notation."""
        if self.type == "constexpr":
            return str(self.value)
        return f"{self.type}:16" if self.key and "D" in self.key else self.type


@dataclass(frozen=True, slots=True)
class Artifact:
    """What one stage left: the content's sha256 (hex) and its size in bytes. The store has the bytes."""

    stage: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass of the compiler, as it ran.

    `stage` is the one that it is part of, `name` MLIR's own ("tritongpu-coalesce"). `artifact` is the
    module after it; None where it changed nothing.
    """

    stage: str
    name: str
    seconds: float
    artifact: Artifact | None


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a variant has no machine code.

    `kind` is the exception's class, or "timeout", "aborted" (signal), "exited". `summary` is one line;
    `message` is everything the compiler printed, whole.
    """

    kind: str
    summary: str
    message: str


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The versions a variant was compiled with, by name: triton, ptxas, python, torch, irscope."""

    id: int
    versions: Mapping[str, str]
    command: str


@dataclass(frozen=True, slots=True)
class Launch:
    """A launch as the program made it: the grid, and each run-time argument as (name, type).

    A type is the element type with the shape ("float16[512, 64]"), or a plain value as it stands.
    """

    grid: tuple[int, ...]
    arguments: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What an autotuner measured of one config, in ms: median and the 20 % and 80 % quantiles.

    `key` is the tuning key ("M=512, N=64"); `chosen` says whether the config won for it.
    """

    key: str
    ms: float
    p20: float
    p80: float
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Variant:
    """One compilation and what it left.

    `id` counts from 1 in the order of the capture (`#3` on the command line). `metadata` is Triton's
    own. `seconds` is the compile time a stage, empty where Triton's cache had it. `cache_key` names
    each component of Triton's cache key. `log` is what ptxas printed (None: not known), `output` what
    the compiler printed beside it (static_print, warnings). `reasons` is what the coalescing pass said of
    each load and store (None: not asked, see `irscope compile --reasons`).
    """

    id: int
    kernel: Kernel
    target: Target
    specialization: tuple[Argument, ...]
    config: Config
    toolchain: Toolchain
    failure: Failure | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    cache_key: Mapping[str, str] = field(default_factory=dict)
    cached: bool = False
    log: str | None = None
    output: str = ""
    reasons: str | None = None
    artifacts: Mapping[str, Artifact] = field(default_factory=dict)
    launches: tuple[Launch, ...] = ()
    benchmarks: tuple[Benchmark, ...] = ()
