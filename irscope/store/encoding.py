"""Model <-> JSON and content <-> blob: what stands in the columns of a capture."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

import zstandard  # BSD; C; one frame a blob keeps a capture at about a fifteenth of its stages

from irscope.model import Argument, Config, Dtype, Failure, SourceFunction, Value

# Level 9 costs 0.02 s for the 600 kB of one matmul variant; 15 and 19 save 5 % more for 5 to 9 times that.
_ZSTD_LEVEL = 9
# No stage seen is over 200 MB; a capture is untrusted, so a frame may not claim more than this.
MAX_BLOB_BYTES = 1 << 30


def digest(content: bytes) -> str:
    """The sha256 of `content`, in hex: its name in the store."""
    return hashlib.sha256(content).hexdigest()


def compress(content: bytes) -> bytes:
    """`content` as one zstd frame that states its size."""
    return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(content)


def decompress(frame: bytes, size: int) -> bytes:
    """The content of `frame`. Raises ValueError where it is damaged or not `size` bytes long."""
    try:
        if size > MAX_BLOB_BYTES or zstandard.frame_content_size(frame) != size:
            raise ValueError("a stored stage does not have the size that the capture states")
        return zstandard.ZstdDecompressor().decompress(frame)
    except zstandard.ZstdError as error:
        raise ValueError(f"a stored stage is damaged: {error}") from error


def dumps(value: Any) -> str:
    """`value` as compact JSON with sorted keys, so that equal values are equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)


def value_to_json(value: Value) -> Any:
    """A constexpr value; element types become {"dtype": NAME}."""
    return {"dtype": value.name} if isinstance(value, Dtype) else value


def value_from_json(value: Any) -> Value:
    """What `value_to_json` wrote; raises ValueError for anything else."""
    if isinstance(value, dict) and isinstance(value.get("dtype"), str):
        return Dtype(value["dtype"])
    if value is None or isinstance(value, int | float | str):
        return value
    raise ValueError(f"no constexpr value: {value!r}")


def config_to_json(config: Config) -> str:
    """A config as a JSON list of [name, value], in order."""
    return dumps([[name, value_to_json(value)] for name, value in config.values])


def config_from_json(text: str) -> Config:
    """What `config_to_json` wrote."""
    return Config(tuple((str(name), value_from_json(value)) for name, value in json.loads(text)))


def specialization_to_json(arguments: tuple[Argument, ...]) -> str:
    """Arguments as a JSON list of [name, type, key, value]."""
    return dumps([[a.name, a.type, a.key, value_to_json(a.value)] for a in arguments])


def specialization_from_json(text: str) -> tuple[Argument, ...]:
    """What `specialization_to_json` wrote."""
    rows = json.loads(text)
    return tuple(Argument(str(n), str(t), k, value_from_json(v)) for n, t, k, v in rows)


def functions_to_json(functions: tuple[SourceFunction, ...]) -> str:
    """Source functions as a JSON list of objects."""
    return dumps([asdict(function) for function in functions])


def functions_from_json(text: str) -> tuple[SourceFunction, ...]:
    """What `functions_to_json` wrote."""
    return tuple(SourceFunction(**row) for row in json.loads(text))


def failure_from_json(text: str | None) -> Failure | None:
    """A failure from its JSON object; None stays None."""
    return None if text is None else Failure(**json.loads(text))
