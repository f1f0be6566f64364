"""The content of `irscope report`, before any format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from irscope.model import Toolchain, Variant
from irscope.model.text import pluralize
from irscope.report.pair_report import PairReport, pair_report_of_stages
from irscope.workspace import MOST_ESTIMATED, Comparison, TableSection, Workspace, ranked_pairs

# The number of pairs that are compared if none is named.
_PAIRS = 4


@dataclass(frozen=True)
class CaptureReport:
    """A capture's tables and pairs. `capture` is the name of the file, without its folder."""

    capture: str
    sections: Sequence[TableSection]
    pairs: Sequence[PairReport]

    @property
    def title(self) -> str:
        """The names of the kernels."""
        kernels = list(dict.fromkeys(section.kernel for section in self.sections))
        more = f" and {len(kernels) - 3} more" if len(kernels) > 3 else ""
        return ", ".join(kernels[:3]) + more if kernels else self.capture

    @property
    def summary(self) -> str:
        """The numbers of variants, failures and duplicates, and the targets, in one sentence."""
        entries = [entry for section in self.sections for entry in section.entries]
        targets = dict.fromkeys(section.target for section in self.sections)
        failed = sum(entry.variant.failure is not None for entry in entries)
        unlaunchable = sum(bool(entry.problem) for entry in entries) - failed
        duplicates = sum(entry.duplicate_of is not None for entry in entries)
        parts = [
            f"{pluralize(len(entries), 'variant')} for {', '.join(targets)}" if entries else "no variants",
            f"{failed:,} failed to compile" if failed else "",
            f"{unlaunchable:,} cannot be launched" if unlaunchable else "",
            f"{duplicates:,} with the machine code of another" if duplicates else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def toolchains(self) -> list[Toolchain]:
        """The versions that compiled the variants."""
        variants = [entry.variant for section in self.sections for entry in section.entries]
        return list({variant.toolchain.id: variant.toolchain for variant in variants}.values())

    @property
    def pairs_of(self) -> Mapping[int, Sequence[int]]:
        """The numbers (from 1) of the pairs that contain a variant, by variant id."""
        found: dict[int, list[int]] = {}
        for number, pair in enumerate(self.pairs, 1):
            for variant in pair.comparison.variants if not pair.comparison.single else ():
                found.setdefault(variant.id, []).append(number)
        return found

    def shown(self, section: TableSection, most: int) -> TableSection:
        """At most `most` variants of a section: those of the pairs and the first others."""
        if len(section.entries) <= most:
            return section
        pairs = set(self.pairs_of)
        named = pairs | {e.duplicate_of for e in section.entries if e.variant.id in pairs}
        first = {entry.variant.id for entry in section.entries[:most]}
        wanted = named | first
        kept = (entry for entry in section.entries if entry.variant.id in wanted)
        return replace(section, entries=tuple(kept))

    @property
    def pair_titles(self) -> list[str]:
        """The difference of each pair: `BLOCK_M 64 -> 128`; after kernel and target if there are several."""
        several = len(self.sections) > 1
        return [
            f"{pair.comparison.b.kernel.name} {pair.comparison.b.target} {pair_title(pair.comparison)}"
            if several
            else pair_title(pair.comparison)
            for pair in self.pairs
        ]


def capture_report(
    workspace: Workspace,
    pairs: Sequence[tuple[str, str]] | None = None,
    wanted: Sequence[str] | None = None,
    kernel: str | None = None,
    target: str | None = None,
    explained: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> CaptureReport:
    """The report on a capture.

    `pairs` are the names of two variants each (None: the pairs whose facts differ most), `wanted` the stages
    whose rows are shown (None: all that are compared), `kernel` and `target` select the tables (None: all);
    `explained`: pairs have explanations, and if there is none, single variants are shown;
    `progress` receives the number of the pair that is being compared, and how many there are. Raises
    UserError if a name matches nothing.
    """
    sections = report_sections(workspace, kernel, target)
    if pairs is None:
        chosen = ranked_pairs(sections, _PAIRS) or (_single_variants(sections) if explained else [])
    else:
        chosen = [(workspace.variant(a), workspace.variant(b)) for a, b in pairs]
    comparisons = []
    for number, (a, b) in enumerate(chosen, 1):
        progress(number, len(chosen))
        comparisons.append(pair_report_of_stages(workspace.compare(a, b), wanted, explained))
    return CaptureReport(workspace.path.name, sections, comparisons)


def report_sections(workspace: Workspace, kernel: str | None, target: str | None) -> list[TableSection]:
    """The tables of a report, with estimates unless there are too many launches to wait for.

    Raises UserError if a name matches nothing.
    """
    launched = sum(bool(variant.launches) for variant in workspace.select(kernel, target))
    return workspace.sections(kernel, target, estimate=0 < launched <= MOST_ESTIMATED)


def _single_variants(sections: Sequence[TableSection]) -> list[tuple[Variant, Variant]]:
    """The first variant of each section that compiled, as both sides of a pair."""
    compiled = [[e.variant for e in section.entries if e.variant.failure is None] for section in sections]
    return [(found[0], found[0]) for found in compiled if found][:_PAIRS]


def pair_title(comparison: Comparison) -> str:
    """The config values that differ, `BLOCK_M 64 -> 128`, or the names if none does."""
    if comparison.single:
        return comparison.heading(0)
    return comparison.config_text or f"{comparison.heading(0)} and {comparison.heading(1)}"
