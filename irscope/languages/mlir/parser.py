"""MLIR as Triton prints it (source, glir, ttir, ttgir) -> `Document`.

The printer puts one operation on a line. An operation with regions has a header line, the lines of its
regions, and lines that close one region and may open the next. So the parser reads lines, and keeps a stack
of the operations whose regions are open.

Reads single lines of Triton's MLIR, for readers that do not need the whole module parsed.

The table of attribute aliases at the top of a module, and the layouts in it.

#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [2, 16], ...}>
-> Layout("#blocked", "ttg.blocked", {"sizePerThread": "[1, 4]", ...})
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from irscope.languages.brackets import STRING, split_outermost
from irscope.languages.document import OPAQUE, Document, Layout, Location, Operation
from irscope.languages.mlir.locations import parse_location, resolve_aliases, split_locations

_OPERATION = re.compile(r"\s*(?:%[\w#:]{1,99}(?:, %[\w#:]{1,99}){0,99} = )?\"?([a-z_]+\.[a-z_0-9.]+)\"?")
_WARPS = re.compile(r"\"?ttg\.num-warps\"? = (\d{1,9})")


def opcode_of(line: str) -> str:
    """Return the opcode of the operation on a line, or "" if there is none."""
    match = _OPERATION.match(line)
    return match[1] if match else ""


def module_warps(text: str) -> int | None:
    """Return the warps per block in the attributes of a TTGIR module, or None if it has none."""
    match = _WARPS.search(text)
    return int(match[1]) if match else None


_TOKEN = re.compile(STRING + r"|#[\w$-]+(?![\w$.-])")

# The normalized text of every use contains the kind, so its length is bounded.
_KIND = re.compile(r"#?([\w$.]{1,80})")

# Each expansion of an alias may double the text; real tables grow by less than half.
_MAX_GROWTH = 16


def layout_kind(body: str) -> str:
    """Return the kind that the body of an alias names: `ttg.blocked` for `#ttg.blocked<{...}>`.

    Returns "" if it names none.
    """
    match = _KIND.match(body)
    return match[1] if match else ""


def parse_layouts(bodies: Mapping[str, tuple[int, str]]) -> dict[str, Layout]:
    """Parse the layouts of an alias table: alias -> (index of its line, text after its `=`).

    Aliases inside a body are expanded, except the ones in a cycle, and those that would make the
    table grow beyond _MAX_GROWTH times its size.
    """
    texts = _expand({alias: body for alias, (_, body) in bodies.items()})
    return {
        alias: Layout(alias, layout_kind(body), layout_fields(texts[alias]), line)
        for alias, (line, body) in bodies.items()
    }


def layout_fields(text: str) -> dict[str, str]:
    """Return the parameters of `#ttg.blocked<{sizePerThread = [1, 4], ...}>`, name -> text.

    Braces only group. A parameter without a name is named by its position, "0", "1", ...
    """
    _, _, inner = text.partition("<")
    fields: dict[str, str] = {}
    for item in split_outermost(inner.rstrip().removesuffix(">"), ",{}", "()[]<>"):
        name, equals, value = item.partition(" = ")
        if equals and name.isidentifier():
            fields[name] = value.strip()
        else:
            fields[str(len(fields))] = item
    return fields


def expand_aliases(text: str, bodies: Mapping[str, str]) -> str:
    """`text` with the aliases of `bodies` (alias -> text after its `=`) expanded.

    It grows to at most _MAX_GROWTH times the size of the table and the text.
    """
    expanded = _expand(bodies)
    return _substitute(text, expanded, _MAX_GROWTH * (len(text) + sum(map(len, bodies.values()))))[0]


def _expand(bodies: Mapping[str, str]) -> dict[str, str]:
    """Expand the aliases in the bodies."""
    budget = _MAX_GROWTH * sum(map(len, bodies.values()))
    expanded: dict[str, str] = {}
    entered: set[str] = set()
    for alias in bodies:
        pending = [alias]
        while pending:
            current = pending[-1]
            if current not in entered:
                entered.add(current)
                names = _TOKEN.findall(bodies[current])
                pending += (name for name in names if name in bodies and name not in entered)
            else:
                pending.pop()
                if current not in expanded:
                    text, budget = _substitute(bodies[current], expanded, budget)
                    expanded[current] = text
    return expanded


def _substitute(body: str, expanded: Mapping[str, str], budget: int) -> tuple[str, int]:
    """`body` with the known aliases expanded while `budget` characters last, and the budget that is left."""
    parts: list[str] = []
    end = 0
    for match in _TOKEN.finditer(body):
        text = expanded.get(match[0], "")
        if text and len(text) <= budget:
            budget -= len(text)
            parts += (body[end : match.start()], text)
            end = match.end()
    parts.append(body[end:])
    return "".join(parts), budget


_ALIAS_LINE = re.compile(r"\s*([#!][\w$.-]+) = (.*)")
# The names that normalized text omits; the string branch keeps inline assembly and messages unchanged.
_NAME = re.compile(
    rf"({STRING}"
    r"|%[\w$.-]+(?:#\d+)?"  # a value, or one result of several
    r"|#[A-Za-z_][\w$.-]*"  # an attribute or its alias
    r"|\^[\w$.-]+)"  # a block
)
_OPCODE = re.compile(r'"([\w$.]+)"\(|([A-Za-z_][\w$]*(?:\.[\w$]+)+|module\b)')
_RESULT = re.compile(r"(%[\w$.-]+)(?::(\d{1,9}))?")
_SYMBOL = re.compile(rf"@({STRING}|[\w$.-]+)")
# Words that open another region of the operation before them: ttg.warp_specialize, scf.index_switch.
_REGION_WORD = re.compile(r"(?:default|partition\d+|case)\b")


def parse(text: str) -> Document:
    """Parse a module in MLIR's custom assembly.

    The alias table, block labels, comments and closing braces are skipped. Any other line that is
    not an operation is an OPAQUE one. Never fails; takes time linear in the text.
    """
    lines = text.split("\n")
    attributes, locations = _alias_table(lines)
    kinds = {alias: f"#{layout_kind(body)}" for alias, (_, body) in attributes.items()}
    builder = _Builder(kinds, resolve_aliases(locations))
    for index, line in enumerate(lines):
        if stripped := line.strip():
            builder.add(index, stripped)
    return Document(
        "mlir",
        text,
        builder.finish(len(lines)),
        tuple(builder.functions),
        parse_layouts(attributes),
        builder.labels,
    )


def _alias_table(lines: Sequence[str]) -> tuple[dict[str, tuple[int, str]], dict[str, str]]:
    """Attribute aliases with the index of their line, and location aliases: name -> body."""
    attributes: dict[str, tuple[int, str]] = {}
    locations: dict[str, str] = {}
    for index, line in enumerate(lines):
        match = _ALIAS_LINE.match(line)
        if not match or match[1][0] == "!":
            continue
        body = match[2].strip()
        if body.startswith("loc("):
            locations[match[1]] = body[4:].removesuffix(")")
        else:
            attributes[match[1]] = (index, body)
    return attributes, locations


class _Builder:
    """Collects operations line by line; keeps a stack of the ones with an open region."""

    def __init__(self, kinds: Mapping[str, str], locations: Mapping[str, Location | None]) -> None:
        self.operations: list[Operation] = []
        self.functions: list[str] = []
        self.labels: dict[int, str] = {}
        self._kinds = kinds
        self._locations = locations
        self._stack: list[int] = []
        self._previous = -1  # the operation before this line in the same region
        self._normalized: dict[int, list[str]] = {}  # the own lines of an operation with regions
        self._arguments: dict[int, list[str]] = {}

    def add(self, index: int, line: str) -> None:
        """Read the line with this index, given without the blanks around it."""
        if line.startswith("//") or _ALIAS_LINE.match(line):
            return
        text, location = split_locations(line)
        if line[0] == "}" and self._stack:
            self._close(index, text, location)
        elif line[0] == "^" and self._stack:
            parts = _NAME.split(text)
            if arguments := _defined(parts):
                self._arguments[self._stack[-1]] += arguments
                self.labels[index] = self._normalize(parts).partition("//")[0].rstrip()
        elif self._previous >= 0 and text.endswith("{") and _REGION_WORD.match(text):
            self._open(self._previous, text)
            self.labels[index] = self._normalized[self._stack[-1]][-1]
        else:
            self._operation(index, text, location)

    def finish(self, end: int) -> list[Operation]:
        """Return all operations; the ones still open end with the text, at line `end`."""
        for owner in self._stack:
            self.operations[owner].end = end
        for owner, lines in self._normalized.items():
            self.operations[owner].normalized = " ".join(lines)
        for owner, arguments in self._arguments.items():
            self.operations[owner].arguments = tuple(arguments)
        return self.operations

    def _operation(self, index: int, text: str, location: str | None) -> None:
        results, prefix, rest = _split_results(text)
        opcode, normalized, arguments, operands = self._read(rest)
        parent = self._stack[-1] if self._stack else -1
        function = self.operations[parent].function if parent >= 0 else -1
        if opcode.endswith(".func") and (symbol := _SYMBOL.search(rest)):
            function = len(self.functions)
            self.functions.append(symbol[1].strip('"'))
        operation = Operation(
            line=index,
            end=index + 1,
            opcode=opcode,
            normalized=prefix + normalized,
            results=results,
            operands=operands,
            location=self._location(location),
            parent=parent,
            function=function,
            arguments=arguments,
        )
        self._previous = len(self.operations)
        self.operations.append(operation)
        if text.endswith("{"):
            self._open(self._previous)

    def _read(self, text: str) -> tuple[str, str, tuple[str, ...], tuple[str, ...]]:
        """Opcode, normalized text, the names that the operation defines for its regions, and operands."""
        match = _OPCODE.match(text)
        opcode = (match[1] or match[2]) if match else OPAQUE
        parts = _NAME.split(text)
        defined = _defined(parts) if text.endswith("{") or opcode.endswith(".func") else []
        inside = set(defined)
        operands = [name for name in parts[1::2] if name[0] == "%" and name not in inside]
        return opcode, self._normalize(parts), tuple(defined), tuple(operands)

    def _normalize(self, parts: list[str]) -> str:
        """Join the parts that _NAME split, without names. The odd parts are names; overwrites `parts`."""
        for index in range(1, len(parts), 2):
            name = parts[index]
            if name[0] in "%^":
                parts[index] = name[0]
            elif name[0] == "#" and "." not in name:
                parts[index] = self._kinds.get(name) or name.rstrip("0123456789")
        return "".join(parts)

    def _open(self, owner: int, text: str | None = None) -> None:
        """Open a region of `owner`; `text` is the line that opens it, if that is not the header."""
        operation = self.operations[owner]
        if owner not in self._normalized:
            self._normalized[owner] = [operation.normalized]
            self._arguments[owner] = list(operation.arguments)
        if text is not None:
            parts = _NAME.split(text)
            self._arguments[owner] += _defined(parts)
            self._normalized[owner].append(self._normalize(parts))
        self._stack.append(owner)
        self._previous = -1

    def _close(self, index: int, text: str, location: str | None) -> None:
        """Close the innermost region, and open the operation's next one if the line does (`} else {`)."""
        owner = self._stack.pop()
        operation = self.operations[owner]
        operation.end = index + 1
        if location is not None:
            operation.location = self._location(location)
        self._previous = owner
        if text.endswith("{"):
            self._open(owner, text)
        else:
            self._normalized[owner].append(self._normalize(_NAME.split(text)))

    def _location(self, location: str | None) -> Location | None:
        if location is None:
            return None
        if location in self._locations:
            return self._locations[location]
        return parse_location(location, self._locations)


def _defined(parts: Sequence[str]) -> list[str]:
    """Return the names that a line defines for a region.

    These are `%k = %c0` and `%x: f32` (uses have a blank before `:`).
    """
    pairs: Iterator[tuple[str, str]] = zip(parts[1::2], parts[2::2], strict=True)
    return [name for name, after in pairs if name[0] == "%" and after.startswith((": ", " = "))]


def _split_results(text: str) -> tuple[tuple[str, ...], str, str]:
    """Split an operation's text into its results, their normalized form, and the text after `=`.

    `%a:3 = ...` has the results `%a#0`, `%a#1` and `%a#2`, as its uses do.
    """
    if text[0] != "%":
        return (), "", text
    left, equals, rest = text.partition(" = ")
    if not equals:
        return (), "", text
    names: list[str] = []
    normalized: list[str] = []
    for item in left.split(", "):
        match = _RESULT.fullmatch(item)
        if match is None:
            return (), "", text
        if match[2] is None:
            names.append(match[1])
            normalized.append("%")
        else:
            # Each result has a type in the text, so a number beyond its length is not a count.
            count = min(int(match[2]), len(text) - len(names))
            names += (f"{match[1]}#{number}" for number in range(count))
            normalized.append(f"%:{match[2]}")
    return tuple(names), f"{', '.join(normalized)} = ", rest
