"""The loops of PTX and AMDGCN as LLVM itself names them in the comments of its output.

    $L__BB0_18:     //   Parent Loop BB0_2 Depth=1
                    // =>  This Inner Loop Header: Depth=2

What is before and after a loop follows from the branches between the labels. Trusts its input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.truth.recount import Side

_START = re.compile(r"(?:\$L__|\.L)BB(\d+_\d+):|(?://|;) %bb\.\d+:")
_TARGET = re.compile(r"(?:\bbra(?:\.uni)?|\bs_c?branch\w*)\s+(?:\$L__|\.L)BB(\d+_\d+)")
_ENDS = re.compile(
    r"^\s*(?:bra|ret|exit|trap|s_branch|s_endpgm|s_setpc_b64|brx\.idx)(?:\.uni)?\b[^%@]*(?:%r\w+, \w+)?;?$"
)
_TABLE = re.compile(r"^\s*(\w+): *\.branchtargets([^;]*);", re.M)


@dataclass
class Block:
    """Lines `start` to `end` (exclusive), the headers of its loops (innermost first), and its successors."""

    start: int
    end: int = 0
    loops: tuple[str, ...] = ()
    successors: list[int] = field(default_factory=list)


@dataclass
class Loops:
    """The blocks of a stage, and the blocks of each loop by the label of its header."""

    blocks: list[Block]
    bodies: dict[str, set[int]]
    headers: dict[str, int]
    owner: Sequence[int]
    labels: Mapping[str, int]

    def target(self, text: str) -> int | None:
        """The block that a branch goes to."""
        found = _TARGET.search(text)
        return self.labels.get(found[1]) if found else None

    def reach(self, loops: Iterable[str], forward: bool) -> set[int]:
        """The blocks that the headers reach (or that reach them) without going back to a header."""
        edges: list[list[int]] = [[] for _ in self.blocks]
        back = {
            (at, self.headers[loop]) for at, block in enumerate(self.blocks) for loop in block.loops
        }  # fmt: skip
        for at, block in enumerate(self.blocks):
            for other in block.successors:
                if (at, other) not in back:
                    edges[at if forward else other].append(other if forward else at)
        found: set[int] = set()
        work = [self.headers[loop] for loop in loops]
        while work:
            new = set(edges[work.pop()]) - found
            found |= new
            work += new
        return found


def loops_of(side: Side) -> Loops:
    """The loops of a variant's PTX or AMDGCN."""
    if "loops" not in side.cache:
        side.cache["loops"] = _read(side.assembly)
    found: Loops = side.cache["loops"]
    return found


def _read(lines: list[str]) -> Loops:
    starts = [at for at, line in enumerate(lines) if _START.match(line)]
    blocks = [Block(0)] + [Block(at) for at in starts]
    parents: dict[str, tuple[str, ...]] = {}
    labels: dict[str, int] = {}
    for at, block in enumerate(blocks):
        block.end = blocks[at + 1].start if at + 1 < len(blocks) else len(lines)
        label = _START.match(lines[block.start]) if at else None
        if label and label[1]:
            labels[label[1]] = at
        block.loops = _loops(lines[block.start : block.end], label[1] if label else None, parents)
    for block in blocks:
        if block.loops:
            block.loops = (block.loops[0], *parents.get(block.loops[0], ()))
    tables = {
        name: re.findall(r"BB(\d+_\d+)", body) for name, body in _TABLE.findall("\n".join(lines))
    }  # fmt: skip
    for at, block in enumerate(blocks):
        block.successors = _successors(lines[block.start : block.end], at, labels, tables, len(blocks))
    bodies: dict[str, set[int]] = {}
    for at, block in enumerate(blocks):
        for loop in block.loops:
            bodies.setdefault(loop, set()).add(at)
    owner = [at for at, block in enumerate(blocks) for _ in range(block.start, block.end)]
    return Loops(blocks, bodies, {loop: labels[loop] for loop in bodies}, owner, labels)


def _loops(lines: list[str], label: str | None, parents: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The innermost loop that the comments of a block name."""
    text = lines[0]
    for line in lines[1:]:
        if not re.match(r"\s*(//|;)", line):
            break
        text += "\n" + line
    if re.search(r"=>\s*This (Inner )?Loop Header", text) and label:
        around = re.findall(r"Parent Loop BB(\d+_\d+)", text)
        parents[label] = tuple(reversed(around))
        return (label,)
    found = re.search(r"in Loop: Header=BB(\d+_\d+)", text)
    return (found[1],) if found else ()


def _successors(
    lines: list[str], at: int, labels: dict[str, int], tables: dict[str, list[str]], number: int
) -> list[int]:
    found = []
    code = [re.split(r"//|;(?= )", line)[0].rstrip() for line in lines]
    for line in code:
        if (target := _TARGET.search(line)) and target[1] in labels:
            found.append(labels[target[1]])
        elif table := re.search(r"\bbrx\.idx\s+%\w+, (\w+)", line):
            found += [labels[name] for name in tables.get(table[1], ()) if name in labels]
    last = [line for line in code if re.match(r"\s+[@a-z]", line) and ".loc" not in line]
    if at + 1 < number and not (last and _ENDS.match(last[-1])):
        found.append(at + 1)
    return found
