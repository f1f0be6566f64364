"""Variants that were built from an edited stage, and the variants that they were built from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.model import Variant

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class StageEdit:
    """A request to build `variant` from `text` in place of its `stage`.

    `contents` are the variant's stages as they are stored, `taken` the names of its other edits; the new
    variant gets an id from `first_id` on.
    """

    variant: Variant
    stage: str
    text: str
    contents: Mapping[str, bytes]
    taken: tuple[str, ...]
    first_id: int


def can_build_from(stage: str) -> bool:
    """Whether Triton can build from a stage: it is a compiler's text, and not derived from a binary."""
    from irscope.backends import stage_named

    try:
        found = stage_named(stage)
    except ValueError:  # the Python source, an error
        return False
    return not found.binary and not found.derived_from and stage not in ("helion",)


def edit_names(workspace: Workspace, original: Variant) -> list[str]:
    """The names of the edits of a variant, or of the variant that it is an edit of."""
    own = _without_edit(original)
    return [v.edit.name for v in workspace.variants if v.edit is not None and _without_edit(v) == own]


def _without_edit(variant: Variant) -> tuple[object, ...]:
    """Everything that identifies a variant except for its edit."""
    environment = {name: value for name, value in variant.environment.items() if name != "edit"}
    return (variant.kernel, variant.target, variant.specialization, variant.config, environment)
