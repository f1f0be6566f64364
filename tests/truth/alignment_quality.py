"""Measures alignment quality over a folder of stages: aligned pairs with equal opcode and source location.

    python -m tests.truth.alignment_quality FOLDER

FOLDER contains KERNEL/TARGET/CONFIG/STAGE, as written by `irscope dump` (STAGE may include the kernel's name:
`matmul_kernel.ttgir`). Compares every two configs of a kernel and target, stage by stage.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from irscope.diff.matching import UNMATCHED, match_operations
from irscope.languages.document import Document, Location, Operation
from irscope.languages.language import parse
from irscope.targets import STAGES


@dataclass
class Tally:
    """Counts over all pairs of one stage. `alignable` operations have their opcode on the other side too."""

    diffs: int = 0
    alignable: int = 0
    aligned: int = 0
    same_opcode: int = 0
    located: int = 0
    same_place: int = 0

    def add(self, left: Document, right: Document) -> None:
        """Counts the pairs of one diff."""
        partner = match_operations(left, right)
        pairs = [(left.operations[i], right.operations[j]) for i, j in enumerate(partner) if j != UNMATCHED]
        located = [(a, b) for a, b in pairs if a.location and b.location]
        self.diffs += 1
        self.alignable += _alignable(left, right)
        self.aligned += len(pairs)
        self.same_opcode += sum(a.opcode == b.opcode for a, b in pairs)
        self.located += len(located)
        self.same_place += sum(_place(a.location) == _place(b.location) for a, b in located)

    def __str__(self) -> str:
        alignable = self.aligned / max(1, self.alignable)
        opcode = self.same_opcode / max(1, self.aligned)
        place = self.same_place / max(1, self.located)
        return f"{self.diffs:>6} {self.aligned:>9} {alignable:>12.2%} {opcode:>12.2%} {place:>8.2%}"


def _place(location: Location | None) -> tuple[str, int] | None:
    return location and (location.file, location.line)


def _alignable(left: Document, right: Document) -> int:
    """The upper bound of pairs with equal opcode and source line, in any order."""
    counts: dict[object, list[int]] = defaultdict(lambda: [0, 0])
    for side, document in enumerate((left, right)):
        for operation in document.operations:
            counts[_kind(operation)][side] += 1
    return sum(min(both) for both in counts.values())


def _kind(operation: Operation) -> object:
    return operation.opcode, _place(operation.location)


def _stages(folder: Path) -> dict[str, Path]:
    """Stage name -> file in a variant's folder; text stages only."""
    names = {stage.name for stage in STAGES if not stage.binary}
    found = {path.name.rpartition(".")[2]: path for path in sorted(folder.iterdir()) if path.is_file()}
    return {name: path for name, path in found.items() if name in names}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    languages = {stage.name: stage.language for stage in STAGES}
    tallies: dict[str, Tally] = defaultdict(Tally)
    for target in sorted(path for path in folder.glob("*/*") if path.is_dir()):
        variants = [_stages(config) for config in sorted(target.iterdir()) if config.is_dir()]
        for name, language in languages.items():
            paths = [stages[name] for stages in variants if name in stages]
            documents = [parse(path.read_text(), language) for path in paths if language]
            for left, right in combinations(documents, 2):
                tallies[name].add(left, right)
    print(f"{'stage':>8} {'diffs':>6} {'aligned':>9} {'of alignable':>12} {'same opcode':>12} {'place':>8}")
    for name, tally in tallies.items():
        print(f"{name:>8} {tally}")


if __name__ == "__main__":
    main()
