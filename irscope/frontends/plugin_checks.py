"""Checks whether a front end of a plug-in can be used, and makes its languages known."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from irscope.frontends import FRONTENDS, Frontend
from irscope.languages.language_registry import LANGUAGES, add_languages
from irscope.model import COMMON_STAGES, Stage

# A stage's name is the extension of its files.
_STAGE_NAME = re.compile(r"[a-z]\w{0,30}", re.ASCII)


def check_frontend(frontend: Frontend, before: tuple[Frontend, ...]) -> Frontend:
    """Registers the languages of `frontend` and returns it; `before` are the plug-ins before it.

    Raises ValueError if it cannot be used.
    """
    others = (*FRONTENDS, *before)
    if frontend.name in {other.name for other in others}:
        raise ValueError(f"the name '{frontend.name}' is taken")
    taken = (*COMMON_STAGES, *(stage for other in others for stage in other.stages))
    check_stages(frontend.stages, taken, frontend.languages)
    add_languages(frontend.languages)
    return frontend


def check_stages(stages: Iterable[Stage], taken: Iterable[Stage], languages: Collection[str]) -> None:
    """Raises ValueError if a name of a plug-in's stages is bad or taken, or their language is unknown."""
    names = {stage.name for stage in taken}
    for stage in stages:
        if stage.name in names or not _STAGE_NAME.fullmatch(stage.name):
            raise ValueError(f"the name of the stage '{stage.name}' is taken or not a file extension")
        if stage.language is not None and stage.language not in (*LANGUAGES, *languages):
            raise ValueError(f"the language '{stage.language}' of the stage '{stage.name}' is unknown")
        names.add(stage.name)
