"""Turns a compilation that an earlier run left into a variant, from its stages and their metadata.

Reads an autotuner's measurements from Triton's cache or tritonparse, and matches them with variants.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from irscope.model import (
    OPTION_NAMES,
    Argument,
    Benchmark,
    Config,
    SourceFunction,
    Target,
    Value,
    parse_value,
)
from irscope.model.records import frozen
from irscope.model.variant import CHECKS, ENVIRONMENT, OPTION, OPTION_VARIABLES
from irscope.recording.importers.find_source import (
    KernelHeader,
    PythonFiles,
    PythonFunction,
    range_constants,
    read_header,
)
from irscope.recording.importers.untrusted import BadEntryError, clean
from irscope.store import NewVariant
from irscope.store.encoding import Blob, unpack
from irscope.targets import backend_named, backend_of, stages_for, target_named

SUFFIX = ".autotune.json"
# Names that an import adds to a config and no autotuner sets.
_OWN_NAMES = frozenset(["arange", "cache"])


@frozen
class Timing:
    """One measured config: every value that the autotuner set, and its times in ms."""

    config: Mapping[str, Value]
    ms: float
    p20: float
    p80: float


@frozen
class AutotuneResult:
    """The measurements of one kernel for one tuning key."""

    kernel: str
    key: str
    timings: tuple[Timing, ...]


def from_cache(kernel: str, results: Mapping[str, Any]) -> AutotuneResult:
    """Parse the NAME.autotune.json of `Autotuner.check_disk_cache`. Raises BadEntryError."""
    match results:
        case {"key": list(key), "configs_timings": list(rows)}:
            timings = [
                timing
                for row in rows
                if isinstance(row, list) and len(row) == 2 and isinstance(row[0], dict)
                if (timing := _timing(_flat(row[0]), row[1])) is not None
            ]
            return AutotuneResult(kernel, clean(", ".join(map(str, key))), tuple(timings))
    raise BadEntryError("it has no autotune results")


def from_tritonparse(event: Mapping[str, Any]) -> AutotuneResult:
    """Parse an "autotune" event, whose configs are the text of `triton.Config`. Raises BadEntryError."""
    match event:
        case {"kernel_name": str(kernel), "autotune_key": str(key), "configs_timings": dict(rows)}:
            pairs = ((_parsed(text), times) for text, times in rows.items())
            timings = [timing for config, times in pairs if (timing := _timing(config, times)) is not None]
            return AutotuneResult(clean(kernel), clean(key), tuple(timings))
    raise BadEntryError("it has no autotune results")


def benchmarks_of(tuning: AutotuneResult, variants: Mapping[int, Config]) -> dict[int, Benchmark]:
    """Match measurements with the `variants` (id -> config) of the tuned kernel.

    A cache does not say which compilation was measured, so a measurement is used only if exactly one
    variant fits its config and exactly one config fits the variant.
    """
    fits = [
        [id_ for id_, config in variants.items() if _agree(timing.config, config)]
        for timing in tuning.timings
    ]
    # Of equally fast configs, Triton picks the first.
    chosen = min(tuning.timings, key=lambda timing: timing.ms, default=None)
    return {
        ids[0]: Benchmark(tuning.key, timing.ms, timing.p20, timing.p80, timing is chosen)
        for timing, ids in zip(tuning.timings, fits, strict=True)
        if len(ids) == 1 and sum(ids[0] in matches for matches in fits) == 1
    }


def _agree(measured: Mapping[str, Value], config: Config) -> bool:
    """Return True if the known values of a variant's config fit the measured one."""
    known_values = {name: value for name, value in config.values if name not in _OWN_NAMES}
    return all(measured.get(name, value) in (value, None) for name, value in known_values.items())


def _timing(config: Mapping[str, Value], times: Any) -> Timing | None:
    """Parse one row; None for a config that failed, which has infinite times."""
    values: Sequence[Any] = times if isinstance(times, list) else [times]
    if not values or not all(isinstance(value, int | float) and math.isfinite(value) for value in values):
        return None
    ms, p20, p80 = values if len(values) == 3 else (values[0],) * 3
    return Timing(config, float(ms), float(p20), float(p80))


def _flat(config: Mapping[str, Any]) -> dict[str, Value]:
    """Return the fields of a `triton.Config`: `kwargs` and the options."""
    kwargs = config.get("kwargs")
    values = dict(kwargs) if isinstance(kwargs, dict) else {}
    return values | {name: config.get(name) for name in OPTION_NAMES}


def _parsed(text: str) -> dict[str, Value]:
    """Parse the text of a `triton.Config`: `BLOCK: 64, num_warps: 4, maxnreg: None`."""
    pairs = (part.partition(": ") for part in text.split(", "))
    return {name: parse_value(value) for name, _, value in pairs}


# The stages that have the kernel's signature, starting with the closest to Python.
_MLIR_STAGES = ("source", "glir", "ttir", "ttgir")
# Environment variables, whose names are in capitals, which no option's is.
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Za-z0-9]+)+")
# The most ranges in a config if the Python source that names them is missing.
_MAX_RANGES = 6


@frozen
class ImportedCompilation:
    """A variant and its kernel; `key` is the producer's key of the compilation."""

    key: str
    source: SourceFunction
    parameters: tuple[str, ...]
    triton: str
    new: NewVariant


@frozen
class SkippedEntry:
    """An entry that could not be imported, and the reason."""

    place: str
    reason: str


# The results of a reader.
Found: TypeAlias = ImportedCompilation | SkippedEntry | AutotuneResult


@frozen
class RawCompilation:
    """The data that a reader found about one compilation.

    `name` is the kernel's name in the files or the record. `new` is the variant without its arguments: its
    config has only options, and its artifacts may have stages of any name; those that the target's backend
    does not have are dropped. `function` is the Python function if the record has it; `constants` are the
    known constexpr values by name.
    """

    key: str
    name: str
    new: NewVariant
    triton: str = "unknown"
    function: PythonFunction | None = None
    constants: Mapping[str, Value] | None = None


def assemble(raw: RawCompilation, files: PythonFiles) -> ImportedCompilation:
    """Return the variant and kernel of a raw compilation. Raises BadEntryError if it has no stage."""
    stages = [stage.name for stage in stages_for(raw.new.target.backend, raw.new.artifacts)]
    artifacts = {name: raw.new.artifacts[name] for name in stages if name in raw.new.artifacts}
    if not artifacts:
        raise BadEntryError("it has no stage")
    header = _header(artifacts)
    function = raw.function or (files.find(header) if header else None)
    arguments = _named_arguments(header, function)
    constants = raw.constants if raw.constants is not None else _constants(header, function)
    specialization, meta = _split_constants(arguments, constants, function)
    config = Config((*meta.items(), *raw.new.config.values))
    return ImportedCompilation(
        key=clean(raw.key),
        source=function.source if function else _source_without_text(clean(raw.name), header),
        parameters=function.parameters if function else tuple(argument.name for argument in arguments),
        triton=clean(raw.triton),
        new=replace(raw.new, specialization=specialization, config=config, artifacts=artifacts),
    )


def config_options(values: Mapping[str, Any], target: Target) -> Config:
    """Return a config with the options in Triton's metadata that a config sets.

    Defaults are omitted, except those of num_warps and num_stages, as in a recorded program.
    Raises BadEntryError if an option is not a number.
    """
    options: dict[str, Value] = {}
    for name, default in backend_of(target).option_defaults.items():
        value = values.get(name)
        if value is not None and (value != default or name in ("num_warps", "num_stages")):
            options[name] = _count(name, value)
    return Config(tuple(options.items()))


def environment_components(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the components of Triton's key in its metadata: environment variables and some options."""
    components = {
        f"{ENVIRONMENT}{clean(name)}": clean(value)
        for name, value in metadata.items()
        if isinstance(value, str) and _VARIABLE.fullmatch(name)
    }
    return components | {
        OPTION + name: clean(str(metadata[name])) for name in (*CHECKS, *OPTION_VARIABLES) if name in metadata
    }


def target_of(description: Any) -> Target:
    """Return the target that Triton's metadata describes. Raises BadEntryError if it is unknown."""
    if not isinstance(description, dict):
        raise BadEntryError("its metadata names no target")
    try:
        backend = backend_named(str(description.get("backend")))
        return target_named(f"{backend.name}:{backend.arch_name(description.get('arch'))}")
    except ValueError as error:
        raise BadEntryError(str(error)) from error


def hash_of(metadata: Mapping[str, Any]) -> str:
    """Triton's hash of everything that a compilation depends on. Raises BadEntryError if it is missing."""
    value = metadata.get("hash")
    if not isinstance(value, str) or not value:
        raise BadEntryError("its metadata has no hash")
    return value


def _count(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 31:
        raise BadEntryError(f"{name} is not a valid number")
    return value


def _header(artifacts: Mapping[str, bytes | Blob]) -> KernelHeader | None:
    """Return the header of the first MLIR stage, or None if Triton kept only the binary."""
    for stage in _MLIR_STAGES:
        if stage in artifacts:
            return read_header(unpack(artifacts[stage]).decode("utf-8", "replace"))
    return None


def _named_arguments(header: KernelHeader | None, function: PythonFunction | None) -> tuple[Argument, ...]:
    """Return the run-time arguments.

    If the IR numbers them, they get the parameters' names if these are certain.
    """
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
    """Return the constexpr values that the IR reveals.

    They are by name, or without the source the ends of the ranges.
    """
    if header is None:
        return {}
    if function is not None and (named := range_constants(function, header)):
        return {name: named[name] for name in function.parameters if name in named}
    ends = list(dict.fromkeys(end for end, _ in header.ranges))[:_MAX_RANGES]
    if not ends:
        return {}
    return {"arange": ends[0] if len(ends) == 1 else "x".join(map(str, ends))}


def _split_constants(
    arguments: Sequence[Argument], constants: Mapping[str, Value], function: PythonFunction | None
) -> tuple[tuple[Argument, ...], dict[str, Value]]:
    """Split arguments and constants into the specialization and the meta-parameters.

    A constant whose parameter is not a `tl.constexpr` is an argument that the JIT made constant (1,
    None).
    """
    meta, by_name = {}, {argument.name: argument for argument in arguments}
    for name, value in constants.items():
        if function is None or name in function.constexprs or name not in function.parameters:
            meta[name] = value
        else:
            by_name[name] = Argument(name, "constexpr", None, value)
    order = {name: index for index, name in enumerate(function.parameters)} if function else {}
    return tuple(sorted(by_name.values(), key=lambda argument: order.get(argument.name, 0))), meta


def _source_without_text(name: str, header: KernelHeader | None) -> SourceFunction:
    location = header.place if header else None
    return SourceFunction(name, location.file if location else "", location.line if location else 0, "")
