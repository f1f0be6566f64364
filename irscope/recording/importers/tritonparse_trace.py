"""Reads tritonparse's traces: one JSON record per line, raw (`.ndjson`) or parsed (`.ndjson.gz`).

Supports the records of tritonparse 0.6 (structured_logging.py, `maybe_trace_triton`): a "compilation" event
has Triton's metadata, attributes and constants by the parameters' positions, the text stages and the
kernel's Python source, but no binaries.
"""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Iterator, Mapping
from gzip import GzipFile
from io import BufferedReader
from pathlib import Path
from typing import Any

from irscope.model import Value, parse_value
from irscope.model.config import DTYPE_NAMES, Dtype
from irscope.recording.importers.compilation import (
    Found,
    RawCompilation,
    SkippedEntry,
    assemble,
    config_options,
    environment_components,
    from_tritonparse,
    hash_of,
    target_of,
)
from irscope.recording.importers.find_source import PythonFiles, PythonFunction, functions_in
from irscope.recording.importers.untrusted import BadEntryError, parse_object
from irscope.store import NewVariant

_GZIP_MAGIC = b"\x1f\x8b"
# The keys that tritonparse adds to Triton's own metadata.
_ADDED = frozenset(["cache_hit", "env", "src_attrs", "src_cache_key", "src_constants", "times"])
_DTYPE = re.compile(r"triton\.language\.core\.dtype\('(\w{1,20})'\)")
# The text that replaces a stage that tritonparse did not read.
_NO_CONTENT = ("<file too large", "<error reading file")
# A line has all stages of a kernel: a few megabytes. A compressed trace has 10 to 20 times its bytes.
_MAX_LINE_BYTES = 64 << 20
_ANY_BYTES = 16 << 20
_MAX_RATIO = 64
_UNREADABLE = (OSError, EOFError, zlib.error)


def read_trace(path: Path, files: PythonFiles) -> Iterator[Found]:
    """Yield the compilations and autotune results in a trace; other lines are skipped."""
    number = 0
    try:
        left = _ANY_BYTES + _MAX_RATIO * path.stat().st_size
        with path.open("rb") as raw, _unzipped(raw) as stream:
            while line := stream.readline(_MAX_LINE_BYTES):
                number += 1
                left -= len(line)
                if left < 0:
                    yield SkippedEntry(f"{path.name}:{number}", "the rest is larger than traces are")
                    return
                if (item := _read_line(line, f"{path.name}:{number}", files)) is not None:
                    yield item
    except _UNREADABLE as error:
        yield SkippedEntry(f"{path.name}:{number + 1}", f"the rest cannot be read: {error}")


def _unzipped(raw: BufferedReader) -> BufferedReader | GzipFile:
    return GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP_MAGIC else raw


def _read_line(line: bytes, place: str, files: PythonFiles) -> Found | None:
    """Return the result of one line, or None if it is neither a compilation nor an autotune event."""
    try:
        record = parse_object(line, "the line")
        match record.get("event_type"):
            case "compilation":
                return assemble(_raw_compilation(record), files)
            case "autotune":
                return from_tritonparse(record)
        return None
    except BadEntryError as error:
        return SkippedEntry(place, str(error))


def _raw_compilation(record: Mapping[str, Any]) -> RawCompilation:
    payload = _object(record, "payload")
    metadata = _object(payload, "metadata")
    function = _function(payload.get("python_source"))
    name = str(metadata.get("name") or "")
    target = target_of(metadata.get("target"))
    return RawCompilation(
        key=hash_of(metadata),
        name=name or (function.source.name if function else "unknown"),
        new=NewVariant(
            target,
            (),
            config_options(metadata, target),
            artifacts=_stages(_object(payload, "file_content")),
            metadata={key: value for key, value in metadata.items() if key not in _ADDED},
            seconds=_seconds(metadata.get("times")),
            cache_key=environment_components(metadata) | _cache_key(metadata),
            cached=metadata.get("cache_hit") is True,
        ),
        triton=str(metadata.get("triton_version") or "unknown"),
        function=function,
        constants=_constants(metadata.get("src_constants"), function),
    )


def _object(record: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = record.get(name)
    if not isinstance(value, dict):
        raise BadEntryError(f"the compilation has no {name}")
    return value


def _stages(contents: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the stages by name; a file is named NAME.STAGE."""
    return {
        name.rpartition(".")[2]: content.encode("utf-8", "replace")
        for name, content in contents.items()
        if isinstance(content, str) and not content.startswith(_NO_CONTENT)
    }


def _function(python: Any) -> PythonFunction | None:
    """Return the kernel's Python function.

    It comes from its own text, or from the text of its file and its first line.
    """
    match python:
        case {"code": str(code), "file_path": str(file), "start_line": int(first)}:
            first_line = python.get("function_start_line", first)
            functions = functions_in(code, file, first)
            return next((function for function in functions if function.source.line == first_line), None)
    return None


def _constants(constants: Any, function: PythonFunction | None) -> dict[str, Value] | None:
    """Return the constants by name.

    Keys are positions such as "(4,)", or "(4, 0)" for the first of a tuple.
    """
    if not isinstance(constants, dict) or function is None:
        return None
    named: dict[str, Value] = {}
    for key, value in constants.items():
        try:
            first, *rest = ast.literal_eval(key)
            name = ".".join([function.parameters[first], *map(str, rest)])
        except (ValueError, SyntaxError, TypeError, IndexError, MemoryError, RecursionError):
            continue
        named[name] = _value(value)
    return named


def _value(value: Any) -> Value:
    if isinstance(value, str):
        if (match := _DTYPE.fullmatch(value)) and match[1] in DTYPE_NAMES:
            return Dtype(match[1])
        dtype = parse_value(value)
        return dtype if isinstance(dtype, Dtype) else value
    return value if value is None or isinstance(value, int | float) else str(value)


def _seconds(times: Any) -> dict[str, float]:
    """Seconds per stage, from Triton's CompileTimes in microseconds (triton/knobs.py)."""
    stages = times.get("lowering_stages") if isinstance(times, dict) else None
    seconds = {}
    for row in stages if isinstance(stages, list) else []:
        match row:
            case [str(stage), int(spent)]:
                seconds[stage] = spent / 1e6
    return seconds


def _cache_key(metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return the components of Triton's cache key in the record, named as in `irscope compile`."""
    environment = metadata.get("env")
    components = {"source": metadata.get("src_cache_key"), "attributes": metadata.get("src_attrs")}
    components |= {
        f"environment {name}": value
        for name, value in (environment if isinstance(environment, dict) else {}).items()
    }
    return {name: str(value) for name, value in components.items() if value}


def is_trace_name(name: str) -> bool:
    """Return True if a tritonparse trace has such a file name."""
    return name.endswith((".ndjson", ".ndjson.gz"))
