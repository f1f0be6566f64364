"""The real device that stands for each target where a program asks what it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from irscope.model.target import Target

_GIB = 1024**3
_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class ReferenceDevice:
    """A device as its driver describes it.

    `multiprocessors` is what the driver counts as such (RDNA: work-group processors); `memory` and
    `l2` are in bytes.
    """

    name: str
    multiprocessors: int
    memory: int
    l2: int


# The vendors' data sheets and architecture white papers; the H200's figures are as its driver told them.
# MI250X: one of its two dies, as the driver shows it. MI300X and MI355X: the L2 of one of their XCDs.
_BOARDS = {
    "cuda:70": ReferenceDevice("Tesla V100-SXM2-16GB", 80, 16 * _GIB, 6 * _MIB),
    "cuda:72": ReferenceDevice("Xavier", 8, 32 * _GIB, _MIB // 2),
    "cuda:75": ReferenceDevice("Tesla T4", 40, 16 * _GIB, 4 * _MIB),
    "cuda:80": ReferenceDevice("NVIDIA A100-SXM4-80GB", 108, 80 * _GIB, 40 * _MIB),
    "cuda:86": ReferenceDevice("NVIDIA GeForce RTX 3090", 82, 24 * _GIB, 6 * _MIB),
    "cuda:87": ReferenceDevice("Orin", 16, 64 * _GIB, 4 * _MIB),
    "cuda:89": ReferenceDevice("NVIDIA GeForce RTX 4090", 128, 24 * _GIB, 72 * _MIB),
    "cuda:90": ReferenceDevice("NVIDIA H200", 132, 143_771 * _MIB, 60 * _MIB),
    "cuda:100": ReferenceDevice("NVIDIA B200", 148, 180 * _GIB, 126 * _MIB),
    "cuda:101": ReferenceDevice("NVIDIA Thor", 20, 128 * _GIB, 32 * _MIB),
    "cuda:103": ReferenceDevice("NVIDIA B300 SXM6 AC", 148, 270 * _GIB, 126 * _MIB),
    "cuda:110": ReferenceDevice("NVIDIA Thor", 20, 128 * _GIB, 32 * _MIB),
    "cuda:120": ReferenceDevice("NVIDIA GeForce RTX 5090", 170, 32 * _GIB, 96 * _MIB),
    "cuda:121": ReferenceDevice("NVIDIA GB10", 48, 128 * _GIB, 24 * _MIB),
    "hip:gfx90a": ReferenceDevice("AMD Instinct MI250X", 110, 64 * _GIB, 8 * _MIB),
    "hip:gfx942": ReferenceDevice("AMD Instinct MI300X", 304, 192 * _GIB, 4 * _MIB),
    "hip:gfx950": ReferenceDevice("AMD Instinct MI355X", 256, 288 * _GIB, 4 * _MIB),
    "hip:gfx1100": ReferenceDevice("AMD Radeon RX 7900 XTX", 48, 24 * _GIB, 6 * _MIB),
    "hip:gfx1101": ReferenceDevice("AMD Radeon RX 7800 XT", 30, 16 * _GIB, 4 * _MIB),
    "hip:gfx1200": ReferenceDevice("AMD Radeon RX 9060 XT", 16, 16 * _GIB, 4 * _MIB),
    "hip:gfx1201": ReferenceDevice("AMD Radeon RX 9070 XT", 32, 16 * _GIB, 8 * _MIB),
}


def reference_device(target: Target) -> ReferenceDevice:
    """The device that stands for `target`, which is one of TARGETS."""
    return _BOARDS[str(target)]
