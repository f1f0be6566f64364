"""Kernels and their variants: one variant is one compilation, kernel x specialization x config x target."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from irscope.model.environment import environment_of
from irscope.model.frozen_value import FrozenValue
from irscope.model.object_values import literal
from irscope.model.target import Target
from irscope.model.tuning_config import Config, Value, parse_value

if TYPE_CHECKING:
    from irscope.model.edit import Edit
    from irscope.model.origin import Origin

# The files of Triton's library of jit functions: tl.sum, tl.cdiv, Gluon's.
_OF_TRITON = re.compile(r"[/\\]triton[/\\](?:language|experimental)[/\\]")
# The entries of `Variant.metadata` that have the edit and the origin, which few variants have; Triton has no
# such names. A variant with an edit is also named by the first.
EDIT, ORIGIN = "edit", "origin"
# Triton's metadata that a launch depends on.
LAUNCH_METADATA = ("num_ctas", "cluster_dims", "launch_cooperative_grid", "launch_pdl", "tmem_size")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SourceFunction(FrozenValue):
    """A function when it was compiled.

    `name` is its Python name, `file` the path it was read from, `text` its source, decorators included.
    `line` is the first line of the text in the file, counted from 1.
    """

    name: str
    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Kernel(FrozenValue):
    """A `@triton.jit` function.

    `id` counts from 1 in the capture. `name` is its Python name, `source` its text and place. `helpers` are
    the jit functions that it calls, directly or indirectly. `parameters` are the names of its parameters,
    constexprs included.
    """

    id: int
    name: str
    source: SourceFunction
    helpers: tuple[SourceFunction, ...]
    parameters: tuple[str, ...]

    @property
    def own_functions(self) -> tuple[SourceFunction, ...]:
        """The kernel and the helpers that are not Triton's own, which differ between versions of Triton."""
        helpers = (each for each in self.helpers if not _OF_TRITON.search(each.file))
        return self.source, *helpers

    @property
    def library_functions(self) -> tuple[SourceFunction, ...]:
        """The helpers of Triton's own library: `tl.cdiv`, `tl.sum`."""
        return tuple(each for each in self.helpers if _OF_TRITON.search(each.file))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Argument(FrozenValue):
    """The specialization of one parameter.

    `name` is the parameter. `type` is Triton's ("*fp16", "i32", "tensordesc<fp16[64, 64]>", "constexpr");
    `key` its specialization key: "D" divisible by 16, "S" within 2 GiB (hip), "" nothing known, None not
    specialized; `value` the constant if the type is "constexpr".
    """

    name: str
    type: str
    key: str | None = None
    value: Value = None

    def __str__(self) -> str:
        """The argument in Triton's ahead-of-time notation."""
        if self.type == "constexpr":
            return literal(self.value) if isinstance(self.value, tuple) else str(self.value)
        return f"{self.type}:16" if self.key and "D" in self.key else self.type


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Artifact(FrozenValue):
    """The output of one stage; `Capture.content` reads it.

    `stage` is the name of the stage. `digest` is the SHA-256 of the content in hexadecimal, `size` its bytes.
    """

    stage: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pass(FrozenValue):
    """One pass of the compiler, as it ran.

    `stage` is the stage that it is part of, `name` its name in MLIR ("tritongpu-coalesce"). `artifact` is
    the module after it; None if it changed nothing.
    """

    stage: str
    name: str
    seconds: float
    artifact: Artifact | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Failure(FrozenValue):
    """Why a variant has no machine code.

    `kind` is the exception's class, or "timeout", "aborted" (signal), "exited". `summary` is one line;
    `message` is everything that the compiler printed.
    """

    kind: str
    summary: str
    message: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Toolchain(FrozenValue):
    """The versions and the command that compiled a variant.

    `id` counts from 1 in the capture. `versions` maps triton, ptxas, python, torch and irscope to versions.
    `command` is the command line that compiled it; "" if it is unknown.
    """

    id: int
    versions: Mapping[str, str]
    command: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Launch(FrozenValue):
    """A launch as the program made it.

    `grid` has the number of programs per dimension. `arguments` are the run-time arguments as (name, type). A
    type is the element type with the shape ("float16[512, 64]", " strides [128, 1]" follows if it is not
    contiguous), or the value itself if it is not a tensor.
    """

    grid: tuple[int, ...]
    arguments: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuning(FrozenValue):
    """One run of an autotuner.

    `key` is the text of Triton's tuning key: the values of `key=` and the type of each tensor
    ("(512, 'torch.float16')"). `configs` is the number of configs after pruning; `date` is in UTC
    ("2026-11-22T15:04:05Z"), and it, `device` and `driver` are empty if unknown.
    """

    key: str
    configs: int
    device: str = ""
    driver: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Benchmark(FrozenValue):
    """The benchmark of one config by the autotuner.

    `ms`, `p20` and `p80` are the median and the 20% and 80% quantiles in milliseconds. `key` is the tuning
    key ("M=512, N=64"); `chosen` says whether the config won for it. `tuning` is the run of the autotuner,
    None if it is unknown or another config was chosen.
    """

    key: str
    ms: float
    p20: float
    p80: float
    chosen: bool = False
    tuning: Tuning | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Variant(FrozenValue):
    """One compilation and its results.

    `id` counts from 1 in the order of the capture (`#3` on the command line). `kernel` is the function,
    `target` the device. `specialization` has an Argument per parameter, `config` the constants. `toolchain`
    names the versions of the compilers. `failure` says why there is no machine code (None: it compiled).
    `metadata` is Triton's own. `seconds` is the compile time per stage, empty if it came from Triton's cache.
    `cache_key` names each component of Triton's cache key. `cached` is true if Triton's cache had it. `log`
    is what ptxas printed (None: unknown), `output` is everything else that the compiler printed
    (static_print, warnings). `reasons` is the log of the coalescing pass (None: not recorded, see `irscope
    compile --reasons`). `artifacts` are the stored stages by name. `launches` are the recorded launches, the
    first one first, and `benchmarks` the times that an autotuner measured; both are empty if it was only
    compiled.
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

    def __repr__(self) -> str:
        from irscope.model.text import one_line

        return f"Variant(#{self.id} {one_line(f'{self.kernel.name} {self.config}')}, {self.target})"

    def _repr_html_(self) -> str:
        from irscope.model.notebook import html_paragraph

        state = f"failed to compile: {self.failure.summary}" if self.failure else ", ".join(self.artifacts)
        heading = f"#{self.id} {self.kernel.name} {self.config}, {self.target}"
        return html_paragraph(heading, bold=True) + html_paragraph(state)

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables and checks it was compiled with, as far as the capture has them."""
        return environment_of(self.cache_key, (name for name, _ in self.config.values))

    @property
    def origin(self) -> Origin | None:
        """The computation of the kernel, if a framework such as torch.compile generated it; None if not."""
        return origin_in(self.metadata)

    @property
    def edit(self) -> Edit | None:
        """How the variant was built from another one; None if the compiler made it from the kernel."""
        return edit_in(self.metadata)

    @property
    def launch_metadata(self) -> tuple[str, ...]:
        """The metadata that a launch depends on, as text: equal texts, equal launches."""
        return launch_metadata_of(self.metadata)

    @property
    def settings(self) -> dict[str, Value]:
        """The values that a user chose for this variant: those of its config, then its environment."""
        chosen = dict(self.config.values)
        chosen.update((name, parse_value(text)) for name, text in self.environment.items())
        return chosen


def origin_in(metadata: Mapping[str, Any]) -> Origin | None:
    """Return the origin in a variant's metadata, or None; imports its module only if there is one."""
    if ORIGIN not in metadata:
        return None
    from irscope.model.origin import origin_from_metadata

    return origin_from_metadata(metadata)


def edit_in(metadata: Mapping[str, Any]) -> Edit | None:
    """Return the edit in a variant's metadata, or None; imports its module only if there is one."""
    if EDIT not in metadata:
        return None
    from irscope.model.edit import edit_from_metadata

    return edit_from_metadata(metadata)


def launch_metadata_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The values of LAUNCH_METADATA as text."""
    return tuple(repr(metadata.get(name)) for name in LAUNCH_METADATA)
