"""Two captures, OLD and NEW, compared variant by variant: what `irscope diff OLD NEW` shows in any format.

The edits of the Python between two captures that changed TTIR, in words.

Comparing two captures: matching variants, and what got better or worse for each.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from irscope.diff.stage_diff import diff_stage
from irscope.facts.duplicates import are_duplicates
from irscope.facts.fact import Facts, FactValue, number_of, value_of
from irscope.facts.occupancy import IMPROVED_BY_SPILLS, spills
from irscope.facts.registry import (
    CODE,
    FACT_KINDS,
    FACT_NAMED,
    INSTRUCTIONS,
    LAUNCHABLE,
    LOAD_WIDTH,
    MS,
    OCCUPANCY,
    SECONDS,
    STACK,
    STORE_WIDTH,
)
from irscope.facts.source.alignment import line_map
from irscope.findings.computations import globals_read
from irscope.findings.finding import PairContext, effect
from irscope.findings.source_edits import source_edits
from irscope.model import Kernel, Status, Variant
from irscope.model.records import frozen, frozen_with_dict, grouped
from irscope.model.text import pluralize
from irscope.workspace.capture_matching import Difference, closest, match_variants
from irscope.workspace.hardware_use import hardware_use_changes
from irscope.workspace.workspace import Workspace

FactsById = Mapping[int, Facts]

# The facts that can get better or worse. Times are not among them: those of the autotuner may be for other
# problems, and compile times depend on the load of the machine.
_COMPARED = tuple(kind for kind in FACT_KINDS if kind.weight and kind.better and kind not in (MS, SECONDS))
# A smaller relative change of the number of instructions is not reported.
_MIN_INSTRUCTION_CHANGE = 0.05
# A variant that no longer compiles or launches comes before everything else.
_FAILURE_WEIGHT, _LAUNCH_WEIGHT = 1100.0, 1000.0


@frozen
class FactChange:
    """A fact that differs. `name` is the name of the fact or "failure"; `weight` ranks the change."""

    name: str
    a: FactValue
    b: FactValue
    worse: bool
    weight: float


@frozen
class MatchedVariants:
    """A variant of OLD and its counterpart in NEW.

    `identical`: they are duplicates. `stacks` are the stacks of both in bytes per thread, because
    registers mislead without them. `changes` are the facts that got better or worse, most important first.
    """

    a: Variant
    b: Variant
    identical: bool
    stacks: tuple[FactValue, FactValue]
    changes: tuple[FactChange, ...]

    @property
    def worse(self) -> tuple[FactChange, ...]:
        """Return the facts that got worse."""
        return tuple(change for change in self.changes if change.worse)

    @property
    def better(self) -> tuple[FactChange, ...]:
        """Return the facts that got better."""
        return tuple(change for change in self.changes if not change.worse)

    @property
    def weight(self) -> float:
        """Return the size of the regression; improvements do not count."""
        return sum(change.weight for change in self.worse)


@frozen_with_dict
class CaptureDiff:
    """The difference of two captures. `pairs` are sorted worst first, then in NEW's order.

    `by_target`: variants only match if their targets do. `renamed` maps kernels of OLD to their names in
    NEW. `only_a` and `only_b` are the variants without a counterpart. `seconds` are the total compile
    times of the `timed` pairs with two known times.
    """

    pairs: tuple[MatchedVariants, ...]
    by_target: bool
    renamed: Mapping[str, str]
    only_a: tuple[Variant, ...]
    only_b: tuple[Variant, ...]
    seconds: tuple[float, float]
    timed: int


def matched_variants(
    a: Sequence[Variant], b: Sequence[Variant], facts_a: FactsById, facts_b: FactsById
) -> CaptureDiff:
    """Match the variants of OLD (`a`) and NEW (`b`) and compare each pair; facts by variant id.

    Variants match by kernel, specialization and config, and by target unless the captures have
    none in common.
    """
    by_target = bool({variant.target for variant in a} & {variant.target for variant in b})
    renamed = _renamed(a, b, facts_a, facts_b)
    matched, only_a, only_b = match_variants(a, b, renamed, by_target)
    pairs = [compare_pair(old, new, facts_a.get(old.id, {}), facts_b.get(new.id, {})) for old, new in matched]
    timed = _timed(pairs)
    return CaptureDiff(
        pairs=tuple(sorted(pairs, key=lambda pair: -pair.weight)),
        by_target=by_target,
        renamed=renamed,
        only_a=tuple(sorted(only_a, key=lambda variant: variant.id)),
        only_b=tuple(only_b),
        seconds=(sum(old for old, _ in timed), sum(new for _, new in timed)),
        timed=len(timed),
    )


def _renamed(
    a: Sequence[Variant], b: Sequence[Variant], facts_a: FactsById, facts_b: FactsById
) -> dict[str, str]:
    """Map kernels of OLD to their new names in NEW.

    Such kernels have the same source except for the name, or the same code.
    """
    olds, news = _by_kernel(a), _by_kernel(b)
    renamed: dict[str, str] = {}
    free = [name for name in news if name not in olds]
    for old, variants in olds.items():
        if old in news:
            continue
        codes = _codes(variants, facts_a)
        for new in free:
            same_source = _nameless(variants[0].kernel) == _nameless(news[new][0].kernel)
            if (variants[0].kernel.source.text and same_source) or codes & _codes(news[new], facts_b):
                renamed[old] = new
                free.remove(new)
                break
    return renamed


def _by_kernel(variants: Iterable[Variant]) -> dict[str, list[Variant]]:
    return grouped(variants, lambda variant: variant.kernel.name)


def _nameless(kernel: Kernel) -> str:
    return re.sub(rf"\b{re.escape(kernel.source.name)}\b", "_", kernel.source.text)


def _codes(variants: Iterable[Variant], facts: FactsById) -> set[FactValue]:
    return {value_of(facts.get(variant.id, {}), CODE) for variant in variants} - {None}


def compare_pair(a: Variant, b: Variant, facts_a: Facts, facts_b: Facts) -> MatchedVariants:
    """Compare a variant with its counterpart: which facts got better or worse."""
    identical = are_duplicates(a, b, facts_a, facts_b)
    changes = [*_lost(a, b, facts_a, facts_b)]
    if not identical:
        changes += _moved(facts_a, facts_b)
        if a.target == b.target:
            changes += _hardware_use(facts_a, facts_b)
    stacks = value_of(facts_a, STACK), value_of(facts_b, STACK)
    return MatchedVariants(a, b, identical, stacks, tuple(sorted(changes, key=lambda change: -change.weight)))


def _lost(a: Variant, b: Variant, facts_a: Facts, facts_b: Facts) -> Iterable[FactChange]:
    """Yield a change if only one of the two compiles or can be launched."""
    was, now = (variant.failure.summary if variant.failure else None for variant in (a, b))
    if (was is None) != (now is None):
        yield FactChange("failure", was, now, now is not None, _FAILURE_WEIGHT)
        return
    could, can = value_of(facts_a, LAUNCHABLE), value_of(facts_b, LAUNCHABLE)
    if isinstance(could, Status) and isinstance(can, Status) and could.ok != can.ok:
        yield FactChange(LAUNCHABLE.name, could, can, not can.ok, _LAUNCH_WEIGHT)


def _moved(facts_a: Facts, facts_b: Facts) -> Iterable[FactChange]:
    for kind in _COMPARED:
        a, b = number_of(facts_a, kind), number_of(facts_b, kind)
        if a is None or b is None or a == b:
            continue
        # Without loads the width cannot be compared.
        if kind in (LOAD_WIDTH, STORE_WIDTH) and 0 in (a, b):
            continue
        if kind is INSTRUCTIONS and abs(b - a) < _MIN_INSTRUCTION_CHANGE * a:
            continue
        # A fraction in terms of 64 warps: its effect is the effect of the number of warps.
        scale = 64 if kind is OCCUPANCY else 1
        worse = b < a if kind.better == "high" else b > a
        if kind in IMPROVED_BY_SPILLS and (spills(facts_a) if worse else spills(facts_b)):
            continue  # the side with fewer registers spills
        yield FactChange(kind.name, a, b, worse, weight=kind.weight * effect(a * scale, b * scale))


def _hardware_use(facts_a: Facts, facts_b: Facts) -> Iterable[FactChange]:
    """Yield a change for each unit or technique that only one of the two uses: tensor cores, a pipeline."""
    for use, lost in hardware_use_changes(facts_a, facts_b):
        was, now = value_of(facts_a, use.kind), value_of(facts_b, use.kind)
        yield FactChange(use.kind.name, was, now, lost, use.weight)


def _timed(pairs: Sequence[MatchedVariants]) -> list[tuple[float, float]]:
    """Return the compile times, in seconds, of both variants of each pair for which they are known.

    The columns of a large capture are read in the order of its variants, once.
    """
    old = {pair.a.id: sum(pair.a.seconds.values()) for pair in _by_id(pairs) if pair.a.seconds}
    candidates = ((old.get(pair.a.id), pair.b.seconds) for pair in pairs)
    return [
        (before, sum(seconds.values())) for before, seconds in candidates if before is not None and seconds
    ]


def _by_id(pairs: Sequence[MatchedVariants]) -> list[MatchedVariants]:
    return sorted(pairs, key=lambda pair: pair.a.id)


_STAGE = "ttir"


def capture_edits(
    pairs: Iterable[MatchedVariants], old: Workspace, new: Workspace
) -> Iterator[tuple[str, str]]:
    """Yield (kernel, sentence) for each edit: of the first pair of each kernel whose Python differs.

    Edits that leave TTIR as it is are left out. Raises UserError if a capture is damaged.
    """
    compared: set[str] = set()
    for pair in pairs:
        a, b = pair.a, pair.b
        if b.kernel.name in compared or not _edited(a, b):
            continue
        if _STAGE not in a.artifacts or _STAGE not in b.artifacts:
            continue
        compared.add(b.kernel.name)
        left, right = old.document(a, _STAGE), new.document(b, _STAGE)
        diff = diff_stage(_STAGE, left, right, line_map(a.kernel, b.kernel)).in_lines_of_b()
        context = PairContext(a, b, {}, {}, {_STAGE: diff})
        for finding in (*source_edits(context), *globals_read(context)):
            yield b.kernel.name, finding.text


def _edited(a: Variant, b: Variant) -> bool:
    """Return True if the Python that the two were compiled from differs."""
    return _python(a) != _python(b)


def _python(variant: Variant) -> tuple[list[str], dict[str, str]]:
    """Return the texts of the kernel and of what it calls, and the globals that these read."""
    functions = (variant.kernel.source, *variant.kernel.helpers)
    values = {name: text for name, text in variant.cache_key.items() if name.startswith("global ")}
    return [function.text for function in functions], values


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
    edits: tuple[tuple[str, str], ...]

    @property
    def worse(self) -> list[MatchedVariants]:
        """Return the pairs in which a fact got worse, worst first."""
        return [pair for pair in self.diff.pairs if pair.worse]

    @property
    def better(self) -> list[MatchedVariants]:
        """Return the pairs in which a fact got better and none got worse, most important first."""
        pairs = [pair for pair in self.diff.pairs if pair.better and not pair.worse]
        return sorted(pairs, key=lambda pair: -sum(change.weight for change in pair.better))

    def summary(self, index: int) -> str:
        """Describe OLD (0) or NEW (1) in one line: path, variants, targets, versions of Triton."""
        variants = self.variants[index]
        targets = ", ".join(dict.fromkeys(str(variant.target) for variant in variants))
        versions = dict.fromkeys(variant.toolchain.versions.get("triton", "unknown") for variant in variants)
        number = pluralize(len(variants), "variant")
        return f"{self.paths[index]}  {number}  {targets}  triton {', '.join(versions)}"

    @property
    def matched(self) -> str:
        """Say how many variants were matched, and by what."""
        target = ", config and target" if self.diff.by_target else " and config (they share no target)"
        return f"{pluralize(len(self.diff.pairs), 'variant')}, by kernel, specialization{target}"

    @property
    def counts(self) -> list[str]:
        """Count the pairs that are identical, unchanged, worse and better; add the compile times."""
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
        """List the environments that differ, renamed kernels, and what only one capture has, by kernel."""
        return [*_environments(self.diff), *_unmatched(self.diff, self.variants)]

    def pair_text(self, pair: MatchedVariants) -> str:
        """Describe a pair in one line: what got worse and better; only the better if nothing got worse."""
        ids = f"#{pair.a.id} -> #{pair.b.id}" if pair.a.id != pair.b.id else f"#{pair.a.id}"
        changes = [change_text(change, pair) for change in pair.worse or pair.better]
        if pair.worse and pair.better:
            changes.append(f"but {', '.join(change_text(change, pair) for change in pair.better)}")
        return f"{pair.b.kernel.name} {ids} {self.names[1][pair.b.id]}: {', '.join(changes)}"


def compare_captures(old: Workspace, new: Workspace) -> CaptureComparison:
    """Compare two open captures variant by variant. Raises UserError if one is damaged."""
    variants = old.variants, new.variants
    diff = matched_variants(*variants, old.all_facts(), new.all_facts())
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
    """Yield the environment variables that differ between matched variants, and in how many pairs."""
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
    for title, left, candidates, capture, names in (
        ("Only in OLD", diff.only_a, variants[1], "NEW", diff.renamed),
        ("Only in NEW", diff.only_b, variants[0], "OLD", before),
    ):
        for kernel, group in _by_kernel(left).items():
            why = _why_unmatched(group[0], closest(group[0], candidates, names.get(kernel)), capture)
            yield f"{title}  {kernel}: {pluralize(len(group), 'variant')}{why}"


def _why_unmatched(variant: Variant, found: tuple[Variant, Sequence[Difference]] | None, capture: str) -> str:
    """Say in what a variant differs from the closest one of the other capture."""
    if found is None:
        return ", the whole kernel"
    nearest, differences = found
    if not differences:
        return f"; #{variant.id} equals #{nearest.id} of {capture}, which has another match"
    listed = ", ".join(map(str, differences[:_MAX_DIFFERENCES]))
    more = ", ..." if len(differences) > _MAX_DIFFERENCES else ""
    return f"; #{variant.id} and its closest in {capture}, #{nearest.id}, differ in {listed}{more}"


def change_text(change: FactChange, pair: MatchedVariants) -> str:
    """Return a change as views print it: `Registers 64 -> 72`, `does not compile: ...`."""
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
