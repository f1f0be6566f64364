"""Recounts every number in irscope's findings.

    python -m benchmarks.truth.numbers CAPTURE.irscope... [--most PAIRS]

Each kind of finding has a checker (`line_checkers.py`, `fact_checkers.py`), which parses its sentence and
recounts its numbers with `recount.py`, which shares nothing with irscope. A kind without a checker is an
error if its sentence has a digit, so none is skipped silently. Prints each difference, how many findings and
numbers agree, and how many parts cannot be recounted simply.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import irscope
from benchmarks.truth import fact_checkers, line_checkers
from benchmarks.truth.checkers import recounted
from benchmarks.truth.recount import Side
from irscope.model import Variant

__all__ = ["Tally", "fact_checkers", "line_checkers", "recount_capture", "recounted"]


@dataclass
class Tally:
    """What was recounted: findings by kind, parts of sentences, those that differ.

    `unknown` are the parts that cannot be recounted simply, by kind: the regions of kernels with several
    loops, factors of unrolling, how many changes of a class a stage has.
    """

    kinds: Counter[str] = field(default_factory=Counter)
    parts: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)

    def add(self, where: str, kind: str, text: str, a: Side, b: Side) -> None:
        """Recounts one finding."""
        self.kinds[kind] += 1
        try:
            found = recounted(kind, text, a, b)
        except (KeyError, AssertionError, StopIteration, ValueError) as error:
            found = [(text, f"{type(error).__name__}: {error}")]
        if found is None:
            self.differences.append(f"{where}: no checker for {kind}: {text}")
            return
        known = [(said, counted) for said, counted in found if counted is not None]
        self.parts += len(known)
        self.unknown[kind] += len(found) - len(known)
        self.differences += [
            f"{where}: {kind}: {text}\n    says {said!r}, recounted {counted!r}"
            for said, counted in known
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
        dict(variant.config.values),
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
    parser.add_argument("--most", type=int, default=30, help="pairs per kernel and target (30)")
    arguments = parser.parse_args()
    tally = Tally()
    for path in arguments.captures:
        recount_capture(path, arguments.most, tally)
    print("\n".join(tally.differences))
    kinds = ", ".join(f"{number} {kind}" for kind, number in tally.kinds.most_common())
    print(f"{tally.kinds.total()} findings ({kinds})")
    unknown = ", ".join(f"{number} {kind}" for kind, number in tally.unknown.most_common() if number)
    print(f"not recounted: {unknown or 'nothing'}")
    print(f"{tally.parts} parts of sentences recounted, {len(tally.differences)} differences")
    return bool(tally.differences)


if __name__ == "__main__":
    sys.exit(main())
