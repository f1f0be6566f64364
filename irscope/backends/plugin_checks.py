"""Checks whether a backend of a plug-in can be used, and makes its languages known."""

from __future__ import annotations

import re

from irscope.backends.backend import Backend
from irscope.backends.cuda import CUDA
from irscope.backends.hip import HIP
from irscope.frontends import source_stages
from irscope.frontends.plugin_checks import check_stages
from irscope.languages.language_registry import add_languages
from irscope.model import COMMON_STAGES

_BUILT_IN = (CUDA, HIP)


def check_backend(backend: Backend, before: tuple[Backend, ...]) -> None:
    """Registers the languages of `backend`; `before` are the plug-ins before it.

    Raises ValueError if it cannot be used.
    """
    others = (*_BUILT_IN, *before)
    if not backend.name.isidentifier() or backend.name in {other.name for other in others}:
        raise ValueError(f"the name '{backend.name}' is taken or not an identifier")
    taken = [*source_stages(), *COMMON_STAGES, *(stage for other in others for stage in other.stages)]
    check_stages(backend.stages, taken, backend.languages)
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
