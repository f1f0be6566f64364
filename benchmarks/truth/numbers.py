"""Recounts every number in irscope's findings.

    python -m benchmarks.truth.numbers CAPTURE.irscope... [--most PAIRS]

Each kind of finding has a function here that parses its sentence and recounts its numbers with
`recount.py`, which shares nothing with irscope. A kind without a function is an error if its sentence has a
digit, so none is skipped silently. Prints each difference, and how many findings and numbers agree.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import irscope
from benchmarks.truth.loop_numbers import LOOP, PARTS, instructions_in, recounted_parts
from benchmarks.truth.matrix_paths import matrix_path
from benchmarks.truth.occupancy import resident
from benchmarks.truth.recount import Side
from irscope.model import Variant

# A number in a sentence and its recount, or any other part and what it should be.
Check = tuple[str, str]
Checker = Callable[[re.Match[str], Side, Side], Iterator[Check]]

_COUNTS = r"none|\d+ x [^,;()]+(?:, \d+ x [^,;()]+)*"
_NOTE = (
    r"; [AB] (?:(?:loads|stores|writes|reads)[a-z ]* by [\w. ]+?)(?=$|;)"
    r"| \(#\w+ sizePerThread \[[\d, ]+\] -> \[[\d, ]+\](?:, #\w+ sizePerThread \[[\d, ]+\] -> \[[\d, ]+\])*\)"
    r"|; (?:both are|[AB] is) narrow because [^;]*"
)
_PATTERNS: list[tuple[str, re.Pattern[str], Checker]] = []


def checks(kinds: str, pattern: str) -> Callable[[Checker], Checker]:
    """Registers the checker of the findings of `kinds` (a regular expression) whose text is `pattern`."""

    def register(checker: Checker) -> Checker:
        _PATTERNS.append((kinds, re.compile(pattern), checker))
        return checker

    return register


def recounted(kind: str, text: str, a: Side, b: Side) -> list[Check] | None:
    """The parts of a finding and what they should be; None if no checker knows the sentence."""
    for kinds, pattern, checker in _PATTERNS:
        if re.fullmatch(kinds, kind) and (match := pattern.fullmatch(text)):
            return list(checker(match, a, b))
    return None if re.search(r"\d", text) else []


def _grouped(number: int) -> str:
    return f"{number:,}"


def _both(match: re.Match[str], a: int, b: int) -> Iterator[Check]:
    yield match["a"], _grouped(a)
    yield match["b"], _grouped(b)


_LABELS = {
    "Global loads": "global load",
    "Global stores": "global store",
    "Shared memory loads": "shared load",
    "Shared memory stores": "shared store",
    "Matrix instructions": "matrix",
    "Asynchronous copies": "async copy",
    "Local memory loads": "local load",
    "Local memory stores": "local store",
    "Atomics": "global atomic",
    "Shared memory atomics": "shared atomic",
}
_KINDS = "|".join(_LABELS.values())


def _counts(kind: str, place: str, side: Side) -> Counter[str]:
    """The accesses of a kind that a place of a sentence has."""
    if place.startswith("of the kernel"):
        return sum((own for (k, _), own in side.places.items() if k == kind), Counter())
    found = re.search(r"\bline (\d+)( of A)?[):]|\bline (\d+)( of A)?(?: \(|$)", place)
    line = int(found[1] or found[3]) if found else None
    return side.places.get((kind, line), Counter())


def _parsed(text: str) -> Counter[str]:
    """`2 x 16-byte, 4 x ldmatrix 16-byte`."""
    if text == "none":
        return Counter()
    items = [item.partition(" x ") for item in text.split(", ")]
    return Counter({name: int(number) for number, _, name in items})


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{number} x {name}" for name, number in sorted(counts.items()))


@checks(
    _KINDS,
    rf"(?P<label>[A-Z][a-z ]+) (?P<place>of .*?): (?P<parts>(?:{PARTS})(?:; (?:{PARTS}))*)"
    rf"(?P<notes>(?:{_NOTE})*)",
)
def _by_region(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    found = re.search(r"\bline (\d+)(?: of A)?[):]|\bline (\d+)(?: of A)?(?: \(|$)", match["place"])
    if found:
        line = int(found[1] or found[2])
        yield from recounted_parts(_LABELS[match["label"]], line, match["parts"], a, b)
    yield from _notes(match["notes"], a, b)


@checks(
    _KINDS,
    rf"(?P<label>[A-Z][a-z ]+) (?P<place>of .*): (?P<a>{_COUNTS}) -> (?P<b>{_COUNTS})"
    rf"(?: \((?:scope|order) [^()]*\))?(?P<notes>(?:{_NOTE})*)",
)
def _by_line(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    kind = _LABELS[match["label"]]
    yield _listed(_parsed(match["a"])), _listed(_counts(kind, match["place"], a))
    yield _listed(_parsed(match["b"])), _listed(_counts(kind, match["place"], b))
    yield from _notes(match["notes"], a, b)


@checks("loop", rf"(?:The|Only [AB] has the) (?P<loop>{LOOP.removeprefix('the ')})(?::(?P<rest>.*))?")
def _loop(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    loop, rest = f"the {match['loop']}", match["rest"] or ""
    plain = re.search(r"(?P<a>[\d,]+) -> (?P<b>[\d,]+) instructions per iteration", rest)
    passes = re.search(r"instructions (?P<a>[\d,]+) per .* -> (?P<b>[\d,]+) per ", rest)
    if counts := plain or passes:
        yield from _both(counts, instructions_in(a, loop), instructions_in(b, loop))


@checks("loop spills", r"Spills inside .*: (?P<a>none|\d.*) -> (?P<b>none|\d.*)")
def _loop_spills(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    """There are at least as many in the whole machine code."""
    for said, side in ((match["a"], a), (match["b"], b)):
        for number, opcode in re.findall(r"([\d,]+) (load|store)s", said):
            pattern = r"\bLDL\b" if opcode == "load" else r"\bSTL\b"
            total = len(re.findall(pattern, side.text("sass"))) if side.nvidia else None
            yield str(total is None or int(number.replace(",", "")) <= total), "True"


@checks(_KINDS, rf"(?P<label>[A-Z][a-z ]+) (?P<place>of .*) stay (?P<width>\d+)-byte(?P<notes>(?:{_NOTE})*)")
def _stay(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    for side in (a, b):
        texts = _counts(_LABELS[match["label"]], match["place"], side)
        yield (
            match["width"],
            str(max(int(number) for text in texts for number in re.findall(r"(\d+)-byte", text))),
        )
    yield from _notes(match["notes"], a, b)


def _notes(text: str, a: Side, b: Side) -> Iterator[Check]:
    for alias, left, right in re.findall(r"(#\w+) sizePerThread (\[[\d, ]+\]) -> (\[[\d, ]+\])", text):
        yield from _layout_fields(a, b, alias, "sizePerThread", left, right)
    for name, number in re.findall(r"\b(contiguity|divisibility) (\d+)\b", text):
        yield number, number if re.search(rf"{name} = \[(?:\d+, )*{number}\b", a.reasons + b.reasons) else "?"
    # The only other number of a reason is the alignment that specialization knows.
    for number in re.findall(r"divisible by (\d+)", text):
        yield number, "16"


@checks("shared", r"Shared memory per block: (?P<a>[\d,]+) -> (?P<b>[\d,]+) bytes")
def _shared(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from _both(match, a.shared, b.shared)


@checks("tensor_memory", r"Tensor memory per block: (?P<a>[\d,]+) -> (?P<b>[\d,]+) columns")
def _tensor_memory(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from _both(match, *(_tensor_columns(side) for side in (a, b)))


def _tensor_columns(side: Side) -> int:
    """The columns that `tcgen05.alloc` asks for."""
    found = re.findall(r"tcgen05\.alloc[^;]*, *(\d+);", side.text("ptx"))
    return max(map(int, found), default=0)


@checks("barriers", r"Named barriers per block: (?P<a>\d+) -> (?P<b>\d+)")
def _barriers(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from _both(match, a.resources["barriers"], b.resources["barriers"])


@checks("threads", r"Threads per block: (?P<a>[\d,]+) -> (?P<b>[\d,]+)")
def _threads(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from _both(match, a.threads, b.threads)


@checks("scalar spills", r"[AB] spills .*")
def _scalar_spills(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    for letter, number in re.findall(r"([AB]) spills (\d[\d,]*) scalar register", match[0]):
        yield number, _grouped((a if letter == "A" else b).resources["scalar spills"])


@checks("conversions", r"Layout conversions in TTGIR: (?P<a>[\d,]+) -> (?P<b>[\d,]+)")
def _conversions(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from _both(match, *(side.text("ttgir").count("= ttg.convert_layout ") for side in (a, b)))


@checks("instructions", r"Instructions in the assembly: (?P<a>[\d,]+) -> (?P<b>[\d,]+)")
def _instructions(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from _both(match, len(a.instructions), len(b.instructions))


@checks("pipeline_depth", r"Software pipeline depth: (?P<a>\d+) -> (?P<b>\d+)")
def _depth(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from _both(match, _pipeline_depth(a), _pipeline_depth(b))


_GLOBAL_LOAD = (
    r"(ttg\.async_copy_global_to_local|ttng\.async_tma_copy_global_to_local|amdg\.buffer_load_to_local"
    r"|amdg\.buffer_load|tt\.load) .*(?:tensor|memdesc)<.* loc\((#loc\d*)\)$"
)
_DOT = r"(tt\.dot|ttng\.warp_group_dot|ttng\.tc_gen5_mma) .* loc\((#loc\d*)\)$"


def _pipeline_depth(side: Side) -> int:
    """1 + the most copies of a loop's load right before it, less the copies of its matrix instruction.

    Buffers count where loads have no copies before the loop: the loads of a partition of warps.
    """
    deepest, lines = 1, side.text("ttgir").split("\n")
    for start, line in enumerate(lines):
        if not re.search(r"\bscf\.for\b", line):
            continue
        indent = len(line) - len(line.lstrip())
        body = [
            own for own in lines[start : _end(lines, start)] if len(own) - len(own.lstrip()) == indent + 2
        ]
        loops = [at for at in range(start) if re.match(rf" {{{indent}}}\S.*\bscf\.for\b", lines[at])]
        last = _end(lines, loops[-1]) if loops else 0
        before = [own for own in lines[last:start] if len(own) - len(own.lstrip()) == indent]
        loads, early = _located(_GLOBAL_LOAD, body), _located(_GLOBAL_LOAD, before)
        dots, early_dots = _located(_DOT, body), _located(_DOT, before)
        if not loads:
            continue
        if not dots and "local_load" not in "".join(body) and any("_to_local" in load for load, _ in loads):
            ahead = _most_buffers("\n".join(body)) - 1
        else:
            # Each load belongs to the matrix instruction that is as far ahead as it can be.
            started = [early_dots[dot] // number for dot, number in dots.items()] or [0]
            nearest = [-(-early[load] // number) for load, number in loads.items()]
            ahead = max(nearest) - (max(started) if len(started) > 1 else started[0])
        deepest = max(deepest, 1 + ahead)
    return deepest


def _end(lines: list[str], start: int) -> int:
    """The line that closes the region of a line."""
    close = " " * (len(lines[start]) - len(lines[start].lstrip())) + "}"
    return next(at for at in range(start + 1, len(lines)) if lines[at].startswith(close))


def _located(pattern: str, lines: list[str]) -> Counter[tuple[str, str]]:
    return Counter((found[1], found[2]) for line in lines if (found := re.search(pattern, line)))


def _most_buffers(text: str) -> int:
    found = re.findall(r"memdesc_index .*?!ttg\.memdesc<(\d+)x[\dx]*x(?!i64)\w+, #\w+, #smem", text)
    return max(map(int, found), default=1)


@checks(
    "registers",
    r"Registers per thread: (?P<a>[\d,]+) -> (?P<b>[\d,]+) \((?P<stack>[^()]*)\)(?:; (?P<tensors>.*))?",
)
def _registers(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from _both(match, a.resources["registers"], b.resources["registers"])
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
        yield from ((found[1], _grouped(stack)) for stack in stacks)
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
    yield str(f"tensor<{shape}x{element}, " in side.text("ttgir")), "True"
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
            yield number, _grouped(side.resources[name])
        rest = re.sub(pattern, "", rest)
    yield "".join(re.findall(r"\d+", rest)), ""


@checks(
    "occupancy",
    r"Theoretical occupancy: (?P<a>[\d.]+)% -> (?P<b>[\d.]+)% "
    r"\((?P<blocks_a>[\d,]+) -> (?P<blocks_b>[\d,]+) blocks per multiprocessor\), limited by .*",
)
def _occupancy(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    for name, side in (("a", a), ("b", b)):
        blocks, share = resident(side)
        yield match[f"blocks_{name}"], _grouped(blocks)
        yield match[name], f"{round(share * 100, 1):g}"


@checks("layout", r"(?P<alias>#\w+) (?P<fields>\w+ .* -> .*)")
def _layout(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    value = r"\[\[.*?\]\]|\[[^\[\]]*\]|[^,\[\]]+"
    for name, left, right in re.findall(rf"(\w+) ({value}) -> ({value})(?:, |$)", match["fields"]):
        yield from _layout_fields(a, b, match["alias"], name, left, right)


@checks("layout", r"(?P<alias>#\w+) (?P<left>ttn?g\.\w+|\w+\.\w+) -> (?P<right>\w+\.\w+)")
def _layout_kinds(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    kinds = {alias: kind for alias, kind, _ in a.layouts()}
    yield match["left"], kinds.get(match["alias"], "?")
    yield match["right"], next((kind for _, kind, _ in b.layouts() if kind == match["right"]), "?")


@checks("layout", r"Only (?P<side>[AB]) has the layout (?P<alias>#\w+), (?P<kind>\w+\.\w+)")
def _only(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    side = a if match["side"] == "A" else b
    yield match["kind"], {alias: kind for alias, kind, _ in side.layouts()}.get(match["alias"], "?")


def _layout_fields(a: Side, b: Side, alias: str, name: str, left: str, right: str) -> Iterator[Check]:
    """A's layout of that alias has the left value; some layout of the same kind in B the right one."""
    kind, fields = next(((kind, own) for other, kind, own in a.layouts() if other == alias), ("?", {}))
    yield left, fields.get(name, "none")
    there = [own.get(name, "none") for _, other, own in b.layouts() if other == kind]
    yield right, right if right in there else str(there)


@checks("warp_specialization", r"(?P<which>[AB]) is warp specialized, [AB] is not: (?P<text>.*)")
def _specialized(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield match["text"], _partitions(a if match["which"] == "A" else b)


@checks("warp_specialization", r"Both are warp specialized\. A: (?P<a>.*)\. B: (?P<b>.*)")
def _both_specialized(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield match["a"], _partitions(a)
    yield match["b"], _partitions(b)


_WORK = {
    "load": r"ttng\.async_tma_copy_global_to_local|ttg\.async_copy_global_to_local|tt\.load .*tensor<",
    "MMA": r"tt\.dot |ttng\.warp_group_dot |ttng\.tc_gen5_mma",
    "reduction": r'"tt\.(?:reduce|scan)"',
    "exponential": r"math\.exp2? .*tensor<",
    "tensor memory load": r"ttng\.tmem_load ",
    "tensor memory store": r"ttng\.tmem_store ",
    "store": r"ttng\.async_tma_copy_local_to_global|tt\.store .*tensor<",
    "atomic": r"tt\.atomic_\w+ .*tensor<|ttng\.async_tma_reduce",
}


def _partitions(side: Side) -> str:
    text = side.text("ttgir")
    requested = re.search(r"requestedRegisters = array<i32: ([\d, ]+)>", text)
    registers = iter(requested[1].split(", ") if requested else [])
    taken = re.search(
        r"barrier\.sync \t1;\n(?:\$L\w+:.*\n|\t\.loc.*\n)*\tsetmaxnreg\.\w+\.sync\.aligned\.u32 \t(\d+);\n"
        r"(?:\$L\w+:.*\n|\t\.loc.*\n)*\tbarrier\.sync",
        side.text("ptx"),
    )
    found = []
    for name, head, body in re.findall(r"\n    (default|partition\d+)(.*)\{\n((?:      .*\n)*)    \}", text):
        warps = re.search(r"num_warps\((\d+)\) $", head) or re.search(r'num-warps" = (\d+)', text)
        own = next(registers, "") if name != "default" else taken[1] if taken else ""
        words = [_plural(int(warps[1]), "warp")] if warps else []
        words += [_plural(int(own), "register")] if own else []
        work = [(len(re.findall(pattern, body)), role) for role, pattern in _WORK.items()]
        words += [_plural(number, role) for number, role in work if number] or ["no tile work"]
        found.append(f"{name}: {', '.join(words)}")
    return f"{_plural(len(found), 'partition')} ({'; '.join(found)})"


def _plural(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


@checks("stages", r"First real difference: (?P<stage>\w+) \((?P<counts>.*)\)")
def _stages(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    """Only the balance can be recounted simply: what is added less what is removed."""
    found = re.findall(r"(\d[\d,]*) (\w+)", match["counts"])
    numbers = {name: int(number.replace(",", "")) for number, name in found}
    counted = [len(_operations(side.text(match["stage"]))) for side in (a, b)]
    yield str(numbers.get("added", 0) - numbers.get("removed", 0)), str(counted[1] - counted[0])


def _operations(text: str) -> list[str]:
    return re.findall(r'^\s*(?:%[-\w:#, %]+ = )?"?[a-z_]+\.[a-z_0-9.]+"?[ (<{].*$', text, re.M)


@checks("stages", r"All compared stages are equal(?: except for shapes and constants)?: [\w, ]*")
@checks("identical", r"A and B have identical machine code; benchmarking both is redundant")
def _no_numbers(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    return iter(())


@checks("matrix path", r".*")
def _matrix_path(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    return matrix_path(match[0], a, b)


@checks("launch", r"(?P<side>[AB]) cannot launch on \S+: (?P<reasons>.*)")
def _launch(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    side = a if match["side"] == "A" else b
    for number in re.findall(r"([\d,]+) bytes of shared memory", match["reasons"]):
        yield number, _grouped(side.shared)
    for number in re.findall(r"([\d,]+) threads per block,", match["reasons"]):
        yield number, _grouped(side.threads)


@checks("launch", r"[AB] did not compile: .*")
def _failed(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    return iter(())  # quotes Triton


@checks("ptxas", r"ptxas warns about (?P<side>[AB]): (?P<text>.*)")
def _warning(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    side = a if match["side"] == "A" else b
    yield match["text"], match["text"] if match["text"] in side.log else "not in the log"


@dataclass
class Tally:
    """What was recounted: findings by kind, parts of sentences, and those that differ."""

    kinds: Counter[str] = field(default_factory=Counter)
    parts: int = 0
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
    parser.add_argument("--most", type=int, default=30, help="pairs per kernel and target (30)")
    arguments = parser.parse_args()
    tally = Tally()
    for path in arguments.captures:
        recount_capture(path, arguments.most, tally)
    print("\n".join(tally.differences))
    kinds = ", ".join(f"{number} {kind}" for kind, number in tally.kinds.most_common())
    print(f"{tally.kinds.total()} findings ({kinds})")
    print(f"{tally.parts} parts of sentences recounted, {len(tally.differences)} differences")
    return bool(tally.differences)


if __name__ == "__main__":
    sys.exit(main())
