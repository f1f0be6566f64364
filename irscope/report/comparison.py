"""What `irscope diff` has to say of two variants, before any format: the one input of its reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.finding import Finding
from irscope.diff.rows import StageDiff
from irscope.model import Variant, format_value


@dataclass(frozen=True)
class Comparison:
    """Two variants, A and B.

    `names` are their short names; `findings` stand most important first; `diffs` are the compared
    stages by name, in pipeline order; `shown` names those whose rows are asked for. `identical`: both
    are the same program.
    """

    capture: str
    variants: tuple[Variant, Variant]
    names: tuple[str, str]
    identical: bool
    findings: Sequence[Finding]
    diffs: Mapping[str, StageDiff]
    shown: Sequence[str]

    @property
    def config_changes(self) -> list[tuple[str, str, str]]:
        """(name, A's value, B's value) of the config values that differ; "" where one has none."""
        a, b = (dict(variant.config.values) for variant in self.variants)
        names = dict.fromkeys([*a, *b])
        texts = [
            (name, *(format_value(side[name]) if name in side else "" for side in (a, b))) for name in names
        ]
        return [(name, left, right) for name, left, right in texts if left != right]


def heading(comparison: Comparison, index: int) -> str:
    """What a side is called: `#1 BLOCK_M=64,num_warps=4`."""
    return f"#{comparison.variants[index].id} {comparison.names[index]}"
