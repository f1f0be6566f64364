"""Recounts findings about the accesses and matrix instructions of a line, and about layouts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tests.truth.checkers import NOT_RECOUNTED, Check, checks
from tests.truth.loop_numbers import PARTS, recounted_parts
from tests.truth.matrix_paths import matrix_path
from tests.truth.recount import Side

_COUNTS = r"none|\d+ x [^,;()]+(?:, \d+ x [^,;()]+)*"
_NOTE = (
    r"; [AB] (?:(?:loads|stores|writes|reads)[a-z ]* by [\w. ]+?)(?=$|;)"
    r"| \(#\w+ sizePerThread \[[\d, ]+\] -> \[[\d, ]+\](?:, #\w+ sizePerThread \[[\d, ]+\] -> \[[\d, ]+\])*\)"
    r"|; (?:both are|[AB] is) narrow because [^;]*"
)
LABELS = {
    "Global loads": "global load",
    "Global stores": "global store",
    "Shared memory loads": "shared load",
    "Shared memory stores": "shared store",
    "LDS loads": "shared load",
    "LDS stores": "shared store",
    "Matrix instructions": "matrix",
    "Asynchronous copies": "async copy",
    "Local memory loads": "local load",
    "Local memory stores": "local store",
    "Atomics": "global atomic",
    "Shared memory atomics": "shared atomic",
    "LDS atomics": "shared atomic",
}
_KINDS = "|".join(LABELS.values())


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
    rf"(?P<label>[A-Z][A-Za-z ]+) (?P<place>of .*?): (?P<parts>(?:{PARTS})(?:; (?:{PARTS}))*)"
    rf"(?P<notes>(?:{_NOTE})*)",
)
def _by_region(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    found = re.search(r"\bline (\d+)(?: of A)?[):]|\bline (\d+)(?: of A)?(?: \(|$)", match["place"])
    if found:
        line = int(found[1] or found[2])
        yield from recounted_parts(LABELS[match["label"]], line, match["parts"], a, b)
    else:
        yield NOT_RECOUNTED, match["parts"]
    yield from _notes(match["notes"], a, b)


@checks(
    _KINDS,
    rf"(?P<label>[A-Z][A-Za-z ]+) (?P<place>of .*): (?P<a>{_COUNTS}) -> (?P<b>{_COUNTS})"
    rf"(?: \((?:scope|order) [^()]*\))?(?P<notes>(?:{_NOTE})*)",
)
def _by_line(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    kind = LABELS[match["label"]]
    yield _listed(_parsed(match["a"])), _listed(_counts(kind, match["place"], a))
    yield _listed(_parsed(match["b"])), _listed(_counts(kind, match["place"], b))
    yield from _notes(match["notes"], a, b)


@checks(
    _KINDS, rf"(?P<label>[A-Z][A-Za-z ]+) (?P<place>of .*) stay (?P<width>\d+)-byte(?P<notes>(?:{_NOTE})*)"
)
def _stay(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    for side in (a, b):
        texts = _counts(LABELS[match["label"]], match["place"], side)
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


@checks("layout", r"(?P<alias>#\w+) (?P<fields>\w+ .* -> .*)")
def _layout(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    value = r"\[\[.*?\]\]|\[[^\[\]]*\]|[^,\[\]]+"
    for name, left, right in re.findall(rf"(\w+) ({value}) -> ({value})(?:, |$)", match["fields"]):
        yield from layout_fields(a, b, match["alias"], name, left, right)


@checks("layout", r"(?P<alias>#\w+) (?P<left>ttn?g\.\w+|\w+\.\w+) -> (?P<right>\w+\.\w+)")
def _layout_kinds(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    kinds = {alias: kind for alias, kind, _ in a.layouts()}
    yield match["left"], kinds.get(match["alias"], "?")
    yield match["right"], next((kind for _, kind, _ in b.layouts() if kind == match["right"]), "?")


@checks("layout", r"Only (?P<side>[AB]) has the layout (?P<alias>#\w+), (?P<kind>\w+\.\w+)")
def _only(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    side = a if match["side"] == "A" else b
    yield match["kind"], {alias: kind for alias, kind, _ in side.layouts()}.get(match["alias"], "?")


def layout_fields(a: Side, b: Side, alias: str, name: str, left: str, right: str) -> Iterator[Check]:
    """A's layout of that alias has the left value; some layout of the same kind in B the right one."""
    kind, fields = next(((kind, own) for other, kind, own in a.layouts() if other == alias), ("?", {}))
    yield left, fields.get(name, "none")
    there = [own.get(name, "none") for _, other, own in b.layouts() if other == kind]
    yield right, right if right in there else str(there)


@checks("matrix path", r".*")
def _matrix_path(match: re.Match[str], a: Side, b: Side) -> Iterator[Check]:
    return matrix_path(match[0], a, b)
