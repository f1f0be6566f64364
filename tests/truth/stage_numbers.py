"""Recounts findings about loops, software pipelines, warp specialization, and whole stages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tests.truth.checkers import Check, both, checks, grouped, plural
from tests.truth.loop_numbers import LOOP, instructions_in, prologue_copies
from tests.truth.recount import Side


@checks("loop", rf"(?:The|Only [AB] has the) (?P<loop>{LOOP.removeprefix('the ')})(?::(?P<rest>.*))?")
def _loop(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    loop, rest = f"the {match['loop']}", match["rest"] or ""
    plain = re.search(r"(?P<a>[\d,]+) -> (?P<b>[\d,]+) instructions per iteration", rest)
    passes = re.search(r"instructions (?P<a>[\d,]+) per .* -> (?P<b>[\d,]+) per ", rest)
    if counts := plain or passes:
        yield from both(counts, instructions_in(a, loop), instructions_in(b, loop))
    copies = re.search(r"its prologue has (\d+) cop", rest)
    if copies and "nrolled" not in rest and not re.search(r" per \d+ iterations", rest):
        yield copies[1], prologue_copies(b, loop)
    yield from _deep(rest, int(re.findall(r"\d+", loop)[0]), a, b)


def _deep(rest: str, line: int, a: Side, b: Side) -> Iterator[Check]:
    """How deep the loop of a line is pipelined on each side."""
    found = re.search(r"pipelined, (?:(\d+) -> )?(\d+) deep|no longer pipelined \(A: (\d+) deep\)", rest)
    if not found:
        return
    was, now, lost = found.groups()
    for said, side in ((lost or was or "1", a), ("1" if lost else now, b)):
        yield said, str(_depths(side).get(line, 1))


@checks(
    "in flight",
    r"The (?:copy|load) of .* in line \d+: [\d,]+ -> (?P<b>[\d,]+) cycles in flight; (?P<needed>[\d,]+) are "
    r"needed(?: in B, [\d,]+ in A)?: (?:.*\bB waits for (?P<waits>\d+(?:,\d{3})*)|.*).*",
)
def _in_flight(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    """What B waits for is what is missing. The cycles are a model's: tests/truth/timelines measured them."""
    flight, needed, waits = (int((match[name] or "0").replace(",", "")) for name in ("b", "needed", "waits"))
    missing = max(0, needed - flight)
    yield (
        match["waits"] or "hidden",
        match["waits"] or "hidden" if abs(waits - missing) <= 1 else grouped(missing),
    )


@checks("loop spills", r"Spills inside .*: (?P<a>none|\d.*) -> (?P<b>none|\d.*)")
def _loop_spills(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    """There are at least as many in the whole machine code."""
    for said, side in ((match["a"], a), (match["b"], b)):
        for number, opcode in re.findall(r"([\d,]+) (load|store)s", said):
            pattern = r"\bLDL\b" if opcode == "load" else r"\bSTL\b"
            if side.nvidia and side.text("sass"):
                total = len(re.findall(pattern, side.text("sass")))
                yield str(int(number.replace(",", "")) <= total), "True"


@checks("conversions", r"Layout conversions in TTGIR: (?P<a>[\d,]+) -> (?P<b>[\d,]+)")
def _conversions(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from both(match, *(side.text("ttgir").count("= ttg.convert_layout ") for side in (a, b)))


@checks("instructions", r"Instructions in the assembly: (?P<a>[\d,]+) -> (?P<b>[\d,]+)")
def _instructions(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from both(match, len(a.instructions), len(b.instructions))


@checks("pipeline_depth", r"Software pipeline depth: (?P<a>\d+) -> (?P<b>\d+)")
def _depth(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    yield from both(match, _pipeline_depth(a), _pipeline_depth(b))


_GLOBAL_LOAD = (
    r"(ttg\.async_copy_global_to_local|ttng\.async_tma_copy_global_to_local|amdg\.buffer_load_to_local"
    r"|amdg\.buffer_load|tt\.load) .*(?:tensor|memdesc)<.* loc\((#loc\d*)\)$"
)
_DOT = r"(tt\.dot|ttng\.warp_group_dot|ttng\.tc_gen5_mma) .* loc\((#loc\d*)\)$"


def _pipeline_depth(side: Side) -> int:
    """The depth of the deepest loop."""
    return max(_depths(side).values(), default=1)


def _depths(side: Side) -> dict[int, int]:
    """How deep the loop of each line is pipelined.

    1 + the most copies of its loads right before it, less the copies of its matrix instruction. Buffers
    count where loads have no copies before the loop: the loads of a partition of warps.
    """
    found, lines = dict[int, int](), side.text("ttgir").split("\n")
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
        at = _line(side, re.findall(r"loc\((#loc\d*)\)$", lines[_end(lines, start)]))
        found[at] = max(found.get(at, 1), 1 + ahead)
    return found


def _line(side: Side, locations: list[str]) -> int:
    """The line of a location's statement, in the function that has it."""
    text = side.text("ttgir")
    for _ in range(8):
        found = re.search(rf"^{locations[-1]} = (loc\(.*)$", text, re.M) if locations else None
        if not found:
            return 0
        if number := re.match(r'loc\("[^"]*":(\d+):', found[1]):
            return int(number[1])
        locations = re.findall(r"#loc\d*", found[1])[:1]
    return 0


def _end(lines: list[str], start: int) -> int:
    """The line that closes the region of a line."""
    close = " " * (len(lines[start]) - len(lines[start].lstrip())) + "}"
    return next(at for at in range(start + 1, len(lines)) if lines[at].startswith(close))


def _located(pattern: str, lines: list[str]) -> Counter[tuple[str, str]]:
    return Counter((found[1], found[2]) for line in lines if (found := re.search(pattern, line)))


def _most_buffers(text: str) -> int:
    found = re.findall(r"memdesc_index .*?!ttg\.memdesc<(\d+)x[\dx]*x(?!i64)\w+, #\w+, #smem", text)
    return max(map(int, found), default=1)


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
        words = [plural(int(warps[1]), "warp")] if warps else []
        words += [plural(int(own), "register")] if own else []
        work = [(len(re.findall(pattern, body)), role) for role, pattern in _WORK.items()]
        words += [plural(number, role) for number, role in work if number] or ["no tile work"]
        found.append(f"{name}: {', '.join(words)}")
    return f"{plural(len(found), 'partition')} ({'; '.join(found)})"


@checks("stages", r"First real difference: (?P<stage>\w+) \((?P<counts>.*)\)")
def _stages(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    """Only the balance can be recounted simply: what is added less what is removed."""
    found = re.findall(r"(\d[\d,]*) (\w+)", match["counts"])
    numbers = {name: int(number.replace(",", "")) for number, name in found}
    counted = [len(_operations(match["stage"], side.text(match["stage"]))) for side in (a, b)]
    yield str(numbers.get("added", 0) - numbers.get("removed", 0)), str(counted[1] - counted[0])


def _operations(stage: str, text: str) -> list[str]:
    if stage == "llir":  # LLVM indents instructions by two blanks
        return re.findall(r"^  (?:tail |%[\w.-]+ = )?[a-z].*$", text, re.M)
    return re.findall(r'^\s*(?:%[-\w:#, %]+ = )?"?[a-z_]+\.[a-z_0-9.]+"?[ (<{].*$', text, re.M)


@checks("stages", r"All compared stages are equal(?: except for shapes and constants)?: [\w, ]*")
@checks("identical", r"A and B have identical machine code; benchmarking both is redundant")
def _no_numbers(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    return iter(())
