"""The backends, and their stages and targets as tables. To add a backend, add it to BACKENDS."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from irscope.backends.backend import MAX_THREADS_PER_BLOCK, Backend, Device, ReferenceDevice
from irscope.backends.cuda import CUDA
from irscope.backends.hip import HIP
from irscope.frontends import SOURCE_STAGES
from irscope.model import COMMON_STAGES, Stage, Target

if TYPE_CHECKING:
    from irscope.backends.instructions import InstructionSet

__all__ = [
    "BACKENDS",
    "CUDA",
    "HIP",
    "MAX_THREADS_PER_BLOCK",
    "STAGES",
    "TARGETS",
    "Backend",
    "Device",
    "backend_named",
    "backend_of",
    "backend_with_assembly",
    "backend_with_machine_code",
    "device_of",
    "instructions_of",
    "parse_target",
    "reference_device",
    "stage_named",
    "stages_for",
    "target_named",
]

BACKENDS: tuple[Backend, ...] = (CUDA, HIP)
STAGES: tuple[Stage, ...] = (
    *SOURCE_STAGES,
    *COMMON_STAGES,
    *(stage for backend in BACKENDS for stage in backend.stages),
)
# Every target that Triton 3.6 to 3.9 cross-compiles for.
TARGETS: tuple[Target, ...] = tuple(target for backend in BACKENDS for target in backend.targets)

_BY_NAME = {backend.name: backend for backend in BACKENDS}
_STAGE_BY_NAME = {stage.name: stage for stage in STAGES}
_STAGES_FOR = {backend.name: (*SOURCE_STAGES, *COMMON_STAGES, *backend.stages) for backend in BACKENDS}


def backend_named(name: str) -> Backend:
    """The backend that Triton calls `name`. Raises KeyError if it is unknown."""
    return _BY_NAME[name]


def backend_of(target: Target) -> Backend:
    """The backend that compiles for `target`."""
    return _BY_NAME[target.backend]


def backend_with_assembly(stage: str) -> Backend | None:
    """The backend whose assembly text is `stage` ("ptx", "amdgcn"); None for any other stage."""
    return next((backend for backend in BACKENDS if backend.assembly == stage), None)


def backend_with_machine_code(stage: str) -> Backend | None:
    """The backend whose machine code is shown by `stage` ("sass", "amdgcn"); None for any other stage."""
    return next((backend for backend in BACKENDS if backend.machine_code == stage), None)


def instructions_of(stage: str) -> InstructionSet | None:
    """What the instructions of an assembly or machine code stage do; None for any other stage."""
    if (backend := backend_with_assembly(stage)) is not None:
        return backend.instruction_set()
    machine = backend_with_machine_code(stage)
    return machine.machine_instruction_set() if machine and machine.machine_instruction_set else None


def stage_named(name: str) -> Stage:
    """The stage called `name`. Raises ValueError that lists the known ones."""
    if name not in _STAGE_BY_NAME:
        raise ValueError(f"unknown stage '{name}'; known: {', '.join(_STAGE_BY_NAME)}")
    return _STAGE_BY_NAME[name]


def stages_for(backend: str) -> tuple[Stage, ...]:
    """The stages that variants for `backend` can have, in pipeline order: first those of all front ends."""
    return _STAGES_FOR[backend]


def target_named(text: str) -> Target:
    """The target called `text`, even if Triton cannot compile for it (gfx908, sm_70). Raises ValueError."""
    name, _, arch = text.partition(":")
    backend = _BY_NAME.get(name)
    if backend is None or re.fullmatch(backend.arch, arch) is None:
        raise ValueError(f"unknown target '{text}'")
    return Target(name, arch, backend.warp_size(arch))


def parse_target(text: str) -> Target:
    """The target called `text` ("cuda:90"), one of TARGETS. Raises ValueError that lists them."""
    for target in TARGETS:
        if str(target) == text:
            return target
    raise ValueError(f"unknown target '{text}'; known: {', '.join(map(str, TARGETS))}")


def device_of(target: Target, metadata: Mapping[str, Any] | None = None) -> Device | None:
    """The limits of `target`'s multiprocessor for a kernel with this metadata; None if they are unknown."""
    return backend_of(target).device(target.arch, metadata or {})


def reference_device(target: Target) -> ReferenceDevice:
    """The real device that programs see when they are compiled for `target`, one of TARGETS."""
    return backend_of(target).reference_devices[target.arch]
