"""Encoding the columns of a capture: model <-> JSON, content <-> blob."""

from __future__ import annotations

import json
import re
import reprlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from threading import local
from typing import Any, NamedTuple, cast

from irscope.model import (
    Argument,
    Benchmark,
    Config,
    Dtype,
    Failure,
    Launch,
    ListValue,
    NamedValue,
    ObjectValue,
    SourceFunction,
    Tuning,
    Value,
)

# Level 6 costs 5 ms for the 650 kB of one matmul variant; 9 saves 3 % for twice that, 15 saves 7 % for 8
# times, 19 saves 9 % for 33 times.
_ZSTD_LEVEL = 6
# Captures are untrusted: a stage has at most 8 MiB, or 200 times the bytes that it is stored in (real ones
# have 5 to 40 times), and never more than 256 MiB. Real stages are below 200 MB.
_ANY_BYTES = 8 << 20
_MAX_RATIO = 200
MAX_BLOB_BYTES = 256 << 20
# The same for its lines, each of which costs a diff 40 us: real ones take 4 bytes or more of what is stored.
_ANY_LINES = 100_000
_LINES_PER_BYTE = 4
_MAX_LINES = 2_000_000
# And for the length of a line, which parsers and views take as a whole: real ones stay below 20,000 bytes.
MAX_LINE = 1 << 18
# A decompressor costs more to make than a stage to decompress, and cannot be shared by threads.
_of_thread = local()
# A compiler's message is kept whole up to this many characters; real ones stay below 100,000.
MAX_TEXT = 4 << 20
# Larger integers are no constexpr and no size of anything, and have no value as a float.
_MAX_BITS = 1000


class Blob(NamedTuple):
    """A stage as stored: sha256 of the content (hex), its size in bytes, one zstd frame."""

    digest: str
    size: int
    frame: bytes


def pack(content: bytes | Blob, level: int = _ZSTD_LEVEL) -> Blob:
    """Return `content` as stored; hashing and compressing release the GIL."""
    if isinstance(content, Blob):
        return content
    frame = compress(content, level)
    padding = max(
        len(content) // _MAX_RATIO if len(content) > _ANY_BYTES else 0, _lines(content) // _LINES_PER_BYTE
    )
    return Blob(digest(content), len(content), _padded(frame, padding + 1))


def unpack(content: bytes | Blob) -> bytes:
    """Return the content that `pack` returned as stored. Raises ValueError if it is damaged."""
    return decompress(content.frame, content.size) if isinstance(content, Blob) else content


def _lines(content: bytes) -> int:
    """Return the number of line feeds, or 0 if there are few enough for any capture."""
    lines = content.count(b"\n") if len(content) > _ANY_LINES else 0
    return lines if lines > _ANY_LINES else 0


def has_long_line(content: bytes) -> bool:
    """Return True if a line has more than MAX_LINE bytes."""
    start = 0  # of a line: each step goes to the last one that starts within reach
    while len(content) - start > MAX_LINE:
        start = content.rfind(b"\n", start, start + MAX_LINE + 1) + 1
        if not start:
            return True
    return False


def _padded(frame: bytes, size: int) -> bytes:
    """Pad `frame` to at least `size` bytes, so that its cost is in proportion to the file.

    A skippable frame, which decompressors ignore, follows (zstd format, RFC 8878, 3.1.2).
    """
    missing = max(0, size - len(frame))
    return frame + b"\x50\x2a\x4d\x18" + missing.to_bytes(4, "little") + bytes(missing) if missing else frame


def digest(content: bytes) -> str:
    """Return the sha256 of `content`, in hex: its name in the store."""
    import hashlib  # here, like zstandard below, because `irscope list` needs neither

    return hashlib.sha256(content).hexdigest()


def compress(content: bytes, level: int = _ZSTD_LEVEL) -> bytes:
    """Return `content` as one zstd frame that states its size."""
    import zstandard  # BSD; C; keeps a capture at about a fifteenth of its stages

    return zstandard.ZstdCompressor(level=level).compress(content)


def decompress(frame: bytes, size: int) -> bytes:
    """Return the content of `frame`.

    Raises ValueError if it is damaged, not `size` bytes long, or larger than a stage can be;
    nothing larger is allocated.
    """
    import zstandard

    if size > min(MAX_BLOB_BYTES, max(_ANY_BYTES, _MAX_RATIO * len(frame))):
        raise ValueError(f"a stage of {size:,} bytes, stored in {len(frame):,}, is larger than stages are")
    try:
        if zstandard.frame_content_size(frame) != size:
            raise ValueError("a stored stage does not have the size that the capture states")
        if not hasattr(_of_thread, "decompressor"):
            _of_thread.decompressor = zstandard.ZstdDecompressor()
        content: bytes = _of_thread.decompressor.decompress(frame)
    except zstandard.ZstdError as error:
        raise ValueError(f"a stored stage is damaged: {error}") from error
    most = min(_MAX_LINES, max(_ANY_LINES, _LINES_PER_BYTE * len(frame)))
    if _lines(content) > most:
        raise ValueError(f"a stage, stored in {len(frame):,} bytes, has more than {most:,} lines")
    return content


def capped(text: str, limit: int = MAX_TEXT) -> str:
    """Return `text`, shortened if it has more than `limit` characters.

    The first and last characters stay, with the number of those that are left out between them.
    """
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = f"[irscope left out {len(text) - 2 * half:,} of {len(text):,} characters]"
    return f"{text[:half]}\n{left_out}\n{text[-half:]}"


def dumps(value: Any) -> str:
    """Return `value` as compact JSON with sorted keys, so that equal values are equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def loads(text: str) -> Any:
    """Return the JSON value in `text`. Raises ValueError for anything else, or too large an integer."""
    if text == "{}":
        return {}
    return (_CHECKING if _has_long_number(text) else _DECODER).decode(text)


def _has_long_number(text: str) -> bool:
    """Check whether `text` may have a number of more than _DIGITS digits; look at few characters."""
    return len(text) > _DIGITS and _SOME_DIGITS.search(text[:: _DIGITS // _SOME]) is not None


# A number with fewer digits has fewer than _MAX_BITS bits.
_DIGITS = _MAX_BITS * 3 // 10
_SOME = 20
_SOME_DIGITS = re.compile(f"[0-9]{{{_SOME}}}")


def _integer(text: str) -> int:
    value = int(text) if len(text) <= _MAX_BITS // 3 else 1 << _MAX_BITS
    if value.bit_length() > _MAX_BITS:
        raise ValueError(f"not a number of at most {_MAX_BITS} bits: {text[:40]}...")
    return value


# Calling Python for each integer takes as long as all else.
_DECODER, _CHECKING = json.JSONDecoder(), json.JSONDecoder(parse_int=_integer)


def storable(text: str | None, limit: int = MAX_TEXT) -> str | None:
    """Return a compiler's text as a column: capped, and with surrogates escaped.

    SQLite cannot store surrogates.
    """
    return None if text is None else capped(text, limit).encode("utf-8", "backslashreplace").decode()


def value_to_json(value: Value) -> Any:
    """Return a constexpr value as JSON.

    Values that JSON does not have become objects whose key says what they are. Integers that
    `loads` does not read become text.
    """
    if isinstance(value, int):
        return value if value.bit_length() <= _MAX_BITS else f"{value:#x}"
    return _object_to_json(value)


def _object_to_json(value: Value) -> Any:
    match value:
        case Dtype(name):
            return {"dtype": name}
        case NamedValue(name, source):
            return {"named": name, **({"source": source} if source else {})}
        case ListValue(items):
            return {"list": list(map(value_to_json, items))}
        case tuple():
            return {"tuple": list(map(value_to_json, value))}
        case ObjectValue(type_, arguments, options):
            document = {"object": type_, "arguments": _pairs_to_json(arguments)}
            return {**document, **({"options": _pairs_to_json(options)} if options else {})}
    return value


def _pairs_to_json(pairs: tuple[tuple[str, Value], ...]) -> list[Any]:
    return [[name, value_to_json(value)] for name, value in pairs]


# A slice of an operand's layout is a layout in a layout, each with lists: real values have about five levels.
_MAX_DEPTH = 32
_PLAIN = frozenset((bool, int, float, str))


def value_from_json(value: Any, depth: int = _MAX_DEPTH) -> Value:
    """Reverse `value_to_json`.

    Raises ValueError for anything else, and for more than `depth` levels.
    """
    if value is None or type(value) in _PLAIN:
        return cast(Value, value)
    if not depth:
        raise ValueError("not a constexpr value: too many levels")
    nested = partial(value_from_json, depth=depth - 1)
    match value:
        case {"dtype": str(name)}:
            return Dtype(name)
        case {"named": str(name)}:
            return NamedValue(name, checked(value.get("source", "")))
        case {"list": list(items)}:
            return ListValue(tuple(map(nested, items)))
        case {"tuple": list(items)}:
            return tuple(map(nested, items))
        case {"object": str(type_), "arguments": list(arguments)}:
            options = value.get("options", [])
            return ObjectValue(type_, *(_pairs_from_json(pairs, nested) for pairs in (arguments, options)))
    raise ValueError(f"not a constexpr value: {reprlib.repr(value)}")


def _pairs_from_json(
    pairs: list[Any], read: Callable[[Any], Value] = value_from_json
) -> tuple[tuple[str, Value], ...]:
    return tuple((checked(name), read(value)) for name, value in pairs)


def config_to_json(config: Config) -> str:
    """Return a config as a JSON list of [name, value], in order."""
    return dumps(_pairs_to_json(config.values))


def config_from_json(text: str) -> Config:
    """Reverse `config_to_json`."""
    return Config(_pairs_from_json(loads(text)))


def specialization_to_json(arguments: tuple[Argument, ...]) -> str:
    """Return arguments as a JSON list of [name, type, key, value]."""
    return dumps([[a.name, a.type, a.key, value_to_json(a.value)] for a in arguments])


def specialization_from_json(text: str) -> tuple[Argument, ...]:
    """Reverse `specialization_to_json`."""
    arguments = []
    for name, type_, key, value in loads(text):
        arguments.append(Argument(checked(name), checked(type_), optional(key), value_from_json(value)))
    return tuple(arguments)


def records_to_json(records: Iterable[SourceFunction | Launch]) -> str:
    """Return source functions or launches as a JSON list of objects, without what launches seldom have."""
    rows = map(asdict, records)
    seldom = ("aliases", "unwritten", "values")
    return dumps(
        [{name: value for name, value in row.items() if value or name not in seldom} for row in rows]
    )


def function_from_json(text: str) -> SourceFunction:
    """Return a source function from its JSON object."""
    return _function(loads(text))


def functions_from_json(text: str) -> tuple[SourceFunction, ...]:
    """Reverse `records_to_json`."""
    return tuple(map(_function, loads(text)))


def launches_from_json(text: str) -> tuple[Launch, ...]:
    """Reverse `records_to_json`."""
    return tuple(
        Launch(
            tuple(map(int, row["grid"])),
            tuple((checked(name), checked(type_)) for name, type_ in row["arguments"]),
            tuple(
                (checked(name), checked(other), int(shift)) for name, other, shift in row.get("aliases", ())
            ),
            tuple(map(checked, row.get("unwritten", ()))),
            tuple((checked(name), sys.intern(checked(text))) for name, text in row.get("values", ())),
        )
        for row in loads(text)
    )


def benchmarks_to_json(benchmarks: tuple[Benchmark, ...]) -> str:
    """Return benchmarks as a JSON list of objects."""
    rows = map(asdict, benchmarks)
    return dumps([{name: value for name, value in row.items() if value is not None} for row in rows])


def benchmarks_from_json(text: str) -> tuple[Benchmark, ...]:
    """Reverse `benchmarks_to_json`."""
    return tuple(
        Benchmark(
            checked(row["key"]),
            float(row["ms"]),
            float(row["p20"]),
            float(row["p80"]),
            bool(row["chosen"]),
            _tuning(row.get("tuning")),
        )
        for row in loads(text)
    )


def _tuning(row: dict[str, Any] | None) -> Tuning | None:
    """Return a run of an autotuner; captures before it was recorded have none."""
    if row is None:
        return None
    texts = (checked(row[name]) for name in ("device", "driver", "date"))
    return Tuning(checked(row["key"]), int(row["configs"]), *texts)


def failure_to_json(failure: Failure) -> str:
    """Return a failure as a JSON object."""
    return dumps(asdict(Failure(failure.kind, failure.summary, capped(failure.message))))


def failure_from_json(text: str | None) -> Failure | None:
    """Return a failure from its JSON object; None stays None."""
    return None if text is None else Failure(**strings_from_json(text))


def strings_from_json(text: str) -> dict[str, str]:
    """Parse a JSON object whose values are all strings."""
    values = object_from_json(text)
    if set(map(type, values.values())) <= {str}:
        return values
    return {name: checked(value) for name, value in values.items()}


def seconds_from_json(text: str) -> dict[str, float]:
    """Parse a JSON object whose values are all numbers."""
    return {name: float(value) for name, value in object_from_json(text).items()}


def strings_list(text: str) -> tuple[str, ...]:
    """Parse a JSON list of strings."""
    return tuple(map(checked, loads(text)))


def object_from_json(text: str) -> dict[str, Any]:
    """Parse a JSON object. Raises ValueError if it is something else."""
    value = loads(text)
    if not isinstance(value, dict):
        raise ValueError(f"not a JSON object: {text[:40]!r}")
    return value


def objects_from_json(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Parse JSON objects. Raises as `object_from_json`.

    Decoded together, they share the names in them, which takes two thirds of the time.
    """
    try:
        documents = loads(f"[{','.join(texts)}]")
    except (ValueError, TypeError):
        documents = None
    if (
        isinstance(documents, list)
        and len(documents) == len(texts)
        and all(type(document) is dict for document in documents)
    ):
        return documents
    return [object_from_json(text) for text in texts]  # one is damaged


def checked(value: Any) -> str:
    """Return `value` if it is a string. Raises ValueError otherwise: captures are untrusted."""
    if not isinstance(value, str):
        raise ValueError(f"not text: {value!r:.40}")
    return value


def optional(value: Any) -> str | None:
    """Return `value` if it is a string or None. Raises ValueError otherwise."""
    return None if value is None else checked(value)


def _function(row: dict[str, Any]) -> SourceFunction:
    return SourceFunction(checked(row["name"]), checked(row["file"]), int(row["line"]), checked(row["text"]))
