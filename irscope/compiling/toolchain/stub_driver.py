"""A stub of Triton's GPU driver: it describes the target's device and ignores launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from irscope.compiling.toolchain.patching import answering
from irscope.model import Target
from irscope.targets import backend_of, device_of, reference_device


class NeedsGpuError(BaseException):
    """Raised if a program needs a value that only a GPU could compute.

    A BaseException, so that the program's `except Exception` does not catch it. `read_at` is the line
    (FILE:LINE) that read the value, if another value can be assumed there. Its text says what to do.
    """

    def __init__(
        self, reason: str = "needs a value that is not computed without a GPU", read_at: str = ""
    ) -> None:
        value = f", or give it a value: --assume {read_at}=VALUE" if read_at else ""
        super().__init__(f"{reason}; capture on a GPU, or remove that line{value}")
        self.read_at = read_at


class StubProperties(dict[str, Any]):
    """The properties of a device, by Triton's names. Raises NeedsGpuError for an unknown one."""

    def __missing__(self, name: str) -> Any:
        raise NeedsGpuError(f"needs the device property '{name}', which only its driver knows")


class StubUtils:
    """The stub of `driver.active.utils`; `registers` maps binaries to (registers, spills)."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.registers: dict[bytes, tuple[int, int]] = {}

    def get_device_properties(self, device: int) -> StubProperties:
        """Return the target's properties, for every device number."""
        target, limits = self._target, device_of(self._target)
        shared = limits.block_shared if limits else 0
        return StubProperties(
            max_shared_mem=shared,
            max_num_regs=65536,
            multiprocessor_count=reference_device(target).multiprocessors,
            warpSize=target.warp_size,
            arch=target.arch,
        )

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[Any, ...]:
        """No module, no function, the registers and spills if known (else 0), and the most threads."""
        registers, spills = self.registers.get(binary, (0, 0))
        return None, None, registers, spills, 1024

    def unload_module(self, module: Any) -> None:
        """Do nothing: `load_binary` loads nothing."""


def call_once(kernel_call: Callable[[], Any], quantiles: Sequence[float] = (0.5,), **_: Any) -> list[float]:
    """Call once and return 1.0 ms for every quantile, so that an autotuner picks its first config."""
    kernel_call()
    return [1.0] * len(quantiles)


class StubDriver:
    """The part of `triton.backends.driver.DriverBase` that programs and the JIT use."""

    def __init__(self, target: Target, device: int = 0) -> None:
        self.target, self._device = target, device
        self.utils = StubUtils(target)

    get_current_stream = answering(0)  # the default stream
    get_empty_cache_for_benchmark = clear_cache = answering(None)  # nothing is benchmarked
    get_benchmarker = answering(call_once)
    launcher_cls = staticmethod(answering(answering(None)))

    def get_current_target(self) -> Any:
        """Return the target as Triton's GPUTarget."""
        return gpu_target(self.target)

    def get_current_device(self) -> int:
        """Return the device that was set last."""
        return self._device

    def set_current_device(self, device: int) -> None:
        """Set the device number; every number is the same device."""
        self._device = device

    def get_active_torch_device(self) -> Any:
        """Return the torch device. Needs torch, which the calling program has."""
        import torch

        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        """`torch.cuda`, which is faked too."""
        import torch

        return torch.cuda

    def map_python_to_cpp_type(self, type_: str) -> str:
        """Return the type itself: no C++ launcher is built."""
        return type_


def register_usage(target: Target, asm: Mapping[str, Any]) -> tuple[int, int]:
    """Register per thread and 4-byte words spilled, as the target's driver counts them; zeros if unknown."""
    hook = backend_of(target).register_usage
    registers, spills = resolve_name(hook)(asm) if hook else (0, 0)
    return registers, spills


def gpu_target(target: Target) -> Any:
    """`target` as Triton's GPUTarget, whose arch is a number for cuda and a name for hip."""
    from triton.backends.compiler import GPUTarget

    return GPUTarget(target.backend, backend_of(target).triton_arch(target.arch), target.warp_size)
