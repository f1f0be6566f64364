"""Two variants of an open capture, A and B: every question about the pair, answered once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from irscope.analysis.cache_key_diff import Recompilation, recompilation, remedies, verdict
from irscope.analysis.divergence import Divergences, divergences
from irscope.analysis.duplicates import are_duplicates
from irscope.analysis.findings import findings
from irscope.analysis.findings.finding import Finding, PairContext, most_important, ranked
from irscope.analysis.source_alignment import line_map
from irscope.backends import is_source_stage, stage_named, stages_of
from irscope.diff.rows import StageDiff
from irscope.diff.summary import first_structural
from irscope.facts.fact import Fact
from irscope.model import Variant, format_value
from irscope.model.object_values import changed_parameters
from irscope.model.text import one_line
from irscope.workspace.compiler_version import chosen_values
from irscope.workspace.kernel_scopes import mismatch
from irscope.workspace.pair_estimates import PairEstimates, estimate_findings, pair_estimates
from irscope.workspace.texts import text_stages

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


class Comparison:
    """How variant B differs from variant A. Get one from `Workspace.compare`.

    Everything is computed when it is first asked for; the methods and properties raise UserError if the
    capture is damaged.
    """

    def __init__(self, workspace: Workspace, a: Variant, b: Variant) -> None:
        self.workspace = workspace
        self.a = a
        self.b = b

    def __repr__(self) -> str:
        return f"Comparison('{self.heading(0)}', '{self.heading(1)}')"

    @property
    def variants(self) -> tuple[Variant, Variant]:
        """A and B."""
        return self.a, self.b

    @property
    def single(self) -> bool:
        """Whether A and B are the same variant."""
        return self.a.id == self.b.id

    @property
    def names(self) -> tuple[str, str]:
        """The short names of A and B among all variants of the capture."""
        return self.workspace.names[self.a.id], self.workspace.names[self.b.id]

    @property
    def origins(self) -> list[str]:
        """The computations of A and B, a line per side or one for both, if a framework generated them."""
        origins = (v.origin.sentence if v.origin else "" for v in self.variants)
        a, b = (one_line(sentence.removeprefix("computes ")) for sentence in origins)
        sides = [("A and B", a)] if a == b else [("A", a), ("B", b)]
        return [f"{side}: {text}" for side, text in sides if text]

    def heading(self, index: int) -> str:
        """The name of A (0) or B (1): `#1 BLOCK_M=64,num_warps=4`."""
        return f"#{self.variants[index].id} {self.names[index]}"

    @property
    def config_changes(self) -> list[tuple[str, str, str]]:
        """(name, A's value, B's value) of each value that differs; "" if one side lacks it.

        The values are those of the config, the compiler environment and Triton's version.
        """
        a, b = (chosen_values(variant) for variant in self.variants)
        names = dict.fromkeys([*a, *b])
        texts = [
            (name, *(format_value(side[name]) if name in side else "" for side in (a, b))) for name in names
        ]
        return [(name, left, right) for name, left, right in texts if left != right]

    @property
    def config_text(self) -> str:
        """The config values that differ: `BLOCK_M 64 -> 128, num_warps unset -> 8`; "" if none.

        Of layouts and other objects, the parameters that differ: `LAYOUT.order [1, 0] -> [0, 1]`.
        """
        values = [chosen_values(variant) for variant in self.variants]
        texts = []
        for name, left, right in self.config_changes:
            parts = changed_parameters(*(side.get(name) for side in values))
            changes = [(f"{name}.{parameter}", a, b) for parameter, a, b in parts] or [(name, left, right)]
            texts += [f"{of} {a or 'unset'} -> {b or 'unset'}" for of, a, b in changes]
        return ", ".join(texts)

    @property
    def mismatch(self) -> str:
        """That A and B are different kernels or for different targets; "" if they can be compared."""
        return mismatch(self.a, self.b)

    def describe(self, index: int) -> str:
        """A (0) or B (1) in one line: `#1 BLOCK_M=64  matmul_kernel  cuda:90`."""
        variant = self.variants[index]
        return f"{self.heading(index)}  {variant.kernel.name}  {variant.target}"

    @cached_property
    def facts(self) -> tuple[Mapping[str, Fact], Mapping[str, Fact]]:
        """The facts of A and B, with the lines that prove them."""
        return self.workspace.facts(self.a), self.workspace.facts(self.b)

    @property
    def compared_stages(self) -> list[str]:
        """The stages that are compared unless others are named: those after the front end stored in both."""
        return [
            name
            for name in text_stages(self.a)
            if name in self.a.artifacts and name in self.b.artifacts and not is_source_stage(name)
        ]

    @cached_property
    def stages(self) -> Mapping[str, StageDiff]:
        """The diffs of `compared_stages` by name, in pipeline order."""
        return self.diffs()

    @cached_property
    def _held(self) -> Mapping[str, StageDiff]:
        """`stages` as the workspace holds them in memory: large ones without their operations."""
        return {name: self.workspace.diff(self.a, self.b, name) for name in self.compared_stages}

    def diffs(self, also: Collection[str] = ()) -> dict[str, StageDiff]:
        """The diffs of `compared_stages` and of the stages in `also`, in pipeline order.

        Raises UserError if A or B lacks one of `also`.
        """
        wanted = {*self.compared_stages, *also}
        known = dict.fromkeys((*stages_of(self.a), *stages_of(self.b), *map(stage_named, also)))
        return {stage.name: self._whole(stage.name) for stage in known if stage.name in wanted}

    def _whole(self, stage: str) -> StageDiff:
        """A diff with the operations of both sides, which the workspace drops from large stages."""
        diff = self.workspace.diff(self.a, self.b, stage)
        if diff.left.operations or diff.right.operations:
            return diff
        left, right = (self.workspace.document(variant, stage) for variant in self.variants)
        return replace(diff, left=left, right=right)

    @cached_property
    def duplicate(self) -> bool:
        """Whether A and B have identical machine code and are launched alike."""
        return are_duplicates(self.a, self.b, *self.facts)

    @cached_property
    def divergence(self) -> Divergences | None:
        """The passes after which A and B differ; None if the passes of either were not recorded."""
        a, b = (self.workspace.passes(variant) for variant in self.variants)
        if not a or not b:
            return None
        of_a, of_b = (partial(self.workspace.module, variant=variant) for variant in self.variants)
        return divergences(a, b, of_a, of_b, line_map(self.a.kernel, self.b.kernel))

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings about B compared with A, most important first, then those that others explain."""
        diffs = {name: diff.in_lines_of_b() for name, diff in self._held.items()}
        found = findings(PairContext(self.a, self.b, *self.facts, diffs, self.divergence))
        return tuple(ranked((*found, *estimate_findings(self))))

    @cached_property
    def estimates(self) -> PairEstimates | None:
        """The estimates of A and B for the same problem; None if they were not launched for one."""
        return pair_estimates(self)

    @property
    def main_findings(self) -> tuple[Finding, ...]:
        """The first of `findings`, which views show by default: at most ten, none that others explain."""
        return tuple(most_important(self.findings))

    @property
    def first_difference(self) -> StageDiff | None:
        """The first compared stage that differs in more than shapes and constants."""
        return first_structural(self._held.values())

    @cached_property
    def recompilation(self) -> Recompilation:
        """Which components of Triton's cache key differ, so that B was compiled after A."""
        return recompilation(self.a, self.b)

    @property
    def verdict(self) -> str:
        """Whether compiling B after A was worth it, in one sentence."""
        return verdict(self.a, self.b, self.duplicate)

    @property
    def remedies(self) -> list[str]:
        """The changes that would have avoided compiling B; empty unless A and B are duplicates."""
        return list(remedies(self.recompilation, self.a, self.b)) if self.duplicate else []
