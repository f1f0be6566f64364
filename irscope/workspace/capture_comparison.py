"""Two captures, OLD and NEW, compared variant by variant: what `irscope diff OLD NEW` shows in any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.capture_diff import CaptureDiff, FactChange, MatchedVariants
from irscope.analysis.capture_diff import compare_captures as diff_captures
from irscope.analysis.capture_matching import Difference, closest
from irscope.facts.registry import FACT_NAMED, STACK
from irscope.model import Variant
from irscope.model.text import pluralize
from irscope.workspace.capture_edits import capture_edits
from irscope.workspace.workspace import Workspace

FAILURE = "failure"
_UNITS = ("bytes", "seconds")
# How many differences to the closest variant are listed.
_MAX_DIFFERENCES = 4


@dataclass(frozen=True)
class CaptureComparison:
    """How the capture NEW differs from OLD, with paths, variants and names of both.

    `edits` are the edits of kernels that changed TTIR, as (kernel, sentence).
    """

    diff: CaptureDiff
    paths: tuple[str, str]
    variants: tuple[Sequence[Variant], Sequence[Variant]]
    names: tuple[Mapping[int, str], Mapping[int, str]]
    edits: tuple[tuple[str, str], ...] = ()

    @property
    def worse(self) -> list[MatchedVariants]:
        """The pairs in which a fact got worse, worst first."""
        return [pair for pair in self.diff.pairs if pair.worse]

    @property
    def better(self) -> list[MatchedVariants]:
        """The pairs in which a fact got better and none got worse, most important first."""
        pairs = [pair for pair in self.diff.pairs if pair.better and not pair.worse]
        return sorted(pairs, key=lambda pair: -sum(change.weight for change in pair.better))

    def summary(self, index: int) -> str:
        """OLD (0) or NEW (1) in one line: path, variants, targets, versions of Triton."""
        variants = self.variants[index]
        targets = ", ".join(dict.fromkeys(str(variant.target) for variant in variants))
        versions = dict.fromkeys(variant.toolchain.versions.get("triton", "unknown") for variant in variants)
        number = pluralize(len(variants), "variant")
        return f"{self.paths[index]}  {number}  {targets}  triton {', '.join(versions)}"

    @property
    def matched(self) -> str:
        """How many variants were matched, and by what."""
        target = ", config and target" if self.diff.by_target else " and config (they share no target)"
        return f"{pluralize(len(self.diff.pairs), 'variant')}, by kernel, specialization{target}"

    @property
    def counts(self) -> list[str]:
        """How many pairs are identical, unchanged, worse and better, and the compile times."""
        diff = self.diff
        identical = sum(pair.identical for pair in diff.pairs)
        unchanged = sum(not pair.identical and not pair.changes for pair in diff.pairs)
        worse, better = self.worse, self.better
        by_worse = _by_fact(change for pair in worse for change in pair.worse)
        by_better = _by_fact(change for pair in better for change in pair.better)
        lines = [
            f"{identical:,} with identical machine code",
            f"{unchanged:,} with different machine code, but no fact better or worse",
            f"{len(worse):,} worse{by_worse}",
            f"{len(better):,} only better{by_better}",
        ]
        if diff.timed:
            old, new = diff.seconds
            lines.append(f"compile time of {diff.timed:,} of them: {old:.1f} s -> {new:.1f} s")
        return lines

    @property
    def unmatched(self) -> list[str]:
        """Environments that differ, renamed kernels, and what only one of the captures has, by kernel."""
        return [*_environments(self.diff), *_unmatched(self.diff, self.variants)]

    def pair_text(self, pair: MatchedVariants) -> str:
        """A pair in one line: what got worse and better; only what got better if nothing got worse."""
        ids = f"#{pair.a.id} -> #{pair.b.id}" if pair.a.id != pair.b.id else f"#{pair.a.id}"
        changes = [change_text(change, pair) for change in pair.worse or pair.better]
        if pair.worse and pair.better:
            changes.append(f"but {', '.join(change_text(change, pair) for change in pair.better)}")
        return f"{pair.b.kernel.name} {ids} {self.names[1][pair.b.id]}: {', '.join(changes)}"


def compare_captures(old: Workspace, new: Workspace) -> CaptureComparison:
    """Compares two open captures variant by variant. Raises UserError if one is damaged."""
    variants = old.variants, new.variants
    diff = diff_captures(*variants, old.all_facts(), new.all_facts())
    return CaptureComparison(
        diff,
        (str(old.path), str(new.path)),
        variants,
        (old.names, new.names),
        tuple(capture_edits(diff.pairs, old, new)),
    )


def _by_fact(changes: Iterable[FactChange]) -> str:
    counts = Counter(
        "Compilation" if change.name == FAILURE else FACT_NAMED[change.name].title for change in changes
    )
    text = ", ".join(f"{title} {number:,}" for title, number in counts.most_common())
    return f": {text}" if text else ""


def _environments(diff: CaptureDiff) -> Iterator[str]:
    """The environment variables that differ between matched variants, and in how many pairs."""
    changes: Counter[tuple[str, str, str]] = Counter()
    for pair in diff.pairs:
        a, b = pair.a.environment, pair.b.environment
        for name in dict.fromkeys([*a, *b]):
            if a.get(name) != b.get(name):
                changes[name, a.get(name, "unset"), b.get(name, "unset")] += 1
    for (name, was, now), number in changes.items():
        yield f"Environment  {name}: {was} -> {now} in {pluralize(number, 'pair')}"


def _unmatched(diff: CaptureDiff, variants: tuple[Sequence[Variant], Sequence[Variant]]) -> Iterator[str]:
    for old, new in diff.renamed.items():
        yield f"Renamed  {old} -> {new}"
    before = {new: old for old, new in diff.renamed.items()}
    for title, left, others, capture, names in (
        ("Only in OLD", diff.only_a, variants[1], "NEW", diff.renamed),
        ("Only in NEW", diff.only_b, variants[0], "OLD", before),
    ):
        kernels: dict[str, list[Variant]] = {}
        for variant in left:
            kernels.setdefault(variant.kernel.name, []).append(variant)
        for kernel, group in kernels.items():
            why = _why_unmatched(group[0], closest(group[0], others, names.get(kernel)), capture)
            yield f"{title}  {kernel}: {pluralize(len(group), 'variant')}{why}"


def _why_unmatched(variant: Variant, found: tuple[Variant, Sequence[Difference]] | None, capture: str) -> str:
    """In what a variant differs from the closest one of the other capture."""
    if found is None:
        return ", the whole kernel"
    other, differences = found
    if not differences:
        return f"; #{variant.id} equals #{other.id} of {capture}, which has another match"
    listed = ", ".join(map(str, differences[:_MAX_DIFFERENCES]))
    more = ", ..." if len(differences) > _MAX_DIFFERENCES else ""
    return f"; #{variant.id} and its closest in {capture}, #{other.id}, differ in {listed}{more}"


def change_text(change: FactChange, pair: MatchedVariants) -> str:
    """A change as views print it: `Registers 64 -> 72`, `does not compile: ...`."""
    if change.name == FAILURE:
        return f"does not compile: {change.b}" if change.worse else "compiles now"
    if change.name == "launchable":
        return f"launch {change.a} -> {change.b}"
    kind = FACT_NAMED[change.name]
    text = f"{kind.title} {kind.format(change.a)} -> {kind.format(change.b)}"
    if change.name == "registers":
        stack = STACK.format
        return f"{text} (stack {stack(pair.stacks[0])} and {stack(pair.stacks[1])} bytes)"
    return f"{text} {kind.unit}" if kind.unit in _UNITS else text
