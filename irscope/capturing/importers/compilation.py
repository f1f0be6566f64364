"""One compilation that an earlier run left, put together from its stages and what is said beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from irscope.capturing.importers.autotune_results import AutotuneResult
from irscope.capturing.importers.kernel_source import (
    KernelHeader,
    PythonFiles,
    PythonFunction,
    range_constants,
    read_header,
)
from irscope.capturing.importers.untrusted import BadEntryError, clean
from irscope.model import (
    OPTION_NAMES,
    Argument,
    Config,
    SourceFunction,
    Target,
    Value,
    stages_for,
    target_named,
)
from irscope.store import NewVariant

# What AMD kernels are tuned by beside OPTION_NAMES, with the default that says nothing of a config
# (HIPOptions in triton/backends/amd/compiler.py). Other options are the same for all that a program compiles.
_AMD_OPTIONS = {"waves_per_eu": 0, "matrix_instr_nonkdim": 0, "kpack": 1}
# The stages that have the kernel's signature, the one that is closest to Python first.
_MLIR_STAGES = ("source", "glir", "ttir", "ttgir")
# How many ranges a config names where the Python source does not say what they are.
_MAX_RANGES = 6


@dataclass(frozen=True, slots=True)
class ImportedCompilation:
    """A variant with the kernel it is of; `key` names the compilation: what its producer keyed it by."""

    key: str
    source: SourceFunction
    parameters: tuple[str, ...]
    triton: str
    new: NewVariant

    @property
    def with_source(self) -> bool:
        """Whether the Python text of the kernel was found."""
        return bool(self.source.text)


@dataclass(frozen=True, slots=True)
class SkippedEntry:
    """What could not be imported, and why."""

    place: str
    reason: str


# What a reader finds.
Found: TypeAlias = ImportedCompilation | SkippedEntry | AutotuneResult


@dataclass(slots=True)
class RawCompilation:
    """What a reader found of one compilation; the fields are those of `store.NewVariant`.

    `name` is what the files or the record call the kernel. `function` is its Python where that came
    along; `constants` are constexpr values by name, as far as they are known. `artifacts` may hold
    stages of any name; those that the target's backend does not have are not kept.
    """

    key: str
    name: str
    target: Target
    options: dict[str, Value]
    artifacts: dict[str, bytes]
    triton: str = "unknown"
    metadata: dict[str, Any] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    cache_key: Mapping[str, str] = field(default_factory=dict)
    cached: bool = True
    log: str | None = None
    function: PythonFunction | None = None
    constants: dict[str, Value] | None = None


def assemble(remains: RawCompilation, files: PythonFiles) -> ImportedCompilation:
    """The variant and kernel that remains are of. Raises BadEntryError where no stage is left."""
    stages = [stage.name for stage in stages_for(remains.target.backend)]
    artifacts = {name: remains.artifacts[name] for name in stages if name in remains.artifacts}
    if not artifacts:
        raise BadEntryError("no stage of it is there")
    header = _header(artifacts)
    function = remains.function or (files.find(header) if header else None)
    arguments = _named(header, function)
    constants = remains.constants if remains.constants is not None else _constants(header, function)
    specialization, meta = _sorted_out(arguments, constants, function)
    return ImportedCompilation(
        key=clean(remains.key),
        source=function.source if function else _without_text(clean(remains.name), header),
        parameters=function.parameters if function else tuple(argument.name for argument in arguments),
        triton=clean(remains.triton),
        new=NewVariant(
            target=remains.target,
            specialization=specialization,
            config=Config((*meta.items(), *remains.options.items())),
            metadata=remains.metadata,
            seconds=remains.seconds,
            cache_key=remains.cache_key,
            cached=remains.cached,
            log=remains.log,
            artifacts=artifacts,
        ),
    )


def config_options(values: Mapping[str, Any]) -> dict[str, Value]:
    """The options among Triton's metadata that a config sets. Raises BadEntryError for no number."""
    options: dict[str, Value] = {}
    for name in (*OPTION_NAMES, *_AMD_OPTIONS):
        value = values.get(name)
        if value is not None and value != _AMD_OPTIONS.get(name):
            options[name] = _count(name, value)
    return options


def target_of(description: Any) -> Target:
    """The target that Triton's metadata describes. Raises BadEntryError for one that is unknown."""
    if not isinstance(description, dict):
        raise BadEntryError("its metadata names no target")
    # An AMD architecture may carry features: gfx942:sramecc+:xnack-.
    arch = str(description.get("arch")).partition(":")[0]
    try:
        return target_named(f"{description.get('backend')}:{arch}")
    except ValueError as error:
        raise BadEntryError(str(error)) from error


def hash_of(metadata: Mapping[str, Any]) -> str:
    """Triton's hash of everything that a compilation depends on. Raises BadEntryError without one."""
    value = metadata.get("hash")
    if not isinstance(value, str) or not value:
        raise BadEntryError("its metadata has no hash")
    return value


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise BadEntryError(f"{name} is no count")
    return value


def _header(artifacts: Mapping[str, bytes]) -> KernelHeader | None:
    """The header of the first MLIR stage; None where Triton kept the binary alone."""
    for stage in _MLIR_STAGES:
        if stage in artifacts:
            return read_header(artifacts[stage].decode("utf-8", "replace"))
    return None


def _named(header: KernelHeader | None, function: PythonFunction | None) -> tuple[Argument, ...]:
    """The run-time arguments, with the parameters' names where the IR has numbers and they are certain."""
    if header is None:
        return ()
    if header.named or function is None:
        return header.arguments
    runtime = [name for name in function.parameters if name not in function.constexprs]
    if len(runtime) != len(header.arguments):
        return header.arguments
    pairs = zip(runtime, header.arguments, strict=True)
    return tuple(Argument(name, argument.type, argument.key) for name, argument in pairs)


def _constants(header: KernelHeader | None, function: PythonFunction | None) -> dict[str, Value]:
    """Constexpr values that the IR shows: by name with the Python source, else the ends of the ranges."""
    if header is None:
        return {}
    if function is not None and (named := range_constants(function, header)):
        return {name: named[name] for name in function.parameters if name in named}
    ends = list(dict.fromkeys(end for end, _ in header.ranges))[:_MAX_RANGES]
    if not ends:
        return {}
    return {"arange": ends[0] if len(ends) == 1 else "x".join(map(str, ends))}


def _sorted_out(
    arguments: Sequence[Argument], constants: Mapping[str, Value], function: PythonFunction | None
) -> tuple[tuple[Argument, ...], dict[str, Value]]:
    """The specialization and the meta-parameters.

    A constant of a parameter that is no `tl.constexpr` is an argument that the JIT made constant (1,
    None).
    """
    meta, made = {}, {argument.name: argument for argument in arguments}
    for name, value in constants.items():
        if function is None or name in function.constexprs or name not in function.parameters:
            meta[name] = value
        else:
            made[name] = Argument(name, "constexpr", None, value)
    order = {name: index for index, name in enumerate(function.parameters)} if function else {}
    return tuple(sorted(made.values(), key=lambda argument: order.get(argument.name, 0))), meta


def _without_text(name: str, header: KernelHeader | None) -> SourceFunction:
    place = header.place if header else None
    return SourceFunction(name, place.file if place else "", place.line if place else 0, "")
