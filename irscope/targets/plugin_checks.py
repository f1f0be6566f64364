"""Checks whether a backend of a plug-in can be used, and makes its languages known.

Checks whether a front end of a plug-in can be used, and makes its languages known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irscope.languages.language import LANGUAGES, add_languages
from irscope.model import COMMON_STAGES, Stage
from irscope.model.plugins import guarded
from irscope.model.stage import STAGE_NAME
from irscope.targets.backend import Backend, Resources
from irscope.targets.cuda import CUDA
from irscope.targets.frontends import FRONTENDS, Frontend, source_stages
from irscope.targets.hip import HIP

if TYPE_CHECKING:
    from irscope.targets.instructions import InstructionSet


def check_frontend(frontend: Frontend, before: tuple[Frontend, ...]) -> Frontend:
    """Register the languages of `frontend` and return it; `before` are the plug-ins before it.

    Raises ValueError if it cannot be used.
    """
    all_earlier = (*FRONTENDS, *before)
    if frontend.name in {earlier.name for earlier in all_earlier}:
        raise ValueError(f"the name '{frontend.name}' is taken")
    taken_stages = (*COMMON_STAGES, *(stage for earlier in all_earlier for stage in earlier.stages))
    check_stages(frontend.stages, taken_stages, frontend.languages)
    add_languages(frontend.languages)
    return frontend


def check_stages(stages: Iterable[Stage], taken: Iterable[Stage], languages: Collection[str]) -> None:
    """Check the stages of a plug-in.

    Raises ValueError if a name is bad or taken, or their language is unknown.
    """
    names = {stage.name for stage in taken}
    for stage in stages:
        if stage.name in names or not re.fullmatch(STAGE_NAME, stage.name):
            raise ValueError(f"the name of the stage '{stage.name}' is taken or not a file extension")
        if stage.language is not None and stage.language not in (*LANGUAGES, *languages):
            raise ValueError(f"the language '{stage.language}' of the stage '{stage.name}' is unknown")
        names.add(stage.name)


_BUILT_IN = (CUDA, HIP)


def check_backend(backend: Backend, before: tuple[Backend, ...]) -> Backend:
    """Register the languages of `backend` and return it with functions that never raise.

    `before` are the plug-ins before it. Raises ValueError if it cannot be used.
    """
    all_earlier = (*_BUILT_IN, *before)
    if not backend.name.isidentifier() or backend.name in {earlier.name for earlier in all_earlier}:
        raise ValueError(f"the name '{backend.name}' is taken or not an identifier")
    taken_stages = [
        *source_stages(),
        *COMMON_STAGES,
        *(stage for earlier in all_earlier for stage in earlier.stages),
    ]
    check_stages(backend.stages, taken_stages, backend.languages)
    names = {stage.name: stage for stage in backend.stages}
    for role in ("assembly", "binary", "machine_code"):
        if getattr(backend, role) not in names:
            raise ValueError(f"its {role} '{getattr(backend, role)}' is not one of its stages")
    for stage in backend.stages:
        if stage.backend != backend.name:
            raise ValueError(f"the stage '{stage.name}' is not of the backend '{backend.name}'")
        if stage.derived_from and (stage.derived_from not in names or not stage.disassembler):
            raise ValueError(f"the derived stage '{stage.name}' has no binary stage or no disassembler")
    for target in backend.targets:
        if target.backend != backend.name or not re.fullmatch(backend.arch, target.arch):
            raise ValueError(f"the target {target} is not one of the backend '{backend.name}'")
    add_languages(backend.languages)
    return _guarded(backend)


def _guarded(backend: Backend) -> Backend:
    """Return `backend` with functions that return a default instead of raising."""

    def guard(name: str, instead: Callable[..., Any]) -> Any:
        return guarded(getattr(backend, name), instead, f"{name} of the backend '{backend.name}'")

    machine = backend.machine_instruction_set
    return replace(
        backend,
        resources=guard("resources", lambda *_: Resources()),
        device=guard("device", lambda *_: None),
        warnings=guard("warnings", lambda *_: ()),
        arch_name=guard("arch_name", str),
        warp_size=guard("warp_size", lambda _: 32),
        capability=guard("capability", lambda _: (0, 0)),
        has_bf16=guard("has_bf16", lambda _: True),
        instruction_set=guard("instruction_set", _no_instructions),
        machine_instruction_set=machine and guard("machine_instruction_set", _no_instructions),
    )


def _no_instructions() -> InstructionSet:
    from irscope.targets.instructions import InstructionSet

    return InstructionSet(re.compile("(?!)"), lambda opcode, line: ())
