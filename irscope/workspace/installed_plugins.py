"""The installed plug-ins and what they add, for `irscope doctor`."""

from __future__ import annotations

from irscope.backends import Backend, all_backends
from irscope.frontends import Frontend, all_frontends
from irscope.plugins import GROUPS, Plugin, loaded_object, plugins


def plugin_uses() -> list[tuple[Plugin, str]]:
    """Each installed plug-in with what it adds: "backend example for example:x1, example:x2".

    The reason why one cannot be used is printed on stderr.
    """
    all_backends()
    all_frontends()
    return [(plugin, _use(loaded_object(plugin))) for group in GROUPS for plugin in plugins(group)]


def _use(found: object) -> str:
    if isinstance(found, Backend):
        targets = ", ".join(map(str, found.targets)) or "no target that can be compiled for"
        return f"backend {found.name} for {targets}"
    if isinstance(found, Frontend):
        stages = ", ".join(stage.name for stage in found.stages) or "no stage"
        return f"front end {found.name} with {stages}"
    return "cannot be used"
