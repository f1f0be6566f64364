"""MLIR's location attributes -> `Location`: file, name, callsite and fused locations, and their aliases.

    loc(callsite("a"("k.py":3:4) at #loc7)) -> k.py:3 inlined at whatever #loc7 is

The grammar is in the MLIR documentation, "Builtin Dialect", "Location Attributes".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from irscope.languages.brackets import STRING, delimiters
from irscope.languages.document import Location

# Triton's library nests about five helpers; a longer chain loses its innermost locations.
_MAX_CHAIN = 32

_ALIAS_LOCATION = re.compile(r" loc\((#[\w$.-]+)\)")
_ATTRIBUTE = re.compile(
    rf"(?P<string>{STRING})(?::(?P<line>\d{{1,9}}):(?P<column>\d{{1,9}}))?"
    r"|(?P<alias>#[\w$.-]+)|(?P<unknown>\bunknown\b)|(?P<callsite>\bcallsite\b)|(?P<bracket>[()\[\]<>])"
)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.DOTALL)

Aliases = Mapping[str, Location | None]


def split_locations(text: str) -> tuple[str, str | None]:
    """Split a line into the text without its `loc(...)`s and the inside of the last one.

    The second part is None unless the last one ends the line.
    """
    start = text.rfind(" loc(")
    if start < 0:
        return text, None
    alias = _ALIAS_LOCATION.fullmatch(text, start)
    if alias and text.find(" loc(") == start:
        return text[:start], alias[1]
    rest, location = _split_nested(text)
    return rest.rstrip(), location


def _split_nested(text: str) -> tuple[str, str | None]:
    """`split_locations` for lines with several locations, or with brackets or strings inside of one."""
    pieces: list[str] = []
    last: str | None = None
    end = 0  # of the last location
    start = outer = -1  # of the location that is open, and the depth around it
    for depth, match in delimiters(text, 0, "()", "(?!)"):
        if start < 0 and match[0] == "(" and text.endswith(" loc", end, match.start()):
            start, outer = match.start() - len(" loc"), depth
        elif start >= 0 and match[0] == ")" and depth == outer + 1:
            pieces.append(text[end:start])
            last, end = text[start + len(" loc(") : match.start()], match.end()
            start = -1
    rest = text[end:]
    return "".join([*pieces, rest]), None if rest.strip() else last


def strip_debug(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines of a module without locations and their aliases."""
    return (_without_locations(line) for line in lines if not line.startswith("#loc"))


def strip_location(line: str) -> str:
    """Return a line without its locations; an alias of a location is returned unchanged."""
    return line if line.startswith("#loc") else _without_locations(line)


def _without_locations(line: str) -> str:
    return _split_nested(line)[0] if " loc(" in line else line


def resolve_aliases(bodies: Mapping[str, str]) -> dict[str, Location | None]:
    """Map each alias of `bodies`, given as `#loc3` -> the inside of its `loc(...)`, to its location.

    The order of aliases does not matter. One that is missing or part of a cycle is None, like
    `loc(unknown)`. Takes time linear in the text: each body is read twice.
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
    """Parse the location that `body`, the inside of a `loc(...)`, names; None if it names none.

    A named location is the one after the name, a fused location the first known of its parts, a
    callsite the callee's location inlined at the caller's.
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
            if kind != "string":  # only a name: the brackets after it hold the location
                groups[-1].append(_leaf(match, aliases))
        elif match[0] in "([<":
            groups.append([])
            callsites.append(callsite and match[0] == "(")
            callsite = False
        elif len(groups) > 1:
            location = _reduce(groups.pop(), callsites.pop())
            groups[-1].append(location)
    while len(groups) > 1:
        location = _reduce(groups.pop(), callsites.pop())
        groups[-1].append(location)
    return _reduce(groups[0], callsite=False)


def _leaf(match: re.Match[str], aliases: Aliases) -> Location | None:
    if match["line"] is None:
        return aliases.get(match["alias"])
    file = _ESCAPE.sub(_unescape, match["string"][1:-1])
    return Location(file, int(match["line"]), int(match["column"]))


def _unescape(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if len(match[1]) == 2 else match[1]


def _reduce(locations: list[Location | None], callsite: bool) -> Location | None:
    if callsite and len(locations) > 1:
        return _inline(locations[0], locations[1])
    return next((location for location in locations if location is not None), None)


def _inline(callee: Location | None, caller: Location | None) -> Location | None:
    """`callee` with `caller` at the end of its inlined-at chain."""
    chain = list(_chain(callee))
    room = _MAX_CHAIN - sum(1 for _ in _chain(caller))
    for link in reversed(chain[max(0, len(chain) - room) :]):
        caller = Location(link.file, link.line, link.column, caller)
    return caller


def _chain(location: Location | None) -> Iterator[Location]:
    while location is not None:
        yield location
        location = location.inlined_at
