"""Targets: the devices that Triton compiles for, `cuda:90`, `hip:gfx942`."""

from __future__ import annotations

import re
from dataclasses import dataclass

BACKENDS = ("cuda", "hip")
_NAME = re.compile(r"(cuda):([1-9][0-9]{1,2})|(hip):(gfx[1-9][0-9a-f]{2,4})")


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """One device architecture, by Triton's names.

    `backend` is "cuda" or "hip"; `arch` is the compute capability times ten ("90") or the gfx name
    ("gfx942"); `warp_size` is in threads.
    """

    backend: str
    arch: str
    warp_size: int

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"


def _cuda(*archs: int) -> tuple[Target, ...]:
    return tuple(Target("cuda", str(arch), 32) for arch in archs)


def _hip(warp_size: int, *archs: str) -> tuple[Target, ...]:
    return tuple(Target("hip", arch, warp_size) for arch in archs)


# Every target that Triton 3.6 to 3.9 cross-compiles for; CDNA runs waves of 64 threads, RDNA of 32.
TARGETS: tuple[Target, ...] = (
    _cuda(70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 110, 120, 121)
    + _hip(64, "gfx90a", "gfx942", "gfx950")
    + _hip(32, "gfx1100", "gfx1101", "gfx1200", "gfx1201")
)


def target_named(text: str) -> Target:
    """The target called `text`, also one that nothing more is known of. Raises ValueError for no name of one.

    What others compiled may be for any device: gfx908, sm_70.
    """
    match = _NAME.fullmatch(text)
    if match is None:
        raise ValueError(f"unknown target '{text}'")
    backend, arch = match[1] or match[3], match[2] or match[4]
    return Target(backend, arch, 32 if backend == "cuda" else _wave(arch))


def _wave(arch: str) -> int:
    """Threads of a wave: 64 up to gfx9 (GCN, CDNA), 32 from gfx10 on (RDNA; LLVM, AMDGPU usage)."""
    # The last two digits are minor version and stepping.
    return 64 if int(arch[3:-2], 16) <= 9 else 32


def parse_target(text: str) -> Target:
    """The target that can be compiled for and that `text` names, such as "cuda:90".

    Raises ValueError, naming the known ones.
    """
    for target in TARGETS:
        if str(target) == text:
            return target
    raise ValueError(f"unknown target '{text}'; known: {', '.join(map(str, TARGETS))}")
