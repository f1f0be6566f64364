"""Triton's cache: a folder a compilation, NAME.json beside the stages (triton/runtime/cache.py, 3.0 to 3.9).

The json has options, target and versions; the values of constexpr parameters are nowhere.
"""

from __future__ import annotations

import math
from typing import Any

from irscope.capturing.importers.compilation import (
    RawCompilation,
    config_options,
    hash_of,
    target_of,
)
from irscope.capturing.importers.entry_folders import EntryFolder
from irscope.capturing.importers.untrusted import MAX_JSON_BYTES, BadEntryError, parse_object, read_file

# What `irscope compile` keeps beside Triton's files.
_SIDECAR = "irscope.json"


def cache_remains(entry: EntryFolder, stem: str) -> RawCompilation:
    """What one folder of a cache has of the kernel whose files are called `stem`. Raises BadEntryError."""
    if f"{stem}.json" not in entry.files:
        raise BadEntryError("no metadata: the compilation failed or was stopped")
    metadata = parse_object(read_file(entry.path / f"{stem}.json", MAX_JSON_BYTES), f"{stem}.json")
    log, seconds = _sidecar(entry)
    return RawCompilation(
        key=hash_of(metadata),
        name=str(metadata.get("name") or stem),
        target=target_of(metadata.get("target")),
        options=config_options(metadata),
        artifacts=entry.read_stages(stem),
        triton=str(metadata.get("triton_version") or "unknown"),
        metadata=metadata,
        seconds=seconds,
        log=log,
    )


def _sidecar(entry: EntryFolder) -> tuple[str | None, dict[str, float]]:
    """The ptxas log and the seconds a stage, where `irscope compile` made the entry."""
    if _SIDECAR not in entry.files:
        return None, {}
    kept = parse_object(read_file(entry.path / _SIDECAR, MAX_JSON_BYTES), _SIDECAR)
    log, seconds = kept.get("log"), kept.get("seconds")
    return (
        log if isinstance(log, str) else None,
        {name: float(value) for name, value in seconds.items() if _is_time(value)}
        if isinstance(seconds, dict)
        else {},
    )


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
