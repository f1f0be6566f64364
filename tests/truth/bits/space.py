"""Describes the space of one kernel: its configs, the arguments of its launches, and its grid."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

# The values of the constants and of Triton's options.
Config = Mapping[str, Any]
Grid = tuple[int, ...]
Arguments = tuple[Any, ...]


class Data:
    """Makes the arguments of a space: the same values on every device, since the CPU draws them all."""

    def __init__(self, name: str, device: str) -> None:
        self.device = device
        self._generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))

    def normal(self, *shape: int, dtype: Any = torch.float32, scale: float = 1.0) -> torch.Tensor:
        """Return normally distributed numbers with the standard deviation `scale`."""
        return (torch.randn(shape, generator=self._generator) * scale).to(dtype).to(self.device)

    def uniform(self, *shape: int, dtype: Any = torch.float32, low: float = 0.0, high: float = 1.0) -> Any:
        """Return numbers from `low` to `high`."""
        numbers = torch.rand(shape, generator=self._generator) * (high - low) + low
        return numbers.to(dtype).to(self.device)

    def integers(self, low: int, high: int, *shape: int, dtype: Any = torch.int32) -> torch.Tensor:
        """Return integers from `low` to below `high`."""
        return torch.randint(low, high, shape, generator=self._generator).to(dtype).to(self.device)

    def order(self, size: int) -> torch.Tensor:
        """Return the integers below `size` in random order."""
        return torch.randperm(size, generator=self._generator).to(torch.int32).to(self.device)

    def special(self, *shape: int, dtype: Any = torch.float32, one_in: int = 4) -> torch.Tensor:
        """Return normal numbers, of which one in `one_in` is NaN, infinite, large, a zero, or denormal."""
        values = torch.tensor(
            [
                float("nan"),
                float("inf"),
                float("-inf"),
                0.0,
                -0.0,
                1e-40,
                -3e-42,
                3.4e38,
                1.1754942e-38,
                -1e-38,
            ]
        )
        chosen = torch.randint(0, one_in * len(values), shape, generator=self._generator)
        normal = torch.randn(shape, generator=self._generator)
        mixed = torch.where(chosen < len(values), values[chosen % len(values)], normal)
        return mixed.to(dtype).to(self.device)

    def zeros(self, *shape: int, dtype: Any = torch.float32) -> torch.Tensor:
        """Return zeros, for outputs."""
        return torch.zeros(shape, dtype=dtype).to(self.device)

    def listed(self, values: Sequence[int], dtype: Any = torch.int32) -> torch.Tensor:
        """Return these integers."""
        return torch.tensor(list(values), dtype=dtype).to(self.device)


def _unchanged(arguments: Arguments, _config: Config) -> Arguments:
    return arguments


@dataclass(frozen=True)
class Space:
    """A kernel with its configs and launches.

    `make` allocates the arguments, `grid` is the number of programs under a config, and `shape` says how large
    the problem is. `arguments` changes the arguments under a config, such as the block of a tensor descriptor.
    """

    name: str
    kernel: Any
    configs: Sequence[Config]
    shape: tuple[int, ...]
    make: Callable[[Data], Arguments]
    grid: Callable[[Config], Grid]
    arguments: Callable[[Arguments, Config], Arguments] = _unchanged

    def tensors(self, device: str) -> Arguments:
        """Return the arguments on a device."""
        return self.make(Data(self.name, device))


def product(limit: int = 80, /, **values: Sequence[Any]) -> list[Config]:
    """Return all combinations of the values, or `limit` of them, the same in every run."""
    configs: list[Config] = [
        dict(zip(values, row, strict=True)) for row in itertools.product(*values.values())
    ]
    return configs if len(configs) <= limit else random.Random(0).sample(configs, limit)


def unfused(configs: Sequence[Config]) -> list[Config]:
    """Return the configs, and every fourth of them without fused multiply-adds."""
    return [*configs, *({**config, "enable_fp_fusion": False} for config in configs[::4])]


def cdiv(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)
