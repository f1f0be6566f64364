"""The rates of GPUs: clocks, bandwidths and the throughput of one multiprocessor, with their sources.

Rates per multiprocessor and clock are those of the CUDA Programming Guide ("Throughput of Native
Arithmetic Instructions") and of the architecture white papers; bandwidths are those of the data sheets.
What documents do not say is among the fitted constants (`irscope.estimating.constants`).
"""

from __future__ import annotations

from dataclasses import dataclass

from irscope.backends import CUDA
from irscope.model import Target

KIB, MIB = 1024, 1024**2


@dataclass(frozen=True)
class DeviceRates:
    """One GPU.

    `clock` is in GHz, under load; `memory` (DRAM) and `l2` are bandwidths in GB/s; `l2_bytes` is the size
    of the L2 cache. `tensor` is dense FP16 multiply-adds per multiprocessor and clock; `special` are special
    functions per multiprocessor and clock. `atomics` are the sectors (32 bytes) to which all of L2 adds per
    clock, `atomics_per_kib` those of one KiB: it belongs to one unit. `warp_groups` is true if the device has
    matrix instructions of warp groups or larger (wgmma, tcgen05): mma.sync then stays below its peak rate.
    `sources` names the documents.
    """

    name: str
    multiprocessors: int
    clock: float
    memory: float
    l2: float
    l2_bytes: int
    tensor: int
    special: int = 16
    atomics: float = 48.0
    atomics_per_kib: float = 1.71
    warp_groups: bool = True
    sources: str = ""

    def microseconds(self, cycles: float) -> float:
        """Converts clock cycles to microseconds."""
        return cycles / (self.clock * 1e3)


# Clocks are the maximum ones that nvidia-smi reports, since kernels of microseconds run at those. L2 delivers
# 5,120 bytes per clock on the A100 ("NVIDIA A100 Tensor Core GPU Architecture", 2020); the launches of
# tools/calibration/tune reach as many per clock on the H100. For others, it is scaled by the number of
# multiprocessors. No document has the rate of atomics. An H100 at 1.98 GHz reached 44 to 48 sectors per clock
# spread over 1 to 16 MB, 1.71 within one KiB and 3.4 within two (tools/calibration/tune/atomics.py,
# 2026-11-22, Triton 3.6.0); other GPUs have it scaled by what L2 delivers per clock.
H100 = DeviceRates(
    "NVIDIA H100 SXM 80GB", 132, 1.98, 3350, 10100, 50 * MIB, 2048,
    sources="H100 data sheet (3.35 TB/s, 989 TFLOPS dense FP16); H100 white paper (132 SMs, 50 MB L2)",
)  # fmt: skip
H200 = DeviceRates(
    "NVIDIA H200 SXM 141GB", 132, 1.98, 4800, 10100, 50 * MIB, 2048,
    sources="H200 data sheet (4.8 TB/s, 989 TFLOPS dense FP16); H100 white paper",
)  # fmt: skip
A100 = DeviceRates(
    "NVIDIA A100 SXM 80GB", 108, 1.41, 2039, 7200, 40 * MIB, 1024, atomics=48, warp_groups=False,
    sources="A100 data sheet (2,039 GB/s, 312 TFLOPS dense FP16); A100 white paper (108 SMs, 40 MB L2)",
)  # fmt: skip
B200 = DeviceRates(
    "NVIDIA B200 SXM 180GB", 148, 1.85, 8000, 18000, 126 * MIB, 4096, atomics=92,
    sources="DGX B200 data sheet (8 TB/s, 2,250 TFLOPS dense FP16 per GPU)",
)  # fmt: skip
_L4 = DeviceRates(
    "NVIDIA L4", 58, 1.6, 300, 1500, 48 * MIB, 512, atomics=9, warp_groups=False,
    sources="L4 data sheet (300 GB/s); Ada white paper (58 SMs, 48 MB L2)",
)  # fmt: skip
_RTX_5090 = DeviceRates(
    "NVIDIA GeForce RTX 5090", 170, 2.4, 1792, 5000, 96 * MIB, 512, atomics=20, warp_groups=False,
    sources="RTX Blackwell white paper (1,792 GB/s, 170 SMs, 96 MB L2)",
)  # fmt: skip

DEVICES = {"H100": H100, "H200": H200, "A100": A100, "B200": B200, "L4": _L4, "RTX 5090": _RTX_5090}
_DEFAULT = {"80": A100, "89": _L4, "90": H100, "100": B200, "120": _RTX_5090}
# The targets that have a device without one being named.
RATED_TARGETS = tuple(f"{CUDA.name}:{arch}" for arch in _DEFAULT)


def rates_of(target: Target) -> DeviceRates | None:
    """The device that estimates for a target are made for, if none is named; None if there is none."""
    return _DEFAULT.get(target.arch) if target.backend == CUDA.name else None
