"""The first stage in which two variants differ, found without parsing: their texts have other hashes.

Variants with equal machine code as a group: `3 equal: num_stages=2,3,4`; and the state of one variant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypeVar

from irscope.model import Variant, format_value
from irscope.model.records import varying_keys
from irscope.targets import is_source_stage, stages_of
from irscope.workspace.compiler_version import chosen_values
from irscope.workspace.fact_table import FactTable
from irscope.workspace.growth import InProgress
from irscope.workspace.variant_texts import PYTHON

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


SAME = "nothing"


# Of fewer variants, the artifacts are read one by one.
_MANY = 50


def first_difference(a: Variant | None, b: Variant) -> str:
    """Return the first stage whose content differs between A and B: "ttgir", or "nothing".

    "python" if they are compilations of different sources. "" if B is A itself or failed, or if
    there is no A. The difference can be in shapes only; `Comparison.first_difference` looks into
    the texts.
    """
    if a is None:
        return ""
    if (answer := _without_stages(a, b)) is not None:
        return answer
    artifacts, other_artifacts = a.artifacts, b.artifacts  # those of a large capture are read now
    equal = {
        name
        for name, artifact in artifacts.items()
        if name in other_artifacts and other_artifacts[name].digest == artifact.digest
    }
    return _first_unequal(a, b, artifacts.keys() | other_artifacts.keys(), equal)


def first_differences(workspace: Workspace, a: Variant | None, variants: Sequence[Variant]) -> list[str]:
    """Return the `first_difference` of A and each of the variants.

    10,000 of a large capture take 0.1 s.
    """
    stages = workspace.contents.equal_stages(a) if a is not None and len(variants) > _MANY else {}
    if a is None or not stages:
        return [first_difference(a, variant) for variant in variants]
    own_stages = set(stages.get(a.id, ("", ""))[0].split(","))
    answers: dict[tuple[object, ...], str] = {}  # few variants differ in which stages are equal
    differences = []
    for variant in variants:
        answer = _without_stages(a, variant) if variant.id in stages else first_difference(a, variant)
        if answer is None:
            names, equal = stages[variant.id]
            key = variant.target.backend, names, equal
            if key not in answers:
                every = own_stages | set(names.split(","))
                answers[key] = _first_unequal(a, variant, every, set(equal.split(",")))
            answer = answers[key]
        differences.append(answer)
    return differences


def _without_stages(a: Variant, b: Variant) -> str | None:
    """Return the answer if it does not depend on the stages; None if it does."""
    if a.id == b.id or b.failure is not None:
        return ""
    if a.kernel.id != b.kernel.id and a.kernel.source.text != b.kernel.source.text:
        return PYTHON
    return None


def _first_unequal(a: Variant, b: Variant, stages: AbstractSet[str], equal: AbstractSet[str]) -> str:
    """Return the first of the `stages` that either has which is not in `equal`."""
    for stage in dict.fromkeys((*stages_of(a), *stages_of(b))):
        if not is_source_stage(stage.name) and stage.name in stages and stage.name not in equal:
            return stage.name
    return SAME


_T = TypeVar("_T")


def equal_text(variants: Sequence[Variant]) -> str:
    """Describe a group of duplicates by the values in which they differ: `3 equal: num_stages=2,3,4`.

    By their numbers if they do not differ in their configs.
    """
    settings = [chosen_values(variant) for variant in variants]
    parts = [
        f"{name}={joined((chosen[name] for chosen in settings if name in chosen), format_value)}"
        for name in varying_keys(settings)
    ]
    numbers = ", ".join(f"#{variant.id}" for variant in variants)
    return f"{len(variants):,} equal: {' '.join(parts) or numbers}"


def joined(values: Iterable[_T], write: Callable[[_T], str]) -> str:
    """Join the texts of the different values, in ascending order if they are numbers: `2,3,4`."""
    texts: dict[str, _T] = {}
    for value in values:
        texts.setdefault(write(value), value)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in texts.values())
    return ",".join(sorted(texts, key=lambda text: float(str(texts[text])) if numbers else 0.0))


def state(variant: Variant, facts: FactTable, in_progress: InProgress) -> str:
    """Return `ok`, `=#3` for a duplicate of 3, `!failed`, `!launch`, or the compilation's progress."""
    if variant.id in in_progress:
        return in_progress.status(variant.id)
    if variant.failure is not None:
        return "!failed"
    if variant.id in facts.with_problem:
        return "!launch"
    first = facts.duplicate_of(variant)
    return "ok" if first is None else f"=#{first}"
