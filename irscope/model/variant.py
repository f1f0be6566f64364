"""Kernels and their variants: one variant is one compilation, kernel x specialization x config x target.

Edits: variants that were built from an edited stage, or with other passes, instead of from the kernel.

Targets: the devices that Triton compiles for, `cuda:90`, `hip:gfx942`.

The compiler environment of a variant: the environment variables, and options that no config sets.

Triton compiles anew if one of these changes, so two variants that differ only here are two variants:

    DISABLE_LLVM_OPT=1 irscope compile add.py ...     BLOCK=64,num_warps=4,DISABLE_LLVM_OPT=1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from irscope.model.config import Config, Value, literal, parse_value
from irscope.model.records import frozen
from irscope.model.text import pluralize

if TYPE_CHECKING:
    from irscope.model.origin import Origin


@frozen
class Target:
    """One device architecture, by Triton's names.

    `backend` is "cuda" or "hip"; `arch` is the compute capability times ten ("90") or the gfx name
    ("gfx942"); `warp_size` is in threads.
    """

    backend: str
    arch: str
    warp_size: int

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"


# The start of the names that `Variant.cache_key` has for environment variables and options.
ENVIRONMENT, OPTION = "environment ", "option "
# Options that the environment, a decorator or a launch sets, and their defaults as text (CUDAOptions and
# HIPOptions in triton/backends/*/compiler.py of 3.6 to 3.9).
CHECKS = {"debug": "False", "sanitize_overflow": "True", "fpsan_homomorphic_casts": "False"}
# Options that only an environment variable sets, unless a launch does: the variable and the default.
OPTION_VARIABLES = {
    "ptx_options": ("PTXAS_OPTIONS", "None"),
    "instrumentation_mode": ("TRITON_INSTRUMENTATION_MODE", ""),
}
_OPTIONS = frozenset(OPTION + name for name in (*CHECKS, *OPTION_VARIABLES))
# Each of these options, its component of Triton's key, the name that users set, and the default.
_DEFAULTS = tuple(
    (option, OPTION + option, name, default)
    for option, (name, default) in (
        {name: (name, default) for name, default in CHECKS.items()} | OPTION_VARIABLES
    ).items()
)
# Triton's key has the meaning of a variable that is a switch; as users set it.
_SWITCHES = {"true": "1", "false": "0"}


def variable_value(text: str) -> str:
    """Return an environment variable's value in Triton's key as users write it: "true" -> "1"."""
    return _SWITCHES.get(text, text)


def environment_components(cache_key: Mapping[str, str]) -> dict[str, str]:
    """Return the components of Triton's key that `environment_of` reads."""
    return {
        name: value
        for name, value in cache_key.items()
        if (name.startswith(ENVIRONMENT) and value) or name in _OPTIONS
    }


def environment_of(cache_key: Mapping[str, str], configured: Iterable[str]) -> dict[str, str]:
    """Return the compiler environment by name, without what is unset or a default, sorted by name.

    `cache_key` are the components of Triton's key by name; `configured` are the names that the
    config sets.
    """
    names = tuple(configured)
    by_name = {
        name.removeprefix(ENVIRONMENT): variable_value(value)
        for name, value in cache_key.items()
        if value and name.startswith(ENVIRONMENT)
    }
    for option, component, name, default in _DEFAULTS:
        value = cache_key.get(component, default)
        if value not in (default, "None", "") and option not in names:
            by_name[name] = value
    return dict(sorted(by_name.items()))


# The files of Triton's library of jit functions: tl.sum, tl.cdiv, Gluon's.
_OF_TRITON = re.compile(r"[/\\]triton[/\\](?:language|experimental)[/\\]")
# The entries of `Variant.metadata` that have the edit and the origin, which few variants have; Triton has no
# such names. A variant with an edit is also named by the first.
EDIT, ORIGIN = "edit", "origin"
# Triton's metadata that a launch depends on.
LAUNCH_METADATA = ("num_ctas", "cluster_dims", "launch_cooperative_grid", "launch_pdl", "tmem_size")


@frozen
class SourceFunction:
    """A function when it was compiled.

    `name` is its Python name, `file` the path it was read from, `text` its source, decorators included.
    `line` is the first line of the text in the file, counted from 1.
    """

    name: str
    file: str
    line: int
    text: str


def in_library(file: str) -> bool:
    """Check whether a file belongs to Triton's own library of jit functions."""
    return _OF_TRITON.search(file) is not None


@frozen
class Kernel:
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
        """Return the kernel and the helpers that are not Triton's own.

        Triton's own differ between versions of Triton.
        """
        helpers = (helper for helper in self.helpers if not in_library(helper.file))
        return self.source, *helpers

    @property
    def library_functions(self) -> tuple[SourceFunction, ...]:
        """Return the helpers of Triton's own library: `tl.cdiv`, `tl.sum`."""
        return tuple(helper for helper in self.helpers if in_library(helper.file))


@frozen
class Argument:
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
        """Return the argument in Triton's ahead-of-time notation."""
        if self.type == "constexpr":
            return literal(self.value) if isinstance(self.value, tuple) else str(self.value)
        return f"{self.type}:16" if self.key and "D" in self.key else self.type


@frozen
class Artifact:
    """The output of one stage; `Capture.content` reads it.

    `stage` is the name of the stage. `digest` is the SHA-256 of the content in hexadecimal, `size` its bytes.
    """

    stage: str
    digest: str
    size: int


@frozen
class Pass:
    """One pass of the compiler, as it ran.

    `stage` is the stage that it is part of, `name` its name in MLIR ("tritongpu-coalesce"). `artifact` is
    the module after it; None if it changed nothing.
    """

    stage: str
    name: str
    seconds: float
    artifact: Artifact | None


@frozen
class Failure:
    """Why a variant has no machine code.

    `kind` is the exception's class, or "timeout", "aborted" (signal), "exited". `summary` is one line;
    `message` is everything that the compiler printed.
    """

    kind: str
    summary: str
    message: str


@frozen
class Toolchain:
    """The versions and the command that compiled a variant.

    `id` counts from 1 in the capture. `versions` maps triton, ptxas, python, torch and irscope to versions.
    `command` is the command line that compiled it; "" if it is unknown.
    """

    id: int
    versions: Mapping[str, str]
    command: str


@frozen
class Launch:
    """A launch as the program made it.

    `grid` has the number of programs per dimension. `arguments` are the run-time arguments as (name, type). A
    type is the element type with the shape ("float16[512, 64]", " strides [128, 1]" follows if it is not
    contiguous), or the value itself if it is not a tensor. `aliases` has each argument that overlaps an
    earlier one: (name, the earlier one, bytes from where that begins). `unwritten` are the arguments whose
    memory was allocated but not written before; none is known of launches on a GPU. `values` has the integers
    of small tensors that the kernel does not write, by name, as text (`integer_values`).
    """

    grid: tuple[int, ...]
    arguments: tuple[tuple[str, str], ...]
    aliases: tuple[tuple[str, str, int], ...] = ()
    unwritten: tuple[str, ...] = field(default=(), compare=False)
    values: tuple[tuple[str, str], ...] = field(default=(), compare=False, repr=False)


@frozen
class Tuning:
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


@frozen
class Benchmark:
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


@frozen
class Variant:
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
        from irscope.model.text import html_paragraph

        state = f"failed to compile: {self.failure.summary}" if self.failure else ", ".join(self.artifacts)
        heading = f"#{self.id} {self.kernel.name} {self.config}, {self.target}"
        return html_paragraph(heading, bold=True) + html_paragraph(state)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables and checks it was compiled with, as far as they are recorded."""
        return environment_of(self.cache_key, (name for name, _ in self.config.values))

    @property
    def origin(self) -> Origin | None:
        """Return the kernel's computation if a framework such as torch.compile generated it, or None."""
        return origin_in(self.metadata)

    @property
    def edit(self) -> Edit | None:
        """Return how the variant was built from another one, or None if the compiler made it."""
        return edit_in(self.metadata)

    @property
    def launch_metadata(self) -> tuple[str, ...]:
        """Return the metadata that a launch depends on, as text: equal texts, equal launches."""
        return launch_metadata_of(self.metadata)

    @property
    def settings(self) -> dict[str, Value]:
        """Return the values that a user chose for this variant: its config's, then its environment."""
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

    return edit_from_metadata(metadata)


def launch_metadata_of(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the values of LAUNCH_METADATA as text."""
    return tuple(repr(metadata.get(name)) for name in LAUNCH_METADATA)


# Characters of the diff that are kept.
_MOST_SHOWN = 64_000


@frozen
class Edit:
    """How a variant was built from another one of the same kernel, config and target.

    `name` identifies it among the edits of that variant; `of` is the name of the edit that it started from,
    "" for the variant as the compiler made it. `stage` is the stage it was built from; `diff` the unified
    diff of its text, "" if it was not changed. `skipped` are the passes that were left out; `replaced` has
    the passes that ran instead of a stage's own, as (stage, list). `doubt` says how a rebuild of the unedited
    stage differs from the original; "" if its machine code is equal.
    """

    name: str
    of: str = ""
    stage: str = ""
    diff: str = ""
    skipped: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    doubt: str = ""

    @property
    def changed_lines(self) -> tuple[int, int]:
        """Return how many lines of the stage the edit added and removed."""
        lines = [line for line in self.diff.splitlines()[2:] if not line.startswith("@@")]
        return tuple(sum(line.startswith(sign) for line in lines) for sign in "+-")  # type: ignore[return-value]

    @property
    def sentence(self) -> str:
        """Return the summary, what it is an edit of, and the doubt, for views."""
        of = f"edit of {self.of}: " if self.of else "edit: "
        return f"{of}{self.summary}{f'; {self.doubt}' if self.doubt else ''}"

    @property
    def summary(self) -> str:
        """Return one line: "ttgir edited (+1 -1 lines), built without tritongpu-prefetch"."""
        added, removed = self.changed_lines
        parts = [f"{self.stage} edited (+{added} -{removed} lines)"] if self.diff else []
        built = [f"without {', '.join(self.skipped)}"] if self.skipped else []
        built += [f"with {pluralize(_count(passes), 'pass')} in {stage}" for stage, passes in self.replaced]
        if built or not parts:
            parts.append(f"built {', '.join(built) or f'again from {self.stage}'}")
        return ", ".join(parts)


def _count(passes: str) -> int:
    return passes.count(",") + 1 if passes else 0


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """Return the edit as the entry of a variant's metadata."""
    whole = {
        "name": edit.name,
        "of": edit.of,
        "stage": edit.stage,
        "diff": edit.diff[:_MOST_SHOWN],
        "skipped": list(edit.skipped),
        "replaced": [list(pair) for pair in edit.replaced],
        "doubt": edit.doubt,
    }
    return {name: value for name, value in whole.items() if value not in ("", [])}


def edit_from_metadata(metadata: Mapping[str, Any]) -> Edit | None:
    """Return the edit in a variant's metadata without malformed entries, or None if there is none."""
    entry = metadata.get(EDIT)
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        return None
    texts = {
        name: entry[name]
        for name in ("name", "of", "stage", "diff", "doubt")
        if isinstance(entry.get(name), str)
    }
    skipped, replaced = entry.get("skipped"), entry.get("replaced")
    return Edit(
        **texts,
        skipped=tuple(name for name in skipped if isinstance(name, str)) if isinstance(skipped, list) else (),
        replaced=tuple(
            (pair[0], pair[1])
            for pair in (replaced if isinstance(replaced, list) else ())
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
        ),
    )
