"""A stand-in for Triton's GPU driver: it answers for the target's device, and launches go nowhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irscope.backends import backend_of, device_of, reference_device
from irscope.capturing.fake_cuda.needs_gpu import NeedsGpuError
from irscope.model import Target


class Properties(dict[str, Any]):
    """What Triton's driver tells of a device."""

    def __missing__(self, name: str) -> Any:
        raise NeedsGpuError(f"asks for the device's '{name}', which its driver alone knows")


class StandInUtils:
    """What `driver.active.utils` answers; `registers` are (registers, spills) by binary."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.registers: dict[bytes, tuple[int, int]] = {}

    def get_device_properties(self, device: int) -> Properties:
        """The properties by Triton's names; the same for every device number."""
        target, limits = self._target, device_of(self._target)
        shared = limits.block_shared if limits else 0
        return Properties(
            max_shared_mem=shared,
            max_num_regs=65536,
            multiprocessor_count=reference_device(target).multiprocessors,
            warpSize=target.warp_size,
            arch=target.arch,
        )

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """A module and function that are none, registers and spills as far as they were read, threads."""
        registers, spills = self.registers.get(binary, (0, 0))
        return None, None, registers, spills, 1024

    def unload_module(self, module: Any) -> None:
        """There is nothing to unload."""


class StandInDriver:
    """The part of `triton.backends.driver.DriverBase` that programs and the JIT ask for."""

    def __init__(self, target: Target, device: int = 0) -> None:
        self.target, self._device = target, device
        self.utils = StandInUtils(target)
        self.launcher_cls = _no_launcher

    def get_current_target(self) -> Any:
        """The target as Triton's own GPUTarget."""
        return gpu_target(self.target)

    def get_current_device(self) -> int:
        """The device that was set last."""
        return self._device

    def set_current_device(self, device: int) -> None:
        """Every number is the same device."""
        self._device = device

    def get_current_stream(self, device: int) -> int:
        """The default stream."""
        return 0

    def get_active_torch_device(self) -> Any:
        """The torch device of that kind; needs torch, as the file that asks for it does."""
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        """`torch.cuda`, which poses too."""
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Callable[..., list[float]]:
        """A benchmarker that launches once and measures nothing."""
        return call_once

    def get_empty_cache_for_benchmark(self) -> None:
        """There is no cache to empty."""

    def clear_cache(self, cache: Any) -> None:
        """There is no cache to clear."""

    def map_python_to_cpp_type(self, type_: str) -> str:
        """No launcher is built, so its types are of no matter."""
        return type_


def call_once(kernel_call: Callable[[], Any], quantiles: Sequence[float] = (0.5,), **_: Any) -> list[float]:
    """Calls once; every time is 1.0 ms, so that an autotuner takes its first config."""
    kernel_call()
    return [1.0] * len(quantiles)


def gpu_target(target: Target) -> Any:
    """`target` as Triton's GPUTarget, whose arch is a number for cuda and a name for hip."""
    from triton.backends.compiler import GPUTarget

    return GPUTarget(target.backend, backend_of(target).triton_arch(target.arch), target.warp_size)


def _no_launcher(source: Any, metadata: Any) -> Callable[..., None]:
    def launch(*_: Any) -> None:
        """A launch that goes nowhere."""

    return launch
