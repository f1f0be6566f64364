"""Targets: the devices that Triton compiles for, `cuda:90`, `hip:gfx942`."""

from __future__ import annotations

from dataclasses import dataclass

from irscope.model.frozen_value import FrozenValue


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Target(FrozenValue):
    """One device architecture, by Triton's names.

    `backend` is "cuda" or "hip"; `arch` is the compute capability times ten ("90") or the gfx name
    ("gfx942"); `warp_size` is in threads.
    """

    backend: str
    arch: str
    warp_size: int

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"
