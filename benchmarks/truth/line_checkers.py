"""Checkers of the findings by source line, region and loop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from benchmarks.truth.checkers import Check, checks, grouped
from benchmarks.truth.fact_checkers import layout_fields, pipeline_depth
from benchmarks.truth.recount import Side

_COUNTS = r"none|\d+ x [^,;()]+(?:, \d+ x [^,;()]+)*"
_NOTE = (
    r"; [AB] (?:(?:loads|stores|writes|reads)[a-z ]* by [\w. ]+?)(?=$|;)"
    r"| \(#\w+ sizePerThread \[[\d, ]+\] -> \[[\d, ]+\](?:, #\w+ sizePerThread \[[\d, ]+\] -> \[[\d, ]+\])*\)"
    r"|; (?:both are|[AB] is) narrow because [^;]*"
)
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
    rf"(?!.*: (?:in|before|after|outside) (?:the loop|of loops))"
    rf"(?P<label>[A-Z][a-z ]+) (?P<place>of .*): (?P<a>{_COUNTS}) -> (?P<b>{_COUNTS})"
    rf"(?: \((?:scope|order) [^()]*\))?(?P<notes>(?:{_NOTE})*)",
)
def _by_line(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    kind = _LABELS[match["label"]]
    yield _listed(_parsed(match["a"])), _listed(_counts(kind, match["place"], a))
    yield _listed(_parsed(match["b"])), _listed(_counts(kind, match["place"], b))
    yield from _notes(match["notes"], a, b)


_SIDES = rf"(?P<a>{_COUNTS})(?P<unit_a> per [^;>]*)? -> (?P<b>{_COUNTS})(?P<unit_b> per [^;>]*)?"
_REGION = re.compile(
    rf"(?P<where>in|before|after) the loop(?: of line \d+(?: of A)?(?: \(called in line \d+\))?)?: "
    rf"(?:(?P<both>{_COUNTS}) per [^;]* in both|{_SIDES})"
    rf"|(?P<outside>outside of loops): (?P<oa>{_COUNTS}) -> (?P<ob>{_COUNTS})"
)


@checks(
    _KINDS,
    rf"(?P<label>[A-Z][a-z ]+) (?P<place>of .*?\)|of line \d+|of unknown lines): "
    rf"(?P<parts>(?:in|before|after|outside) (?:the loop|of loops).*?)(?P<notes>(?:{_NOTE})*)",
)
def _by_region(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    """Each region if its side has one loop; the change of all together, if none is unrolled."""
    kind, parts = _LABELS[match["label"]], match["parts"].split("; ")
    totals = [_counts(kind, match["place"], side) for side in (a, b)]
    moved: Counter[str] = Counter()
    several = a.unrolled or b.unrolled
    for part in parts:
        region = _REGION.fullmatch(part)
        if region is None:
            yield part, "an unknown part"
            continue
        texts = (region["oa"], region["ob"]) if region["outside"] else (region["a"], region["b"])
        counts = [_parsed(re.sub(r" per .*", "", text or region["both"] or "none")) for text in texts]
        several |= bool(re.search(r"per \d+ iterations|of \d+ loops", part))
        moved.update(counts[1])
        moved.subtract(counts[0])
        for side, own in zip((a, b), counts, strict=True):
            found = list(_region_checks(kind, match["place"], region, side, own))
            several |= region["where"] == "in" and found[0][1] is None  # perhaps unrolled
            yield from found
    if not several:
        total = Counter(totals[1])
        total.subtract(totals[0])
        yield _listed(_nonzero(moved)), _listed(_nonzero(total))
    yield from _notes(match["notes"], a, b)


def _nonzero(counts: Counter[str]) -> Counter[str]:
    return Counter({name: number for name, number in counts.items() if number})


def _multiple(counts: Counter[str], one: Counter[str]) -> bool:
    times = {counts[name] / number for name, number in one.items()}
    return (
        counts.keys() == one.keys() and len(times) == 1 and all(own.is_integer() and own > 1 for own in times)
    )


def _region_checks(
    kind: str, place: str, region: re.Match[str], side: Side, own: Counter[str]
) -> Iterator[Check]:
    found = re.search(r"\bline (\d+)", place)
    regions = side.regions(kind, int(found[1])) if found else None
    if regions is None or region["outside"] or "line " + str(side.def_line) in place:
        yield _listed(own), None
    elif region["where"] == "in" and _multiple(regions["in"], own):
        yield _listed(own), None  # unrolled: the sentence is about one iteration
    elif side.unrolled and region["where"] != "in":
        yield _listed(own), None  # the remainder is left out
    else:
        yield _listed(own), _listed(regions[region["where"]])


_LOOP = r"(?: without a loop| per [^;>]* of the loop of line \d+(?: of A)?(?: \(called in line \d+\))?)"


@checks(
    _KINDS,
    rf"(?P<label>[A-Z][a-z ]+) (?P<place>of .*): (?P<a>{_COUNTS})(?P<how_a>{_LOOP}) -> "
    rf"(?P<b>{_COUNTS})(?P<how_b>{_LOOP})(?P<notes>(?:; outside.*)?(?:{_NOTE})*)",
)
def _vanished_loop(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    """A side without the loop has all of its instructions outside of it."""
    for name, side in (("a", a), ("b", b)):
        counted = _counts(_LABELS[match["label"]], match["place"], side)
        whole = match[f"how_{name}"] == " without a loop"
        yield _listed(_parsed(match[name])), _listed(counted) if whole else None
    yield from _notes(match["notes"], a, b)


@checks("loop", r"The loop of line \d+[^:]*: (?P<parts>.*)")
@checks("loop", r"Only [AB] has (?P<parts>the loop of line .*)")
def _loop(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    for part in match["parts"].split("; "):
        yield from _loop_part(part, a, b)


def _loop_part(part: str, a: Side, b: Side) -> Iterator[Check]:
    one = all(side.loop is not None for side in (a, b))
    if found := re.fullmatch(r"([\d,]+) -> ([\d,]+) instructions per iteration", part):
        for number, side in zip(found.groups(), (a, b), strict=True):
            yield number, grouped(side.in_loop or 0) if one and not side.unrolled else None
    elif "deep" in part:
        single = all(side.text("ttgir").count("scf.for") == 1 for side in (a, b))
        depths = [str(pipeline_depth(side)) for side in (a, b)]
        if found := re.match(r"no longer pipelined \(A: (\d+) deep\)", part):
            yield f"{found[1]} 1", " ".join(depths) if single else None
        elif found := re.match(r"pipelined, (\d+) deep \(A: not pipelined\)", part):
            yield f"1 {found[1]}", " ".join(depths) if single else None
        elif found := re.match(r"pipelined, (\d+) -> (\d+) deep", part):
            yield f"{found[1]} {found[2]}", " ".join(depths) if single else None
        else:
            yield part, "an unknown part"
        for number in re.findall(r"prologue has (\d+) cop", part):
            yield number, None
    else:
        # Unrolling and trip counts: what the assembly repeats is not counted by a regular expression.
        yield from ((number, None) for number in re.findall(r"\d+", part))


@checks("scalar spills", r"[AB] spills .*")
def _scalar_spills(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    for letter, number in re.findall(r"([AB]) spills (\d[\d,]*) scalar register", match[0]):
        yield number, grouped((a if letter == "A" else b).resources["scalar spills"])


@checks("loop spills", r"Spills inside .*")
def _loop_spills(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    """SASS has the spills of ptxas; without it, only the local accesses of the assembly's loop count."""
    yield from ((number, None) for number in re.findall(r"\d+(?= (?:loads|stores))", match[0]))


@checks("matrix path", r".*tl\.dot(?:_scaled)? of (?:line|lines) (?P<text>.*)")
def _matrix_path(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    lines = re.match(r"(\d+(?:(?:, | and )\d+)*)", match["text"])
    source = b.source.split("\n")
    for line in re.findall(r"\d+", lines[1]) if lines else ():
        at = int(line) - b.first_line
        near = "".join(source[at : at + 4]) if 0 <= at < len(source) else None
        yield line, None if near is None else line if "dot" in near else "no tl.dot"
    for left, right in re.findall(r"\b(m\d+n\d+k\d+)[^;>]* -> [^;>]*\b(m\d+n\d+k\d+)", match["text"]):
        for shape, side in ((left, a), (right, b)):
            found = {name for (kind, _), own in side.places.items() if kind == "matrix" for name in own}
            yield shape, shape if any(name.endswith(shape) for name in found) else str(found)
    rest = re.sub(r"\([^()]*(?:\([^()]*(?:\([^()]*\))?[^()]*\))?[^()]*\)", "", match["text"])
    for name, number in re.findall(r"\b([A-Za-z_]\w*) = (\d+)", rest):
        known = {**a.config, **a.metadata, **b.config, **b.metadata}
        sides = [str({**side.metadata, **side.config}.get(name)) for side in (a, b)]
        yield number, None if name not in known else number if number in sides else str(sides)


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
        yield from layout_fields(a, b, alias, "sizePerThread", left, right)
    for name, number in re.findall(r"\b(contiguity|divisibility) (\d+)\b", text):
        yield number, number if re.search(rf"{name} = \[(?:\d+, )*{number}\b", a.reasons + b.reasons) else "?"
    # The only other number of a reason is the alignment that specialization knows.
    for number in re.findall(r"divisible by (\d+)", text):
        yield number, "16"
