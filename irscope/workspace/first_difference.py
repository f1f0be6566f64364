"""The first stage in which two variants differ, found without parsing: their texts have other hashes."""

from __future__ import annotations

from irscope.backends import is_source_stage, stages_of
from irscope.model import Variant
from irscope.workspace.texts import PYTHON

SAME = "nothing"


def first_difference(a: Variant | None, b: Variant) -> str:
    """The first stage whose content differs between A and B: "ttgir", or "nothing".

    "python" if they are compilations of different sources. "" if B is A itself or failed, or if there is
    no A. The difference can be in shapes only; `Comparison.first_difference` looks into the texts.
    """
    if a is None or a.id == b.id or b.failure is not None:
        return ""
    if a.kernel.id != b.kernel.id and a.kernel.source.text != b.kernel.source.text:
        return PYTHON
    artifacts, others = a.artifacts, b.artifacts  # those of a large capture are read now
    for stage in dict.fromkeys((*stages_of(a), *stages_of(b))):
        ours, theirs = artifacts.get(stage.name), others.get(stage.name)
        if is_source_stage(stage.name) or (ours is None and theirs is None):
            continue
        if ours is None or theirs is None or ours.digest != theirs.digest:
            return stage.name
    return SAME
