"""Reads an autotuner's measurements from Triton's cache or tritonparse, and matches them with variants."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irscope.capturing.importers.untrusted import BadEntryError, clean
from irscope.model import OPTION_NAMES, Benchmark, Config, Value, parse_value

SUFFIX = ".autotune.json"
# Names that an import adds to a config and no autotuner sets.
_OWN_NAMES = frozenset(["arange", "cache"])


@dataclass(frozen=True, slots=True)
class Timing:
    """One measured config: every value that the autotuner set, and its times in ms."""

    config: Mapping[str, Value]
    ms: float
    p20: float
    p80: float


@dataclass(frozen=True, slots=True)
class AutotuneResult:
    """The measurements of one kernel for one tuning key."""

    kernel: str
    key: str
    timings: tuple[Timing, ...]


def from_cache(kernel: str, results: Mapping[str, Any]) -> AutotuneResult:
    """Parses the NAME.autotune.json of `Autotuner.check_disk_cache`. Raises BadEntryError."""
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
    """Parses an "autotune" event, whose configs are the text of `triton.Config`. Raises BadEntryError."""
    match event:
        case {"kernel_name": str(kernel), "autotune_key": str(key), "configs_timings": dict(rows)}:
            pairs = ((_parsed(text), times) for text, times in rows.items())
            timings = [timing for config, times in pairs if (timing := _timing(config, times)) is not None]
            return AutotuneResult(clean(kernel), clean(key), tuple(timings))
    raise BadEntryError("it has no autotune results")


def benchmarks_of(tuning: AutotuneResult, variants: Mapping[int, Config]) -> dict[int, Benchmark]:
    """Matches measurements with the `variants` (id -> config) of the tuned kernel.

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
        if len(ids) == 1 and sum(ids[0] in others for others in fits) == 1
    }


def _agree(measured: Mapping[str, Value], config: Config) -> bool:
    """Whether the known values of a variant's config fit the measured one."""
    known = {name: value for name, value in config.values if name not in _OWN_NAMES}
    return all(measured.get(name, value) in (value, None) for name, value in known.items())


def _timing(config: Mapping[str, Value], times: Any) -> Timing | None:
    """Parses one row; None for a config that failed, which has infinite times."""
    values: Sequence[Any] = times if isinstance(times, list) else [times]
    if not values or not all(isinstance(value, int | float) and math.isfinite(value) for value in values):
        return None
    ms, p20, p80 = values if len(values) == 3 else (values[0],) * 3
    return Timing(config, float(ms), float(p20), float(p80))


def _flat(config: Mapping[str, Any]) -> dict[str, Value]:
    """The fields of a `triton.Config`: `kwargs` and the options."""
    kwargs = config.get("kwargs")
    values = dict(kwargs) if isinstance(kwargs, dict) else {}
    return values | {name: config.get(name) for name in OPTION_NAMES}


def _parsed(text: str) -> dict[str, Value]:
    """Parses the text of a `triton.Config`: `BLOCK: 64, num_warps: 4, maxnreg: None`."""
    pairs = (part.partition(": ") for part in text.split(", "))
    return {name: parse_value(value) for name, _, value in pairs}
