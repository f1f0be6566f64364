"""MLIR's location attributes -> `Location`: file, name, callsite and fused locations and their aliases.

The grammar is "Builtin Dialect, Location Attributes" of the MLIR documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from irscope.languages.document import Location

# Triton's library nests five helpers or so; a chain that is longer loses its innermost places.
_MAX_CHAIN = 32

# The closing quote is optional, so that an unclosed string is scanned once and not from each quote again.
_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"?'
_PLACES = re.compile(rf"{_STRING}| loc\(|[()]")
_ALIAS_PLACE = re.compile(r" loc\((#[\w$.-]+)\)")
_ATTRIBUTE = re.compile(
    rf"(?P<string>{_STRING})(?::(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}}))?"
    r"|(?P<alias>#[\w$.-]+)|(?P<unknown>\bunknown\b)|(?P<callsite>\bcallsite\b)|(?P<bracket>[()\[\]<>])"
)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)

Aliases = Mapping[str, Location | None]


def split_locations(text: str) -> tuple[str, str | None]:
    """A line without its `loc(...)`s, and what stands in the last one if it ends the line, else None."""
    start = text.rfind(" loc(")
    if start < 0:
        return text, None
    alias = _ALIAS_PLACE.fullmatch(text, start)
    if alias and text.find(" loc(") == start:
        return text[:start], alias[1]
    return _split_nested(text)


def _split_nested(text: str) -> tuple[str, str | None]:
    """`split_locations` for several locations in a line and for those with brackets or strings inside."""
    kept: list[str] = []
    last: str | None = None
    end = start = depth = 0
    for match in _PLACES.finditer(text):
        mark = match[0]
        if depth == 0:
            if mark == " loc(":
                start, depth = match.start(), 1
        elif mark in ("(", " loc("):
            depth += 1
        elif mark == ")":
            depth -= 1
            if depth == 0:
                kept.append(text[end:start])
                last, end = text[start + 5 : match.start()], match.end()
    rest = text[end:]
    kept.append(rest)
    return "".join(kept).rstrip(), None if rest.strip() else last


def resolve_aliases(bodies: Mapping[str, str]) -> dict[str, Location | None]:
    """The place of each alias of `bodies`: `#loc3` -> what stands inside its `loc(...)`.

    An alias may stand before or behind those it names. One that is missing or part of a cycle is None,
    as `loc(unknown)` is. Takes time linear in the text: each body is read twice.
    """
    resolved: dict[str, Location | None] = {}
    entered: set[str] = set()
    for name in bodies:
        pending = [name]
        while pending:
            current = pending[-1]
            if current not in entered:
                entered.add(current)
                pending += (alias for alias in _aliases_in(bodies[current], bodies) if alias not in entered)
            else:
                pending.pop()
                if current not in resolved:
                    resolved[current] = parse_location(bodies[current], resolved)
    return resolved


def _aliases_in(body: str, known: Mapping[str, str]) -> Iterator[str]:
    for match in _ATTRIBUTE.finditer(body):
        if match["alias"] in known:
            yield match["alias"]


def parse_location(body: str, aliases: Aliases) -> Location | None:
    """The place that `body`, the inside of a `loc(...)`, names; None where it names none.

    A named location is the place behind the name, a fused one its first known place, a callsite the
    callee's place inlined at the caller's.
    """
    if body in aliases:
        return aliases[body]
    groups: list[list[Location | None]] = [[]]
    callsites = [False]
    callsite = False
    for match in _ATTRIBUTE.finditer(body):
        kind = match.lastgroup
        if kind == "callsite":
            callsite = True
        elif kind != "bracket":
            if kind != "string":  # a name alone is no place: the brackets behind it hold one
                groups[-1].append(_leaf(match, aliases))
        elif match[0] in "([<":
            groups.append([])
            callsites.append(callsite and match[0] == "(")
            callsite = False
        elif len(groups) > 1:
            place = _reduce(groups.pop(), callsites.pop())
            groups[-1].append(place)
    while len(groups) > 1:
        place = _reduce(groups.pop(), callsites.pop())
        groups[-1].append(place)
    return _reduce(groups[0], callsite=False)


def _leaf(match: re.Match[str], aliases: Aliases) -> Location | None:
    if match["line"] is None:
        return aliases.get(match["alias"])
    file = _ESCAPE.sub(_unescape, match["string"][1:-1])
    return Location(file, int(match["line"]), int(match["column"]))


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if len(match[1]) == 2 else match[1]


def _reduce(places: list[Location | None], callsite: bool) -> Location | None:
    if callsite and len(places) > 1:
        return _inline(places[0], places[1])
    return next((place for place in places if place is not None), None)


def _inline(callee: Location | None, caller: Location | None) -> Location | None:
    """`callee` with `caller` at the end of its inlined-at chain."""
    chain = list(_chain(callee))
    room = _MAX_CHAIN - sum(1 for _ in _chain(caller))
    for place in reversed(chain[max(0, len(chain) - room) :]):
        caller = Location(place.file, place.line, place.column, caller)
    return caller


def _chain(place: Location | None) -> Iterator[Location]:
    while place is not None:
        yield place
        place = place.inlined_at
