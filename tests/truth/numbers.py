"""Recounts every number in irscope's findings.

    python -m tests.truth --numbers                         # kernels of the corpus
    python -m tests.truth.numbers CAPTURE.irscope... [--most PAIRS]

Each kind of finding has a function, in `*_numbers.py`, that parses its sentence and recounts its numbers with
`recount.py`, which shares nothing with irscope. A kind without a function is an error if its sentence has a
digit, so none is skipped silently. Prints each difference, how many findings and parts of sentences agree,
and how many numbers nobody recounts, by kind.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import irscope
from irscope.model import Variant
from tests.truth import access_numbers, resource_numbers, stage_numbers
from tests.truth.checkers import NOT_RECOUNTED, left_over, recounted
from tests.truth.corpus import Case
from tests.truth.pairs import compiled
from tests.truth.recount import Side

# Each registers its checkers.
__all__ = ["access_numbers", "recounted", "resource_numbers", "stage_numbers"]


# Pairs per kernel and target.
_MOST_PAIRS = 6


@dataclass
class Tally:
    """The recount: findings by kind, parts of sentences, and those that differ or that are skipped."""

    kinds: Counter[str] = field(default_factory=Counter)
    parts: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, where: str, kind: str, text: str, a: Side, b: Side) -> None:
        """Recounts one finding."""
        self.kinds[kind] += 1
        try:
            found = recounted(kind, text, a, b)
        except (KeyError, IndexError, AssertionError, StopIteration, ValueError) as error:
            found = [(text, f"{type(error).__name__}: {error}")]
        if found is None:
            self.differences.append(f"{where}: no checker for {kind}: {text}")
            return
        skipped = [part for said, part in found if said == NOT_RECOUNTED]
        found = [part for part in found if part[0] != NOT_RECOUNTED]
        if kind not in access_numbers.LABELS.values():  # their parts cover the whole sentence
            skipped += left_over(text, found)
        self.skipped[kind] += len(skipped)
        self.parts += len(found)
        self.differences += [
            f"{where}: {kind}: {text}\n    says {said!r}, recounted {counted!r}"
            for said, counted in found
            if said != counted
        ]


def side_of(capture: irscope.Capture, variant: Variant) -> Side:
    """A variant as the recount reads it."""
    stages = {name: capture.content(variant, name) for name in variant.artifacts}
    source = variant.kernel.source
    return Side(
        str(variant.target),
        variant.kernel.name,
        variant.metadata,
        stages,
        variant.log or "",
        source.text,
        source.line,
        variant.reasons or "",
    )


def recount_capture(path: Path, most: int, tally: Tally) -> None:
    """Recounts the findings of at most `most` pairs per kernel and target of a capture, both ways."""
    with irscope.open(path) as capture:
        groups: dict[tuple[str, str], list[Variant]] = {}
        for variant in capture.variants:
            if variant.failure is None:
                groups.setdefault((variant.kernel.name, str(variant.target)), []).append(variant)
        for variants in groups.values():
            sides = {variant.id: side_of(capture, variant) for variant in variants}
            pairs = sorted(itertools.combinations(variants, 2), key=lambda pair: pair[1].id - pair[0].id)
            for index, pair in enumerate(pairs[:most]):
                a, b = pair if index % 2 else reversed(pair)
                where = f"{path.name} #{a.id} #{b.id} {a.target}"
                for finding in capture.compare(a, b).findings:
                    tally.add(where, finding.kind, finding.text, sides[a.id], sides[b.id])


def main() -> int:
    """Prints each difference and the totals; 1 if anything differs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("captures", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=30, help="pairs per kernel and target (%(default)s)")
    arguments = parser.parse_args()
    tally = Tally()
    for path in arguments.captures:
        recount_capture(path, arguments.most, tally)
    _print(tally)
    return bool(tally.differences)


def run(cases: Sequence[Case], targets: Sequence[str], folder: Path) -> int:
    """Compiles several configs of each case and recounts the findings of their pairs; the differences."""
    tally = Tally()
    for number, case in enumerate(cases):
        path = folder / f"{number}.{case.name}.irscope"
        if compiled(case, targets, path):
            recount_capture(path, _MOST_PAIRS, tally)
            path.unlink()
    _print(tally)
    return len(tally.differences)


def _print(tally: Tally) -> None:
    if tally.differences:
        print("\n".join(tally.differences))
    print(f"{tally.kinds.total():,} findings ({_by_kind(tally.kinds)})")
    print(f"{tally.parts:,} parts of sentences recounted, {len(tally.differences):,} differences")
    skipped = +tally.skipped
    print(f"{skipped.total():,} numbers not recounted{f' ({_by_kind(skipped)})' if skipped else ''}")


def _by_kind(counts: Counter[str]) -> str:
    return ", ".join(f"{number:,} {kind}" for kind, number in counts.most_common())


if __name__ == "__main__":
    sys.exit(main())
