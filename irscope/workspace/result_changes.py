"""Finds out, from few configs of a kernel, whether its configs compute the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.lint.compiled import ChangedResults
from irscope.model import Variant
from irscope.model.records import varying_keys
from irscope.workspace.problem_sizes import problems

if TYPE_CHECKING:
    from irscope.workspace.bits import ProblemBits
    from irscope.workspace.workspace import Workspace

# How many configs of a capture are executed. Nearly all take 0.3 s at most.
_MOST_EXECUTED = 24


class ResultChanges:
    """The configs of the kernels of a capture that compute other bits, kernel after kernel."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._left = _MOST_EXECUTED

    def find(self, variants: Sequence[Variant]) -> ChangedResults | None:
        """Compare configs of one kernel at the launch that most have; None if their bits are the same.

        Executes the first and the last. If their bits differ, it executes, for each value of a config, one
        that differs from the first in that and in few others.
        """
        from irscope.workspace.bits import bits_at, value_texts

        problem = max(problems(variants), key=lambda problem: len(problem.variants), default=None)
        if problem is None or self._left <= 0:
            return None
        first = problem.variants[0]
        # Another compiler may compute other bits, whatever the config.
        versions = first.toolchain.versions
        others = [v for v in problem.variants[1:] if v.toolchain.versions == versions]
        names = varying_keys(variant.settings for variant in (first, *others))
        values = value_texts(first, names).items()
        differing = {v.id: dict(value_texts(v, names).items() - values) for v in others}
        # Blocks and warps are listed in ascending order: the last of equally many differ most from the first.
        last_first = others[::-1]
        nearest = sorted(last_first, key=lambda variant: len(differing[variant.id]))
        chosen = [next((v for v in nearest if name in differing[v.id]), first) for name in names]
        for sample in ([first, *last_first[:1]], [first, *last_first[:1], *chosen]):
            launches = {variant.id: problem.launches[variant.id] for variant in sample}
            members = tuple(variant for variant in problem.variants if variant.id in launches)
            self._left -= len(members)
            part = replace(problem, variants=members, launches=launches, unlaunched=())
            bits = bits_at(self._workspace, part, first)
            if not bits.deciding:
                return None
        return _changed(bits)


def _changed(bits: ProblemBits) -> ChangedResults:
    """Return what decides."""
    difference = min(bits.from_first, key=lambda difference: len(difference.reasons))
    reason = difference.reasons[0] if difference.reasons else None
    a, b = (next(c.variants[0] for c in bits.classes if c.name == name) for name in ("a", difference.b))
    return ChangedResults(
        bits.problem.text,
        bits.deciding,
        sum(len(item.variants) for item in bits.classes),
        [name for name, value in bits.problem.arguments if value.lstrip("-").isdigit()],
        f"A = #{a}, B = #{b}: {bits.reason_texts(difference)[0]}",
        reason.source_line or None if reason else None,
    )
