"""Recounts findings about registers, spills, memory, threads, occupancy, and what the assembler says."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from tests.truth.checkers import Check, both, checks, grouped
from tests.truth.occupancy import resident
from tests.truth.recount import Side


@checks("shared", r"(?:Shared memory per block|LDS per workgroup): (?P<a>[\d,]+) -> (?P<b>[\d,]+) bytes")
def _shared(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from both(match, a.shared, b.shared)


@checks("tensor_memory", r"Tensor memory per block: (?P<a>[\d,]+) -> (?P<b>[\d,]+) columns")
def _tensor_memory(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from both(match, *(_tensor_columns(side) for side in (a, b)))


def _tensor_columns(side: Side) -> int:
    """The columns that `tcgen05.alloc` asks for."""
    found = re.findall(r"tcgen05\.alloc[^;]*, *(\d+);", side.text("ptx"))
    return max(map(int, found), default=0)


@checks("barriers", r"Named barriers per block: (?P<a>\d+) -> (?P<b>\d+)")
def _barriers(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from both(match, a.resources["barriers"], b.resources["barriers"])


@checks("threads", r"Threads per block: (?P<a>[\d,]+) -> (?P<b>[\d,]+)")
def _threads(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from both(match, a.threads, b.threads)


@checks("scalar spills", r"[AB] spills .*")
def _scalar_spills(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    for letter, number in re.findall(r"([AB]) spills (\d[\d,]*) scalar register", match[0]):
        yield number, grouped((a if letter == "A" else b).resources["scalar spills"])


@checks(
    "registers",
    r"Registers per thread: (?P<a>[\d,]+) -> (?P<b>[\d,]+) \((?P<stack>[^()]*)\)(?:; (?P<tensors>.*))?",
)
def _registers(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from both(match, a.resources["registers"], b.resources["registers"])
    for text in (match["tensors"] or "").split(", ") if match["tensors"] else ():
        types, threads, numbers = re.fullmatch(
            r"\w+ (\w+ \w+(?: -> \w+ \w+)?) over ([\d >-]+) threads takes (\d+ -> \d+)", text
        ).groups()  # type: ignore[union-attr]
        parts = [part.split(" -> ") for part in (types, threads, numbers)]
        yield from _tensor(a, parts[0][0], parts[1][0], parts[2][0])
        yield from _tensor(b, parts[0][-1], parts[1][-1], parts[2][1])
    stacks = [a.resources["stack"], b.resources["stack"]]
    if match["stack"] == "no stack":
        yield str(stacks), "[0, 0]"
    elif found := re.fullmatch(r"both with ([\d,]+) bytes of stack", match["stack"]):
        yield from ((found[1], grouped(stack)) for stack in stacks)
    else:
        yield match["stack"], f"stack: {stacks[0]:,} -> {stacks[1]:,} bytes"


@checks("spills", r"(?P<side>[AB]) spills, [AB] does not: (?P<text>.*)")
def _spills(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    text, found = _without_values(match["text"], a, b)
    yield from found
    yield from _spill_text(text, a if match["side"] == "A" else b)


@checks("spills", r"Both spill\. A: (?P<a>.*)\. B: (?P<b>.*)")
def _both_spill(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    text, found = _without_values(match["b"], a, b)
    yield from found
    yield from _spill_text(match["a"], a)
    yield from _spill_text(text, b)


def _tensor(side: Side, type_: str, threads: str, registers: str) -> Iterator[Check]:
    """`128x64 f16` over 128 threads: each element in one thread, 4 bytes per register."""
    shape, element = type_.split(" ")
    size = int(re.search(r"\d+", element)[0])  # type: ignore[index]
    number = math.prod(map(int, shape.split("x"))) * size // 32 // int(threads)
    yield registers, str(max(1, number))
    yield type_, type_ if f"tensor<{shape}x{element}, " in side.text("ttgir") else "not in TTGIR"
    warps = side.metadata["num_warps"] * (32 if side.nvidia else side.metadata["warp_size"])
    yield threads, str(warps)


def _without_values(text: str, a: Side, b: Side) -> tuple[str, list[Check]]:
    """A sentence about spills without what it says about tensors and values, and the checks of that."""
    found: list[Check] = []
    for side, tensors in re.findall(r"; ([AB])'s largest tensors: ([^;]*)", text):
        for one in tensors.split(", "):
            parts = re.fullmatch(r"\w+ (\w+ \w+) over (\d+) threads takes (\d+)", one)
            found += _tensor(a if side == "A" else b, *parts.groups())  # type: ignore[union-attr]
    for name, line in re.findall(r"; [AB] spills ([\w, ]+) \(line (\d+)\)", text):
        lines, index = b.source.split("\n"), int(line) - b.first_line
        if 0 <= index < len(lines):  # not in a function that the kernel calls
            found.append((name, (re.findall(r"^\s*(\w+(?:, \w+)*) \S?= ", lines[index]) or [""])[0]))
    return re.sub(r"; [AB](?:'s largest tensors: [^;]*| spills [\w, ]+ \(line \d+\))", "", text), found


def _spill_text(text: str, side: Side) -> Iterator[Check]:
    rest = text
    for pattern, name in (
        (r"([\d,]+) bytes of stack per thread", "stack"),
        (r"([\d,]+) bytes of spill stores", "spill stores"),
        (r"and ([\d,]+) of spill loads", "spill loads"),
        (r"([\d,]+) registers(?! spilled)", "registers"),
    ):
        for number in re.findall(pattern, text):
            yield number, grouped(side.resources[name])
        rest = re.sub(pattern, "", rest)
    yield "".join(re.findall(r"\d+", rest)), ""


@checks(
    "occupancy",
    r"Theoretical occupancy: (?P<a>[\d.]+)% -> (?P<b>[\d.]+)% "
    r"\((?P<blocks_a>[\d,]+) -> (?P<blocks_b>[\d,]+) "
    r"(?:blocks per multiprocessor|workgroups per compute unit)\), "
    r"limited by .*",
)
def _occupancy(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    for name, side in (("a", a), ("b", b)):
        blocks, share = resident(side)
        yield match[f"blocks_{name}"], grouped(blocks)
        yield match[name], f"{round(share * 100, 1):g}"


@checks("launch", r"(?P<side>[AB]) cannot launch on \S+: (?P<reasons>.*)")
def _launch(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    side = a if match["side"] == "A" else b
    for number in re.findall(r"([\d,]+) bytes of (?:shared memory|LDS)", match["reasons"]):
        yield number, grouped(side.shared)
    for number in re.findall(r"([\d,]+) threads per (?:block|workgroup),", match["reasons"]):
        yield number, grouped(side.threads)


@checks("launch", r"[AB] did not compile: .*")
def _failed(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    return iter(())  # quotes Triton


@checks("ptxas", r"ptxas warns about (?P<side>[AB]): (?P<text>.*)")
def _warning(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    side = a if match["side"] == "A" else b
    yield match["text"], match["text"] if match["text"] in side.log else "not in the log"
