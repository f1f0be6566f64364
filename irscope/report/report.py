"""What `irscope report` has to say, before any format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irscope.model import Toolchain
from irscope.model.text import pluralize
from irscope.report.pair_report import PairReport, heading
from irscope.workspace.table import TableSection


@dataclass(frozen=True)
class Report:
    """A capture as it is handed on.

    `capture` is the file's name, without its folder; `sections` are the tables, `comparisons` the pairs,
    of which each shows the rows of the stages it says.
    """

    capture: str
    sections: Sequence[TableSection]
    comparisons: Sequence[PairReport]

    @property
    def title(self) -> str:
        """What the report is called: the kernels."""
        kernels = list(dict.fromkeys(section.kernel for section in self.sections))
        more = f" and {len(kernels) - 3} more" if len(kernels) > 3 else ""
        return ", ".join(kernels[:3]) + more if kernels else self.capture

    @property
    def summary(self) -> str:
        """What there is, in a sentence: variants, targets, what failed."""
        entries = [entry for section in self.sections for entry in section.entries]
        targets = dict.fromkeys(section.target for section in self.sections)
        failed = sum(entry.variant.failure is not None for entry in entries)
        stuck = sum(bool(entry.problem) for entry in entries) - failed
        twins = sum(entry.twin is not None for entry in entries)
        parts = [
            f"{pluralize(len(entries), 'variant')} for {', '.join(targets)}" if entries else "no variants",
            f"{failed:,} failed to compile" if failed else "",
            f"{stuck:,} cannot be launched" if stuck else "",
            f"{twins:,} the same machine code as another" if twins else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def toolchains(self) -> list[Toolchain]:
        """What the variants were compiled with."""
        variants = [entry.variant for section in self.sections for entry in section.entries]
        return list({variant.toolchain.id: variant.toolchain for variant in variants}.values())

    @property
    def pairs(self) -> Mapping[int, Sequence[int]]:
        """The number (from 1) of each pair that a variant is in, by variant id."""
        found: dict[int, list[int]] = {}
        for number, comparison in enumerate(self.comparisons, 1):
            for variant in comparison.variants:
                found.setdefault(variant.id, []).append(number)
        return found

    @property
    def pair_titles(self) -> list[str]:
        """What each pair is about: `BLOCK_M 64 -> 128`, behind kernel and target where there are several."""
        many = len(self.sections) > 1
        return [
            f"{pair.variants[1].kernel.name} {pair.variants[1].target} {_changes(pair)}"
            if many
            else _changes(pair)
            for pair in self.comparisons
        ]


def _changes(comparison: PairReport) -> str:
    """The values of the config that differ, or both names where none does."""
    changes = [f"{name} {a or 'unset'} -> {b or 'unset'}" for name, a, b in comparison.config_changes]
    return ", ".join(changes) or " and ".join(heading(comparison, index) for index in (0, 1))
