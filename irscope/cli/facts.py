"""The facts of a capture's variants: those that it keeps, the rest measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from irscope.analysis.fact import Fact
from irscope.analysis.facts import FACTS_VERSION, from_json, measure
from irscope.cli.stages import Stages
from irscope.model import Variant


def facts_of(stages: Stages, variants: Sequence[Variant]) -> dict[int, Mapping[str, Fact]]:
    """The facts of each of `variants`, by its id and their name; kept ones have no evidence."""
    kept = stages.capture.facts(FACTS_VERSION)
    return {
        variant.id: from_json(kept[variant.id]) if variant.id in kept else measured(stages, variant)
        for variant in variants
    }


def measured(stages: Stages, variant: Variant) -> Mapping[str, Fact]:
    """The facts of a variant with the lines that prove them."""
    return measure(variant, partial(stages.capture.read, variant))
