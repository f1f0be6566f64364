"""Why B was compiled beside A and what came of it, and the story of the whole capture: line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irscope.analysis.cache_key import CacheKeyInput
from irscope.analysis.cache_key_diff import key_sentence, reason_text, recompilation
from irscope.analysis.compilations import compilation_summary, compilation_totals, compilations
from irscope.analysis.finding import Finding
from irscope.analysis.source_map import place_of
from irscope.diff.rows import Change, StageDiff
from irscope.diff.summary import first_structural, summarize
from irscope.facts.fact import Fact
from irscope.languages.document import Location
from irscope.model import Variant
from irscope.tui.origins import python_of
from irscope.tui.pair_state import PairState
from irscope.workspace import PYTHON, Workspace

_QUIET = Change.SHAPE | Change.CONSTANT | Change.TEXT


@dataclass(frozen=True)
class Goal:
    """A line (from 0) of a stage of A, or of B where `right`."""

    stage: str
    line: int
    right: bool


@dataclass(frozen=True)
class TextLine:
    """A sentence, or a title. `level` is how far in it stands, `goal` where it can be seen."""

    text: str
    level: int = 1
    title: bool = False
    goal: Goal | None = None


def pair_lines(comparison: PairState) -> list[TextLine]:
    """What there is to say of A and B. Compares the stages that were not yet: for the background."""
    a, b = comparison.a, comparison.b
    if comparison.single:
        return [TextLine("A and B are one and the same variant", title=True, level=0)]
    pair = comparison.workspace.compare(a, b)
    return [
        TextLine("Why it was compiled again", title=True, level=0),
        *_reasons(a, b),
        TextLine("What it led to", title=True, level=0),
        *_effects(pair.stages, pair.findings),
        TextLine("Was it worth it", title=True, level=0),
        TextLine(pair.verdict),
        *(TextLine(f"spared by: {remedy}") for remedy in pair.remedies),
    ]


def story_lines(workspace: Workspace, facts: Mapping[int, Mapping[str, Fact]]) -> list[TextLine]:
    """The compilations of each kernel of the capture; `facts` by variant id, as far as they are known."""
    told = []
    for name in dict.fromkeys(variant.kernel.name for variant in workspace.variants):
        variants = [variant for variant in workspace.variants if variant.kernel.name == name]
        found = compilations(name, variants, facts)
        told.append(TextLine(f"The whole capture: {name}, {compilation_totals(found)}", title=True, level=0))
        told += [
            TextLine(line.strip(), 1 + (len(line) - len(line.lstrip())) // 2)
            for line in compilation_summary(found)
        ]
    return told


def _reasons(a: Variant, b: Variant) -> Iterator[TextLine]:
    if a.kernel.name != b.kernel.name:
        yield TextLine(f"they are two kernels, {a.kernel.name} and {b.kernel.name}")
    why = recompilation(a, b)
    yield TextLine(f"{key_sentence(why, len(a.cache_key.keys() | b.cache_key.keys()))}:")
    yield from (TextLine(reason_text(reason), 2, goal=_in_python(b, reason.input)) for reason in why.reasons)
    if not why.reasons:
        yield TextLine("none: Triton has one program for both", 2)
    yield from (TextLine(f"not known: {text}") for text in why.unknown)


def _in_python(variant: Variant, name: CacheKeyInput) -> Goal | None:
    """The line of the Python that declares an input; None where it is none of the source's."""
    python = python_of(variant)
    if name.kind in ("source", "helper", "line"):
        functions = (variant.kernel.source, *variant.kernel.helpers)
        places = [place_of(Location(f.file, f.line)) for f in functions if f.name == name.name]
        line = python.line_of(places[0]) if places else None
    else:
        word = re.compile(rf"\b{re.escape(name.name)}\b")
        found = (index for index, text in enumerate(python.side.lines) if name.name and word.search(text))
        line = next(found, None)
    return None if line is None else Goal(PYTHON, line, True)


def _effects(diffs: Mapping[str, StageDiff], findings: Sequence[Finding]) -> Iterator[TextLine]:
    first = first_structural(diffs.values())
    if first is not None:
        text = f"the first stage that differs in more than shapes is {first.stage}: {summarize(first)}"
        yield TextLine(text, goal=_first_change(first))
    elif diffs:
        what = "equal" if all(diff.equal for diff in diffs.values()) else "equal but for shapes and constants"
        yield TextLine(f"{what} in all compared stages: {', '.join(diffs)}")
    # What the line above and the verdict say is not said again.
    told = [finding for finding in findings if finding.kind not in ("stages", "identical")]
    yield from (TextLine(finding.text, goal=proof(finding)) for finding in told)
    if not told:
        yield TextLine("no fact differs")


def _first_change(diff: StageDiff) -> Goal | None:
    for row in diff.rows:
        if row.change & ~_QUIET:
            right = row.right is not None
            return Goal(diff.stage, (row.right if right else row.left) or 0, right)
    return None


def proof(finding: Finding) -> Goal | None:
    """The first line that proves a finding, of B where it has one."""
    for right, evidence in ((True, finding.evidence_b), (False, finding.evidence_a)):
        if evidence:
            return Goal(evidence[0].stage, evidence[0].line, right)
    return None
