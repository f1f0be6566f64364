"""A stand-in for Triton's GPU driver, so that files which ask for their device at import load without one.

Runs in worker processes only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irscope.model import Target


class StandInUtils:
    """What `driver.active.utils` answers: the properties of the target's device."""

    def __init__(self, properties: dict[str, int]) -> None:
        self._properties = properties

    def get_device_properties(self, device: int) -> dict[str, int]:
        """The properties by Triton's names; the same for every device number."""
        return dict(self._properties)


class StandInDriver:
    """The part of `triton.backends.driver.DriverBase` that code outside of a launch asks for."""

    def __init__(self, target: Target, properties: dict[str, int]) -> None:
        self._target = target
        self.utils = StandInUtils(properties)

    def get_current_target(self) -> Any:
        """The target as Triton's own GPUTarget."""
        return gpu_target(self._target)

    def get_current_device(self) -> int:
        """Device 0."""
        return 0

    def get_current_stream(self, device: int) -> int:
        """The default stream."""
        return 0

    def get_active_torch_device(self) -> Any:
        """The torch device of that kind; needs torch, as the file that asks for it does."""
        import torch

        return torch.device("cuda", 0)

    def get_benchmarker(self) -> Callable[..., list[float]]:
        """A benchmarker for decorators that ask for one at import; nothing is launched here."""
        return lambda *args, **kwargs: [1.0, 1.0, 1.0]


def gpu_target(target: Target) -> Any:
    """`target` as Triton's GPUTarget, whose arch is a number for cuda and a name for hip."""
    from triton.backends.compiler import GPUTarget

    arch = int(target.arch) if target.backend == "cuda" else target.arch
    return GPUTarget(target.backend, arch, target.warp_size)
