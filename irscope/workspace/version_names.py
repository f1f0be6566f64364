"""The short names of versions, which the first paint needs; timeline.py has the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import Variant

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


def version_name(workspace: Workspace, variant: Variant) -> str:
    """The file that has a variant; the age of its source if one capture is open, "" if it has one source."""
    if len(workspace.captures) < 2:
        return workspace.age(variant)
    return file_names(workspace.captures)[workspace.capture_index(variant)]


def file_names(paths: Sequence[Path]) -> list[str]:
    """The names of the files, with their folders if several have one name."""
    names = [path.name for path in paths]
    if len(set(names)) == len(names):
        return names
    return [str(Path(path.parent.name) / path.name) for path in paths]
