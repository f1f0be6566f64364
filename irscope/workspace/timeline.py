"""The same variant in several versions: captures of several commits, edits, several versions of Triton.

The versions of Triton or ptxas that made a fact worse, with the fact and the configs.

matmul_kernel cuda:90, 10 configs
Triton 3.7.1 -> 3.8.0: Registers worse in 4 of 10 configs, 128 -> 168 in the worst; first difference: ttgir
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path

from irscope.diff.rows import Change
from irscope.model import UserError, Variant
from irscope.model.text import base_name, pluralize
from irscope.targets import backend_of
from irscope.workspace.capture_comparison import FactChange, MatchedVariants, change_text, compare_pair
from irscope.workspace.capture_matching import closest, match_variants
from irscope.workspace.compiler_version import CompilerVersion, compiler_version, file_names
from irscope.workspace.workspace import Workspace

# A hash as git abbreviates it.
_HASH = 7
_MAX_CHANGES = 4


@dataclass(frozen=True)
class Version:
    """The variants of one capture, or of one source and Triton within a capture.

    `name` is short: `new.irscope`, `source 3f2a91c`; `title` has everything that is known.
    """

    name: str
    title: str
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class TimelineStep:
    """The same variant in two versions, A in the older one. `number` is B's version, from 1.

    `label` names B's version; `changes` has what got worse or better, or that nothing did.
    """

    a: Variant
    b: Variant
    number: int
    total: int
    label: str
    changes: str

    @property
    def text(self) -> str:
        """Return the step in two lines."""
        return f"Version {self.number} of {self.total}: {self.label}\n{self.changes}"


class Timeline:
    """The versions of a kernel in a workspace, oldest first.

    With several captures, each is a version, in the order in which they were opened. Within one capture, a
    version is a source of the kernel compiled by one Triton, in the order of the capture.
    """

    def __init__(self, workspace: Workspace, variant: Variant) -> None:
        self._workspace = workspace
        groups = (
            _by_capture(workspace) if len(workspace.contents.paths) > 1 else _by_source(workspace, variant)
        )
        self.versions = list(_versions(workspace, groups, variant))

    def index(self, variant: Variant) -> int:
        """Return the index of the version that has a variant."""
        return next(
            n for n, version in enumerate(self.versions) if any(v.id == variant.id for v in version.variants)
        )

    def chain(self, variant: Variant) -> Mapping[int, Variant]:
        """Return the same variant in every version that has it, by the version's index."""
        variants = {self.index(variant): variant}
        for direction in (1, -1):
            position = self.index(variant)
            while 0 <= (after := position + direction) < len(self.versions):
                latest = variants[max(variants) if direction > 0 else min(variants)]
                match = self._counterpart(latest, self.versions[after].variants)
                if match is not None:
                    variants[after] = match
                position = after
        return variants

    def step(self, a: Variant, b: Variant, direction: int) -> TimelineStep | str:
        """Return the next (1) or previous (-1) two versions of B; a line that says why there are none.

        If A is not the version before B, the first step is to B and its neighbor.
        """
        if len(self.versions) < 2:
            return "There is one version; irscope tui OLD NEW opens several captures as a timeline"
        chain = self.chain(b)
        order = sorted(chain)
        position = order.index(self.index(b))
        if len(order) < 2:
            return self._no_counterpart(b)
        adjacent = position > 0 and chain[order[position - 1]].id == a.id
        last = position + direction if adjacent else position + (direction > 0)
        if not adjacent:
            last = min(max(last, 1), len(order) - 1)
        if not 1 <= last < len(order):
            end = "newest" if direction > 0 else "oldest"
            return f"{self.versions[order[-1 if direction > 0 else 0]].name} is the {end} version"
        return self._step(chain[order[last - 1]], chain[order[last]], order[last])

    def first(self) -> TimelineStep | None:
        """Return the first variant of the first version that a later one has too, in both; None if none."""
        for variant in self.versions[0].variants if self.versions else ():
            step = self.step(variant, variant, 1)
            if isinstance(step, TimelineStep):
                return step
        return None

    def _step(self, a: Variant, b: Variant, index: int) -> TimelineStep:
        title = self.versions[index].title
        before, after = _source_hash(a), _source_hash(b)
        label = title.replace(after, f"{after} (edited)") if before != after else title
        facts = self._workspace.all_facts([a, b])
        pair = compare_pair(a, b, facts[a.id], facts[b.id])
        return TimelineStep(a, b, index + 1, len(self.versions), label, _changes(pair))

    def _counterpart(self, variant: Variant, others: Sequence[Variant]) -> Variant | None:
        same = [v for v in others if v.kernel.name == variant.kernel.name]
        by_target = any(v.target == variant.target for v in same)
        pairs, _, _ = match_variants([variant], same, {}, by_target)
        return pairs[0][1] if pairs else None

    def _no_counterpart(self, variant: Variant) -> str:
        """Say why no other version has a variant: how the closest variant differs."""
        own_index = self.index(variant)
        candidates = [
            v for n, version in enumerate(self.versions) if n != own_index for v in version.variants
        ]
        match = closest(variant, candidates)
        if match is None:
            return f"No other version has {variant.kernel.name}"
        nearest, differences = match
        listed = ", ".join(str(difference) for difference in differences[:_MAX_CHANGES])
        return f"No other version has #{variant.id}; the closest, #{nearest.id}, differs in {listed}"


def _by_capture(workspace: Workspace) -> list[tuple[Variant, ...]]:
    groups: list[list[Variant]] = [[] for _ in workspace.contents.paths]
    for variant in workspace.variants:
        groups[workspace.contents.place(variant)].append(variant)
    return [tuple(group) for group in groups]


def _by_source(workspace: Workspace, variant: Variant) -> list[tuple[Variant, ...]]:
    """Group a kernel's variants by source and Triton: kernels of this name in a file of this name."""
    groups: dict[Hashable, list[Variant]] = {}
    sources: dict[int, Hashable] = {}
    name, file = variant.kernel.name, base_name(variant.kernel.source.file)
    for candidate in workspace.variants:
        if candidate.kernel.name == name and base_name(candidate.kernel.source.file) == file:
            functions = sources.setdefault(candidate.kernel.id, candidate.kernel.own_functions)
            groups.setdefault((functions, compiler_version(candidate)), []).append(candidate)
    return [tuple(group) for group in groups.values()]


def _versions(
    workspace: Workspace, groups: Sequence[tuple[Variant, ...]], variant: Variant
) -> Iterator[Version]:
    """Yield the groups with what names them: the file, Triton, the source, the date of the file."""
    several = len(workspace.contents.paths) > 1
    files = file_names(workspace.contents.paths)
    for index, group in enumerate(groups):
        kernel_variants = [v for v in group if v.kernel.name == variant.kernel.name] or list(group)
        tritons = ", ".join(dict.fromkeys(str(compiler_version(v)) for v in kernel_variants if _triton(v)))
        source = f"source {_source_hash(kernel_variants[0])}" if kernel_variants else ""
        parts = [tritons, source]
        if several:
            parts = [files[index], *parts, _date(workspace.contents.paths[index])]
        title = ", ".join(filter(None, parts))
        yield Version(files[index] if several else title, title, group)


def _triton(variant: Variant) -> str:
    return variant.toolchain.versions.get("triton", "")


def _source_hash(variant: Variant) -> str:
    """Hash the source of a kernel and the functions that it calls."""
    texts = [function.text for function in variant.kernel.own_functions]
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:_HASH]


def _date(path: Path) -> str:
    """Return the date of the file's last change, in UTC; "" if it is unknown."""
    with suppress(OSError, OverflowError, ValueError):
        return datetime.fromtimestamp(path.stat().st_mtime, timezone.utc).strftime("%Y-%m-%d")
    return ""


def _changes(pair: MatchedVariants) -> str:
    """List the facts that got worse and better; without any, say if the machine code is identical."""
    if pair.identical:
        return "identical machine code"
    parts = []
    for word, changes in (("worse", pair.worse), ("better", pair.better)):
        texts = [change_text(change, pair) for change in changes[:_MAX_CHANGES]]
        left = len(changes) - len(texts)
        if texts:
            more = f" and {left} more" if left else ""
            parts.append(f"{word}: {', '.join(texts)}{more}")
    return "; ".join(parts) or "different machine code, but no fact better or worse"


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
        """Return `Registers 128 -> 168 in 4 of 10 configs`; of different changes, the largest.

        `configs` is how many there are.
        """
        pair, first = self.changes[0]
        number = f"in {len(self.changes)} of {pluralize(configs, 'config')}"
        change = change_text(first, pair)
        if len({(change_of_pair.a, change_of_pair.b) for _, change_of_pair in self.changes}) == 1:
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
        """Number of pairs with identical machine code."""
        return sum(pair.identical for pair in self.pairs)

    @property
    def worse(self) -> int:
        """Number of pairs with a fact that got worse."""
        return sum(bool(pair.worse) for pair in self.pairs)

    @property
    def better(self) -> int:
        """Number of pairs with a fact that got better, and none that got worse."""
        return sum(bool(pair.better) and not pair.worse for pair in self.pairs)

    @property
    def heading(self) -> str:
        """Return the versions: `Triton 3.7.1 -> 3.8.0`, `Triton 3.8.0: ptxas own -> 12.9.86`."""
        if self.old.triton == self.new.triton:
            return f"{self.old.name}: ptxas {self.old.ptxas or 'own'} -> {self.new.ptxas or 'own'}"
        assembler = f", ptxas {self.new.ptxas}" if self.new.ptxas else ""
        return f"{self.old.name} -> {self.new.triton}{assembler}"

    @property
    def counts(self) -> str:
        """Return in one line how many configs got worse, better and stayed."""
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
        """Return the stages that differ first with counts: `ttgir in 8, llir in 2`; "" if none differs."""
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
    """Return a summary for each kernel and target that several versions compiled.

    `kernel` and `target` select as in `Workspace.select`. Raises UserError if nothing matches.
    """
    groups: dict[tuple[str, str], dict[CompilerVersion, list[Variant]]] = {}
    for variant in workspace.select(kernel, target):
        kernel_and_target = variant.kernel.name, str(variant.target)
        groups.setdefault(kernel_and_target, {}).setdefault(compiler_version(variant), []).append(variant)
    return [
        VersionSummary(name, target_, ordered, tuple(_steps(workspace, ordered)))
        for (name, target_), by_version in groups.items()
        if len(by_version) > 1
        for ordered in [{version: tuple(by_version[version]) for version in sorted(by_version)}]
    ]


def _steps(
    workspace: Workspace, versions: Mapping[CompilerVersion, Sequence[Variant]]
) -> Iterator[VersionStep]:
    """Yield each Triton and the next with the same ptxas, then each ptxas and the next of one Triton."""
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
    """Return the facts that moved, those that got worse first, then by total weight."""
    changes_by_fact: dict[tuple[str, bool], list[tuple[MatchedVariants, FactChange]]] = {}
    for pair in pairs:
        for change in pair.changes:
            changes_by_fact.setdefault((change.name, change.worse), []).append((pair, change))
    movements = [
        FactMovement(name, worse, tuple(sorted(changes, key=lambda each: -each[1].weight)))
        for (name, worse), changes in changes_by_fact.items()
    ]
    return sorted(movements, key=lambda each: (not each.worse, -sum(c.weight for _, c in each.changes)))


def _first_stages(workspace: Workspace, pairs: Sequence[MatchedVariants]) -> tuple[Mapping[str, int], int]:
    """Count the first stages that really differ; return also how many pairs were parsed for that."""
    differing = [pair for pair in pairs if not pair.identical and not (pair.a.failure or pair.b.failure)]
    counts: Counter[str] = Counter()
    examined = 0
    # Those that got worse matter most.
    for pair in sorted(differing, key=lambda each: -each.weight)[:_MOST_PARSED]:
        counts[first_stage(workspace, pair.a, pair.b)] += 1
        examined += 1
    return dict(counts.most_common()), examined


def first_stage(workspace: Workspace, a: Variant, b: Variant) -> str:
    """Return the first stage that differs in more than shapes and constants.

    "" if none does, or if it is damaged. The binary, if the operations of every text are equal:
    A and B have different machine code. Stages after the result are not parsed.
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
