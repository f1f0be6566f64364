"""Recounts the numbers of findings about loops, and of findings by line that say where an instruction is.

A loop is the text from a label to the last branch back to it, as LLVM lays loops out in PTX and AMDGCN; its
statement is the line of that branch. Nothing here builds a graph. An unrolled loop is recounted as its whole
text: the sentence's number must be in it a whole number of times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.truth.recount import Side, _instructions, amdgcn_effects, ptx_effects

Check = tuple[str, str]

COUNTS = r"none|\d+ x [^,;()]+?(?:, \d+ x [^,;()]+?)*"
_UNIT = r"per (?:iteration|\d+ iterations)(?: of \d+ loops)?"
LOOP = r"the loop of line \d+(?: of A)?(?: \(called in line \d+(?: of A)?\))?"
_IN = re.compile(
    rf"in (?P<loop>{LOOP}): (?P<a>{COUNTS})(?: {_UNIT})?(?: -> (?P<b>{COUNTS}))?(?: {_UNIT})?(?: in both)?"
)
_AROUND = re.compile(rf"(?P<where>before|after) (?:{LOOP}|the loop): (?P<a>{COUNTS}) -> (?P<b>{COUNTS})")
_LOST = re.compile(rf"(?P<a>{COUNTS}) {_UNIT} of (?P<loop>{LOOP}) -> (?P<b>{COUNTS}) without a loop")
_GAINED = re.compile(rf"(?P<a>{COUNTS}) without a loop -> (?P<b>{COUNTS}) {_UNIT} of (?P<loop>{LOOP})")
_OUTSIDE = re.compile(rf"outside of loops: (?P<a>{COUNTS}) -> (?P<b>{COUNTS})")
_PART = "|".join(pattern.pattern for pattern in (_IN, _AROUND, _LOST, _GAINED, _OUTSIDE))
PARTS = re.sub(r"\?P<\w+>", "?:", _PART)

_LABEL = re.compile(r"(\$L__BB\d+_\d+|\.LBB\d+_\d+):")
_BRANCH = re.compile(r"(?:\bbra(?:\.uni)?|\bs_c?branch\w*)\s+(\$L__BB\d+_\d+|\.LBB\d+_\d+)")


@dataclass(frozen=True)
class Span:
    """A loop: its first and last line in the text, and the `.loc` lines of its branches back."""

    start: int
    end: int
    locations: tuple[str, ...]

    def is_of(self, loop: str) -> bool:
        """Whether a branch is located at the lines that a sentence's loop names."""
        return any(_names(location, loop) for location in self.locations)


def _names(location: str, loop: str) -> bool:
    first, *calls = re.findall(r"line (\d+)", loop)
    place = re.match(r"\s*\.loc\s+\d+\s+(\d+)", location)
    links = re.findall(r"inlined_at \d+ (\d+)|@\[ [^\[\]]*?:(\d+):", location)
    called = not calls or calls[0] in [one or two for one, two in links]
    return bool(place) and place[1] == first and called


def spans(side: Side) -> list[Span]:
    """The loops of the assembly."""
    if "spans" not in side.cache:
        labels: dict[str, int] = {}
        found: dict[int, Span] = {}
        location = ""
        for at, line in enumerate(side.assembly):
            if label := _LABEL.match(line):
                labels[label[1]] = at
            elif line.strip().startswith(".loc"):
                location = line
            elif (branch := _BRANCH.search(line)) and branch[1] in labels:
                start = labels[branch[1]]
                before = found[start].locations if start in found else ()
                found[start] = Span(start, at, (*before, location))
        side.cache["spans"] = list(found.values())
    return list(side.cache["spans"])


def numbered(side: Side) -> list[tuple[int, str, int | None, str]]:
    """(index of the line, opcode, line of the kernel, text) of each instruction."""
    if "numbered" not in side.cache:
        at = -1

        def lines() -> Iterator[str]:
            nonlocal at
            for index, line in enumerate(side.assembly):
                at = index
                yield line

        read = _instructions(lines(), side.nvidia)  # type: ignore[arg-type]
        side.cache["numbered"] = [(at, opcode, place, text) for opcode, place, text in read]
    return list(side.cache["numbered"])


def instructions_in(side: Side, loop: str) -> int:
    """The instructions of the longest loop of a statement."""
    longest = main_spans(side, loop, 1)[0]
    return sum(longest.start <= at <= longest.end for at, *_ in numbered(side))


def main_spans(side: Side, loop: str, number: int) -> list[Span]:
    """The `number` longest loops of a statement."""
    return sorted(_of(side, loop), key=lambda span: span.start - span.end)[:number]


def _of(side: Side, loop: str) -> list[Span]:
    """The loops of a statement: the innermost ones with its line.

    The branch at the end need not have it: LLVM rotates loops, and an outer one's can have an inner line.
    """
    own = [
        span
        for span in spans(side)
        if span.is_of(loop) or any(_names(line, loop) for line in side.assembly[span.start : span.end])
    ]
    return [
        span
        for span in own
        if not any(span.start < other.start and other.end <= span.end for other in own if other is not span)
    ]


def counted(side: Side, kind: str, line: int, where: Callable[[int], bool]) -> Counter[str]:
    """The accesses of a kind that a line of the kernel has at the lines of the text that `where` accepts."""
    effects = ptx_effects if side.nvidia else amdgcn_effects
    return Counter(
        effect
        for at, opcode, place, text in numbered(side)
        if place == line and where(at)
        for own, effect in effects(opcode, text)
        if own == kind
    )


def parsed(text: str) -> Counter[str]:
    """`2 x 16-byte, 4 x ldmatrix 16-byte`."""
    items = [item.partition(" x ") for item in text.split(", ")] if text != "none" else []
    return Counter({name: int(number) for number, _, name in items})


def recounted_parts(kind: str, line: int, text: str, a: Side, b: Side) -> Iterator[Check]:
    """The parts of `text`, the counts of a finding by line, and what they should be."""
    loop = ""
    for part in re.findall(rf"(?:{PARTS})(?=; |$)", text):
        if match := _IN.fullmatch(part):
            loop = match["loop"]
            yield from _in_loop(match, kind, line, a, b)
        elif match := _AROUND.fullmatch(part):
            named = re.search(LOOP, part)
            loop = named[0] if named else loop
            for said, side in ((match["a"], a), (match["b"], b)):
                yield _listed(parsed(said)), _listed(_around(match["where"], side, kind, line, loop))
        elif match := _LOST.fullmatch(part) or _GAINED.fullmatch(part):
            with_loop, without = ((match["a"], a), (match["b"], b))[:: 1 if part.endswith("a loop") else -1]
            yield _whole(parsed(with_loop[0]), _inside(with_loop[1], kind, line, match["loop"], 1))
            yield _listed(parsed(without[0])), _listed(counted(without[1], kind, line, lambda at: True))


def _in_loop(match: re.Match[str], kind: str, line: int, a: Side, b: Side) -> Iterator[Check]:
    for said, side in ((match["a"], a), (match["b"] or match["a"], b)):
        loops = re.search(r"of (\d+) loops", match[0])
        yield _whole(parsed(said), _inside(side, kind, line, match["loop"], int(loops[1]) if loops else 1))


def _inside(side: Side, kind: str, line: int, loop: str, number: int) -> Counter[str]:
    own = main_spans(side, loop, number)
    return counted(side, kind, line, lambda at: any(span.start <= at <= span.end for span in own))


def _around(where: str, side: Side, kind: str, line: int, loop: str) -> Counter[str]:
    own = _of(side, loop)
    first = min(span.start for span in own)
    inside = [range(span.start, span.end + 1) for span in own]
    return counted(
        side,
        kind,
        line,
        lambda at: not any(at in span for span in inside) and (at < first) == (where == "before"),
    )


def _whole(said: Counter[str], found: Counter[str]) -> Check:
    """A loop's text has the sentence's numbers a whole number of times."""
    times = found.total() // max(1, said.total())
    return _listed(Counter({name: number * max(1, times) for name, number in said.items()})), _listed(found)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} x {name}" for name, number in sorted(counts.items()))
