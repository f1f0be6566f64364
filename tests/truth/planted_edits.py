"""Plants edits in kernels, and checks that the diff of TTIR names exactly what each changed.

    python -m tests.truth.planted_edits [--limit N] [--kernels GLOB] [--only tuned|held-out]

Each edited kernel is compiled to TTIR, and compared with the original in both directions. The judge is
`ttir_oracle.py`, which counts operations and shares no code with irscope's diff. An edit is

    exact        if the diff reports exactly the operations that differ, on their lines, in their classes
    right class  if every reported operation has the classes that follow from the two texts
    mirrored     if diff(B, A) is diff(A, B) with the sides swapped
    in words     if one finding names the edit and its line, and no other edit is claimed

Edits that do not compile, or that the compiler folds away, are not counted. The kernels of
`edited_kernels.py` are "tuned": irscope was developed on them. All others are "held-out".
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from irscope.diff.rows import StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.facts.source.alignment import line_map
from irscope.findings.finding import PairContext
from irscope.findings.source_edits import source_edits
from irscope.languages.language import parse
from tests.truth.corpus import Case, cases
from tests.truth.plant import Planted, planted_edits
from tests.truth.planted_kernels import Compiled, EditedFile, quiet, tuned_cases
from tests.truth.ttir_oracle import Verdict, judge

# The numbers that are printed, in this order.
_COLUMNS = (
    "planted", "do not compile", "folded away", "exact", "right class", "mirrored", "in words",
)  # fmt: skip


def compare(a: Compiled, b: Compiled) -> StageDiff:
    """The diff of TTIR as irscope computes it for a pair of an open capture."""
    lines = line_map(a.variant.kernel, b.variant.kernel)
    return diff_stage("ttir", parse(a.ttir, "mlir"), parse(b.ttir, "mlir"), lines)


def sentences(a: Compiled, b: Compiled, diff: StageDiff) -> list[str]:
    """The findings about the edits of the source."""
    pair = PairContext(a.variant, b.variant, {}, {}, {"ttir": diff.in_lines_of_b()})
    return [finding.text for finding in source_edits(pair)]


def said(edit: Planted, found: list[str], first: int) -> bool:
    """Whether the only sentence names the edit and its line. `first` is the kernel's line in its file."""
    line = edit.line + first - 1
    if len(found) != 1:
        return False
    place = f"line {line} of A: " if edit.removed else f"line {line}: "
    if edit.moved:
        return found[0].startswith((place, f"line {line + 1}: ")) and "moved" in found[0]
    return found[0].startswith(place) and all(word in found[0] for word in edit.words)


def mirror(diff: StageDiff, back: StageDiff) -> bool:
    """Whether `back` is `diff` with the sides swapped."""
    counts = {change.mirrored: number for change, number in diff.counts.items()}
    rows = Counter(row.mirrored for row in diff.rows)
    return counts == back.counts and rows == Counter(back.rows)


def planted(kernels: Sequence[Case], limit: int = 10**6) -> tuple[Counter[str], list[str]]:
    """How many edits each statement of this module's docstring holds for, and what is wrong with the others.

    At most `limit` edits per kernel.
    """
    total = Counter[str]()
    problems: list[str] = []
    for case in kernels:
        file = EditedFile(case)
        a = file.compile(file.source.text)
        for edit in islice(planted_edits(file.source.text), limit):
            try:
                with quiet():
                    b = file.compile(edit.text)
            except Exception:  # noqa: BLE001 - Triton raises many kinds
                total["do not compile"] += 1
                continue
            outcome = check(a, b, edit)
            total.update(outcome.names)
            heading = f"{case.name} line {edit.line}: {edit.kind} {' '.join(edit.words)}"
            problems += [f"{heading}: {problem}" for problem in outcome.problems]
    return total, problems


def run(
    selected: Sequence[Case],
    targets: Sequence[str] = (),
    _folder: Path | None = None,
    *,
    kernels: str = "*",
    limit: int = 10**6,
    only: str = "",
) -> int:
    """Plants edits in the tuned kernels that match a glob and in `selected`; prints; the number of problems.

    TTIR is made for cuda:90 whatever the targets are.
    """
    del targets
    groups = {
        "tuned": tuned_cases(kernels),
        "held-out": [one for one in selected if "cuda:90" in one.targets],
    }
    results = {name: planted(own, limit) for name, own in groups.items() if own and only in ("", name)}
    for _, problems in results.values():
        print(*problems, sep="\n")
    for name, (total, _) in results.items():
        numbers = ", ".join(f"{total[column]} {column}" for column in _COLUMNS)
        print(f"{len(groups[name])} {name} kernels: {numbers}")
    return sum(len(problems) for _, problems in results.values())


def main() -> int:
    """Prints what is wrong, and the totals; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=int, default=10**6, help="edits per kernel")
    parser.add_argument("--kernels", default="*", metavar="GLOB", help="only kernels whose name matches")
    parser.add_argument("--only", default="", choices=("tuned", "held-out"), help="only these kernels")
    options = parser.parse_args()
    go = partial(run, kernels=options.kernels, limit=options.limit, only=options.only)
    return 1 if go(cases(options.kernels)) else 0


@dataclass(frozen=True)
class Outcome:
    """The outcome of one edit: its correct claims and the wrong ones."""

    names: list[str]
    problems: list[str]


def check(a: Compiled, b: Compiled, edit: Planted) -> Outcome:
    """Compares both directions and judges them."""
    first = a.source.line

    def moved(line: int) -> int | None:
        new = edit.lines(line - first + 1)
        return None if new is None else new + first - 1

    forward, backward = compare(a, b), compare(b, a)
    verdict: Verdict = judge(a.ttir, b.ttir, forward, moved)
    if verdict.folded:
        return Outcome(["folded away"], [])
    found = sentences(a, b, forward)
    names, problems = ["planted"], list(verdict.problems)
    names += [] if verdict.problems else ["exact"]
    names += ["right class"] if not verdict.wrong_class else []
    if mirror(forward, backward):
        names.append("mirrored")
    else:
        problems.append("not mirrored")
    if said(edit, found, first):
        names.append("in words")
    else:
        problems.append(f"said: {found}")
    return Outcome(names, problems)


if __name__ == "__main__":
    sys.exit(main())
