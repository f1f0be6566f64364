"""Describes a launch of a kernel with a race: a comment with the code of a rule marks the reported line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Case:
    """A kernel, its grid, its arguments (a shape: a float32 tensor; a dtype with a shape), and its constants.

    `source` is the public thread that it was written after ("": none).
    """

    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    constants: Mapping[str, Any]
    source: str = ""

    @property
    def name(self) -> str:
        """Return the kernel's name."""
        return str(self.kernel.fn.__name__)

    def launch(self, device: str) -> None:
        """Launch the kernel."""
        self.kernel[self.grid](*(_argument(item, device) for item in self.arguments), **self.constants)


def case(kernel: Any, grid: tuple[int, ...], *arguments: Any, source: str = "", **constants: Any) -> Case:
    """Return a case; `constants` are the kernel's constants and Triton's options."""
    return Case(kernel, grid, arguments, constants, source)


def _argument(item: Any, device: str) -> Any:
    if isinstance(item, tuple) and item and isinstance(item[0], torch.dtype):
        return torch.zeros(item[1:], dtype=item[0], device=device)
    if isinstance(item, tuple):
        return torch.zeros(item, device=device)
    return item
