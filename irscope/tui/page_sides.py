"""The text that a variant shows in each tab, or in its place why there is none."""

from __future__ import annotations

from irscope.backends import stage_named, stages_for
from irscope.model import Variant
from irscope.tui.origins import python_of
from irscope.tui.page import PageSide
from irscope.workspace import PYTHON, Workspace


def tabs_of(workspace: Workspace, a: Variant, b: Variant) -> list[str]:
    """The Python source and every text stage that A or B has, could derive or is going to have."""
    backends = dict.fromkeys(stage for v in (a, b) for stage in stages_for(v.target.backend))
    texts = [stage.name for stage in backends if not stage.binary]
    progress = workspace.in_progress
    coming = {stage for v in (a, b) if v.id in progress for stage in progress.coming(v)}
    return [
        PYTHON,
        *(name for name in texts if name in coming or workspace.key(a, name) or workspace.key(b, name)),
    ]


def side_of(workspace: Workspace, variant: Variant, stage: str) -> PageSide:
    """What a variant shows in a tab: the text, or in its place why there is none."""
    if stage == PYTHON:
        return python_of(variant).side
    if not workspace.key(variant, stage):
        return PageSide((workspace.in_progress.words(variant.id) or _missing(variant, stage)).split("\n"))
    if not workspace.available(variant, stage):
        return PageSide([f"Making {stage} from the machine code..."])
    return PageSide(workspace.lines(variant, stage), stage_named(stage).language)


def _missing(variant: Variant, stage: str) -> str:
    if variant.failure is not None:
        failure = variant.failure
        return f"{failure.kind}: {failure.summary}\n\n{failure.message}"
    return f"This variant has no {stage}."
