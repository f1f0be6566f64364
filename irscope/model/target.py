"""Targets: the devices that Triton compiles for, `cuda:90`, `hip:gfx942`."""

from __future__ import annotations

from dataclasses import dataclass

BACKENDS = ("cuda", "hip")


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


def parse_target(text: str) -> Target:
    """The target that `text` names, such as "cuda:90". Raises ValueError, naming the known ones."""
    for target in TARGETS:
        if str(target) == text:
            return target
    raise ValueError(f"unknown target '{text}'; known: {', '.join(map(str, TARGETS))}")
