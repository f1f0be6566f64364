"""The space of one kernel: its configs, the shapes that it is measured at, and its launches."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Config = Mapping[str, int]
Shape = tuple[int, ...]
# The arguments and the grid of a launch.
Launch = tuple[tuple[Any, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Space:
    """A kernel with the configs and shapes to measure.

    `tensors` allocates the arguments of a shape; `launch` returns the arguments and the grid for a config.
    """

    name: str
    kernel: Any
    configs: Sequence[Config]
    shapes: Sequence[Shape]
    tensors: Callable[[Shape], Any]
    launch: Callable[[Any, Shape, Config], Launch]


def product(limit: int = 80, seed: int = 0, **values: Sequence[int]) -> list[Config]:
    """All combinations of the values, or `limit` of them, the same in every run."""
    configs: list[Config] = [
        dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())
    ]
    return configs if len(configs) <= limit else random.Random(seed).sample(configs, limit)


def cdiv(a: int, b: int) -> int:
    """Returns a / b, rounded up."""
    return -(-a // b)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON lines, compressed by gzip or not."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def without_data() -> AbstractContextManager[Any]:
    """Return a context in which torch makes each tensor on the meta device, whatever its program asks for."""
    from torch.overrides import TorchFunctionMode

    class WithoutData(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = dict(kwargs or {})
            return function(*args, **options | ({"device": "meta"} if "device" in options else {}))

    return WithoutData()
