"""Recounts the numbers of findings about loops, and of findings by line that say where an instruction is.

The loops are those that LLVM names in its output (`llvm_loops.py`); the statement of a loop is a line that
its text has. An unrolled loop is recounted as its whole text: the sentence's number must be in it a whole
number of times.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from tests.truth.checkers import NOT_RECOUNTED, Check
from tests.truth.llvm_loops import loops_of
from tests.truth.recount import Side, _instructions, amdgcn_effects, ptx_effects

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


def _names(location: str, loop: str) -> bool:
    first, *calls = re.findall(r"line (\d+)", loop)
    place = re.match(r"\s*\.loc\s+\d+\s+(\d+)", location)
    links = re.findall(r"inlined_at \d+ (\d+)|@\[ [^\[\]]*?:(\d+):", location)
    called = not calls or calls[0] in [one or two for one, two in links]
    return bool(place) and place[1] == first and called


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
        moved = iter(side.moved_loads)
        side.cache["numbered"] = [
            (at, opcode, next(moved, None) if _is_moved(side, opcode, place) else place, text)
            for opcode, place, text in read
        ]
    return list(side.cache["numbered"])


def _is_moved(side: Side, opcode: str, place: int | None) -> bool:
    """Whether warp specialization moved an instruction to the line of `def`."""
    return place == side.def_line and re.match(r"cp\.async\.bulk\.tensor\.\dd\.shared", opcode) is not None


def instructions_in(side: Side, loop: str) -> int:
    """The instructions of the longest loop of a statement."""
    return _size(side, main_loops(side, loop, 1)[0])


def _size(side: Side, loop: str) -> int:
    loops = loops_of(side)
    inside = [
        own for own in numbered(side)
        if loops.owner[own[0]] in loops.bodies[loop]
    ]  # fmt: skip
    # A block of LLVM may end with two branches; the second one leaves the loop.
    last = {
        second[0] for first, second in pairwise(inside)
        if re.search(r"@|s_cbranch", first[3]) and second[1] in ("s_branch", "bra.uni")
        and loops.target(second[3]) not in loops.bodies[loop]
    }  # fmt: skip
    return len(inside) - len(last)


def main_loops(side: Side, loop: str, number: int) -> list[str]:
    """The headers of the `number` longest loops of a statement."""
    return sorted(_of(side, loop), key=lambda header: -_size(side, header))[:number]


def _of(side: Side, loop: str) -> list[str]:
    """The headers of the loops of a statement: the innermost ones with its line.

    The branch at the end need not have it: LLVM rotates loops, and an outer one's can have an inner line.
    """
    loops = loops_of(side)
    lines = {at for at, line in enumerate(side.assembly) if _names(line, loop)}
    with_line = {loops.owner[at] for at in lines}
    own = {header: body for header, body in loops.bodies.items() if body & with_line}
    return [
        header for header, body in own.items() if not any(other < body for other in own.values())
    ]  # fmt: skip


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
            elsewhere = re.search(rf"{_OUTSIDE.pattern}(?=; |$)", text)
            for letter, side in (("a", a), ("b", b)):
                rest = parsed(elsewhere[letter]) if elsewhere else Counter()
                yield _or_with(parsed(match[letter]), rest, _around(match["where"], side, kind, line, loop))
        elif match := _LOST.fullmatch(part) or _GAINED.fullmatch(part):
            with_loop, without = ((match["a"], a), (match["b"], b))[:: 1 if part.endswith("a loop") else -1]
            yield _whole(parsed(with_loop[0]), _inside(with_loop[1], kind, line, match["loop"], 1))
            yield _listed(parsed(without[0])), _listed(counted(without[1], kind, line, lambda at: True))
        elif not re.search("(?:before|after) ", text):
            yield _balance(part, kind, line, a, b)


def _balance(part: str, kind: str, line: int, a: Side, b: Side) -> Check:
    """Equal counts before and after loops are not in a sentence: the difference is that of all outside."""
    outside = _OUTSIDE.fullmatch(part)
    if not outside:
        return NOT_RECOUNTED, part
    said = parsed(outside["b"]), parsed(outside["a"])
    found = []
    for side in (b, a):
        loops = loops_of(side)
        found.append(counted(side, kind, line, lambda at, own=loops: not own.blocks[own.owner[at]].loops))
    one, two = (f"{_listed(b - a)} more, {_listed(a - b)} less" for b, a in (said, found))
    return one, two


def prologue_copies(side: Side, loop: str) -> str:
    """How many iterations of a loop's loads run before it; several numbers if its loads differ in that."""
    found = set()
    for line in {place for _, _, place, _ in numbered(side) if place is not None}:
        for kind in ("global load", "async copy"):
            inside = _inside(side, kind, line, loop, 1).total()
            if inside:
                found.add(_around("before", side, kind, line, loop).total() / inside)
    return ", ".join(f"{number:g}" for number in sorted(found))


def _in_loop(match: re.Match[str], kind: str, line: int, a: Side, b: Side) -> Iterator[Check]:
    for said, side in ((match["a"], a), (match["b"] or match["a"], b)):
        loops = re.search(r"of (\d+) loops", match[0])
        yield _whole(parsed(said), _inside(side, kind, line, match["loop"], int(loops[1]) if loops else 1))


def _inside(side: Side, kind: str, line: int, loop: str, number: int) -> Counter[str]:
    """Count the accesses in the `number` longest loops of a statement that have such accesses.

    Each group of warps of a specialized kernel has a loop of its own, and not all of them load.
    """
    loops = loops_of(side)
    bodies = [loops.bodies[header] for header in main_loops(side, loop, len(loops.bodies))]
    counts = [counted(side, kind, line, lambda at, body=body: loops.owner[at] in body) for body in bodies]
    return sum([count for count in counts if count][:number], Counter[str]())


def _around(where: str, side: Side, kind: str, line: int, loop: str) -> Counter[str]:
    loops, own = loops_of(side), _of(side, loop)
    inside = {block for header in own for block in loops.bodies[header]}
    later = loops.reach(own, True) - inside
    blocks = later if where == "after" else loops.reach(own, False) - inside - later
    return counted(side, kind, line, lambda at: loops.owner[at] in blocks)


def _whole(said: Counter[str], found: Counter[str]) -> Check:
    """A loop's text has the sentence's numbers a whole number of times."""
    times = found.total() // max(1, said.total())
    return _listed(Counter({name: number * max(1, times) for name, number in said.items()})), _listed(found)


def _or_with(said: Counter[str], rest: Counter[str], found: Counter[str]) -> Check:
    """Code "outside of loops" has no position in a loop's Python, and can be before or after one."""
    return _listed(said + rest if said + rest == found else said), _listed(found)


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} x {name}" for name, number in sorted(counts.items()))
