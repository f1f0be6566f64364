"""The versions of Triton or ptxas that made a fact worse, with the fact and the configs.

matmul_kernel cuda:90, 10 configs
Triton 3.7.1 -> 3.8.0: Registers worse in 4 of 10 configs, 128 -> 168 in the worst; first difference: ttgir
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from irscope.analysis.capture_diff import FactChange, MatchedVariants, compare_pair
from irscope.analysis.capture_matching import match_variants
from irscope.backends import backend_of
from irscope.diff.rows import Change
from irscope.model import UserError, Variant
from irscope.model.text import pluralize
from irscope.workspace.capture_comparison import change_text
from irscope.workspace.compiler_version import CompilerVersion, compiler_version
from irscope.workspace.workspace import Workspace

# Parsing both sides of a stage takes 10 to 100 ms.
_MOST_PARSED = 40


@dataclass(frozen=True)
class FactMovement:
    """A fact that got worse (or better) from one version to the next, and the pairs in which it did.

    The first pair is the one that moved most.
    """

    name: str
    worse: bool
    changes: tuple[tuple[MatchedVariants, FactChange], ...]

    def text(self, configs: int) -> str:
        """`Registers 128 -> 168 in 4 of 10 configs`; of different changes, the largest.

        `configs` is how many there are.
        """
        pair, first = self.changes[0]
        number = f"in {len(self.changes)} of {pluralize(configs, 'config')}"
        change = change_text(first, pair)
        if len({(each.a, each.b) for _, each in self.changes}) == 1:
            return f"{change} {number}"
        return f"{change} at most (#{pair.a.id} -> #{pair.b.id}), {number}"


@dataclass(frozen=True)
class VersionStep:
    """The variants of a kernel and target under two versions.

    `stages` counts the first stage that really differs, over `examined` of the pairs whose machine code
    differs; "" if only shapes or names do. `unmatched` are variants of NEW without a counterpart.
    """

    old: CompilerVersion
    new: CompilerVersion
    pairs: tuple[MatchedVariants, ...]
    movements: tuple[FactMovement, ...]
    stages: Mapping[str, int]
    examined: int
    unmatched: int

    @property
    def identical(self) -> int:
        """How many pairs have identical machine code."""
        return sum(pair.identical for pair in self.pairs)

    @property
    def worse(self) -> int:
        """How many pairs have a fact that got worse."""
        return sum(bool(pair.worse) for pair in self.pairs)

    @property
    def better(self) -> int:
        """How many pairs have a fact that got better, and none that got worse."""
        return sum(bool(pair.better) and not pair.worse for pair in self.pairs)

    @property
    def heading(self) -> str:
        """The versions: `Triton 3.7.1 -> 3.8.0`, `Triton 3.8.0: ptxas own -> 12.9.86`."""
        if self.old.triton == self.new.triton:
            return f"{self.old.name}: ptxas {self.old.ptxas or 'own'} -> {self.new.ptxas or 'own'}"
        assembler = f", ptxas {self.new.ptxas}" if self.new.ptxas else ""
        return f"{self.old.name} -> {self.new.triton}{assembler}"

    @property
    def counts(self) -> str:
        """How many configs got worse, better and stayed, in one line."""
        total = len(self.pairs)
        if not total:
            return "no config in both"
        same = total - self.worse - self.better - self.identical
        parts = [
            f"{self.worse} of {pluralize(total, 'config')} worse",
            f"{self.better} only better",
            f"{same} neither",
            f"{self.identical} with identical machine code",
        ]
        only = f"; {pluralize(self.unmatched, 'variant')} only in {self.new}" if self.unmatched else ""
        return ", ".join(parts) + only

    @property
    def first_stages(self) -> str:
        """The stages that differ first, with counts: `ttgir in 8, llir in 2`; "" if nothing differs."""
        names = [f"{stage or 'none but for shapes'} in {number}" for stage, number in self.stages.items()]
        differing = sum(not pair.identical for pair in self.pairs)
        of = f" (of the worst {self.examined})" if self.examined < differing else ""
        return f"{', '.join(names)}{of}" if names else ""


@dataclass(frozen=True)
class VersionSummary:
    """The versions of a kernel for a target, oldest first, with the steps between them."""

    kernel: str
    target: str
    versions: Mapping[CompilerVersion, tuple[Variant, ...]]
    steps: tuple[VersionStep, ...]


def version_summaries(
    workspace: Workspace, kernel: str | None = None, target: str | None = None
) -> list[VersionSummary]:
    """A summary for each kernel and target that several versions compiled.

    `kernel` and `target` select as in `Workspace.select`. Raises UserError if nothing matches.
    """
    groups: dict[tuple[str, str], dict[CompilerVersion, list[Variant]]] = {}
    for variant in workspace.select(kernel, target):
        place = variant.kernel.name, str(variant.target)
        groups.setdefault(place, {}).setdefault(compiler_version(variant), []).append(variant)
    return [
        VersionSummary(name, target_, ordered, tuple(_steps(workspace, ordered)))
        for (name, target_), found in groups.items()
        if len(found) > 1
        for ordered in [{version: tuple(found[version]) for version in sorted(found)}]
    ]


def _steps(
    workspace: Workspace, versions: Mapping[CompilerVersion, Sequence[Variant]]
) -> Iterator[VersionStep]:
    """Each Triton and the next with the same ptxas, then each ptxas and the next with the same Triton."""
    for ptxas in dict.fromkeys(version.ptxas for version in versions):
        for old, new in pairwise([version for version in versions if version.ptxas == ptxas]):
            yield _step(workspace, old, new, versions)
    for triton in dict.fromkeys(version.triton for version in versions):
        for old, new in pairwise([version for version in versions if version.triton == triton]):
            yield _step(workspace, old, new, versions)


def _step(
    workspace: Workspace,
    old: CompilerVersion,
    new: CompilerVersion,
    versions: Mapping[CompilerVersion, Sequence[Variant]],
) -> VersionStep:
    matched, _, unmatched = match_variants(versions[old], versions[new], {}, True)
    facts = workspace.all_facts(variant for pair in matched for variant in pair)
    pairs = tuple(compare_pair(a, b, facts[a.id], facts[b.id]) for a, b in matched)
    stages, examined = _first_stages(workspace, pairs)
    return VersionStep(old, new, pairs, tuple(_movements(pairs)), stages, examined, len(unmatched))


def _movements(pairs: Sequence[MatchedVariants]) -> list[FactMovement]:
    """The facts that moved, those that got worse first, then by total weight."""
    found: dict[tuple[str, bool], list[tuple[MatchedVariants, FactChange]]] = {}
    for pair in pairs:
        for change in pair.changes:
            found.setdefault((change.name, change.worse), []).append((pair, change))
    movements = [
        FactMovement(name, worse, tuple(sorted(changes, key=lambda each: -each[1].weight)))
        for (name, worse), changes in found.items()
    ]
    return sorted(movements, key=lambda each: (not each.worse, -sum(c.weight for _, c in each.changes)))


def _first_stages(workspace: Workspace, pairs: Sequence[MatchedVariants]) -> tuple[Mapping[str, int], int]:
    """The first stages that really differ, and the number of pairs that were parsed for that."""
    differing = [pair for pair in pairs if not pair.identical and not (pair.a.failure or pair.b.failure)]
    counts: Counter[str] = Counter()
    examined = 0
    # Those that got worse matter most.
    for pair in sorted(differing, key=lambda each: -each.weight)[:_MOST_PARSED]:
        counts[first_stage(workspace, pair.a, pair.b)] += 1
        examined += 1
    return dict(counts.most_common()), examined


def first_stage(workspace: Workspace, a: Variant, b: Variant) -> str:
    """The first stage that differs in more than shapes and constants; "" if none does, or it is damaged.

    The binary, if the operations of every text are equal: A and B have different machine code. Stages after
    the result are not parsed.
    """
    equal = True
    try:
        for name in workspace.compare(a, b).compared_stages:
            diff = workspace.diff(a, b, name)
            if diff.structural:
                return name
            # A line outside of operations is `.version 8.8` in PTX.
            equal = equal and not any(n for change, n in diff.counts.items() if change is not Change.TEXT)
    except UserError:
        return ""
    binary = backend_of(a.target).binary
    return binary if equal and binary in a.artifacts and binary in b.artifacts else ""
