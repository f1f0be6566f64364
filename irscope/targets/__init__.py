"""The backends, and their stages and targets as tables. To add a backend, add it to BACKENDS.

Other packages add backends too (see `irscope.model.plugins`). They are looked up when a name is asked for
that no backend of irscope has, and in the tables whose names begin with `all_`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from irscope.model import COMMON_STAGES, Stage, Target, UserError, Variant
from irscope.model.stage import STAGE_NAME
from irscope.targets.backend import MAX_THREADS_PER_BLOCK, Backend, Device, ReferenceDevice
from irscope.targets.cuda import CUDA
from irscope.targets.frontends import SOURCE_STAGES, source_stages
from irscope.targets.hip import HIP

if TYPE_CHECKING:
    from irscope.targets.instructions import InstructionSet

__all__ = [
    "BACKENDS",
    "CUDA",
    "HIP",
    "MAX_THREADS_PER_BLOCK",
    "STAGES",
    "TARGETS",
    "Backend",
    "Device",
    "UnknownBackendError",
    "all_backends",
    "all_stages",
    "all_targets",
    "backend_named",
    "backend_of",
    "backend_with_assembly",
    "backend_with_machine_code",
    "device_of",
    "instructions_of",
    "is_source_stage",
    "layout_dialects",
    "parse_target",
    "reference_device",
    "stage_named",
    "stages_for",
    "stages_of",
    "target_named",
]

BACKENDS: tuple[Backend, ...] = (CUDA, HIP)
STAGES: tuple[Stage, ...] = (
    *SOURCE_STAGES,
    *COMMON_STAGES,
    *(stage for backend in BACKENDS for stage in backend.stages),
)
# Every target of these backends that Triton 3.6 to 3.9 cross-compiles for.
TARGETS: tuple[Target, ...] = tuple(target for backend in BACKENDS for target in backend.targets)

_BY_NAME = {backend.name: backend for backend in BACKENDS}
_STAGE_BY_NAME = {stage.name: stage for stage in STAGES}
_SOURCE_NAMES = frozenset(stage.name for stage in SOURCE_STAGES)
_STAGES_FOR = {backend.name: (*SOURCE_STAGES, *COMMON_STAGES, *backend.stages) for backend in BACKENDS}


class UnknownBackendError(ValueError):
    """Neither irscope nor a plug-in has a backend of this name."""


@cache
def all_backends() -> tuple[Backend, ...]:
    """Return the backends of irscope and of plug-ins. Plug-ins that cannot be used are left out."""
    from irscope.model.plugins import BACKENDS_GROUP, load_plugins
    from irscope.targets.plugin_checks import check_backend

    return (*BACKENDS, *load_plugins(BACKENDS_GROUP, Backend, check_backend))


@cache
def all_stages() -> tuple[Stage, ...]:
    """Return the stages of all front ends and backends, in pipeline order."""
    backend_stages = (stage for backend in all_backends() for stage in backend.stages)
    return (*source_stages(), *COMMON_STAGES, *backend_stages)


def layout_dialects() -> frozenset[str]:
    """Return the MLIR dialects with layouts of the plug-ins that a capture or target needed so far."""
    needed = all_backends() if all_backends.cache_info().currsize else ()
    return frozenset(dialect for backend in needed for dialect in backend.layout_dialects)


def all_targets() -> tuple[Target, ...]:
    """Return the targets of all backends."""
    return tuple(target for backend in all_backends() for target in backend.targets)


def backend_named(name: str) -> Backend:
    """Return the backend that Triton calls `name`. Raises UnknownBackendError if there is none."""
    match = _BY_NAME.get(name) or next(
        (candidate for candidate in all_backends() if candidate.name == name), None
    )
    if match is None:
        raise UnknownBackendError(f"no backend '{name}'; install the plug-in of irscope that has it")
    return match


def backend_of(target: Target) -> Backend:
    """Return the backend that compiles for `target`."""
    return backend_named(target.backend)


def backend_with_assembly(stage: str) -> Backend | None:
    """Return the backend whose assembly text is `stage` ("ptx", "amdgcn"), or None."""
    return next((backend for backend in _backends_with(stage) if backend.assembly == stage), None)


def backend_with_machine_code(stage: str) -> Backend | None:
    """Return the backend whose machine code `stage` ("sass", "amdgcn") shows, or None."""
    return next((backend for backend in _backends_with(stage) if backend.machine_code == stage), None)


def _backends_with(stage: str) -> tuple[Backend, ...]:
    """Return the backends that may have a stage; look up plug-ins only if irscope does not have it."""
    return BACKENDS if stage in _STAGE_BY_NAME else all_backends()


def instructions_of(stage: str) -> InstructionSet | None:
    """Return the kinds of instructions of an assembly or machine code stage; None for another stage."""
    if (backend := backend_with_assembly(stage)) is not None:
        return backend.instruction_set()
    machine = backend_with_machine_code(stage)
    return machine.machine_instruction_set() if machine and machine.machine_instruction_set else None


def stage_named(name: str) -> Stage:
    """Return the stage called `name`. Raises ValueError that lists the known ones."""
    if name in _STAGE_BY_NAME:
        return _STAGE_BY_NAME[name]
    by_name = {stage.name: stage for stage in all_stages()}
    if name not in by_name:
        raise ValueError(f"unknown stage '{name}'; known: {', '.join(by_name)}")
    return by_name[name]


def is_source_stage(name: str) -> bool:
    """Return True if a stage is an input of the compiler ("source", "helion"), not an output."""
    if name in _STAGE_BY_NAME:
        return name in _SOURCE_NAMES
    return any(stage.name == name for stage in source_stages())


def stages_for(backend: str, names: Collection[str] = ()) -> tuple[Stage, ...]:
    """Return the stages that variants for `backend` can have, in pipeline order.

    Those of the front ends are first. `names` are stages that one has; the front ends of plug-ins
    are included only if one of those is unknown. One that no installed plug-in has is a binary
    file.
    """
    stages = _STAGES_FOR.get(backend)
    if stages is None:
        stages = (*SOURCE_STAGES, *COMMON_STAGES, *backend_named(backend).stages)
    if {stage.name for stage in stages}.issuperset(names):
        return stages
    stages = (*source_stages(), *stages[len(SOURCE_STAGES) :])
    unknown = sorted(set(names) - {stage.name for stage in stages})
    return (*(Stage(name, None) for name in unknown if re.fullmatch(STAGE_NAME, name)), *stages)


def stages_of(variant: Variant) -> tuple[Stage, ...]:
    """Return the stages that a variant can have, in pipeline order."""
    return stages_for(variant.target.backend, variant.artifacts)


def target_named(text: str) -> Target:
    """Return the target called `text`, even if Triton cannot compile for it (gfx908, sm_70).

    Raises ValueError; UnknownBackendError if there is no such backend.
    """
    name, _, arch = text.partition(":")
    try:
        backend = backend_named(name)
    except UnknownBackendError as error:
        raise UnknownBackendError(f"unknown target '{text}': {error}") from error
    if re.fullmatch(backend.arch, arch) is None:
        raise ValueError(f"unknown target '{text}'")
    return Target(name, arch, backend.warp_size(arch))


def parse_target(text: str) -> Target:
    """Return the target called `text` ("cuda:90"), if Triton compiles for it.

    Raises ValueError that lists all.
    """
    targets = TARGETS if text.partition(":")[0] in _BY_NAME else all_targets()
    for target in targets:
        if str(target) == text:
            return target
    meant = _target_meant(text, targets)
    hint = f"; do you mean {meant}?" if meant else ""
    raise ValueError(f"unknown target '{text}'{hint}; known: {', '.join(map(str, all_targets()))}")


def _target_meant(text: str, known: Iterable[Target]) -> Target | None:
    """Find the target of an architecture as nvcc, ptxas or rocminfo writes it: `sm_90a`, `gfx942`."""
    name = text.lower().removeprefix("cuda").removeprefix("hip").lstrip(":_").removeprefix("sm").lstrip("_")
    return next((target for target in known if str(target.arch) in (name, name.rstrip("af"))), None)


def in_words_of(target: Target, text: str) -> str:
    """Return a text of irscope's own in the words of the target's vendor.

    "Shared memory per block" -> "LDS per workgroup" (hip). `text` must not quote code: it would change too.
    """
    words = backend_of(target).words
    if not words:
        return text
    phrases = "|".join(map(re.escape, words))

    def translated(match: re.Match[str]) -> str:
        word = words[match[0].lower()]
        return word[0].upper() + word[1:] if match[0][0].isupper() else word

    return re.sub(rf"\b(?:{phrases})\b", translated, text, flags=re.IGNORECASE)


def device_of(target: Target, metadata: Mapping[str, Any] | None = None) -> Device | None:
    """Return the limits of `target`'s multiprocessor for a kernel with this metadata, or None."""
    return backend_of(target).device(target.arch, metadata or {})


def reference_device(target: Target) -> ReferenceDevice:
    """Return the real device that programs see when they are compiled for `target`.

    Raises UserError if the backend describes none.
    """
    device = backend_of(target).reference_devices.get(target.arch)
    if device is None:
        raise UserError(f"the backend of {target} describes no device that a program could see")
    return device
